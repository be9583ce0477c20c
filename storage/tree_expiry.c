/* SPDX-License-Identifier: BSD-3-Clause */
/* The expiry index: for every record with a bucket one entry (bucket, key).  An entry without such a record is
 * dropped when it comes due; a record without its entry would never be deleted, so the two change together. */
#include <endian.h>
#include <lmdb.h>
#include <stdlib.h>

#include "src/base/check.h"
#include "storage/sigbus.h"
#include "storage/tree_internal.h"

enum { BUCKET_BYTES = 8, PAGE_BYTES = 4096 };

struct index_key {
    unsigned char bytes[TREE_INDEX_KEY_MAX + 1]; /* one more, for the position right behind a key */
    size_t n;
};

static struct index_key index_key(uint64_t bucket, struct slice key) {
    struct index_key made;

    bucket = htobe64(bucket);
    memcpy(made.bytes, &bucket, BUCKET_BYTES);
    memcpy(made.bytes + BUCKET_BYTES, key.p, key.n);
    made.n = BUCKET_BYTES + key.n;
    return made;
}

/* What was put, and a page more when it was put far from the last. */
static void note_dirty(struct tree *tree, uintptr_t at, size_t bytes) {
    uintptr_t distance = at > tree->index_last ? at - tree->index_last : tree->index_last - at;

    tree->dirty_bytes += bytes + (distance > PAGE_BYTES ? PAGE_BYTES : 0);
    tree->index_last = at;
}

enum status tree_index_add(struct tree *tree, uint64_t bucket, struct slice key) {
    struct index_key entry = index_key(bucket, key);
    MDB_val at = {entry.n, entry.bytes}, data = {0, NULL};
    int rc = mdb_cursor_put(tree->expiry, &at, &data, MDB_RESERVE);

    if (rc != 0)
        return tree_txn_failed(tree, rc);
    note_dirty(tree, (uintptr_t)data.mv_data, entry.n);
    return ST_OK;
}

struct seeking {
    struct tree *tree;
    struct index_key *entry; /* in: where to look; out: what is there */
    MDB_cursor_op op;
    bool sound; /* the key found can be an entry */
    int rc;
};

static void seek(void *arg) {
    struct seeking *s = arg;
    MDB_val at = {s->entry->n, s->entry->bytes}, data;

    s->rc = mdb_cursor_get(s->tree->expiry, &at, &data, s->op);
    if (s->rc != 0)
        return;
    s->sound = at.mv_size > BUCKET_BYTES && at.mv_size <= TREE_INDEX_KEY_MAX;
    if (s->sound && s->op == MDB_SET_RANGE) {
        s->entry->n = at.mv_size;
        memcpy(s->entry->bytes, at.mv_data, at.mv_size);
    }
}

/* ST_NOT_FOUND: there is nothing. */
static enum status find_entry(struct tree *tree, struct index_key *entry, MDB_cursor_op op) {
    struct seeking s = {tree, entry, op, false, 0};
    enum status status = sigbus_guard(seek, &s);

    if (status == ST_OK && s.rc == 0 && !s.sound)
        status = ST_CORRUPT;
    if (status != ST_OK)
        tree->txn_status = status;
    else if (s.rc == MDB_NOTFOUND)
        status = ST_NOT_FOUND;
    else if (s.rc != 0)
        status = tree_txn_failed(tree, s.rc);
    return status;
}

enum status tree_index_remove(struct tree *tree, uint64_t bucket, struct slice key) {
    struct index_key entry = index_key(bucket, key);
    enum status status = find_entry(tree, &entry, MDB_SET);

    if (status == ST_NOT_FOUND)
        return ST_OK;
    if (status == ST_OK) {
        int rc = mdb_cursor_del(tree->expiry, 0);
        status = rc == 0 ? ST_OK : tree_txn_failed(tree, rc);
    }
    return status;
}

/* ---- what has come due ---- */

struct copying {
    char *to;
    struct slice from;
};

static void copy(void *arg) {
    const struct copying *copying = arg;
    memcpy(copying->to, copying->from.p, copying->from.n);
}

/* The record lives longer than its bucket: it moves to the bucket of its expiry, or out of the index.  Its value may
 * lie in the page that the put changes, so it is copied first. */
static enum status move(struct tree *tree, struct slice key, const struct tree_found *found) {
    struct record record = found->record;
    char *bytes = malloc(record.value.n + 1);
    struct copying copying = {bytes, record.value};
    enum status status;

    if (bytes == NULL)
        return ST_NO_MEMORY;
    status = sigbus_guard(copy, &copying);
    if (status != ST_OK) {
        tree->txn_status = status;
        goto out;
    }
    record.value.p = bytes;
    record.bucket = record_bucket_of(record.exptime);
    status = tree_txn_put(tree, key, found, &record);
    if (status == ST_OK && record.bucket != RECORD_NO_BUCKET)
        status = tree_index_add(tree, record.bucket, key);
out:
    free(bytes);
    return status;
}

/* One due entry: it goes, and its record with it or elsewhere. */
static enum status expire_one(struct tree *tree, uint64_t bucket, struct slice key, int64_t now, unsigned *freed) {
    struct tree_found found;
    enum status status = tree_txn_find(tree, key, &found);

    if (status == ST_OK && found.sound && found.record.bucket == bucket) {
        if (found.record.exptime != 0 && found.record.exptime <= now) {
            status = tree_txn_drop(tree, &found);
            *freed += status == ST_OK;
        } else {
            status = move(tree, key, &found);
        }
    }
    return status == ST_OK ? tree_index_remove(tree, bucket, key) : status;
}

/* The first entry of this round behind the last one examined. */
static enum status next_entry(struct tree *tree, struct index_key *entry) {
    memset(entry->bytes, 0, sizeof entry->bytes);
    memcpy(entry->bytes, tree->swept, tree->swept_bytes);
    entry->n = tree->swept_bytes + 1; /* one more byte of 0: the least key above */
    return find_entry(tree, entry, MDB_SET_RANGE);
}

static uint64_t bucket_of(const struct index_key *entry) {
    uint64_t bucket;
    memcpy(&bucket, entry->bytes, BUCKET_BYTES);
    return be64toh(bucket);
}

/* Skipped entries stay in front, so the place is kept from call to call: a round ends when nothing more is due. */
enum status tree_txn_expire(struct tree *tree, int64_t now, unsigned limit, bool (*skip)(void *arg, struct slice key),
                            void *arg, unsigned *examined, unsigned *freed) {
    enum status status = ST_OK;

    CHECK_OBJ(tree, TREE_MAGIC);
    CHECK(tree->txn != NULL);
    *examined = *freed = 0;
    if (tree->txn_status != ST_OK)
        return tree->txn_status;
    while (status == ST_OK && *examined < limit) {
        struct index_key entry;
        status = next_entry(tree, &entry);
        if (status != ST_OK || !record_bucket_due(bucket_of(&entry), now))
            break;
        struct slice key = slice_of((char *)entry.bytes + BUCKET_BYTES, entry.n - BUCKET_BYTES);
        if (!skip(arg, key))
            status = expire_one(tree, bucket_of(&entry), key, now, freed);
        memcpy(tree->swept, entry.bytes, entry.n);
        tree->swept_bytes = entry.n;
        ++*examined;
    }
    if (*examined < limit)
        tree->swept_bytes = 0;
    return status == ST_NOT_FOUND ? ST_OK : status;
}
