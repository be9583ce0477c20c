/* SPDX-License-Identifier: BSD-3-Clause */
/* Many threads on one table: workers that read, write and fill, a tree thread that marks what it has collected, and
 * one that flushes, reclaims and looks at the figures.  What each asserts holds at any moment; for the rest this is
 * food for the thread and address sanitizers. */
#include "storage/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "src/base/check.h"
#include "storage/item.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"

enum { WORKERS = 4, KEYS = 2000, STEPS = 30000, STRIPES = 8, BUDGET = 200000 };

struct crowd {
    struct table *table;
    _Atomic uint64_t lsn;
    _Atomic uint64_t number;
    _Atomic unsigned working;
    uint64_t seed;
};

struct worker {
    struct crowd *crowd;
    pthread_t thread;
    uint64_t random;
    uint64_t seen[KEYS]; /* the newest LSN that this thread has met: none older may follow */
};

static uint64_t next_lsn(struct crowd *crowd) {
    return atomic_fetch_add(&crowd->lsn, 1) + 1;
}

static void worker_write(struct worker *worker, unsigned key) {
    struct crowd *crowd = worker->crowd;
    char text[KEY_TEXT_BYTES];
    struct slice name = number_key(text, key);
    uint64_t hash = table_hash(crowd->table, name);
    bool value = random_below(&worker->random, 5) != 0;
    size_t length = random_below(&worker->random, 300);
    struct item *fresh;
    struct stripe *stripe = table_lock(crowd->table, hash);

    /* The LSN is given under the lock, as the log does it. */
    fresh = value ? make_item(name, length, next_lsn(crowd)) : make_tombstone(name, next_lsn(crowd));
    worker->seen[key] = fresh->lsn;
    stripe_publish(stripe, hash, fresh, random_below(&worker->random, 2) != 0);
    table_unlock(stripe);
}

static void worker_read(struct worker *worker, unsigned key) {
    struct table *table = worker->crowd->table;
    char text[KEY_TEXT_BYTES];
    struct slice name = number_key(text, key);
    uint64_t hash = table_hash(table, name);
    struct stripe *stripe = table_lock(table, hash);
    struct item *item = stripe_find(stripe, hash, name);

    if (item != NULL) {
        item_ref(item);
        stripe_hit(stripe, item, 1);
    }
    table_unlock(stripe);
    if (item != NULL) {
        CHECK(slice_equal(item_key(item), name));
        CHECK(item_is_whole(item));
        CHECK(item->lsn >= worker->seen[key]);
        worker->seen[key] = item->lsn;
        item_unref(&item);
    }
}

/* As after a read of the tree; the version is made up, one that no write can be older than. */
static void worker_fill(struct worker *worker, unsigned key) {
    struct crowd *crowd = worker->crowd;
    char text[KEY_TEXT_BYTES];
    struct slice name = number_key(text, key);
    uint64_t hash = table_hash(crowd->table, name);
    uint64_t number = atomic_load(&crowd->number);
    struct stripe *stripe = table_lock(crowd->table, hash);

    if (stripe_find(stripe, hash, name) == NULL && number >= stripe_floor(stripe)) {
        uint64_t lsn = next_lsn(crowd);
        worker->seen[key] = lsn;
        stripe_fill(stripe, hash, make_item(name, 100, lsn));
    }
    table_unlock(stripe);
}

static void *work(void *arg) {
    struct worker *worker = arg;

    for (unsigned i = 0; i < STEPS; i++) {
        unsigned key = random_below(&worker->random, KEYS);
        unsigned dice = random_below(&worker->random, 100);
        if (dice < 30)
            worker_write(worker, key);
        else if (dice < 85)
            worker_read(worker, key);
        else
            worker_fill(worker, key);
        if (dice == 0)
            table_reclaim(worker->crowd->table);
    }
    atomic_fetch_sub(&worker->crowd->working, 1);
    return NULL;
}

static size_t apply_dirty(struct crowd *crowd) {
    struct item **items;
    size_t count;
    uint64_t number;

    CHECK(table_collect_dirty(crowd->table, &items, &count) == ST_OK);
    number = atomic_fetch_add(&crowd->number, 1) + 1;
    for (size_t i = 0; i < count; i++) {
        table_mark_clean(crowd->table, items[i], number);
        item_unref(&items[i]);
    }
    free(items);
    return count;
}

static void *checkpoints(void *arg) {
    struct crowd *crowd = arg;

    while (atomic_load(&crowd->working) > 0)
        apply_dirty(crowd);
    return NULL;
}

static void count_dirty(void *arg, struct item *item) {
    uint64_t *count = arg;

    CHECK(item->queue == ITEM_DIRTY);
    (*count)++;
}

static void *steer(void *arg) {
    struct crowd *crowd = arg;
    struct table_figures figures;
    uint64_t flushed = 0;
    uint64_t count = 0;

    while (atomic_load(&crowd->working) > 0) {
        table_each_dirty(crowd->table, count_dirty, &count);
        table_figures(crowd->table, &figures);
        CHECK(figures.items <= KEYS);
        table_set_budget(crowd->table, BUDGET + figures.items % 7 * 10000);
        if (atomic_load(&crowd->lsn) > flushed + STEPS / 8) {
            table_lock_all(crowd->table);
            flushed = next_lsn(crowd);
            table_flush(crowd->table, flushed);
            table_raise_floors(crowd->table, atomic_load(&crowd->number));
            table_unlock_all(crowd->table);
        }
    }
    return NULL;
}

static void threads_agree_on_the_newest_version(void **state) {
    (void)state;
    struct crowd crowd = {.working = WORKERS, .seed = random_seed("threads")};
    struct worker *workers = calloc(WORKERS, sizeof *workers);
    struct table_figures figures;
    pthread_t checkpointer, steerer;

    assert_non_null(workers);
    assert_ok(table_create(&crowd.table, &(struct table_config){.budget = BUDGET, .stripes = STRIPES}));
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].crowd = &crowd;
        workers[i].random = crowd.seed + 2 * i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    assert_int_equal(pthread_create(&checkpointer, NULL, checkpoints, &crowd), 0);
    assert_int_equal(pthread_create(&steerer, NULL, steer, &crowd), 0);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    assert_int_equal(pthread_join(checkpointer, NULL), 0);
    assert_int_equal(pthread_join(steerer, NULL), 0);

    apply_dirty(&crowd);
    table_figures(crowd.table, &figures);
    assert_int_equal(figures.items_dirty, 0);
    assert_int_equal(figures.bytes_dirty, 0);
    assert_int_equal(figures.delta, 0);
    assert_true(figures.evictions > 0);
    table_set_budget(crowd.table, 0);
    for (unsigned i = 0; i < 1000; i++)
        table_reclaim(crowd.table);
    table_figures(crowd.table, &figures);
    assert_int_equal(figures.items, 0);
    assert_int_equal(figures.bytes, 0);
    table_destroy(&crowd.table);
    free(workers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_agree_on_the_newest_version),
    };

    return cmocka_run_group_tests_name("table_threads", tests, NULL, NULL);
}
