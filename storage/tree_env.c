/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/base/check.h"
#include "src/base/io.h"
#include "src/base/logger.h"
#include "storage/sigbus.h"
#include "storage/tree_internal.h"

enum {
    DATABASES = 3,
    ENV_FLAGS = MDB_NOSUBDIR | MDB_NORDAHEAD | MDB_NOTLS,
    FILE_MODE = 0600,
    STATE_FORMAT = 1,
    STATE_WORDS = 10,
    LOCK_SLOT_BYTES = 64, /* LMDB's reader slot is a cache line */
    LOCK_HEAD_BYTES = 4096,
    MAPS_LINE = 8192, /* of /proc/self/maps, with a path */
    FULL_SHARE = 100, /* a disk with less than one part in this free ... */
};
#define FULL_BYTES (UINT64_C(16) << 20) /* ... or less than this is full */
#define STATE_KEY "state"
#define NEW_NAME "new.mdb"

/* ---- statuses ---- */

const char *tree_error_text(int error) {
    return mdb_strerror(error);
}

/* LMDB makes EIO of a write that was cut short by a full disk. */
static bool disk_is_full(const struct tree *tree) {
    struct statvfs disk;
    if (fstatvfs(tree->tree_dir, &disk) != 0)
        return false;
    return disk.f_bavail < disk.f_blocks / FULL_SHARE || (uint64_t)disk.f_bavail * disk.f_frsize < FULL_BYTES;
}

enum status tree_status(const struct tree *tree, int error) {
    switch (error) {
    case MDB_SUCCESS:
        return ST_OK;
    case MDB_NOTFOUND:
        return ST_NOT_FOUND;
    case MDB_PAGE_NOTFOUND:
    case MDB_CORRUPTED:
    case MDB_CURSOR_FULL: /* a page that is its own ancestor */
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE:
        return ST_CORRUPT;
    case MDB_MAP_FULL:
        return ST_NO_SPACE;
    case MDB_TXN_FULL:
    case MDB_READERS_FULL:
        return ST_LIMIT;
    case EIO:
        return disk_is_full(tree) ? ST_NO_SPACE : ST_IO;
    default:
        return error > 0 ? status_from_errno(error) : ST_IO;
    }
}

/* ---- the state record ---- */

static void state_encode(const struct tree *tree, const struct tree_state *state, uint64_t words[STATE_WORDS]) {
    const uint64_t plain[STATE_WORDS] = {
        STATE_FORMAT,         state->marks.applied,        state->marks.m, state->marks.birth,
        (uint64_t)state->marks.wall, (uint64_t)state->marks.flush_at, state->items,   state->sum,
        state->unsound,
    };
    for (size_t i = 0; i < STATE_WORDS - 1; i++)
        words[i] = htole64(plain[i]);
    words[STATE_WORDS - 1] = htole64(hash_sum(&tree->secret, words, (STATE_WORDS - 1) * sizeof words[0]));
}

static bool state_decode(const struct tree *tree, const MDB_val *from, struct tree_state *state) {
    uint64_t words[STATE_WORDS];

    if (from->mv_size != sizeof words)
        return false;
    memcpy(words, from->mv_data, sizeof words);
    if (le64toh(words[STATE_WORDS - 1]) != hash_sum(&tree->secret, words, sizeof words - sizeof words[0]) ||
        le64toh(words[0]) != STATE_FORMAT)
        return false;
    for (size_t i = 0; i < STATE_WORDS; i++)
        words[i] = le64toh(words[i]);
    *state = (struct tree_state){
        .marks = {.applied = words[1], .m = words[2], .birth = words[3], .wall = (int64_t)words[4],
                  .flush_at = (int64_t)words[5]},
        .items = words[6],
        .sum = words[7],
        .unsound = words[8],
    };
    return true;
}

enum status tree_state_put(struct tree *tree, MDB_txn *txn, unsigned meta, const struct tree_state *state) {
    uint64_t words[STATE_WORDS];
    MDB_val key = {sizeof STATE_KEY - 1, STATE_KEY}, data = {sizeof words, words};

    state_encode(tree, state, words);
    return tree_status(tree, mdb_put(txn, meta, &key, &data, 0));
}

/* ---- opening ---- */

static void path_of(const struct tree *tree, const char *name, char path[TREE_PATH_MAX]) {
    int n = snprintf(path, TREE_PATH_MAX, "%s/tree/%s", tree->path, name);
    CHECK(n > 0 && n < TREE_PATH_MAX); /* tree_open has bounded the directory's name */
}

static void lock_name_of(const char *name, char lock_name[MANIFEST_TREE_NAME + 8]) {
    int n = snprintf(lock_name, MANIFEST_TREE_NAME + 8, "%s-lock", name);
    CHECK(n > 0 && n < MANIFEST_TREE_NAME + 8);
}

/* LMDB maps a sparse lock file, and on a full disk the first touch of a page would be a SIGBUS. */
static enum status reserve_lock_file(struct tree *tree, const char *name) {
    char lock_name[MANIFEST_TREE_NAME + 8];
    int fd;
    off_t bytes = LOCK_HEAD_BYTES + (off_t)(tree->reader_count + TREE_EXTRA_READERS) * LOCK_SLOT_BYTES;

    lock_name_of(name, lock_name);
    enum status status = io_open(NULL, FAULT_TREE_CREATE, tree->tree_dir, lock_name, O_RDWR | O_CREAT, FILE_MODE, &fd);
    if (status != ST_OK)
        return status;
    int error = posix_fallocate(fd, 0, bytes);
    /* A file system that cannot reserve is no reason not to start. */
    if (error != 0 && error != EOPNOTSUPP && error != EINVAL)
        status = status_from_errno(error);
    io_close(&fd);
    return status;
}

/* LMDB is about to abort over a page that makes no sense: a guarded read becomes ST_CORRUPT instead. */
static void on_assert(MDB_env *env, const char *text) {
    (void)env;
    (void)text;
    sigbus_leave();
}

static int open_sized(struct tree *tree, const char *path, uint64_t map_bytes, MDB_env **env) {
    int rc = mdb_env_create(env);

    if (rc != 0)
        return rc;
    rc = mdb_env_set_mapsize(*env, map_bytes);
    if (rc == 0)
        rc = mdb_env_set_maxdbs(*env, DATABASES);
    if (rc == 0)
        rc = mdb_env_set_maxreaders(*env, tree->reader_count + TREE_EXTRA_READERS);
    if (rc == 0)
        rc = mdb_env_set_assert(*env, on_assert);
    if (rc == 0)
        rc = mdb_env_open(*env, path, ENV_FLAGS, FILE_MODE);
    if (rc != 0) {
        mdb_env_close(*env);
        *env = NULL;
    }
    return rc;
}

static uint64_t file_bytes(const struct tree *tree, const char *name) {
    struct stat about;
    return fstatat(tree->tree_dir, name, &about, 0) == 0 ? (uint64_t)about.st_size : 0;
}

/* Halves the map while address space is short, but leaves the tree room to double. */
static int open_map(struct tree *tree, const char *name, MDB_env **env) {
    char path[TREE_PATH_MAX];
    uint64_t least = 2 * file_bytes(tree, name);
    uint64_t bytes = TREE_MAP_BYTES;
    int rc;

    path_of(tree, name, path);
    if (least < TREE_MAP_BYTES_MIN)
        least = TREE_MAP_BYTES_MIN;
    while ((rc = open_sized(tree, path, bytes, env)) == ENOMEM && bytes / 2 >= least)
        bytes /= 2;
    if (rc == 0 && bytes != TREE_MAP_BYTES)
        log_warn(tree->logger, "tree/%s: only %llu MiB of address space could be reserved; the tree cannot grow beyond",
                 name, (unsigned long long)(bytes >> 20));
    return rc;
}

uint64_t tree_env_count_bytes(const struct tree_env *env, MDB_txn *txn) {
    const MDB_dbi databases[DATABASES] = {env->items, env->expiry, env->meta};
    uint64_t bytes = 0;

    for (size_t i = 0; i < DATABASES; i++) {
        MDB_stat s;
        if (mdb_stat(txn, databases[i], &s) == 0)
            bytes += (s.ms_branch_pages + s.ms_leaf_pages + s.ms_overflow_pages) * (uint64_t)s.ms_psize;
    }
    return bytes;
}

/* What has to read the map and is therefore done under a guard. */
struct loading {
    struct tree *tree;
    struct tree_env *env;
    struct tree_state *state;
    MDB_txn *txn;
    const char *inside; /* somewhere in the map */
    uint64_t entries;   /* by LMDB's own count */
    bool sound;
    int rc;
};

static void load(void *arg) {
    struct loading *l = arg;
    MDB_val key = {sizeof STATE_KEY - 1, STATE_KEY}, data;
    MDB_stat items;

    l->rc = mdb_dbi_open(l->txn, "items", 0, &l->env->items);
    if (l->rc == 0)
        l->rc = mdb_dbi_open(l->txn, "expiry", 0, &l->env->expiry);
    if (l->rc == 0)
        l->rc = mdb_dbi_open(l->txn, "meta", 0, &l->env->meta);
    if (l->rc == 0)
        l->rc = mdb_get(l->txn, l->env->meta, &key, &data);
    if (l->rc == 0)
        l->rc = mdb_stat(l->txn, l->env->items, &items);
    if (l->rc == 0) {
        l->env->bytes = tree_env_count_bytes(l->env, l->txn);
        l->entries = items.ms_entries;
        l->inside = data.mv_data;
        l->sound = state_decode(l->tree, &data, l->state);
    }
}

/* Where the map is: LMDB does not tell, but the kernel does for an address inside.  Without /proc only the core dumps
 * are larger and tree_txn_bytes is too low. */
static void set_map(struct tree_env *env, const char *inside) {
    char line[MAPS_LINE];
    uintptr_t from, to, wanted = (uintptr_t)inside;
    FILE *maps = fopen("/proc/self/maps", "re");

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2 && from <= wanted && wanted < to) {
            env->map = (const char *)from;
            env->map_bytes = to - from;
        }
    }
    if (maps != NULL)
        fclose(maps);
    if (env->map != NULL)
        (void)madvise((void *)env->map, env->map_bytes, MADV_DONTDUMP); /* a terabyte helps nobody */
}

static bool state_fits(const struct loading *l) {
    if (!l->sound)
        log_error(l->tree->logger, "the tree's state record is damaged, of a later format or of another secret");
    else if (l->entries != l->state->items)
        log_error(l->tree->logger, "the tree holds %llu records but was committed with %llu",
                  (unsigned long long)l->entries, (unsigned long long)l->state->items);
    return l->sound && l->entries == l->state->items;
}

/* The handles become the environment's with the commit; a reading transaction needs no room on the disk. */
static enum status load_state(struct tree *tree, struct tree_env *env, struct tree_state *state) {
    struct loading l = {.tree = tree, .env = env, .state = state};
    int rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &l.txn);
    enum status status = tree_status(tree, rc);

    if (status != ST_OK)
        return status;
    status = sigbus_guard(load, &l);
    if (status == ST_OK && l.rc != 0)
        status = l.rc == MDB_NOTFOUND ? ST_CORRUPT : tree_status(tree, l.rc);
    if (status == ST_OK && !state_fits(&l))
        status = ST_CORRUPT;
    if (status == ST_OK) {
        set_map(env, l.inside);
        status = tree_status(tree, mdb_txn_commit(l.txn));
    } else {
        mdb_txn_abort(l.txn);
    }
    return status;
}

enum status tree_env_open(struct tree *tree, uint64_t generation, struct tree_env **env, struct tree_state *state) {
    char name[MANIFEST_TREE_NAME];
    int stale;
    enum status status = ST_NO_MEMORY;
    struct tree_env *opened = calloc(1, sizeof *opened);

    manifest_tree_name(generation, name);
    *env = NULL;
    if (opened == NULL)
        goto out;
    opened->generation = generation;
    status = ST_CORRUPT; /* LMDB would create what is missing */
    if (faccessat(tree->tree_dir, name, F_OK, 0) == 0)
        status = reserve_lock_file(tree, name);
    if (status != ST_OK)
        goto out;
    status = tree_status(tree, open_map(tree, name, &opened->env));
    if (status != ST_OK)
        goto out;
    status = tree_status(tree, mdb_reader_check(opened->env, &stale));
    if (status == ST_OK)
        status = load_state(tree, opened, state);
    if (status != ST_OK)
        goto out;
    opened->birth = state->marks.birth;
    *env = opened;
    opened = NULL;
out:
    if (status != ST_OK)
        log_error(tree->logger, "%s/tree/%s: cannot be opened: %s", tree->path, name, status_text(status));
    tree_env_close(&opened);
    return status;
}

void tree_env_close(struct tree_env **env) {
    if (*env != NULL) {
        if ((*env)->env != NULL)
            mdb_env_close((*env)->env);
        free(*env);
        *env = NULL;
    }
}

uint64_t tree_env_number(const struct tree_env *env) {
    MDB_envinfo info;
    CHECK(mdb_env_info(env->env, &info) == 0);
    return env->generation << TREE_NUMBER_SHIFT | info.me_last_txnid;
}

bool tree_env_panicked(const struct tree_env *env) {
    MDB_txn *probe;
    int rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &probe);

    if (rc == 0)
        mdb_txn_abort(probe);
    return rc == MDB_PANIC;
}

/* ---- creating and removing ---- */

static enum status fill_new(struct tree *tree, MDB_env *env, const struct tree_state *state) {
    MDB_txn *txn = NULL;
    MDB_dbi items, expiry, meta;
    enum status status;
    int rc = mdb_txn_begin(env, NULL, 0, &txn);

    if (rc == 0)
        rc = mdb_dbi_open(txn, "items", MDB_CREATE, &items);
    if (rc == 0)
        rc = mdb_dbi_open(txn, "expiry", MDB_CREATE, &expiry);
    if (rc == 0)
        rc = mdb_dbi_open(txn, "meta", MDB_CREATE, &meta);
    status = tree_status(tree, rc);
    if (status == ST_OK)
        status = tree_state_put(tree, txn, meta, state);
    if (status == ST_OK) {
        status = tree_status(tree, mdb_txn_commit(txn));
    } else if (txn != NULL) {
        mdb_txn_abort(txn);
    }
    return status;
}

static void remove_files(struct tree *tree, struct faults *faults, const char *name) {
    char lock_name[MANIFEST_TREE_NAME + 8];
    enum status status = io_unlink(faults, FAULT_TREE_UNLINK, tree->tree_dir, name);

    if (status != ST_OK && status != ST_NOT_FOUND)
        log_warn(tree->logger, "%s/tree/%s: cannot be removed: %s", tree->path, name, status_text(status));
    lock_name_of(name, lock_name);
    if (unlinkat(tree->tree_dir, lock_name, 0) != 0 && errno != ENOENT)
        log_warn(tree->logger, "%s/tree/%s: cannot be removed: %s", tree->path, lock_name,
                 status_text(status_from_errno(errno)));
}

/* A file under a final name is always whole, so a start can tell an interrupted creation from a lost manifest. */
enum status tree_env_create(struct tree *tree, uint64_t generation, const struct tree_state *state) {
    char name[MANIFEST_TREE_NAME];
    MDB_env *env = NULL;
    enum status status;
    int fault = fault_hit(tree->faults, FAULT_TREE_CREATE);

    if (fault != 0)
        return status_from_errno(fault > 0 ? fault : EIO);
    manifest_tree_name(generation, name);
    remove_files(tree, NULL, NEW_NAME);
    status = reserve_lock_file(tree, NEW_NAME);
    if (status == ST_OK)
        status = tree_status(tree, open_map(tree, NEW_NAME, &env));
    if (status == ST_OK)
        status = fill_new(tree, env, state);
    if (env != NULL)
        mdb_env_close(env);
    if (status == ST_OK)
        status = io_rename(tree->faults, FAULT_TREE_CREATE, tree->tree_dir, NEW_NAME, name);
    remove_files(tree, NULL, NEW_NAME);
    if (status == ST_OK)
        status = io_dirsync(tree->faults, tree->tree_dir);
    return status;
}

void tree_env_remove_unfinished(struct tree *tree) {
    remove_files(tree, NULL, NEW_NAME);
}

void tree_env_remove(struct tree *tree, uint64_t generation) {
    char name[MANIFEST_TREE_NAME];
    manifest_tree_name(generation, name);
    remove_files(tree, tree->faults, name);
}
