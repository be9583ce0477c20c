/* SPDX-License-Identifier: BSD-3-Clause */
/* One page of items in key order, from what is DIRTY in RAM and what is in the tree.
 *
 * The DIRTY items are copied first and the tree's snapshot is opened after: an item that becomes CLEAN in between is
 * seen twice (the higher LSN wins), never missed.  The page ends where the shorter of the two lists was cut, so it is
 * complete up to its last key.  Memory: at most twice `limit` references, and one tree page of `limit` items. */
#include <stdlib.h>

#include "src/base/check.h"
#include "storage/item.h"
#include "storage/store_internal.h"

enum { SCAN_LIMIT_MAX = 10000 };

/* A DIRTY item, and what was true of it under its lock. */
struct found {
    struct item *item;
    uint32_t access;
    bool fetched;
};

struct scan_job {
    struct reader_job job;
    struct store_scan *scan;
    struct store *store;
    /* the smallest matching DIRTY items */
    struct found *dirty;
    size_t count, limit;
    bool cut; /* there are more than were kept */
};

static int compare_found(const void *a, const void *b) {
    return slice_compare(item_key(((const struct found *)a)->item), item_key(((const struct found *)b)->item));
}

/* Keeps the `limit` smallest. */
static void cut_dirty(struct scan_job *job) {
    qsort(job->dirty, job->count, sizeof *job->dirty, compare_found);
    while (job->count > job->limit) {
        item_unref(&job->dirty[--job->count].item);
        job->cut = true;
    }
}

static void collect(void *arg, struct item *item) {
    struct scan_job *job = arg;
    const struct store_scan *scan = job->scan;
    struct slice key = item_key(item);

    if (slice_compare(key, slice_of(scan->after, scan->after_length)) <= 0 && scan->after_length > 0)
        return;
    if (key.n < scan->prefix.n || !slice_equal(slice_of(key.p, scan->prefix.n), scan->prefix))
        return;
    item_ref(item);
    job->dirty[job->count++] = (struct found){item, item->access, item->fetched};
    if (job->count == 2 * job->limit)
        cut_dirty(job);
}

/* Appends a live item as a row; the reference is taken over. */
static void add_row(struct scan_job *job, const struct found *found, uint64_t size) {
    struct store_scan *scan = job->scan;
    struct item *item = found->item;
    int64_t now = clock_wall(job->store->config.clock);

    if (item->kind == ITEM_TOMBSTONE || item_expired(item, now) || item->lsn < table_flush_lsn(job->store->table)) {
        item_unref(&item);
        return;
    }
    scan->rows[scan->count++] = (struct store_row){
        .item = item,
        .size = size,
        .idle = found->access ? (uint32_t)now - found->access : 0,
        .fetched = found->fetched,
    };
}

/* Merges the two sorted lists up to the smaller of the keys where one was cut. */
static void merge(struct scan_job *job, struct item **tree, const uint64_t *sizes, unsigned tree_count,
                  bool tree_more) {
    struct store_scan *scan = job->scan;
    size_t d = 0, t = 0;
    bool ended = false;

    while (!ended && (d < job->count || t < tree_count)) {
        struct found *ram = &job->dirty[d];
        int order = d == job->count   ? 1
                    : t == tree_count ? -1
                                      : slice_compare(item_key(ram->item), item_key(tree[t]));
        struct slice key = item_key(order <= 0 ? ram->item : tree[t]);
        bool from_ram = order < 0 || (order == 0 && ram->item->lsn >= tree[t]->lsn);

        memcpy(scan->after, key.p, key.n);
        scan->after_length = key.n;
        if (order <= 0) {
            if (ram->item->lsn > scan->stamp)
                scan->stamp = ram->item->lsn;
            if (from_ram)
                add_row(job, ram, ram->item->value_bytes);
            else
                item_unref(&ram->item);
            d++;
        }
        if (order >= 0) {
            if (from_ram)
                item_unref(&tree[t]);
            else
                add_row(job, &(struct found){.item = tree[t]}, sizes[t]);
            t++;
        }
        /* Beyond the end of a cut list its keys are unknown. */
        ended = (d == job->count && job->cut) || (t == tree_count && tree_more) || scan->count == job->limit;
    }
    /* A page without a key would be asked for again and again. */
    scan->more = d + t > 0 && (d < job->count || t < tree_count || job->cut || tree_more);
    for (; d < job->count; d++)
        item_unref(&job->dirty[d].item);
    for (; t < tree_count; t++)
        item_unref(&tree[t]);
}

static enum status read_page(struct scan_job *job, struct tree_reader *reader) {
    struct store_scan *scan = job->scan;
    struct item **tree = calloc(job->limit, sizeof *tree);
    uint64_t *sizes = calloc(job->limit, sizeof *sizes), number, birth;
    enum status status = ST_NO_MEMORY;
    unsigned count = 0;
    bool more = false;

    job->dirty = calloc(2 * job->limit, sizeof *job->dirty);
    scan->rows = calloc(job->limit, sizeof *scan->rows);
    if (tree == NULL || sizes == NULL || job->dirty == NULL || scan->rows == NULL)
        goto out;
    scan->stamp = table_flush_lsn(job->store->table);
    table_each_dirty(job->store->table, collect, job);
    cut_dirty(job);
    status = tree_scan(reader, slice_of(scan->after, scan->after_length), scan->prefix, (unsigned)job->limit,
                       scan->values, tree, sizes, &count, &more, &number, &birth);
    if (status == ST_OK)
        merge(job, tree, sizes, count, more);
    else
        for (size_t i = 0; i < job->count; i++)
            item_unref(&job->dirty[i].item);
out:
    free(job->dirty);
    free(tree);
    free(sizes);
    return status;
}

static void scan_run(struct reader_job *reader_job, struct tree_reader *reader) {
    struct scan_job *job = (struct scan_job *)reader_job; /* its first member */

    job->scan->status = read_page(job, reader);
}

void store_scan_page(struct session *session, struct store_scan *scan) {
    struct scan_job *job = calloc(1, sizeof *job);

    CHECK_OBJ(session, SESSION_MAGIC);
    CHECK(scan->rows == NULL && scan->limit > 0);
    scan->ticket.inbox = session->inbox;
    scan->count = 0;
    scan->more = false;
    scan->job = job;
    if (job == NULL) {
        scan->status = ST_NO_MEMORY;
        inbox_post(&scan->ticket);
        return;
    }
    job->scan = scan;
    job->store = session->store;
    job->limit = scan->limit < SCAN_LIMIT_MAX ? scan->limit : SCAN_LIMIT_MAX;
    job->job.run = scan_run;
    job->job.ticket = &scan->ticket;
    readers_submit(session->store->readers, &job->job);
}

void store_scan_free(struct store_scan *scan) {
    for (unsigned i = 0; i < scan->count; i++)
        item_unref(&scan->rows[i].item);
    free(scan->rows);
    free(scan->job);
    scan->rows = NULL;
    scan->job = NULL;
    scan->count = 0;
}
