/* SPDX-License-Identifier: BSD-3-Clause */
/* One checkpoint: the DIRTY items of the RAM table become tree records, sorted by key, in small synced commits.
 *
 * Order, and why:
 *   1. F, the flush LSN, is read, then C, then every stripe is walked.  What has an LSN up to C was published before
 *      its stripe was walked, since LSN and publication are one critical section.
 *   2. M = max(C, the highest LSN taken, the flushes acted on).  Nothing touches the tree before the log is durable up
 *      to M: the tree may never know more than a log that lost its tail.
 *   3. If a flush came in during the walk, what was taken may be newer than the flush but would go to the tree that
 *      the flush is about to replace: give up, replace the tree, start again.  A flush after the walk only kills what
 *      was taken.  It is applied all the same, since that flush need not be durable yet; table_mark_clean drops the
 *      dead from RAM.
 *   4. M is committed with the first chunk, applied = C with the last.  Between, tree plus log up to M is a consistent
 *      state at every moment.
 *   5. After each commit its items become CLEAN: the tree holds exactly these versions.  They make room for waiting
 *      writers long before the whole set is through.  */
#include <stdlib.h>

#include "src/base/check.h"
#include "storage/item.h"
#include "storage/store_internal.h"

enum {
    CHUNK_ITEMS = 4000,
    CHUNK_BYTES = 12 << 20, /* of dirty pages: what the transaction costs in memory */
};

/* The sort's view of an item: eight bytes of its key after what all keys share, so that most comparisons touch no
 * item. */
struct sorted {
    uint64_t order;
    struct item *item;
};

struct batch {
    struct sorted *items;
    size_t count;
    uint64_t m;
    struct pending_flush pending; /* as it was at or after C, and not after M */
};

static uint64_t load_order(struct slice key, size_t skip) {
    uint64_t order = 0;

    for (size_t i = 0; i < sizeof order; i++)
        order = order << 8 | (i + skip < key.n ? (unsigned char)key.p[i + skip] : 0);
    return order;
}

static int compare_sorted(const void *a, const void *b) {
    const struct sorted *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return slice_compare(item_key(x->item), item_key(y->item));
}

static size_t shared_prefix(struct item *const *items, size_t count) {
    struct slice first = item_key(items[0]);
    size_t shared = first.n;

    for (size_t i = 1; i < count && shared > 0; i++) {
        struct slice key = item_key(items[i]);
        size_t n = 0;

        while (n < shared && n < key.n && key.p[n] == first.p[n])
            n++;
        shared = n;
    }
    return shared;
}

static void batch_free(struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        item_unref(&batch->items[i].item);
    free(batch->items);
    *batch = (struct batch){0};
}

/* Takes and sorts what is DIRTY; m becomes the highest LSN among it, if higher. */
static enum status batch_take(struct store *store, struct batch *batch) {
    struct item **items = NULL;
    size_t count = 0, shared;
    enum status status = table_collect_dirty(store->table, &items, &count);

    if (status != ST_OK || count == 0)
        goto out;
    batch->items = malloc(count * sizeof *batch->items);
    if (batch->items == NULL) {
        for (size_t i = 0; i < count; i++)
            item_unref(&items[i]);
        status = ST_NO_MEMORY;
        goto out;
    }
    batch->count = count;
    shared = shared_prefix(items, count);
    for (size_t i = 0; i < count; i++) {
        batch->items[i] = (struct sorted){load_order(item_key(items[i]), shared), items[i]};
        if (items[i]->lsn > batch->m)
            batch->m = items[i]->lsn;
    }
    qsort(batch->items, count, sizeof *batch->items, compare_sorted);
out:
    free(items);
    return status;
}

static enum status commit(struct store *store, const struct batch *batch, uint64_t applied) {
    struct tree_marks marks;

    tree_get_marks(store->tree, &marks);
    if (applied > marks.applied)
        marks.applied = applied;
    if (batch->m > marks.m)
        marks.m = batch->m;
    marks.flush_at = batch->pending.at;
    marks.wall = clock_wall(store->config.clock);
    return tree_txn_commit(store->tree, &marks);
}

/* The tree holds everything up to `applied`. */
static void note_applied(struct store *store, uint64_t applied, bool replaying) {
    if (applied <= atomic_load(&store->applied))
        return;
    atomic_store(&store->applied, applied);
    if (!replaying)
        log_applied(store->log, applied);
}

/* Applies one chunk from `from`; *to is where the next one starts.  Dead is what the tree's own flush has killed: a
 * later one may be lost in a crash, and what it would have killed must be there then. */
static enum status apply_chunk(struct store *store, const struct batch *batch, size_t from, size_t *to) {
    int64_t now = treejob_expiry_now(store);
    uint64_t flush_lsn = tree_birth(store->tree);
    enum status status = tree_txn_begin(store->tree);
    size_t at = from;

    if (status != ST_OK)
        return status;
    for (; at < batch->count && at - from < CHUNK_ITEMS && tree_txn_bytes(store->tree) < CHUNK_BYTES; at++) {
        const struct item *item = batch->items[at].item;

        if (at + 8 < batch->count)
            __builtin_prefetch(batch->items[at + 8].item);
        if (item->lsn < flush_lsn)
            continue;
        status = tree_txn_apply(store->tree, item, now);
        if (status != ST_OK) {
            tree_txn_abort(store->tree);
            return status;
        }
    }
    *to = at;
    return ST_OK;
}

static void mark_chunk_clean(struct store *store, struct batch *batch, size_t from, size_t to) {
    uint64_t number = tree_number(store->tree);

    for (size_t i = from; i < to; i++) {
        if (i + 8 < to)
            __builtin_prefetch(batch->items[i + 8].item);
        table_mark_clean(store->table, batch->items[i].item, number);
        item_unref(&batch->items[i].item);
    }
    room_wake(store);
}

static bool out_of_time(const struct store *store) {
    uint64_t deadline = atomic_load_explicit(&store->deadline_micros, memory_order_relaxed);
    return deadline != 0 && clock_micros() >= deadline;
}

static enum status apply_batch(struct store *store, struct batch *batch, const struct checkpoint_limits *limits) {
    size_t at = 0, next = 0;
    enum status status;

    do { /* at least one commit, so that `applied` moves though nothing is DIRTY */
        status = apply_chunk(store, batch, at, &next);
        if (status == ST_OK)
            status = commit(store, batch, next == batch->count ? limits->upto : 0);
        if (status != ST_OK)
            return status;
        mark_chunk_clean(store, batch, at, next);
        at = next;
        if (at < batch->count && out_of_time(store))
            return ST_AGAIN;
    } while (at < batch->count);
    return ST_OK;
}

enum status checkpoint_replace_tree(struct store *store, bool replaying) {
    uint64_t flush_lsn = table_flush_lsn(store->table);
    struct pending_flush pending = flush_pending(store);
    struct tree_marks marks;
    enum status status;

    if (flush_lsn <= tree_birth(store->tree))
        return ST_OK;
    tree_get_marks(store->tree, &marks);
    marks.applied = marks.birth = flush_lsn;
    marks.m = pending.lsn > flush_lsn ? pending.lsn : flush_lsn;
    marks.flush_at = pending.at;
    marks.wall = clock_wall(store->config.clock);
    status = replaying ? ST_OK : log_make_durable(store->log, marks.m);
    if (status != ST_OK)
        return status;
    status = tree_replace(store->tree, &marks);
    if (status != ST_OK)
        return status;
    note_applied(store, flush_lsn, replaying);
    room_wake(store);
    return ST_OK;
}

static enum status checkpoint_try(struct store *store, const struct checkpoint_limits *limits, size_t *count) {
    struct batch batch = {.m = limits->upto};
    uint64_t flush_lsn;
    enum status status = checkpoint_replace_tree(store, limits->replaying);

    if (status != ST_OK)
        return status;
    flush_lsn = tree_birth(store->tree);
    batch.pending = flush_pending(store);
    if (batch.pending.lsn > batch.m)
        batch.m = batch.pending.lsn;
    status = batch_take(store, &batch);
    if (status != ST_OK)
        goto out;
    if (table_flush_lsn(store->table) > flush_lsn) {
        status = ST_BUSY; /* a flush came in between: see 3. above */
        goto out;
    }
    (void)fault_hit(store->config.faults, FAULT_CHECKPOINT_WAIT);
    if (!limits->replaying) {
        status = log_make_durable(store->log, batch.m);
        if (status != ST_OK)
            goto out;
    }
    *count = batch.count;
    status = apply_batch(store, &batch, limits);
    if (status != ST_OK)
        goto out;
    (void)fault_hit(store->config.faults, FAULT_CHECKPOINT_END);
    note_applied(store, limits->upto, limits->replaying);
out:
    batch_free(&batch);
    return status;
}

enum status checkpoint_run(struct store *store, const struct checkpoint_limits *limits) {
    uint64_t begun = clock_micros();
    size_t count = 0;
    enum status status;

    (void)fault_hit(store->config.faults, FAULT_CHECKPOINT_BEGIN);
    do
        status = out_of_time(store) ? ST_AGAIN : checkpoint_try(store, limits, &count);
    while (status == ST_BUSY);
    if (status == ST_OK) {
        atomic_fetch_add(&store->checkpoints, 1);
        atomic_store(&store->checkpoint_items, count);
        atomic_store(&store->checkpoint_micros, clock_micros() - begun);
        store->last_checkpoint_micros = clock_micros();
    } else if (status != ST_AGAIN) {
        atomic_fetch_add(&store->checkpoint_failures, 1);
    }
    return status;
}
