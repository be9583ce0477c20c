/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a crash may fall in tree_replace, and what the next start finds:
 *   before the manifest's rename          the old tree; the new file is named by nobody and removed
 *   after it, before the old file is gone the new tree, empty, whose first commit carries the marks; the old file is
 *                                         named by nobody and removed
 * When replacing the manifest fails it is unknown which one is in force.  Both trees are consistent with the log as
 * long as nothing is committed to either, so tree_settle must have put the old one back before the next commit. */
#include "storage/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/check.h"
#include "src/base/io.h"
#include "src/base/logger.h"
#include "storage/sigbus.h"
#include "storage/tree_internal.h"

enum { FIRST_GENERATION = 1, SUFFIX_ROOM = 64 };

/* ---- figures ---- */

/* Tells all threads what the last commit holds. */
void tree_publish(struct tree *tree) {
    atomic_store_explicit(&tree->committed_bytes, tree->env->bytes, memory_order_relaxed);
    atomic_store_explicit(&tree->committed_items, tree->state.items, memory_order_relaxed);
    atomic_store_explicit(&tree->committed_birth, tree->env->birth, memory_order_relaxed);
    atomic_store_explicit(&tree->committed_generation, tree->env->generation, memory_order_relaxed);
    atomic_store_explicit(&tree->committed_number, tree_env_number(tree->env), memory_order_release);
}

void tree_get_marks(const struct tree *tree, struct tree_marks *marks) {
    CHECK_OBJ(tree, TREE_MAGIC);
    *marks = tree->state.marks;
}

uint64_t tree_items(const struct tree *tree) {
    CHECK_OBJ(tree, TREE_MAGIC);
    return atomic_load_explicit(&tree->committed_items, memory_order_relaxed);
}

uint64_t tree_number(const struct tree *tree) {
    CHECK_OBJ(tree, TREE_MAGIC);
    return atomic_load_explicit(&tree->committed_number, memory_order_acquire);
}

uint64_t tree_birth(const struct tree *tree) {
    CHECK_OBJ(tree, TREE_MAGIC);
    return atomic_load_explicit(&tree->committed_birth, memory_order_relaxed);
}

uint64_t tree_bytes(const struct tree *tree) {
    CHECK_OBJ(tree, TREE_MAGIC);
    return atomic_load_explicit(&tree->committed_bytes, memory_order_relaxed);
}

uint64_t tree_generation(const struct tree *tree) {
    CHECK_OBJ(tree, TREE_MAGIC);
    return atomic_load_explicit(&tree->committed_generation, memory_order_relaxed);
}

/* ---- the directory ---- */

/* The generation of a file in tree/ by its name; 0 when it is none of ours (the lock file of one is ours). */
static uint64_t generation_of(const char *name) {
    char expected[MANIFEST_TREE_NAME];
    char *end;
    uint64_t generation = strtoull(name, &end, 16);

    if (end == name)
        return 0;
    manifest_tree_name(generation, expected);
    size_t n = strlen(expected);
    if (strncmp(name, expected, n) != 0 || (name[n] != '\0' && strcmp(name + n, "-lock") != 0))
        return 0;
    return generation;
}

/* Calls fn for every generation that has a file. */
static enum status each_generation(struct tree *tree, void (*fn)(struct tree *tree, uint64_t generation)) {
    int fd;
    struct dirent *entry;
    enum status status = io_open(NULL, FAULT_TREE_CREATE, tree->tree_dir, ".", O_RDONLY | O_DIRECTORY, 0, &fd);

    if (status != ST_OK)
        return status;
    DIR *listing = fdopendir(fd);
    if (listing == NULL) {
        io_close(&fd);
        return ST_NO_MEMORY;
    }
    while ((entry = readdir(listing)) != NULL) {
        uint64_t generation = generation_of(entry->d_name);
        if (generation != 0)
            fn(tree, generation);
    }
    closedir(listing);
    return ST_OK;
}

static bool file_exists(const struct tree *tree, uint64_t generation) {
    char name[MANIFEST_TREE_NAME];
    manifest_tree_name(generation, name);
    return faccessat(tree->tree_dir, name, F_OK, 0) == 0;
}

static void remove_leftover(struct tree *tree, uint64_t generation) {
    if (generation != tree->env->generation && file_exists(tree, generation)) {
        log_info(tree->logger, "%s/tree: removing generation %llu, which an interrupted switch left", tree->path,
                 (unsigned long long)generation);
        tree_env_remove(tree, generation);
    }
}

static void note_newest(struct tree *tree, uint64_t generation) {
    if (generation >= tree->next_generation)
        tree->next_generation = generation + 1;
}

/* ---- opening ---- */

static bool is_empty(const struct tree_state *state) {
    return state->items == 0 && state->marks.applied == 0 && state->marks.m == 0 && state->marks.birth == 0;
}

/* Without a manifest only an empty first tree may be there, the trace of an interrupted first start: anything else
 * means that the manifest was lost, and starting empty would throw the data away. */
static enum status open_fresh(struct tree *tree) {
    const struct tree_state empty = {.items = 0};
    const struct manifest first = {FIRST_GENERATION};
    bool adopted = file_exists(tree, FIRST_GENERATION);
    enum status status = each_generation(tree, note_newest);

    if (status == ST_OK && tree->next_generation > FIRST_GENERATION + 1)
        status = ST_CORRUPT;
    if (status == ST_OK && !adopted)
        status = tree_env_create(tree, FIRST_GENERATION, &empty);
    if (status == ST_OK)
        status = tree_env_open(tree, FIRST_GENERATION, &tree->env, &tree->state);
    if (status == ST_OK && !is_empty(&tree->state))
        status = ST_CORRUPT;
    if (status == ST_CORRUPT)
        log_error(tree->logger, "%s: " MANIFEST_NAME " is missing but tree/ holds data: not starting empty",
                  tree->path);
    if (status == ST_OK)
        status = manifest_write(tree->dir, &tree->secret, tree->faults, &first);
    return status;
}

static enum status open_files(struct tree *tree) {
    struct manifest manifest;
    enum status status = manifest_read(tree->dir, &tree->secret, &manifest);

    if (status == ST_CORRUPT)
        log_error(tree->logger, "%s: " MANIFEST_NAME " is damaged, or the secret is not the one it was written with",
                  tree->path);
    if (status == ST_NOT_FOUND)
        status = open_fresh(tree);
    else if (status == ST_OK)
        status = tree_env_open(tree, manifest.generation, &tree->env, &tree->state);
    if (status != ST_OK)
        return status;
    tree->next_generation = tree->env->generation + 1;
    tree_env_remove_unfinished(tree);
    return each_generation(tree, remove_leftover);
}

static enum status open_directory(struct tree *tree) {
    char path[TREE_PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/tree", tree->path);

    if (n < 0 || (size_t)n + SUFFIX_ROOM > sizeof path)
        return ST_INVALID;
    return io_opendir(path, &tree->tree_dir);
}

static void init_readers(struct tree *tree) {
    for (unsigned i = 0; i < tree->reader_count; i++) {
        struct tree_reader *reader = &tree->readers[i];
        reader->magic = TREE_READER_MAGIC;
        reader->tree = tree;
        reader->env = tree->env;
        lock_init(&reader->lock, LOCK_TREE_READER);
        cond_init(&reader->moved);
    }
}

enum status tree_open(struct tree **tree, const struct tree_config *config) {
    enum status status = ST_NO_MEMORY;
    struct tree *opened = calloc(1, sizeof *opened + config->readers * sizeof opened->readers[0]);

    *tree = NULL;
    if (opened == NULL)
        return status;
    opened->magic = TREE_MAGIC;
    opened->dir = config->dir;
    opened->tree_dir = -1;
    opened->path = strdup(config->dir_name);
    opened->secret = *config->secret;
    opened->logger = config->logger;
    opened->faults = config->faults;
    sigbus_install();
    if (opened->path == NULL)
        goto out;
    opened->reader_count = config->readers; /* how many slots LMDB's lock file gets */
    status = open_directory(opened);
    if (status == ST_OK)
        status = open_files(opened);
    if (status != ST_OK)
        goto out;
    init_readers(opened);
    tree_publish(opened);
    *tree = opened;
    opened = NULL;
out:
    if (opened != NULL) {
        opened->reader_count = 0; /* not initialised yet */
        tree_close(&opened);
    }
    return status;
}

void tree_close(struct tree **tree) {
    struct tree *closed = *tree;

    *tree = NULL;
    if (closed == NULL)
        return;
    CHECK_OBJ(closed, TREE_MAGIC);
    CHECK(closed->txn == NULL);
    for (unsigned i = 0; i < closed->reader_count; i++) {
        CHECK(!closed->readers[i].used);
        closed->readers[i].magic = 0;
        cond_destroy(&closed->readers[i].moved);
        lock_destroy(&closed->readers[i].lock);
    }
    tree_env_close(&closed->env);
    io_close(&closed->tree_dir);
    free(closed->path);
    closed->magic = 0;
    free(closed);
}

/* ---- moving readers ---- */

/* Hands every reader the environment, one after the other.  NULL: they wait, unless it is lost. */
static void move_readers(struct tree *tree, struct tree_env *env, bool lost) {
    for (unsigned i = 0; i < tree->reader_count; i++) {
        struct tree_reader *reader = &tree->readers[i];
        lock_take(&reader->lock);
        tree_reader_end(reader);
        reader->env = env;
        reader->lost = lost;
        cond_broadcast(&reader->moved);
        lock_drop(&reader->lock);
    }
}

/* LMDB gives an environment up after a failed write of its meta page, and cannot grow its map under readers. */
enum status tree_reopen(struct tree *tree) {
    uint64_t generation = atomic_load_explicit(&tree->committed_generation, memory_order_relaxed);
    enum status status;

    move_readers(tree, NULL, false);
    tree_env_close(&tree->env);
    status = tree_env_open(tree, generation, &tree->env, &tree->state);
    if (status == ST_OK) {
        log_warn(tree->logger, "%s/tree: opened generation %llu again", tree->path, (unsigned long long)generation);
        tree->reopen = false;
        tree_publish(tree);
    }
    move_readers(tree, tree->env, tree->env == NULL);
    return status;
}

/* Makes sure that the manifest names the tree in use. */
enum status tree_settle(struct tree *tree) {
    const struct manifest current = {atomic_load_explicit(&tree->committed_generation, memory_order_relaxed)};
    enum status status = ST_OK;

    if (tree->unsettled)
        status = manifest_write(tree->dir, &tree->secret, tree->faults, &current);
    if (status == ST_OK && tree->unsettled) {
        tree->unsettled = false;
        for (uint64_t tried = current.generation + 1; tried < tree->next_generation; tried++) {
            if (file_exists(tree, tried))
                tree_env_remove(tree, tried);
        }
    }
    return status;
}

/* ---- switching ---- */

/* The old generation is closed when its last reader has left, so no file is ever open twice. */
static void take_over(struct tree *tree, struct tree_env *fresh, const struct tree_state *state) {
    struct tree_env *old = tree->env;
    uint64_t old_generation = atomic_load_explicit(&tree->committed_generation, memory_order_relaxed);

    tree->env = fresh;
    tree->state = *state;
    tree->reopen = false;
    tree->swept_bytes = 0;
    tree_publish(tree);
    move_readers(tree, fresh, false);
    tree_env_close(&old);
    tree_env_remove(tree, old_generation);
}

/* Right after a failed manifest_write: the rename was not reached. */
static bool manifest_names(const struct tree *tree, uint64_t generation) {
    struct manifest found;
    return manifest_read(tree->dir, &tree->secret, &found) == ST_OK && found.generation == generation;
}

enum status tree_replace(struct tree *tree, const struct tree_marks *marks) {
    struct tree_state state = {.marks = *marks};
    struct tree_env *fresh = NULL;
    uint64_t current = tree_generation(tree); /* tree->env may be lost for now */
    enum status status;

    CHECK(tree->txn == NULL);
    status = tree_settle(tree);
    if (status != ST_OK)
        return status;
    const struct manifest next = {tree->next_generation++};
    status = tree_env_create(tree, next.generation, &state);
    if (status == ST_OK)
        status = tree_env_open(tree, next.generation, &fresh, &state);
    if (status == ST_OK) {
        status = manifest_write(tree->dir, &tree->secret, tree->faults, &next);
        tree->unsettled = status != ST_OK && !manifest_names(tree, current);
    }
    if (status == ST_OK) {
        (void)fault_hit(tree->faults, FAULT_TREE_SWITCH); /* to be killed at: nothing here can fail any more */
        take_over(tree, fresh, &state);
        return ST_OK;
    }
    tree_env_close(&fresh);
    log_warn(tree->logger, "%s/tree: switching to an empty tree failed: %s", tree->path, status_text(status));
    if (!tree->unsettled)
        tree_env_remove(tree, next.generation);
    else if (tree_settle(tree) != ST_OK)
        log_warn(tree->logger, "%s: " MANIFEST_NAME " cannot be put back now; nothing is committed before it is",
                 tree->path);
    return status;
}
