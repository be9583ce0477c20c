/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/table.h"

#include <stdlib.h>

#include "src/base/check.h"
#include "storage/item.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"

enum { PLENTY = 1 << 28, VALUE = 100 };

static struct table *make_table(uint64_t budget, unsigned stripes) {
    struct table *table;

    assert_ok(table_create(&table, &(struct table_config){.budget = budget, .stripes = stripes}));
    return table;
}

static struct table_figures figures_of(struct table *table) {
    struct table_figures figures;

    table_figures(table, &figures);
    return figures;
}

/* ---- one call each, with its lock ---- */

static void publish(struct table *table, struct item *fresh, bool in_tree) {
    uint64_t hash = table_hash(table, item_key(fresh));
    struct stripe *stripe = table_lock(table, hash);

    stripe_publish(stripe, hash, fresh, in_tree);
    table_unlock(stripe);
}

static void publish_value(struct table *table, const char *key, uint64_t lsn, bool in_tree) {
    publish(table, make_item(slice_str(key), VALUE, lsn), in_tree);
}

static void publish_tombstone(struct table *table, const char *key, uint64_t lsn, bool in_tree) {
    publish(table, make_tombstone(slice_str(key), lsn), in_tree);
}

/* What is found, with a reference. */
static struct item *get(struct table *table, const char *key) {
    uint64_t hash = table_hash(table, slice_str(key));
    struct stripe *stripe = table_lock(table, hash);
    struct item *item = stripe_find(stripe, hash, slice_str(key));

    if (item != NULL)
        item_ref(item);
    table_unlock(stripe);
    return item;
}

/* The LSN of what is found; 0 = nothing. */
static uint64_t found(struct table *table, const char *key) {
    struct item *item = get(table, key);
    uint64_t lsn = item != NULL ? item->lsn : 0;

    item_unref(&item);
    return lsn;
}

static void hit(struct table *table, const char *key, int64_t now) {
    uint64_t hash = table_hash(table, slice_str(key));
    struct stripe *stripe = table_lock(table, hash);
    struct item *item = stripe_find(stripe, hash, slice_str(key));

    assert_non_null(item);
    stripe_hit(stripe, item, now);
    table_unlock(stripe);
}

static void fill(struct table *table, const char *key, uint64_t lsn) {
    uint64_t hash = table_hash(table, slice_str(key));
    struct stripe *stripe = table_lock(table, hash);

    stripe_fill(stripe, hash, make_item(slice_str(key), VALUE, lsn));
    table_unlock(stripe);
}

static void drop(struct table *table, const char *key) {
    uint64_t hash = table_hash(table, slice_str(key));
    struct stripe *stripe = table_lock(table, hash);
    struct item *item = stripe_find(stripe, hash, slice_str(key));

    assert_non_null(item);
    stripe_drop(stripe, item);
    table_unlock(stripe);
}

static uint64_t floor_of(struct table *table, const char *key) {
    struct stripe *stripe = table_lock(table, table_hash(table, slice_str(key)));
    uint64_t floor = stripe_floor(stripe);

    table_unlock(stripe);
    return floor;
}

static void mark(struct table *table, const char *key, uint64_t number) {
    struct item *item = get(table, key);

    assert_non_null(item);
    table_mark_clean(table, item, number);
    item_unref(&item);
}

static void flush(struct table *table, uint64_t lsn) {
    table_lock_all(table);
    table_flush(table, lsn);
    table_unlock_all(table);
}

/* All DIRTY items, dead ones too, are applied by the commit `number`. */
static size_t checkpoint(struct table *table, uint64_t number) {
    struct item **items;
    size_t count;

    assert_ok(table_collect_dirty(table, &items, &count));
    for (size_t i = 0; i < count; i++) {
        table_mark_clean(table, items[i], number);
        item_unref(&items[i]);
    }
    free(items);
    return count;
}

/* ---- finding ---- */

static void the_newest_version_is_found(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    assert_int_equal(found(table, "a"), 0);
    publish_value(table, "a", 1, false);
    publish_value(table, "b", 2, false);
    assert_int_equal(found(table, "a"), 1);
    publish_value(table, "a", 3, false);
    assert_int_equal(found(table, "a"), 3);
    assert_int_equal(found(table, "b"), 2);
    publish_tombstone(table, "b", 4, false);
    struct item *item = get(table, "b");
    assert_int_equal(item->kind, ITEM_TOMBSTONE);
    item_unref(&item);
    assert_int_equal(figures_of(table).items, 2);
    table_destroy(&table);
    assert_null(table);
    table_destroy(&table);
}

static void keys_differ_by_length_and_by_any_byte(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);
    char key[STORE_KEY_MAX];

    memset(key, 'k', sizeof key);
    for (size_t n = 1; n <= sizeof key; n++)
        publish(table, make_item(slice_of(key, n), 1, n), false);
    for (size_t n = 1; n <= sizeof key; n++) {
        uint64_t hash = table_hash(table, slice_of(key, n));
        struct stripe *stripe = table_lock(table, hash);
        struct item *item = stripe_find(stripe, hash, slice_of(key, n));
        assert_non_null(item);
        assert_int_equal(item->lsn, n);
        table_unlock(stripe);
    }
    key[0] = '\0';
    assert_int_equal(figures_of(table).items, STORE_KEY_MAX);
    uint64_t hash = table_hash(table, slice_of(key, 1));
    struct stripe *stripe = table_lock(table, hash);
    assert_null(stripe_find(stripe, hash, slice_of(key, 1)));
    table_unlock(stripe);
    table_destroy(&table);
}

static void the_index_grows_with_the_items(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    struct table *table = make_table(PLENTY, 4);
    uint64_t before = figures_of(table).buckets_bytes;
    char text[KEY_TEXT_BYTES];

    for (unsigned i = 0; i < COUNT; i++)
        publish(table, make_item(number_key(text, i), 1, i + 1), false);
    for (unsigned i = 0; i < COUNT; i++) {
        number_key(text, i);
        assert_int_equal(found(table, text), i + 1);
    }
    assert_int_equal(figures_of(table).items, COUNT);
    /* Three to six items for each bucket of 64 bytes. */
    assert_in_range(figures_of(table).buckets_bytes - before, COUNT * 64 / 7, COUNT * 64 / 2);
    table_destroy(&table);
}

static void a_hit_counts_and_leaves_its_time(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    struct item *item = get(table, "a");
    assert_int_equal(item->fetched, 0);
    hit(table, "a", 12345);
    assert_int_equal(item->fetched, 1);
    assert_int_equal(item->access, 12345);
    assert_int_equal(item->freq, 1);
    for (int i = 0; i < 5; i++)
        hit(table, "a", 12346);
    assert_int_equal(item->freq, 3);
    assert_int_equal(item->access, 12346);
    item_unref(&item);

    /* A new version inherits the counter of S3-FIFO, but nobody has fetched it yet. */
    publish_value(table, "a", 2, false);
    item = get(table, "a");
    assert_int_equal(item->freq, 3);
    assert_int_equal(item->fetched, 0);
    item_unref(&item);
    table_destroy(&table);
}

static void what_find_lends_is_readable_until_unlock(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);
    uint64_t hash = table_hash(table, slice_str("a"));

    publish_value(table, "a", 1, false);
    struct stripe *stripe = table_lock(table, hash);
    struct item *old = stripe_find(stripe, hash, slice_str("a"));
    stripe_publish(stripe, hash, make_item(slice_str("a"), VALUE, 2), false);
    assert_true(item_is_whole(old));
    assert_int_equal(old->queue, ITEM_NOWHERE);
    table_unlock(stripe);
    table_destroy(&table);
}

static void a_reference_outlives_the_table(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    struct item *item = get(table, "a");
    publish_value(table, "a", 2, false);
    assert_true(item_is_whole(item));
    table_destroy(&table);
    assert_true(item_is_whole(item));
    item_unref(&item);
}

/* ---- the floor ---- */

static void marking_clean_alone_raises_no_floor(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    mark(table, "a", 10);
    assert_int_equal(floor_of(table, "a"), 0);
    assert_int_equal(found(table, "a"), 1);
    table_destroy(&table);
}

static void dropping_what_was_written_raises_the_floor(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    mark(table, "a", 10);
    drop(table, "a");
    assert_int_equal(found(table, "a"), 0);
    assert_int_equal(floor_of(table, "a"), 10);
    table_destroy(&table);
}

static void the_floor_is_the_last_commits_not_the_items(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    publish_value(table, "b", 2, false);
    mark(table, "a", 10);
    mark(table, "b", 20);
    mark(table, "b", 15); /* an older number takes nothing back */
    drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 20);
    table_destroy(&table);
}

static void dropping_what_was_filled_raises_no_floor(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "b", 2, false);
    mark(table, "b", 10);
    fill(table, "a", 1);
    drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 0);
    table_destroy(&table);
}

static void a_tombstone_is_dropped_by_marking_and_raises_the_floor(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_tombstone(table, "a", 1, true);
    mark(table, "a", 10);
    assert_int_equal(found(table, "a"), 0);
    assert_int_equal(figures_of(table).items, 0);
    assert_int_equal(figures_of(table).bytes, 0);
    assert_int_equal(floor_of(table, "a"), 10);
    table_destroy(&table);
}

static void a_replaced_clean_version_raises_no_floor(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    mark(table, "a", 10);
    publish_value(table, "a", 2, false);
    assert_int_equal(floor_of(table, "a"), 0);
    mark(table, "a", 20);
    drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 20);
    table_destroy(&table);
}

static void a_rewritten_fill_counts_as_written(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    fill(table, "a", 1);
    publish_value(table, "a", 2, false);
    mark(table, "a", 10);
    drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 10);
    table_destroy(&table);
}

static void eviction_raises_the_floor_too(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    mark(table, "a", 10);
    table_set_budget(table, 0);
    table_reclaim(table);
    assert_int_equal(found(table, "a"), 0);
    assert_int_equal(floor_of(table, "a"), 10);
    table_destroy(&table);
}

static void marking_a_replaced_version_sets_clean_and_nothing_else(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    struct item *old = get(table, "a");
    publish_value(table, "a", 2, false);
    table_mark_clean(table, old, 10);
    item_unref(&old);
    assert_int_equal(found(table, "a"), 2);
    assert_int_equal(figures_of(table).items_dirty, 1);
    assert_int_equal(floor_of(table, "a"), 0);

    publish_value(table, "b", 3, false);
    mark(table, "b", 5);
    drop(table, "b");
    assert_int_equal(floor_of(table, "b"), 10);
    table_destroy(&table);
}

static void raised_floors_never_sink(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 2);

    publish_value(table, "a", 1, false);
    mark(table, "a", 10);
    table_lock_all(table);
    table_raise_floors(table, 30);
    table_raise_floors(table, 25);
    table_unlock_all(table);
    assert_int_equal(floor_of(table, "a"), 30);
    assert_int_equal(floor_of(table, "b"), 30);
    drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 30);
    table_destroy(&table);
}

/* ---- flush ---- */

static void dead_clean_items_leave_when_they_are_met(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    publish_value(table, "b", 2, false);
    mark(table, "a", 10);
    mark(table, "b", 10);
    assert_int_equal(table_flush_lsn(table), 0);
    flush(table, 3);
    assert_int_equal(table_flush_lsn(table), 3);
    assert_int_equal(figures_of(table).items, 2);
    assert_int_equal(found(table, "a"), 0);
    assert_int_equal(figures_of(table).items, 1);
    table_destroy(&table);
}

static void dead_dirty_items_stay_until_they_are_marked(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);
    struct item **items;
    size_t count;

    publish_value(table, "a", 1, false);
    flush(table, 2);
    assert_int_equal(found(table, "a"), 0);
    assert_int_equal(figures_of(table).items_dirty, 1);
    assert_ok(table_collect_dirty(table, &items, &count));
    assert_int_equal(count, 1);
    table_mark_clean(table, items[0], 10);
    assert_int_equal(figures_of(table).items, 0);
    assert_int_equal(figures_of(table).bytes_dirty, 0);
    assert_int_equal(floor_of(table, "a"), 10);
    item_unref(&items[0]);
    free(items);
    table_destroy(&table);
}

static void what_is_written_after_a_flush_lives(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "dirty", 1, false);
    publish_value(table, "clean", 2, false);
    mark(table, "clean", 10);
    flush(table, 3);
    publish_value(table, "at", 3, false); /* below is dead, not at */
    publish_value(table, "dirty", 4, false);
    publish_value(table, "clean", 5, false);
    assert_int_equal(found(table, "at"), 3);
    assert_int_equal(found(table, "dirty"), 4);
    assert_int_equal(found(table, "clean"), 5);
    assert_int_equal(figures_of(table).items, 3);
    assert_int_equal(checkpoint(table, 20), 3);
    assert_int_equal(found(table, "clean"), 5);
    table_destroy(&table);
}

static void a_fill_may_take_the_place_of_a_dead_item(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    publish_value(table, "b", 2, false);
    mark(table, "b", 10);
    flush(table, 3);
    fill(table, "a", 4);
    fill(table, "b", 5);
    assert_int_equal(found(table, "a"), 4);
    assert_int_equal(found(table, "b"), 5);
    assert_int_equal(figures_of(table).items, 2);
    assert_int_equal(figures_of(table).items_dirty, 0);
    table_destroy(&table);
}

/* ---- delta: what the tree's count is wrong by ---- */

static void assert_delta(struct table *table, int64_t delta) {
    assert_int_equal(figures_of(table).delta, delta);
}

static void new_keys_count_until_they_are_applied(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 4);

    publish_value(table, "a", 1, false);
    publish_value(table, "b", 2, false);
    assert_delta(table, 2);
    publish_value(table, "a", 3, false);
    publish_value(table, "a", 4, true); /* not looked at: an older version is in RAM */
    assert_delta(table, 2);
    checkpoint(table, 10);
    assert_delta(table, 0);
    publish_value(table, "a", 5, false); /* over a CLEAN value: the tree has it */
    assert_delta(table, 0);
    table_destroy(&table);
}

static void known_keys_do_not_count(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 4);

    publish_value(table, "a", 1, true);
    assert_delta(table, 0);
    publish_tombstone(table, "a", 2, false);
    assert_delta(table, -1);
    publish_value(table, "a", 3, false);
    assert_delta(table, 0);
    table_destroy(&table);
}

static void tombstones_count_what_the_tree_still_has(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 4);

    publish_tombstone(table, "nowhere", 1, false);
    assert_delta(table, 0);
    publish_tombstone(table, "tree", 2, true);
    assert_delta(table, -1);
    fill(table, "filled", 3);
    publish_tombstone(table, "filled", 4, false);
    assert_delta(table, -2);
    publish_value(table, "new", 5, false);
    publish_tombstone(table, "new", 6, false); /* the tree never had it */
    assert_delta(table, -2);
    checkpoint(table, 10);
    assert_delta(table, 0);
    table_destroy(&table);
}

static void a_version_replaced_while_it_was_applied_is_in_the_tree(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    publish_value(table, "a", 1, false);
    publish_tombstone(table, "b", 2, true);
    struct item *a = get(table, "a");
    struct item *b = get(table, "b");
    publish_value(table, "a", 3, false);
    publish_value(table, "b", 4, false);
    assert_delta(table, 1 + 0);
    table_mark_clean(table, a, 10); /* the tree has "a" now, */
    assert_delta(table, 0 + 0);
    table_mark_clean(table, b, 10); /* and no longer "b" */
    assert_delta(table, 0 + 1);
    item_unref(&a);
    item_unref(&b);
    checkpoint(table, 11);
    assert_delta(table, 0);
    table_destroy(&table);
}

static void a_flush_starts_the_count_anew(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 4);

    publish_value(table, "a", 1, false);
    publish_value(table, "b", 2, false);
    publish_tombstone(table, "c", 3, true);
    publish_value(table, "d", 4, true);
    struct item *d = get(table, "d");
    flush(table, 5);
    assert_delta(table, 0);
    publish_value(table, "a", 6, false); /* over a dead DIRTY value: the new tree does not have it */
    assert_delta(table, 1);
    publish_value(table, "d", 7, false);
    assert_delta(table, 2);
    table_mark_clean(table, d, 10); /* dead: says nothing about the new tree */
    assert_delta(table, 2);
    item_unref(&d);
    assert_int_equal(checkpoint(table, 11), 4);
    assert_delta(table, 0);
    assert_int_equal(figures_of(table).items, 2);
    table_destroy(&table);
}

/* ---- memory ---- */

static void bytes_are_counted_at_link_and_unlink(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 4);
    struct item *sample = make_item(slice_str("a"), VALUE, 1);
    uint64_t one = item_footprint(sample);

    item_unref(&sample);
    publish_value(table, "a", 1, false);
    publish_value(table, "b", 2, false);
    fill(table, "c", 3);
    assert_int_equal(figures_of(table).bytes, 3 * one);
    assert_int_equal(figures_of(table).bytes_dirty, 2 * one);
    assert_int_equal(table_bytes_dirty(table), 2 * one);
    publish(table, make_item(slice_str("a"), 10000, 4), false);
    assert_in_range(figures_of(table).bytes_dirty, one + 10000, one + 10200);
    publish_value(table, "a", 5, false);
    checkpoint(table, 10);
    assert_int_equal(figures_of(table).bytes, 3 * one);
    assert_int_equal(figures_of(table).bytes_dirty, 0);
    drop(table, "a");
    drop(table, "b");
    drop(table, "c");
    assert_int_equal(figures_of(table).bytes, 0);
    table_destroy(&table);
}

static void stripes_follow_the_budget(void **state) {
    (void)state;
    struct table *small = make_table(1 << 20, 0);
    struct table *large = make_table(UINT64_C(1) << 30, 0);

    /* What is there before the first item grows with the stripes: 64 and 4,096. */
    assert_in_range(figures_of(small).buckets_bytes, 64 * 128, 64 * 1024);
    assert_in_range(figures_of(large).buckets_bytes, 4096 * 128, 4096 * 1024);
    table_destroy(&small);
    table_destroy(&large);
}

static void the_budget_holds_while_items_can_leave(void **state) {
    (void)state;
    enum { BUDGET = 4 << 20, COUNT = 100000 };
    struct table *table = make_table(BUDGET, 16);
    char text[KEY_TEXT_BYTES];

    for (unsigned i = 0; i < COUNT; i++) {
        number_key(text, i);
        fill(table, text, i + 1);
        struct table_figures figures = figures_of(table);
        assert_true(figures.bytes + figures.buckets_bytes <= BUDGET + 64 * 1024);
    }
    struct table_figures figures = figures_of(table);
    assert_true(figures.bytes + figures.buckets_bytes > BUDGET * 9 / 10);
    assert_int_equal(figures.items + figures.evictions, COUNT);
    assert_int_equal(figures.evictions_unfetched, figures.evictions);
    table_destroy(&table);
}

static void fetched_victims_are_told_apart(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);

    fill(table, "read", 1);
    fill(table, "unread", 2);
    hit(table, "read", 1);
    table_set_budget(table, 0);
    table_reclaim(table);
    assert_int_equal(figures_of(table).evictions, 2);
    assert_int_equal(figures_of(table).evictions_unfetched, 1);
    table_destroy(&table);
}

static void dirty_items_stay_over_budget(void **state) {
    (void)state;
    struct table *table = make_table(0, 4);
    char text[KEY_TEXT_BYTES];

    for (unsigned i = 0; i < 1000; i++)
        publish(table, make_item(number_key(text, i), VALUE, i + 1), false);
    for (unsigned i = 0; i < 100; i++)
        table_reclaim(table);
    for (unsigned i = 0; i < 1000; i++) {
        number_key(text, i);
        assert_int_equal(found(table, text), i + 1);
    }
    assert_int_equal(figures_of(table).evictions, 0);
    table_destroy(&table);
}

static void reclaim_goes_through_the_stripes(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    struct table *table = make_table(PLENTY, 64);
    char text[KEY_TEXT_BYTES];
    unsigned calls = 0;

    for (unsigned i = 0; i < COUNT; i++) {
        number_key(text, i);
        fill(table, text, i + 1);
    }
    table_reclaim(table);
    assert_int_equal(figures_of(table).evictions, 0); /* nothing to do */
    table_set_budget(table, 0);
    table_reclaim(table);
    assert_in_range(figures_of(table).evictions, 1, 1500); /* bounded work */
    while (figures_of(table).items > 0 && calls < 1000) {
        table_reclaim(table);
        calls++;
    }
    assert_int_equal(figures_of(table).items, 0);
    assert_int_equal(figures_of(table).evictions, COUNT);
    table_destroy(&table);
}

static void a_publish_evicts_what_is_clean(void **state) {
    (void)state;
    enum { BUDGET = 1 << 20 };
    struct table *table = make_table(BUDGET, 1);
    char text[KEY_TEXT_BYTES];

    for (unsigned i = 0; i < 10000; i++) {
        number_key(text, i);
        publish(table, make_item(slice_str(text), VALUE, i + 1), false);
        if (i % 1000 == 999)
            checkpoint(table, i);
    }
    assert_true(figures_of(table).evictions > 4000);
    assert_true(figures_of(table).bytes <= BUDGET);
    assert_int_not_equal(floor_of(table, "any"), 0);
    table_destroy(&table);
}

/* ---- S3-FIFO on keys ---- */

static unsigned present(struct table *table, unsigned from, unsigned count) {
    char text[KEY_TEXT_BYTES];
    unsigned n = 0;

    for (unsigned i = from; i < from + count; i++) {
        number_key(text, i);
        n += found(table, text) != 0;
    }
    return n;
}

/* A read through the cache: found and hit, or filled. */
static void read_through(struct table *table, unsigned number) {
    char text[KEY_TEXT_BYTES];

    number_key(text, number);
    if (found(table, text) != 0)
        hit(table, text, 1);
    else
        fill(table, text, number + 1);
}

static void a_cold_scan_does_not_push_out_the_hot_set(void **state) {
    (void)state;
    enum { ROOM = 20000, HOT = ROOM / 2, COLD = 10 * ROOM };
    struct table *table = make_table(0, 16);
    uint64_t seed = random_seed("scan");

    table_set_budget(table, figures_of(table).buckets_bytes + ROOM * UINT64_C(192) * 108 / 100);
    /* The hot set is read at random, among what is read only once. */
    for (unsigned i = 0; i < 20 * HOT; i++) {
        read_through(table, random_below(&seed, HOT));
        if (i % 4 == 0)
            read_through(table, 1000000 + i);
    }
    assert_in_range(present(table, 0, HOT), HOT * 99 / 100, HOT);
    for (unsigned i = 0; i < COLD; i++)
        read_through(table, 10000000 + i);
    assert_in_range(present(table, 0, HOT), HOT * 95 / 100, HOT);
    table_destroy(&table);
}

static void a_new_version_takes_over_the_place_in_main(void **state) {
    (void)state;
    struct table *table = make_table(PLENTY, 1);
    uint64_t lsn = 1;

    publish_value(table, "a", lsn, false);
    hit(table, "a", 1);
    mark(table, "a", 1);
    struct item *item = get(table, "a");
    assert_int_equal(item->queue, ITEM_MAIN);
    assert_int_equal(item->freq, 0);
    item_unref(&item);
    for (int versions = 1; versions <= 2; versions++) { /* through one DIRTY version, and through two */
        for (int i = 0; i < versions; i++)
            publish_value(table, "a", ++lsn, false);
        mark(table, "a", lsn);
        item = get(table, "a");
        assert_int_equal(item->queue, ITEM_MAIN);
        item_unref(&item);
    }
    table_destroy(&table);
}

static void rewritten_keys_stay_hot_through_a_scan(void **state) {
    (void)state;
    enum { ROOM = 20000, HOT = ROOM / 4, COLD = 10 * ROOM };
    struct table *table = make_table(0, 16);
    char text[KEY_TEXT_BYTES];
    uint64_t lsn = 0;

    /* Sessions: read, then written; applied now and then. */
    table_set_budget(table, figures_of(table).buckets_bytes + ROOM * UINT64_C(192) * 108 / 100);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < HOT; i++) {
            number_key(text, i);
            publish(table, make_item(slice_str(text), 95, ++lsn), false);
            hit(table, text, 1);
        }
        checkpoint(table, lsn);
    }
    for (unsigned i = 0; i < COLD; i++)
        read_through(table, 10000000 + i);
    assert_in_range(present(table, 0, HOT), HOT * 95 / 100, HOT);
    table_destroy(&table);
}

static void a_flushed_table_makes_room_for_what_comes(void **state) {
    (void)state;
    enum { ROOM = 20000 };
    struct table *table = make_table(0, 16);

    table_set_budget(table, figures_of(table).buckets_bytes + ROOM * UINT64_C(192) * 108 / 100);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 2 * ROOM; i++)
            read_through(table, i);
    flush(table, 1000000);
    for (unsigned i = 0; i < ROOM / 2; i++)
        read_through(table, 2000000 + i);
    assert_in_range(present(table, 2000000, ROOM / 2), ROOM / 2 * 95 / 100, ROOM / 2);
    table_destroy(&table);
}

/* ---- walking the DIRTY ---- */

static void sum_lsn(void *arg, struct item *item) {
    uint64_t *sum = arg;

    *sum += item->lsn;
}

static void the_dirty_are_collected_and_walked(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    struct table *table = make_table(PLENTY, 8);
    struct item **items;
    size_t count;
    uint64_t sum = 0;
    char text[KEY_TEXT_BYTES];

    assert_ok(table_collect_dirty(table, &items, &count));
    assert_int_equal(count, 0);
    free(items);
    for (unsigned i = 1; i <= COUNT; i++)
        publish(table, make_item(number_key(text, i), VALUE, i), false);
    fill(table, "clean", 5000);
    assert_ok(table_collect_dirty(table, &items, &count));
    assert_int_equal(count, COUNT);
    for (size_t i = 0; i < count; i++) {
        sum += items[i]->lsn;
        item_unref(&items[i]);
    }
    free(items);
    assert_int_equal(sum, COUNT * (COUNT + 1) / 2);
    sum = 0;
    table_each_dirty(table, sum_lsn, &sum);
    assert_int_equal(sum, COUNT * (COUNT + 1) / 2);
    table_destroy(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_version_is_found),
        cmocka_unit_test(keys_differ_by_length_and_by_any_byte),
        cmocka_unit_test(the_index_grows_with_the_items),
        cmocka_unit_test(a_hit_counts_and_leaves_its_time),
        cmocka_unit_test(what_find_lends_is_readable_until_unlock),
        cmocka_unit_test(a_reference_outlives_the_table),
        cmocka_unit_test(marking_clean_alone_raises_no_floor),
        cmocka_unit_test(dropping_what_was_written_raises_the_floor),
        cmocka_unit_test(the_floor_is_the_last_commits_not_the_items),
        cmocka_unit_test(dropping_what_was_filled_raises_no_floor),
        cmocka_unit_test(a_tombstone_is_dropped_by_marking_and_raises_the_floor),
        cmocka_unit_test(a_replaced_clean_version_raises_no_floor),
        cmocka_unit_test(a_rewritten_fill_counts_as_written),
        cmocka_unit_test(eviction_raises_the_floor_too),
        cmocka_unit_test(marking_a_replaced_version_sets_clean_and_nothing_else),
        cmocka_unit_test(raised_floors_never_sink),
        cmocka_unit_test(dead_clean_items_leave_when_they_are_met),
        cmocka_unit_test(dead_dirty_items_stay_until_they_are_marked),
        cmocka_unit_test(what_is_written_after_a_flush_lives),
        cmocka_unit_test(a_fill_may_take_the_place_of_a_dead_item),
        cmocka_unit_test(new_keys_count_until_they_are_applied),
        cmocka_unit_test(known_keys_do_not_count),
        cmocka_unit_test(tombstones_count_what_the_tree_still_has),
        cmocka_unit_test(a_version_replaced_while_it_was_applied_is_in_the_tree),
        cmocka_unit_test(a_flush_starts_the_count_anew),
        cmocka_unit_test(bytes_are_counted_at_link_and_unlink),
        cmocka_unit_test(stripes_follow_the_budget),
        cmocka_unit_test(the_budget_holds_while_items_can_leave),
        cmocka_unit_test(fetched_victims_are_told_apart),
        cmocka_unit_test(dirty_items_stay_over_budget),
        cmocka_unit_test(reclaim_goes_through_the_stripes),
        cmocka_unit_test(a_publish_evicts_what_is_clean),
        cmocka_unit_test(a_cold_scan_does_not_push_out_the_hot_set),
        cmocka_unit_test(a_new_version_takes_over_the_place_in_main),
        cmocka_unit_test(rewritten_keys_stay_hot_through_a_scan),
        cmocka_unit_test(a_flushed_table_makes_room_for_what_comes),
        cmocka_unit_test(the_dirty_are_collected_and_walked),
    };

    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
