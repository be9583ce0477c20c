/* SPDX-License-Identifier: BSD-3-Clause */
/* Transactions.  Only lookups run under sigbus_guard: LMDB cannot be left in the middle of a change.  A lookup has
 * read every page of the key's path, so what a change still reads are siblings and the list of free pages. */
#include <errno.h>
#include <lmdb.h>

#include "src/base/check.h"
#include "src/base/logger.h"
#include "storage/item.h"
#include "storage/sigbus.h"
#include "storage/tree_internal.h"

enum { PAGE_BYTES = 4096 };

/* ---- the running transaction ---- */

enum status tree_txn_failed(struct tree *tree, int error) {
    enum status status = tree_status(tree, error);

    if (error == MDB_MAP_FULL || error == MDB_PANIC)
        tree->reopen = true;
    if (tree->txn_status == ST_OK)
        tree->txn_status = status;
    return status;
}

uint64_t tree_txn_bytes(const struct tree *tree) {
    CHECK_OBJ(tree, TREE_MAGIC);
    return tree->dirty_bytes;
}

static int begin(struct tree *tree) {
    int rc = mdb_txn_begin(tree->env->env, NULL, 0, &tree->txn);

    if (rc == 0)
        rc = mdb_cursor_open(tree->txn, tree->env->items, &tree->items);
    if (rc == 0)
        rc = mdb_cursor_open(tree->txn, tree->env->expiry, &tree->expiry);
    if (rc != 0 && tree->txn != NULL)
        mdb_txn_abort(tree->txn);
    tree->txn = rc == 0 ? tree->txn : NULL;
    return rc;
}

enum status tree_txn_begin(struct tree *tree) {
    enum status status;
    int rc;

    CHECK_OBJ(tree, TREE_MAGIC);
    CHECK(tree->txn == NULL);
    status = tree_settle(tree);
    if (status == ST_OK && (tree->env == NULL || tree->reopen))
        status = tree_reopen(tree);
    if (status != ST_OK)
        return status;
    rc = begin(tree);
    if (rc == MDB_PANIC) {
        status = tree_reopen(tree);
        rc = status == ST_OK ? begin(tree) : 0;
    }
    if (status == ST_OK)
        status = tree_status(tree, rc);
    if (status != ST_OK)
        return status;
    tree->pending = tree->state;
    tree->txn_status = ST_OK;
    tree->dirty_bytes = 0;
    tree->index_last = 0;
    return ST_OK;
}

/* The cursors of a writing transaction end with it. */
static void forget_txn(struct tree *tree) {
    tree->txn = NULL;
    tree->items = tree->expiry = NULL;
}

void tree_txn_abort(struct tree *tree) {
    CHECK_OBJ(tree, TREE_MAGIC);
    CHECK(tree->txn != NULL);
    mdb_txn_abort(tree->txn);
    forget_txn(tree);
    tree->swept_bytes = 0; /* what was examined is there again */
}

/* Everything of the commit that can fail without LMDB's commit having been called. */
static enum status prepare(struct tree *tree, const struct tree_marks *marks, uint64_t *bytes) {
    MDB_stat items;
    int fault;

    if (tree->txn_status != ST_OK)
        return tree->txn_status;
    fault = fault_hit(tree->faults, FAULT_TREE_COMMIT);
    if (fault != 0)
        return status_from_errno(fault > 0 ? fault : EIO);
    tree->pending.marks = *marks;
    enum status status = tree_state_put(tree, tree->txn, tree->env->meta, &tree->pending);
    if (status != ST_OK)
        return status;
    CHECK(mdb_stat(tree->txn, tree->env->items, &items) == 0);
    CHECK(items.ms_entries == tree->pending.items);
    *bytes = tree_env_count_bytes(tree->env, tree->txn);
    return ST_OK;
}

/* The transaction is gone, and sometimes the environment too: then readers wait until it is open again, so do that
 * now and not when the next transaction begins. */
static enum status commit_failed(struct tree *tree, int error) {
    enum status status = tree_status(tree, error);

    log_warn(tree->logger, "%s/tree: a commit failed: %s", tree->path, tree_error_text(error));
    if (error == MDB_MAP_FULL || tree_env_panicked(tree->env)) {
        tree->reopen = true;
        enum status reopened = tree_reopen(tree);
        status = reopened == ST_OK ? status : reopened;
    }
    return status;
}

enum status tree_txn_commit(struct tree *tree, const struct tree_marks *marks) {
    uint64_t bytes = 0;
    enum status status;
    int rc;

    CHECK_OBJ(tree, TREE_MAGIC);
    CHECK(tree->txn != NULL);
    CHECK(marks->birth == tree->env->birth);
    status = prepare(tree, marks, &bytes);
    if (status != ST_OK) {
        tree_txn_abort(tree);
        return status;
    }
    rc = mdb_txn_commit(tree->txn);
    forget_txn(tree);
    if (rc != 0) {
        tree->swept_bytes = 0;
        return commit_failed(tree, rc);
    }
    tree->state = tree->pending;
    tree->env->bytes = bytes;
    tree_publish(tree);
    (void)fault_hit(tree->faults, FAULT_TREE_COMMITTED); /* to be killed or slowed at: it has happened */
    return ST_OK;
}

/* ---- one record ---- */

struct finding {
    struct tree *tree;
    struct slice key;
    struct tree_found *found;
    int rc;
};

/* The record, or its neighbour: that one tells whether the page is dirty already. */
static void find(void *arg) {
    struct finding *f = arg;
    MDB_val key = {f->key.n, (void *)f->key.p}, data;
    const struct tree_env *env = f->tree->env;

    f->rc = mdb_cursor_get(f->tree->items, &key, &data, MDB_SET_RANGE);
    if (f->rc == 0) {
        const char *at = data.mv_data;
        f->found->mapped = at >= env->map && at < env->map + env->map_bytes;
        if (slice_equal(slice_of(key.mv_data, key.mv_size), f->key))
            tree_found_set(f->tree, slice_of(at, data.mv_size), f->found);
    }
}

enum status tree_txn_find(struct tree *tree, struct slice key, struct tree_found *found) {
    struct finding f = {tree, key, found, 0};
    enum status status;

    found->exists = found->sound = found->mapped = false;
    status = sigbus_guard(find, &f);
    if (status != ST_OK) {
        tree->txn_status = status; /* the cursor is in an unknown state */
        return status;
    }
    found->beyond = f.rc == MDB_NOTFOUND;
    if (found->beyond)
        return ST_OK;
    if (f.rc != 0)
        return tree_txn_failed(tree, f.rc);
    if (found->exists && !found->sound)
        tree_report_damage(tree, key, "damaged header in the tree's record");
    return ST_OK;
}

/* A damaged record's checksum is not known any more, so the sum over all records is not either. */
static void forget_old(struct tree *tree, const struct tree_found *old) {
    if (!old->exists)
        return;
    tree->pending.sum -= old->sound ? old->sum : 0;
    tree->pending.unsound += old->sound ? 0 : 1;
    tree->pending.items--;
}

/* LMDB does not tell how many pages are dirty: one more when the record's page was clean, what was added to the page,
 * and the pages of its own that a large value has. */
static void note_dirty(struct tree *tree, const struct tree_found *old, size_t added, size_t record_bytes) {
    tree->dirty_bytes += (old->mapped ? PAGE_BYTES : 0) + (record_bytes < PAGE_BYTES ? added : record_bytes);
}

enum status tree_txn_put(struct tree *tree, struct slice key, const struct tree_found *old,
                         const struct record *record) {
    unsigned char header[RECORD_HEADER_MAX];
    uint64_t sum;
    size_t n = record_header(record, &tree->secret, header, &sum);
    MDB_val at = {key.n, (void *)key.p}, data = {n + record->value.n, NULL};
    unsigned where = old->exists ? MDB_CURRENT : old->beyond ? MDB_APPEND : 0;
    int rc = mdb_cursor_put(tree->items, &at, &data, MDB_RESERVE | where);

    if (rc != 0)
        return tree_txn_failed(tree, rc);
    memcpy(data.mv_data, header, n);
    memcpy((char *)data.mv_data + n, record->value.p, record->value.n);
    forget_old(tree, old);
    tree->pending.items++;
    tree->pending.sum += sum;
    note_dirty(tree, old, old->exists ? 0 : key.n + data.mv_size, data.mv_size);
    return ST_OK;
}

enum status tree_txn_drop(struct tree *tree, const struct tree_found *old) {
    int rc = mdb_cursor_del(tree->items, 0);

    if (rc != 0)
        return tree_txn_failed(tree, rc);
    forget_old(tree, old);
    note_dirty(tree, old, 0, 0);
    return ST_OK;
}

/* ---- applying ---- */

/* Keeps the old bucket while it comes due no later than the new expiry: refreshing costs no index write. */
static bool keeps_bucket(const struct tree_found *old, int64_t exptime) {
    if (!old->sound || old->record.bucket == RECORD_NO_BUCKET)
        return false;
    return exptime == 0 || old->record.bucket <= record_bucket_of(exptime);
}

static enum status apply_put(struct tree *tree, const struct item *item, const struct tree_found *old) {
    struct slice key = item_key(item);
    struct record record = {
        .kind = RECORD_INLINE,
        .marks = item->marks,
        .flags = item->flags,
        .lsn = item->lsn,
        .exptime = item->exptime,
        .bucket = record_bucket_of(item->exptime),
        .cas = item->has_cas ? item_cas(item) : 0,
        .value_sum = record_value_sum(&tree->secret, key, item_value(item)),
        .value = item_value(item),
    };
    uint64_t old_bucket = old->sound ? old->record.bucket : RECORD_NO_BUCKET;
    bool keep = keeps_bucket(old, item->exptime);
    enum status status;

    if (keep)
        record.bucket = old_bucket;
    status = tree_txn_put(tree, key, old, &record);
    if (status == ST_OK && !keep && old_bucket != RECORD_NO_BUCKET)
        status = tree_index_remove(tree, old_bucket, key);
    if (status == ST_OK && !keep && record.bucket != RECORD_NO_BUCKET)
        status = tree_index_add(tree, record.bucket, key);
    return status;
}

static enum status apply_delete(struct tree *tree, struct slice key, const struct tree_found *old) {
    uint64_t bucket = old->sound ? old->record.bucket : RECORD_NO_BUCKET;
    enum status status = ST_OK;

    if (old->exists)
        status = tree_txn_drop(tree, old);
    if (status == ST_OK && bucket != RECORD_NO_BUCKET)
        status = tree_index_remove(tree, bucket, key);
    return status;
}

enum status tree_txn_apply(struct tree *tree, const struct item *item, int64_t now) {
    struct tree_found old;
    enum status status;

    CHECK_OBJ(tree, TREE_MAGIC);
    CHECK(tree->txn != NULL);
    if (tree->txn_status != ST_OK)
        return tree->txn_status;
    status = tree_txn_find(tree, item_key(item), &old);
    /* The same LSN is the same record: a chunk that is applied again writes nothing. */
    if (status != ST_OK || (old.sound && old.record.lsn >= item->lsn))
        return status;
    if (item->kind == ITEM_TOMBSTONE || (now != 0 && item_expired(item, now)))
        return apply_delete(tree, item_key(item), &old);
    return apply_put(tree, item, &old);
}
