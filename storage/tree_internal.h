/* SPDX-License-Identifier: BSD-3-Clause */
/* tree_internal: what the files storage/tree*.c share; nobody else includes it.
 *
 *   tree.c        opening the directory, the manifest, switching generations, moving readers
 *   tree_env.c    one LMDB file: opening, creating, its state record, statuses
 *   tree_read.c   lookups and scans
 *   tree_write.c  transactions
 *   tree_expiry.c the expiry index
 *
 * An LMDB file has three databases: items (key -> record.h), expiry (bucket as 8 bytes big-endian, key -> nothing)
 * and meta (one entry, the state).  What is committed with each chunk is in struct tree_state.
 *
 * Closing a file needs every read transaction on it to be gone.  Readers are slots in struct tree: each has a lock,
 * held while its owner reads; the tree thread takes them in turn, ends the idle transaction and hands the slot the
 * new environment, or none: then the owner waits on `moved` until the file is open again. */
#ifndef COFFER_STORAGE_TREE_INTERNAL_H
#define COFFER_STORAGE_TREE_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/lock.h"
#include "storage/manifest.h"
#include "storage/record.h"
#include "storage/tree.h"

struct MDB_env;
struct MDB_txn;
struct MDB_cursor;

enum {
    TREE_MAGIC = 0x74726565,
    TREE_READER_MAGIC = 0x74726472,
    TREE_EXTRA_READERS = 16, /* reader slots for tools, probes and what a crash left */
    TREE_PATH_MAX = 4096,
    TREE_INDEX_KEY_MAX = 8 + STORE_KEY_MAX,
    TREE_NUMBER_SHIFT = 40, /* generation above, LMDB's transaction below */
};

/* Address space asked for: more than any tree; the thread sanitizer's memory layout has no room for that. */
#ifdef __SANITIZE_THREAD__
#define TREE_MAP_BYTES (UINT64_C(1) << 34)
#else
#define TREE_MAP_BYTES (UINT64_C(1) << 40)
#endif
#define TREE_MAP_BYTES_MIN (UINT64_C(1) << 26)

/* One open file; all but bytes is constant while it is open. */
struct tree_env {
    struct MDB_env *env;
    unsigned items, expiry, meta; /* MDB_dbi */
    uint64_t generation;
    uint64_t birth;
    const char *map;
    size_t map_bytes;
    uint64_t bytes; /* of the last commit; the tree thread's own */
};

struct tree_state {
    struct tree_marks marks;
    uint64_t items;   /* records */
    uint64_t sum;     /* of all records' checksums, modulo 2^64: a scrub that walks the tree must find the same */
    uint64_t unsound; /* damaged records that were replaced: each has spoilt `sum` */
};

struct tree_reader {
    unsigned magic;
    struct tree *tree;
    struct lock lock;  /* guards what follows */
    struct cond moved; /* env or lost has changed */
    bool used;
    bool lost;            /* the file could not be opened again */
    struct tree_env *env; /* NULL: wait, or lost */
    struct MDB_txn *txn;  /* reset between lookups; NULL: to be begun on env */
};

struct tree {
    unsigned magic;
    /* constant after tree_open */
    int dir, tree_dir;
    char *path; /* of the store's directory */
    struct hash_secret secret;
    struct logger *logger;
    struct faults *faults;

    /* the tree thread's own */
    struct tree_env *env; /* NULL: could not be opened again, tree_txn_begin tries */
    struct tree_state state;
    uint64_t next_generation;
    bool reopen;   /* the map is full, or LMDB refuses to go on */
    bool unsettled; /* MANIFEST may name another generation than `env`: nothing may be committed */

    /* the running transaction, the tree thread's own */
    struct MDB_txn *txn;
    struct MDB_cursor *items, *expiry;
    struct tree_state pending;
    enum status txn_status; /* the first failure; nothing is committed after one */
    uint64_t dirty_bytes;
    uintptr_t index_last; /* where the last index entry was put */
    unsigned char swept[TREE_INDEX_KEY_MAX]; /* last index key of this round of tree_txn_expire */
    size_t swept_bytes;                      /* 0: a new round begins */

    /* for any thread */
    _Atomic uint64_t committed_items, committed_number, committed_birth, committed_bytes, committed_generation;
    _Atomic uint64_t damaged; /* records found damaged by readers */

    unsigned reader_count;
    struct tree_reader readers[];
};

/* A part of a guarded lookup. */
struct tree_found {
    bool exists;
    bool beyond; /* the key is above all keys of the tree */
    bool sound;  /* the header is valid: record and sum may be used */
    bool mapped; /* its page (or that of its right neighbour) is not dirty yet */
    uint64_t sum;
    struct record record; /* record.value points into the map or a dirty page: gone with the next change */
};

/* tree_env.c */

enum status tree_status(const struct tree *tree, int error);
const char *tree_error_text(int error);
enum status tree_env_open(struct tree *tree, uint64_t generation, struct tree_env **env,
                          struct tree_state *state) MUST_CHECK;
void tree_env_close(struct tree_env **env);
/* Makes the file of a generation, durable under its final name, holding only this state. */
enum status tree_env_create(struct tree *tree, uint64_t generation, const struct tree_state *state) MUST_CHECK;
/* Removes the files of a generation; a failure is only logged, since the next start tries again. */
void tree_env_remove(struct tree *tree, uint64_t generation);
void tree_env_remove_unfinished(struct tree *tree); /* what an interrupted tree_env_create left */
enum status tree_state_put(struct tree *tree, struct MDB_txn *txn, unsigned meta,
                           const struct tree_state *state) MUST_CHECK;
/* Of the pages that hold data, as this transaction sees them. */
uint64_t tree_env_count_bytes(const struct tree_env *env, struct MDB_txn *txn);
uint64_t tree_env_number(const struct tree_env *env);
/* LMDB has given the environment up: every transaction fails until it is opened again. */
bool tree_env_panicked(const struct tree_env *env);

/* tree.c */

void tree_publish(struct tree *tree);
enum status tree_reopen(struct tree *tree) MUST_CHECK;
enum status tree_settle(struct tree *tree) MUST_CHECK;

/* tree_read.c */

void tree_reader_end(struct tree_reader *reader); /* the lock is held: ends the idle transaction */
void tree_found_set(const struct tree *tree, struct slice bytes, struct tree_found *found);
/* Says so in the log, but not a million times. */
void tree_report_damage(struct tree *tree, struct slice key, const char *what);

/* tree_write.c */

/* Looks the key up with the items cursor. */
enum status tree_txn_find(struct tree *tree, struct slice key, struct tree_found *found) MUST_CHECK;
/* Puts record and value at the cursor, which tree_txn_find has set for this key; the value must not lie in a page
 * that the put may change. */
enum status tree_txn_put(struct tree *tree, struct slice key, const struct tree_found *old,
                         const struct record *record) MUST_CHECK;
/* Deletes the record at the cursor. */
enum status tree_txn_drop(struct tree *tree, const struct tree_found *old) MUST_CHECK;
/* Makes error the transaction's status. */
enum status tree_txn_failed(struct tree *tree, int error);

/* tree_expiry.c */

enum status tree_index_add(struct tree *tree, uint64_t bucket, struct slice key) MUST_CHECK;
enum status tree_index_remove(struct tree *tree, uint64_t bucket, struct slice key) MUST_CHECK;

#endif
