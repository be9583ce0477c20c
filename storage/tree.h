/* SPDX-License-Identifier: BSD-3-Clause */
/* tree: the LMDB B-tree on disk, key -> record, with its expiry index; the only module that knows LMDB.
 *
 * The manifest names the current generation's file.  A record holds its LSN, flags, exptime, marks, cas where it
 * differs, value, expiry bucket and a keyed checksum (record.h); a put never replaces a record with a higher LSN.
 * Values too big for a leaf sit in overflow pages.  Every commit is synced (no NOSYNC, no WRITEMAP).
 *
 * The expiry index maps (bucket, key); a record's bucket is decided at apply from the old record: kept if the old
 * bucket is not later than the new expiry, so refreshing a session costs no index write.
 *
 * Threads: one tree thread calls everything named tree_txn_* and tree_replace; any thread reads through its own
 * tree_reader, which tree_replace moves to the new generation. */
#ifndef COFFER_STORAGE_TREE_H
#define COFFER_STORAGE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/hash.h"
#include "src/base/slice.h"
#include "storage/store.h"

struct tree;
struct tree_reader;
struct item;

struct tree_config {
    int dir;              /* descriptor of the store's directory (holds MANIFEST and tree/); borrowed */
    const char *dir_name; /* its path, for LMDB and messages */
    const struct hash_secret *secret;
    unsigned readers;     /* how many tree_readers at most */
    struct logger *logger;
    struct faults *faults;
};

/* What is committed with the data. */
struct tree_marks {
    uint64_t applied;     /* every log record up to here is in the tree */
    uint64_t m;           /* nothing in the tree is newer than this */
    uint64_t birth;       /* the flush that this tree was made for; records below are dead */
    int64_t wall;         /* the last wall time seen */
    int64_t flush_at;     /* a pending delayed flush; 0 = none */
};

enum status tree_open(struct tree **tree, const struct tree_config *config) MUST_CHECK;
void tree_close(struct tree **tree); /* readers must be closed */

void tree_get_marks(const struct tree *tree, struct tree_marks *marks); /* of the last commit; tree thread */
uint64_t tree_items(const struct tree *tree);  /* records in the last commit; any thread */
uint64_t tree_number(const struct tree *tree); /* of the last commit; any thread */
uint64_t tree_birth(const struct tree *tree);  /* any thread */
uint64_t tree_bytes(const struct tree *tree);  /* pages in use, in bytes; any thread */
uint64_t tree_generation(const struct tree *tree);

/* ---- reading ---- */

enum status tree_reader_open(struct tree_reader **reader, struct tree *tree) MUST_CHECK;
void tree_reader_close(struct tree_reader **reader);

/* Looks the key up in a snapshot taken now (the transaction is renewed).  *item is a new item (the caller's
 * reference) with lsn, hash_high unset (0), or NULL when the key has no record.  *number: (generation << 40 | txnid)
 * of the snapshot; *birth: that tree's birth.  ST_CORRUPT: the checksum failed; ST_IO: SIGBUS under the map; then
 * *item is NULL. */
enum status tree_get(struct tree_reader *reader, struct slice key, struct item **item, uint64_t *number,
                     uint64_t *birth) MUST_CHECK;

/* Up to `limit` records above the key `after` (empty: from the first) that start with `prefix`, as new items, in key
 * order.  Without `values` the items have empty values and sizes[i] tells the length.  items and sizes have room for
 * `limit`.  *more: the limit, not the end, stopped it.  The snapshot is taken now and left before returning. */
enum status tree_scan(struct tree_reader *reader, struct slice after, struct slice prefix, unsigned limit, bool values,
                      struct item **items, uint64_t *sizes, unsigned *count, bool *more, uint64_t *number,
                      uint64_t *birth) MUST_CHECK;

/* ---- writing: the tree thread ---- */

enum status tree_txn_begin(struct tree *tree) MUST_CHECK;
/* Puts the item, or deletes the key for a tombstone or an item that has expired at `now` (now 0: nothing has),
 * unless the tree's record is newer. */
enum status tree_txn_apply(struct tree *tree, const struct item *item, int64_t now) MUST_CHECK;
/* Deletes records whose expiry is due at `now`, at most `limit` index entries; moves entries whose record lives
 * longer.  skip(arg, key) true: leave this entry where it is, RAM has a DIRTY version (its own apply will see to
 * it).  *examined < limit: nothing more is due. *freed: records deleted. */
enum status tree_txn_expire(struct tree *tree, int64_t now, unsigned limit, bool (*skip)(void *arg, struct slice key),
                            void *arg, unsigned *examined, unsigned *freed) MUST_CHECK;
/* Bytes of dirty pages, roughly, that the running transaction holds. */
uint64_t tree_txn_bytes(const struct tree *tree);
/* Commits, synced, with these marks.  On error the transaction is gone and nothing of it is in the tree. */
enum status tree_txn_commit(struct tree *tree, const struct tree_marks *marks) MUST_CHECK;
void tree_txn_abort(struct tree *tree);

/* flush_all: makes a new, empty generation with these marks, switches the manifest to it, moves all readers, removes
 * the old file.  After an error the old tree is still in use. */
enum status tree_replace(struct tree *tree, const struct tree_marks *marks) MUST_CHECK;

/* The bucket that an expiry falls in, and the seconds in a bucket. */
enum { TREE_BUCKET_SECONDS = 8 };

#endif
