/* SPDX-License-Identifier: BSD-3-Clause */
/* A key's hash chooses the stripe by its low half and the place in the stripe's index by its high half, which the item
 * keeps.  An item is in its stripe's index if and only if it is in one of its queues.
 *
 * What leaves a stripe goes to its garbage list, whose references table_unlock drops when the lock is free again: no
 * memory is freed under the lock, and what stripe_find lent stays readable until table_unlock.
 *
 * The global sums are touched once per call (settle), the stripe's counts are atomics that only their lock's holder
 * writes: looking at figures takes no lock. */
#include "storage/table.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "src/base/check.h"
#include "src/base/hash.h"
#include "src/base/lock.h"
#include "storage/evict.h"
#include "storage/index.h"
#include "storage/item.h"

enum {
    TABLE_MAGIC = 0x7ab1e001,
    LINE = 64,
    STRIPES_MIN = 64,
    STRIPES_MAX = 16384,
    STRIPE_BUDGET = 256 * 1024,
    PUBLISH_STEPS = 32,   /* items looked at for eviction by one publish or fill */
    RECLAIM_STEPS = 64,   /* and in one stripe by table_reclaim */
    RECLAIM_STRIPES = 16, /* that one table_reclaim visits */
};

struct stripe {
    /* What a lookup needs, in one cache line; under the lock. */
    _Alignas(LINE) struct lock lock;
    struct index index; /* owner_flag: there is garbage */
    uint64_t flush;     /* copy of the table's */

    /* Under the lock. */
    struct table *table;  /* constant */
    struct item *garbage; /* linked by `chain`; the table's references */
    int64_t unsettled_bytes, unsettled_dirty;
    uint64_t floor, clean;
    uint64_t own_bytes; /* index and ghost, as counted in the table's sum */
    struct evict evict;

    /* Written under the lock, read by anyone. */
    _Atomic int64_t delta;
    _Atomic uint64_t evictions, evictions_unfetched;
};

struct table {
    /* constant */
    unsigned magic;
    uint32_t stripe_mask;
    uint64_t seed;
    struct stripe *stripes;

    /* atomic, seldom written */
    _Atomic uint64_t budget;
    _Atomic uint64_t flush; /* written with all locks held */

    /* atomic, written all the time */
    _Alignas(LINE) _Atomic uint64_t bytes; /* of items, DIRTY ones included */
    _Atomic uint64_t bytes_dirty;
    _Atomic uint64_t bytes_own; /* stripes, buckets, ghosts */
    _Atomic uint32_t cursor;    /* of table_reclaim */
};

/* ---- making and ending ---- */

static unsigned stripes_for(uint64_t budget) {
    unsigned stripes = STRIPES_MIN;

    while (stripes < STRIPES_MAX && (uint64_t)stripes * STRIPE_BUDGET < budget)
        stripes *= 2;
    return stripes;
}

static enum status stripe_init(struct stripe *stripe, struct table *table) {
    memset(stripe, 0, sizeof *stripe);
    if (index_init(&stripe->index) != ST_OK)
        return ST_NO_MEMORY;
    lock_init(&stripe->lock, LOCK_STRIPE);
    stripe->table = table;
    stripe->own_bytes = index_bytes(&stripe->index);
    evict_init(&stripe->evict);
    return ST_OK;
}

static void table_free(struct table *table, unsigned stripes) {
    for (unsigned i = 0; i < stripes; i++) {
        struct stripe *stripe = &table->stripes[i];
        index_free(&stripe->index);
        evict_free(&stripe->evict);
        lock_destroy(&stripe->lock);
    }
    free(table->stripes);
    free(table);
}

enum status table_create(struct table **table, const struct table_config *config) {
    unsigned count = config->stripes != 0 ? config->stripes : stripes_for(config->budget);
    unsigned ready = 0;
    struct table *made;

    *table = NULL;
    CHECK((count & (count - 1)) == 0);
    made = aligned_alloc(LINE, sizeof *made);
    if (made == NULL)
        return ST_NO_MEMORY;
    memset(made, 0, sizeof *made);
    made->magic = TABLE_MAGIC;
    made->stripe_mask = count - 1;
    hash_random(&made->seed, sizeof made->seed);
    made->stripes = aligned_alloc(LINE, count * sizeof *made->stripes);
    if (made->stripes != NULL)
        while (ready < count && stripe_init(&made->stripes[ready], made) == ST_OK)
            ready++;
    if (ready < count) {
        table_free(made, ready);
        return ST_NO_MEMORY;
    }
    atomic_store_explicit(&made->budget, config->budget, memory_order_relaxed);
    atomic_store_explicit(&made->bytes_own, sizeof *made + count * (sizeof(struct stripe) + made->stripes->own_bytes),
                          memory_order_relaxed);
    *table = made;
    return ST_OK;
}

/* What an item adds to the stripe's delta. */
static int item_delta(const struct stripe *stripe, const struct item *item) {
    if (item->queue != ITEM_DIRTY || item->lsn < stripe->flush)
        return 0;
    return (item->kind == ITEM_VALUE) - item->in_tree;
}

static uint64_t stripe_count(const struct stripe *stripe) {
    return (uint64_t)fifo_count(&stripe->evict.dirty) + fifo_count(&stripe->evict.small) +
           fifo_count(&stripe->evict.main);
}

struct ending {
    const struct stripe *stripe;
    uint64_t bytes, count;
    int64_t delta;
};

static void end_item(void *arg, struct item *item) {
    struct ending *ending = arg;

    ending->bytes += item_footprint(item);
    ending->delta += item_delta(ending->stripe, item);
    ending->count++;
    item->queue = ITEM_NOWHERE;
    item_unref(&item);
}

/* Drops every item; the index must hold what the counts say. */
static void stripe_end(struct stripe *stripe) {
    const struct evict *evict = &stripe->evict;
    struct ending ending = {.stripe = stripe};

    index_each(&stripe->index, end_item, &ending);
    CHECK(ending.count == stripe_count(stripe));
    CHECK(ending.bytes == evict->dirty.bytes + evict->small.bytes + evict->main.bytes);
    CHECK(ending.delta == atomic_load_explicit(&stripe->delta, memory_order_relaxed));
    atomic_fetch_sub_explicit(&stripe->table->bytes, ending.bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&stripe->table->bytes_dirty, evict->dirty.bytes, memory_order_relaxed);
}

void table_destroy(struct table **table) {
    struct table *ended = *table;
    unsigned stripes;

    if (ended == NULL)
        return;
    CHECK_OBJ(ended, TABLE_MAGIC);
    *table = NULL;
    stripes = ended->stripe_mask + 1;
    for (unsigned i = 0; i < stripes; i++)
        stripe_end(&ended->stripes[i]);
    CHECK(atomic_load_explicit(&ended->bytes, memory_order_relaxed) == 0);
    CHECK(atomic_load_explicit(&ended->bytes_dirty, memory_order_relaxed) == 0);
    ended->magic = 0;
    table_free(ended, stripes);
}

/* ---- locks ---- */

uint64_t table_hash(const struct table *table, struct slice key) {
    return hash_key(key.p, key.n, table->seed);
}

struct stripe *table_lock(struct table *table, uint64_t hash) {
    struct stripe *stripe = &table->stripes[(uint32_t)hash & table->stripe_mask];

    lock_take(&stripe->lock);
    return stripe;
}

/* Three rounds over all keys, one for each line of the chain stripe - bucket - item: within a round the memory is asked
 * for all at once.  A stripe that somebody holds is passed by. */
void table_fetch(struct table *table, const struct slice *keys, unsigned count) {
    uint64_t hashes[TABLE_FETCH_MAX];

    CHECK(count <= TABLE_FETCH_MAX);
    for (unsigned i = 0; i < count; i++) {
        hashes[i] = table_hash(table, keys[i]);
        __builtin_prefetch(&table->stripes[(uint32_t)hashes[i] & table->stripe_mask], 1);
    }
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < count; i++) {
            struct stripe *stripe = &table->stripes[(uint32_t)hashes[i] & table->stripe_mask];
            uint32_t high = (uint32_t)(hashes[i] >> 32);

            if (!lock_try(&stripe->lock))
                continue;
            if (round == 0)
                __builtin_prefetch(index_bucket_of(&stripe->index, high));
            else
                index_fetch_items(index_bucket_of(&stripe->index, high), high);
            table_unlock(stripe);
        }
}

static void drop_garbage(struct item *garbage) {
    while (garbage != NULL) {
        struct item *next = garbage->chain;
        item_unref(&garbage);
        garbage = next;
    }
}

void table_unlock(struct stripe *stripe) {
    struct item *garbage = NULL;

    if (stripe->index.owner_flag) {
        garbage = stripe->garbage;
        stripe->garbage = NULL;
        stripe->index.owner_flag = false;
    }
    lock_drop(&stripe->lock);
    drop_garbage(garbage);
}

void table_lock_all(struct table *table) {
    for (uint32_t i = 0; i <= table->stripe_mask; i++)
        lock_take(&table->stripes[i].lock);
}

void table_unlock_all(struct table *table) {
    for (uint32_t i = table->stripe_mask + 1; i > 0; i--)
        table_unlock(&table->stripes[i - 1]);
}

/* ---- sums ---- */

static void counter_add(_Atomic uint64_t *counter, uint64_t n) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

static void delta_add(struct stripe *stripe, int n) {
    if (n != 0)
        atomic_store_explicit(&stripe->delta, atomic_load_explicit(&stripe->delta, memory_order_relaxed) + n,
                              memory_order_relaxed);
}

/* Hands on what the call has changed. */
static void settle(struct stripe *stripe) {
    struct table *table = stripe->table;

    if (stripe->unsettled_bytes != 0)
        atomic_fetch_add_explicit(&table->bytes, (uint64_t)stripe->unsettled_bytes, memory_order_relaxed);
    if (stripe->unsettled_dirty != 0)
        atomic_fetch_add_explicit(&table->bytes_dirty, (uint64_t)stripe->unsettled_dirty, memory_order_relaxed);
    stripe->unsettled_bytes = 0;
    stripe->unsettled_dirty = 0;
}

static void settle_own(struct stripe *stripe) {
    uint64_t bytes = index_bytes(&stripe->index) + evict_bytes(&stripe->evict);

    if (bytes != stripe->own_bytes)
        atomic_fetch_add_explicit(&stripe->table->bytes_own, bytes - stripe->own_bytes, memory_order_relaxed);
    stripe->own_bytes = bytes;
}

static bool over_budget(const struct table *table) {
    return atomic_load_explicit(&table->bytes, memory_order_relaxed) +
               atomic_load_explicit(&table->bytes_own, memory_order_relaxed) >
           atomic_load_explicit(&table->budget, memory_order_relaxed);
}

/* ---- items in and out ---- */

static void queue_dirty(struct stripe *stripe, struct item *item) {
    int64_t bytes = (int64_t)item_footprint(item);

    evict_enter(&stripe->evict, item, ITEM_DIRTY);
    stripe->unsettled_bytes += bytes;
    stripe->unsettled_dirty += bytes;
    delta_add(stripe, item_delta(stripe, item));
}

/* Into the queue of CLEAN items that is right for it. */
static void queue_admit(struct stripe *stripe, struct item *item) {
    evict_admit(&stripe->evict, item);
    stripe->unsettled_bytes += (int64_t)item_footprint(item);
}

static void queue_leave(struct stripe *stripe, struct item *item) {
    int64_t bytes = (int64_t)item_footprint(item);

    delta_add(stripe, -item_delta(stripe, item));
    stripe->unsettled_bytes -= bytes;
    if (item->queue == ITEM_DIRTY)
        stripe->unsettled_dirty -= bytes;
    evict_leave(&stripe->evict, item);
}

/* The item has left the index: out of its queue, and to the garbage, as `chain` is free now. */
static void retire(struct stripe *stripe, struct item *item) {
    queue_leave(stripe, item);
    item->chain = stripe->garbage;
    stripe->garbage = item;
    stripe->index.owner_flag = true;
}

/* From now on the tree has to be asked for the key: a result that is older than what was written here is no good. */
static void raise_floor(struct stripe *stripe, const struct item *item) {
    if (!item->filled && stripe->floor < stripe->clean)
        stripe->floor = stripe->clean;
}

/* Takes an item that has no newer version out of RAM. */
static void drop(struct stripe *stripe, struct item *item) {
    index_remove(&stripe->index, item);
    raise_floor(stripe, item);
    retire(stripe, item);
}

static void evict_one(struct stripe *stripe, struct item *victim) {
    if (victim->lsn >= stripe->flush) {
        counter_add(&stripe->evictions, 1);
        if (!victim->fetched)
            counter_add(&stripe->evictions_unfetched, 1);
    }
    drop(stripe, victim);
    settle(stripe);
}

static void evict_some(struct stripe *stripe, unsigned steps) {
    while (over_budget(stripe->table)) {
        struct item *victim = evict_next(&stripe->evict, stripe->flush, &steps);
        if (victim == NULL)
            break;
        evict_one(stripe, victim);
    }
    settle_own(stripe);
}

/* ---- what the store calls ---- */

/* A dead item is met: kept while DIRTY, for table_mark_clean. */
static __attribute__((cold)) void bury(struct stripe *stripe, struct item *item) {
    if (item->queue != ITEM_DIRTY) {
        drop(stripe, item);
        settle(stripe);
    }
}

struct item *stripe_find(struct stripe *stripe, uint64_t hash, struct slice key) {
    struct item *item = index_find(&stripe->index, (uint32_t)(hash >> 32), key);

    if (item != NULL && __builtin_expect(item->lsn < stripe->flush, 0)) {
        bury(stripe, item);
        item = NULL;
    }
    return item;
}

void stripe_hit(struct stripe *stripe, struct item *item, int64_t now) {
    (void)stripe;
    if (item->freq < 3)
        item->freq++;
    item->fetched = 1;
    item->access = (uint32_t)now;
}

/* What a new version takes over from the one in RAM, NULL when there is none or a dead one. */
static void inherit(struct item *fresh, const struct item *old, bool in_tree) {
    fresh->freq = 0;
    fresh->was_main = 0;
    fresh->in_tree = in_tree;
    if (old == NULL)
        return;
    COSTLY_CHECK(old->lsn < fresh->lsn);
    fresh->freq = old->freq;
    if (old->queue == ITEM_DIRTY) {
        fresh->was_main = old->was_main;
        fresh->in_tree = old->in_tree;
    } else {
        CHECK(old->kind == ITEM_VALUE); /* a tombstone that the tree knows of is dropped at once */
        fresh->was_main = old->queue == ITEM_MAIN;
        fresh->in_tree = 1;
    }
}

/* The version of the item's key that is in RAM, dead or not. */
static struct item *find_version(struct stripe *stripe, uint64_t hash, struct item *item) {
    item->hash_high = (uint32_t)(hash >> 32);
    return index_find(&stripe->index, item->hash_high, item_key(item));
}

/* In place of the old version, if there is one; that raises no floor, since the newer one is in RAM. */
static void link_version(struct stripe *stripe, struct item *old, struct item *item) {
    if (old != NULL) {
        index_replace(&stripe->index, old, item);
        retire(stripe, old);
    } else {
        index_make_room(&stripe->index, stripe_count(stripe) + 1);
        settle_own(stripe);
        index_add(&stripe->index, item);
    }
}

void stripe_publish(struct stripe *stripe, uint64_t hash, struct item *fresh, bool in_tree) {
    struct item *old = find_version(stripe, hash, fresh);

    fresh->filled = 0;
    inherit(fresh, old != NULL && old->lsn >= stripe->flush ? old : NULL, in_tree);
    link_version(stripe, old, fresh);
    queue_dirty(stripe, fresh);
    settle(stripe);
    if (over_budget(stripe->table))
        evict_some(stripe, PUBLISH_STEPS);
}

void stripe_fill(struct stripe *stripe, uint64_t hash, struct item *item) {
    struct item *old = find_version(stripe, hash, item);

    CHECK(old == NULL || old->lsn < stripe->flush);
    CHECK(item->kind == ITEM_VALUE);
    item->filled = 1;
    item->freq = 0;
    item->was_main = 0;
    link_version(stripe, old, item);
    queue_admit(stripe, item);
    settle(stripe);
    if (over_budget(stripe->table))
        evict_some(stripe, PUBLISH_STEPS);
}

void stripe_drop(struct stripe *stripe, struct item *item) {
    CHECK(item->queue == ITEM_SMALL || item->queue == ITEM_MAIN);
    drop(stripe, item);
    settle(stripe);
}

uint64_t stripe_floor(const struct stripe *stripe) {
    return stripe->floor;
}

/* ---- what the tree thread calls ---- */

/* The item is the key's version, and the tree has it now. */
static void become_clean(struct stripe *stripe, struct item *item) {
    if (item->kind == ITEM_TOMBSTONE || item->lsn < stripe->flush) {
        drop(stripe, item);
        return;
    }
    queue_leave(stripe, item);
    queue_admit(stripe, item);
}

/* The tree has this version, but a newer one is in RAM: that one need no longer guess what the tree holds. */
static void correct_in_tree(struct stripe *stripe, uint64_t hash, const struct item *item) {
    struct item *newer = index_find(&stripe->index, (uint32_t)(hash >> 32), item_key(item));

    if (newer == NULL || newer->queue != ITEM_DIRTY || item->lsn < stripe->flush || newer->lsn < item->lsn)
        return;
    delta_add(stripe, -item_delta(stripe, newer));
    newer->in_tree = item->kind == ITEM_VALUE;
    delta_add(stripe, item_delta(stripe, newer));
}

void table_mark_clean(struct table *table, struct item *item, uint64_t number) {
    uint64_t hash = table_hash(table, item_key(item));
    struct stripe *stripe = table_lock(table, hash);

    if (stripe->clean < number)
        stripe->clean = number;
    if (item->queue == ITEM_DIRTY)
        become_clean(stripe, item);
    else if (item->queue == ITEM_NOWHERE)
        correct_in_tree(stripe, hash, item);
    settle(stripe);
    table_unlock(stripe);
}

static void take_dirty(void *arg, struct item *item) {
    struct item ***next = arg;

    item_ref(item);
    *(*next)++ = item;
}

static void each_dirty(struct stripe *stripe, void (*fn)(void *arg, struct item *item), void *arg) {
    for (struct item *item = stripe->evict.dirty.newest; item != NULL; item = item->older)
        fn(arg, item);
}

void table_each_dirty(struct table *table, void (*fn)(void *arg, struct item *item), void *arg) {
    for (uint32_t i = 0; i <= table->stripe_mask; i++) {
        struct stripe *stripe = &table->stripes[i];
        lock_take(&stripe->lock);
        each_dirty(stripe, fn, arg);
        table_unlock(stripe);
    }
}

/* Makes room for `more` items behind the first `used`. */
static bool reserve(struct item ***items, size_t *room, size_t used, size_t more) {
    struct item **grown;
    size_t wanted = used + more;

    if (wanted <= *room)
        return true;
    wanted += wanted / 2 + 64;
    grown = realloc(*items, wanted * sizeof(struct item *));
    if (grown == NULL)
        return false;
    *items = grown;
    *room = wanted;
    return true;
}

enum status table_collect_dirty(struct table *table, struct item ***items, size_t *count) {
    struct item **taken = NULL;
    size_t room = 0;
    size_t used = 0;

    for (uint32_t i = 0; i <= table->stripe_mask; i++) {
        struct stripe *stripe = &table->stripes[i];
        struct item **next;
        lock_take(&stripe->lock);
        if (!reserve(&taken, &room, used, fifo_count(&stripe->evict.dirty))) {
            table_unlock(stripe);
            goto no_memory;
        }
        next = taken + used;
        each_dirty(stripe, take_dirty, &next);
        used = (size_t)(next - taken);
        table_unlock(stripe);
    }
    *items = taken;
    *count = used;
    return ST_OK;

no_memory:
    while (used > 0)
        item_unref(&taken[--used]);
    free(taken);
    *items = NULL;
    *count = 0;
    return ST_NO_MEMORY;
}

/* ---- flush and floors ---- */

void table_flush(struct table *table, uint64_t lsn) {
    CHECK(lsn >= table_flush_lsn(table));
    for (uint32_t i = 0; i <= table->stripe_mask; i++) {
        struct stripe *stripe = &table->stripes[i];
        stripe->flush = lsn;
        atomic_store_explicit(&stripe->delta, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&table->flush, lsn, memory_order_release);
}

uint64_t table_flush_lsn(const struct table *table) {
    return atomic_load_explicit(&table->flush, memory_order_acquire);
}

void table_raise_floors(struct table *table, uint64_t number) {
    for (uint32_t i = 0; i <= table->stripe_mask; i++) {
        struct stripe *stripe = &table->stripes[i];
        if (stripe->floor < number)
            stripe->floor = number;
    }
}

/* ---- memory ---- */

static bool has_clean(const struct table *table) {
    return atomic_load_explicit(&table->bytes, memory_order_relaxed) >
           atomic_load_explicit(&table->bytes_dirty, memory_order_relaxed);
}

void table_reclaim(struct table *table) {
    for (int i = 0; i < RECLAIM_STRIPES && over_budget(table) && has_clean(table); i++) {
        uint32_t cursor = atomic_fetch_add_explicit(&table->cursor, 1, memory_order_relaxed);
        struct stripe *stripe = table_lock(table, cursor);
        evict_some(stripe, RECLAIM_STEPS);
        table_unlock(stripe);
    }
}

void table_set_budget(struct table *table, uint64_t bytes) {
    atomic_store_explicit(&table->budget, bytes, memory_order_relaxed);
}

void table_figures(const struct table *table, struct table_figures *figures) {
    *figures = (struct table_figures){0};
    for (uint32_t i = 0; i <= table->stripe_mask; i++) {
        const struct stripe *stripe = &table->stripes[i];
        figures->items += stripe_count(stripe);
        figures->items_dirty += fifo_count(&stripe->evict.dirty);
        figures->delta += atomic_load_explicit(&stripe->delta, memory_order_relaxed);
        figures->evictions += atomic_load_explicit(&stripe->evictions, memory_order_relaxed);
        figures->evictions_unfetched += atomic_load_explicit(&stripe->evictions_unfetched, memory_order_relaxed);
    }
    figures->bytes = atomic_load_explicit(&table->bytes, memory_order_relaxed);
    figures->bytes_dirty = table_bytes_dirty(table);
    figures->buckets_bytes = atomic_load_explicit(&table->bytes_own, memory_order_relaxed);
}

uint64_t table_bytes_dirty(const struct table *table) {
    return atomic_load_explicit(&table->bytes_dirty, memory_order_relaxed);
}
