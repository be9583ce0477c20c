/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a store, and its figures. */
#include "storage/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "src/base/check.h"
#include "src/base/io.h"
#include "storage/item.h"
#include "storage/store_internal.h"

/* Room for the header fields of a log record and a tree record around the largest value. */
enum { RECORD_SLACK = 512 };

void store_config_init(struct store_config *config) {
    *config = (struct store_config){
        .memory = 64 << 20,
        .sync = STORE_SYNC_INTERVAL,
        .sync_ms = 100,
        .log_max = 1 << 30,
        .log_segment = 64 << 20,
        .item_max = 1 << 20,
        .readers = 32,
        .checkpoint_seconds = 60,
        .sessions = 8,
    };
}

/* ---- the directory ---- */

/* Filesystems on which locks, syncs or in-place writes mean something else: statfs(2), linux/magic.h. */
static void warn_of_filesystem(struct store *store) {
    static const struct {
        unsigned long type;
        const char *what;
    } odd[] = {
        {0x6969, "NFS"},           {0xFF534D42, "CIFS"},    {0xFE534D42, "SMB"},
        {0x794c7630, "overlayfs"}, {0x9123683E, "btrfs"},   {0x2fc12fc1, "ZFS"},
        {0x65735546, "FUSE"},      {0x00c36400, "Ceph"},    {0xca451a4e, "bcachefs"},
    };
    struct statfs fs;

    if (fstatfs(store->dir, &fs) != 0)
        return;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if ((unsigned long)fs.f_type == odd[i].type)
            log_warn(store->config.logger,
                     "%s is on %s: a network, overlay or copy-on-write filesystem may sync less, or be slower, than a "
                     "local ext4 or xfs",
                     store->dir_name, odd[i].what);
}

static enum status lock_directory(struct store *store) {
    enum status status = io_open(NULL, FAULT_LOG_OPEN, store->dir, "LOCK", O_RDWR | O_CREAT, 0600, &store->lock_file);

    if (status != ST_OK)
        return status;
    if (flock(store->lock_file, LOCK_EX | LOCK_NB) != 0) {
        log_error(store->config.logger,
                  "%s is in use by another process: stop that server, or choose another directory with --data-dir",
                  store->dir_name);
        return ST_BUSY;
    }
    return ST_OK;
}

static bool exists(int dir, const char *name) {
    struct stat st;

    return fstatat(dir, name, &st, 0) == 0;
}

/* The secret keys every checksum in the store: without it nothing in the directory can be read. */
static enum status load_secret(struct store *store) {
    struct faults *faults = store->config.faults;
    enum status status;
    size_t got = 0;
    int fd = -1;

    if (!exists(store->dir, "secret")) {
        if (exists(store->dir, "MANIFEST")) {
            log_error(store->config.logger,
                      "%s/secret is missing: without it the store's checksums cannot be verified; restore the file "
                      "from a backup",
                      store->dir_name);
            return ST_CORRUPT;
        }
        hash_random(store->secret.bytes, sizeof store->secret.bytes);
        return io_replace(faults, FAULT_SECRET_WRITE, FAULT_SECRET_WRITE, store->dir, "secret", store->secret.bytes,
                          sizeof store->secret.bytes);
    }
    status = io_open(NULL, FAULT_LOG_OPEN, store->dir, "secret", O_RDONLY, 0, &fd);
    if (status == ST_OK)
        status = io_pread(NULL, FAULT_LOG_READ, fd, store->secret.bytes, sizeof store->secret.bytes, 0, &got);
    io_close(&fd);
    if (status == ST_OK && got != sizeof store->secret.bytes) {
        log_error(store->config.logger, "%s/secret is cut short: restore the file from a backup", store->dir_name);
        status = ST_CORRUPT;
    }
    return status;
}

static enum status open_directory(struct store *store) {
    enum status status = io_opendir(store->dir_name, &store->dir);

    if (status == ST_OK)
        status = io_opendir(store->log_dir_name, &store->log_dir);
    if (status != ST_OK) {
        log_error(store->config.logger, "cannot open %s as data directory: %s", store->dir_name, strerror(errno));
        return status;
    }
    status = lock_directory(store);
    if (status == ST_OK)
        status = load_secret(store);
    if (status == ST_OK)
        status = io_dirsync(store->config.faults, store->dir); /* log/ itself must survive a power cut */
    warn_of_filesystem(store);
    return status;
}

/* ---- opening ---- */

static void on_log_room(void *arg) {
    room_wake(arg);
}

static enum status open_tree(struct store *store) {
    struct tree_config config = {
        .dir = store->dir,
        .dir_name = store->dir_name,
        .secret = &store->secret,
        .readers = store->config.readers + store->config.sessions,
        .logger = store->config.logger,
        .faults = store->config.faults,
    };

    return tree_open(&store->tree, &config);
}

/* Written when the first start has a log: from then on a store without one has lost it. */
static const char started_name[] = "started";

static enum status note_started(struct store *store) {
    enum status status;

    if (exists(store->dir, started_name))
        return ST_OK;
    status = io_replace(NULL, FAULT_MANIFEST_WRITE, FAULT_MANIFEST_RENAME, store->dir, started_name, "1\n", 2);
    return status == ST_NO_SPACE ? ST_OK : status; /* the next start tries again */
}

static enum status check_log_is_there(struct store *store) {
    DIR *dir = opendir(store->log_dir_name);
    struct dirent *entry;
    bool found = false;

    if (dir == NULL)
        return status_from_errno(errno);
    while (!found && (entry = readdir(dir)) != NULL)
        found = entry->d_name[0] != '.';
    closedir(dir);
    if (found || !exists(store->dir, started_name))
        return ST_OK;
    log_error(store->config.logger,
              "%s is empty: the log of this store is missing, and what was written last is in it; restore the "
              "directory from a backup",
              store->log_dir_name);
    return ST_CORRUPT;
}

static enum status open_log(struct store *store) {
    struct log_config config = {
        .dir = store->log_dir,
        .dir_name = store->log_dir_name,
        .secret = &store->secret,
        .sync = store->config.sync,
        .sync_ms = store->config.sync_ms,
        .log_max = store->config.log_max,
        .segment_bytes = store->config.log_segment,
        .record_max = store->config.item_max + STORE_KEY_MAX,
        .clock = store->config.clock,
        .logger = store->config.logger,
        .faults = store->config.faults,
    };
    struct tree_marks marks;
    enum status status;

    status = check_log_is_there(store);
    if (status != ST_OK)
        return status;
    tree_get_marks(store->tree, &marks);
    status = log_open(&store->log, &config, marks.applied, marks.m, &store->findings);
    if (status == ST_OK)
        log_on_room(store->log, on_log_room, store);
    return status;
}

static enum status check_config(const struct store_config *config) {
    bool ok = config->dir != NULL && config->clock != NULL && config->memory >= 1 << 20 && config->item_max > 0 &&
              config->log_segment >= 2 * (config->item_max + RECORD_SLACK) &&
              config->log_max >= 4 * config->log_segment && config->readers > 0 && config->sessions > 0;

    if (!ok)
        log_error(config->logger,
                  "the store's settings do not fit together: --log-segment must be twice --max-item-size, --log-max "
                  "four times --log-segment");
    return ok ? ST_OK : ST_INVALID;
}

static void close_parts(struct store *store) {
    treejob_stop(store);
    readers_stop(&store->readers);
    if (store->flush_room > 0)
        log_unreserve(store->log, store->flush_room);
    log_close(&store->log);
    table_destroy(&store->table);
    tree_close(&store->tree);
    io_close(&store->lock_file);
    io_close(&store->log_dir);
    io_close(&store->dir);
    lock_destroy(&store->wait_lock);
    lock_destroy(&store->flush_lock);
    lock_destroy(&store->job_lock);
    cond_destroy(&store->job_wanted);
    cond_destroy(&store->job_done);
    free(store->dir_name);
    free(store->log_dir_name);
    store->magic = 0;
    free(store);
}

static enum status create(struct store **out, const struct store_config *config) {
    struct store *store = calloc(1, sizeof *store);
    struct table_config table = {.budget = config->memory};
    enum status status = ST_NO_MEMORY;

    *out = store;
    if (store == NULL)
        return ST_NO_MEMORY;
    store->magic = STORE_MAGIC;
    store->config = *config;
    store->dir = store->log_dir = store->lock_file = -1;
    store->memory = config->memory;
    lock_init(&store->wait_lock, LOCK_STORE_WAIT);
    lock_init(&store->flush_lock, LOCK_LEAF);
    lock_init(&store->job_lock, LOCK_TREE_JOB);
    cond_init(&store->job_wanted);
    cond_init(&store->job_done);
    store->last_checkpoint_micros = clock_micros();
    store->dir_name = strdup(config->dir);
    if (store->dir_name == NULL || asprintf(&store->log_dir_name, "%s/log", config->dir) < 0) {
        store->log_dir_name = NULL;
        return ST_NO_MEMORY;
    }
    status = table_create(&store->table, &table);
    return status;
}

enum status store_open(struct store **out, const struct store_config *config) {
    struct store *store = NULL;
    enum status status = check_config(config);

    *out = NULL;
    if (status != ST_OK)
        return status;
    status = create(&store, config);
    if (status == ST_OK)
        status = open_directory(store);
    if (status == ST_OK)
        status = open_tree(store);
    if (status == ST_OK)
        status = open_log(store);
    if (status == ST_OK)
        status = recover_run(store);
    if (status == ST_OK)
        status = note_started(store);
    if (status == ST_OK)
        status = readers_start(&store->readers, store->tree, config->readers);
    if (status == ST_OK)
        status = treejob_start(store);
    if (status == ST_OK && store->findings.records > 0)
        store_checkpoint_soon(store); /* makes curr_items exact and the next start short */
    if (status != ST_OK && store != NULL) {
        close_parts(store);
        store = NULL;
    }
    *out = store;
    return status;
}

void store_close(struct store **out, unsigned seconds) {
    struct store *store = *out;
    struct checkpoint_limits limits = {0};
    enum status status;

    if (store == NULL)
        return;
    CHECK_OBJ(store, STORE_MAGIC);
    /* Set first: a checkpoint may be running, and what it has left to do may take longer than there is time. */
    atomic_store(&store->deadline_micros, clock_micros() + (uint64_t)seconds * 1000 * 1000);
    treejob_stop(store);
    readers_stop(&store->readers);
    limits.upto = log_last(store->log);
    status = checkpoint_run(store, &limits);
    if (status == ST_AGAIN)
        log_info(store->config.logger, "stopped before all changes were in the tree; the next start replays the log");
    else if (status != ST_OK)
        log_error(store->config.logger, "last checkpoint failed: %s; the next start replays the log",
                  status_text(status));
    close_parts(store);
    *out = NULL;
}

/* ---- figures ---- */

static void add_table(struct store *store, struct store_figures *figures) {
    bool tree_is_dead = table_flush_lsn(store->table) > tree_birth(store->tree);
    struct table_figures table;
    int64_t items;

    table_figures(store->table, &table);
    figures->tree_items = tree_items(store->tree);
    items = (tree_is_dead ? 0 : (int64_t)figures->tree_items) + table.delta;
    figures->items = items > 0 ? (uint64_t)items : 0;
    figures->items_ram = table.items;
    figures->items_dirty = table.items_dirty;
    figures->bytes_ram = table.bytes;
    figures->bytes_dirty = table.bytes_dirty;
    figures->evictions = table.evictions;
    figures->evictions_unfetched = table.evictions_unfetched;
    figures->memory = atomic_load(&store->memory);
}

static void add_log(struct store *store, struct store_figures *figures) {
    struct log_figures log;

    log_figures(store->log, &log);
    figures->lsn = log_last(store->log);
    figures->lsn_written = log_written(store->log);
    figures->lsn_durable = log_durable(store->log);
    figures->lsn_applied = atomic_load(&store->applied);
    figures->log_bytes = log.bytes;
    figures->log_segments = log.segments;
    figures->log_writes = log.writes;
    figures->log_written_bytes = log.written_bytes;
    figures->log_syncs = log.syncs;
    figures->log_sync_micros_max = log.sync_micros_max;
    figures->read_only = log_health(store->log) != ST_OK;
}

void store_figures(struct store *store, struct store_figures *figures) {
    struct readers_figures readers;

    CHECK_OBJ(store, STORE_MAGIC);
    *figures = (struct store_figures){0};
    add_table(store, figures);
    add_log(store, figures);
    readers_figures(store->readers, &readers);
    figures->cold_reads = readers.jobs;
    figures->cold_waiting = readers.waiting;
    figures->cold_micros_max = readers.wait_micros_max;
    figures->cold_inline = atomic_load(&store->cold_inline);
    figures->tree_bytes = tree_bytes(store->tree);
    figures->tree_generation = tree_generation(store->tree);
    figures->checkpoints = atomic_load(&store->checkpoints);
    figures->checkpoint_items = atomic_load(&store->checkpoint_items);
    figures->checkpoint_micros = atomic_load(&store->checkpoint_micros);
    figures->checkpoint_failures = atomic_load(&store->checkpoint_failures);
    figures->reclaimed = atomic_load(&store->reclaimed);
    figures->flushes = atomic_load(&store->flushes);
    figures->room_waits = atomic_load(&store->room_waits);
    figures->recovered_records = store->findings.records;
    figures->recovered_bytes = store->findings.bytes;
    figures->recovery_micros = store->recovery_micros;
    figures->dropped_bytes = store->findings.dropped_bytes;
}

enum status store_set_memory(struct store *store, uint64_t bytes) {
    if (bytes < 1 << 20)
        return ST_INVALID;
    atomic_store(&store->memory, bytes);
    table_set_budget(store->table, bytes);
    treejob_kick(store);
    return ST_OK;
}
