/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/table.h"

#include <stdlib.h>

#include "storage/item.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"
#include "tests/unit/support_table.h"

/* ---- finding ---- */

static void the_newest_version_is_found(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    assert_int_equal(step_found(table, "a"), 0);
    step_publish_value(table, "a", 1, false);
    step_publish_value(table, "b", 2, false);
    assert_int_equal(step_found(table, "a"), 1);
    step_publish_value(table, "a", 3, false);
    assert_int_equal(step_found(table, "a"), 3);
    assert_int_equal(step_found(table, "b"), 2);
    step_publish_tombstone(table, "b", 4, false);
    struct item *item = step_get(table, "b");
    assert_int_equal(item->kind, ITEM_TOMBSTONE);
    item_unref(&item);
    assert_int_equal(figures_of(table).items, 2);
    table_destroy(&table);
    assert_null(table);
    table_destroy(&table);
}

static void keys_differ_by_length_and_by_any_byte(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);
    char key[STORE_KEY_MAX];

    memset(key, 'k', sizeof key);
    for (size_t n = 1; n <= sizeof key; n++)
        step_publish(table, make_item(slice_of(key, n), 1, n), false);
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
    struct table *table = make_table(TABLE_PLENTY, 4);
    uint64_t before = figures_of(table).buckets_bytes;
    char text[KEY_TEXT_BYTES];

    for (unsigned i = 0; i < COUNT; i++)
        step_publish(table, make_item(number_key(text, i), 1, i + 1), false);
    for (unsigned i = 0; i < COUNT; i++) {
        number_key(text, i);
        assert_int_equal(step_found(table, text), i + 1);
    }
    assert_int_equal(figures_of(table).items, COUNT);
    /* Three to six items for each bucket of 64 bytes. */
    assert_in_range(figures_of(table).buckets_bytes - before, COUNT * 64 / 7, COUNT * 64 / 2);
    table_destroy(&table);
}

static void a_hit_counts_and_leaves_its_time(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    struct item *item = step_get(table, "a");
    assert_int_equal(item->fetched, 0);
    step_hit(table, "a", 12345);
    assert_int_equal(item->fetched, 1);
    assert_int_equal(item->access, 12345);
    assert_int_equal(item->freq, 1);
    for (int i = 0; i < 5; i++)
        step_hit(table, "a", 12346);
    assert_int_equal(item->freq, 3);
    assert_int_equal(item->access, 12346);
    item_unref(&item);

    /* A new version inherits the counter of S3-FIFO, but nobody has fetched it yet. */
    step_publish_value(table, "a", 2, false);
    item = step_get(table, "a");
    assert_int_equal(item->freq, 3);
    assert_int_equal(item->fetched, 0);
    item_unref(&item);
    table_destroy(&table);
}

static void what_find_lends_is_readable_until_unlock(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);
    uint64_t hash = table_hash(table, slice_str("a"));

    step_publish_value(table, "a", 1, false);
    struct stripe *stripe = table_lock(table, hash);
    struct item *old = stripe_find(stripe, hash, slice_str("a"));
    stripe_publish(stripe, hash, make_item(slice_str("a"), TABLE_VALUE, 2), false);
    assert_true(item_is_whole(old));
    assert_int_equal(old->queue, ITEM_NOWHERE);
    table_unlock(stripe);
    table_destroy(&table);
}

static void a_reference_outlives_the_table(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    struct item *item = step_get(table, "a");
    step_publish_value(table, "a", 2, false);
    assert_true(item_is_whole(item));
    table_destroy(&table);
    assert_true(item_is_whole(item));
    item_unref(&item);
}

/* ---- the floor ---- */

static void marking_clean_alone_raises_no_floor(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    step_mark(table, "a", 10);
    assert_int_equal(floor_of(table, "a"), 0);
    assert_int_equal(step_found(table, "a"), 1);
    table_destroy(&table);
}

static void dropping_what_was_written_raises_the_floor(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    step_mark(table, "a", 10);
    step_drop(table, "a");
    assert_int_equal(step_found(table, "a"), 0);
    assert_int_equal(floor_of(table, "a"), 10);
    table_destroy(&table);
}

static void the_floor_is_the_last_commits_not_the_items(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    step_publish_value(table, "b", 2, false);
    step_mark(table, "a", 10);
    step_mark(table, "b", 20);
    step_mark(table, "b", 15); /* an older number takes nothing back */
    step_drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 20);
    table_destroy(&table);
}

static void dropping_what_was_filled_raises_no_floor(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "b", 2, false);
    step_mark(table, "b", 10);
    step_fill(table, "a", 1);
    step_drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 0);
    table_destroy(&table);
}

static void a_tombstone_is_dropped_by_marking_and_raises_the_floor(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_tombstone(table, "a", 1, true);
    step_mark(table, "a", 10);
    assert_int_equal(step_found(table, "a"), 0);
    assert_int_equal(figures_of(table).items, 0);
    assert_int_equal(figures_of(table).bytes, 0);
    assert_int_equal(floor_of(table, "a"), 10);
    table_destroy(&table);
}

static void a_replaced_clean_version_raises_no_floor(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    step_mark(table, "a", 10);
    step_publish_value(table, "a", 2, false);
    assert_int_equal(floor_of(table, "a"), 0);
    step_mark(table, "a", 20);
    step_drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 20);
    table_destroy(&table);
}

static void a_rewritten_fill_counts_as_written(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_fill(table, "a", 1);
    step_publish_value(table, "a", 2, false);
    step_mark(table, "a", 10);
    step_drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 10);

    struct item *copy = make_item(slice_str("b"), TABLE_VALUE, 3);
    copy->filled = 1; /* an item that was read from the tree, published as it is */
    step_publish(table, copy, true);
    step_mark(table, "b", 11);
    step_drop(table, "b");
    assert_int_equal(floor_of(table, "b"), 11);
    table_destroy(&table);
}

static void eviction_raises_the_floor_too(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    step_mark(table, "a", 10);
    table_set_budget(table, 0);
    table_reclaim(table);
    assert_int_equal(step_found(table, "a"), 0);
    assert_int_equal(floor_of(table, "a"), 10);
    table_destroy(&table);
}

static void marking_a_replaced_version_sets_clean_and_nothing_else(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    struct item *old = step_get(table, "a");
    step_publish_value(table, "a", 2, false);
    table_mark_clean(table, old, 10);
    item_unref(&old);
    assert_int_equal(step_found(table, "a"), 2);
    assert_int_equal(figures_of(table).items_dirty, 1);
    assert_int_equal(floor_of(table, "a"), 0);

    step_publish_value(table, "b", 3, false);
    step_mark(table, "b", 5);
    step_drop(table, "b");
    assert_int_equal(floor_of(table, "b"), 10);
    table_destroy(&table);
}

static void raised_floors_never_sink(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 2);

    step_publish_value(table, "a", 1, false);
    step_mark(table, "a", 10);
    table_lock_all(table);
    table_raise_floors(table, 30);
    table_raise_floors(table, 25);
    table_unlock_all(table);
    assert_int_equal(floor_of(table, "a"), 30);
    assert_int_equal(floor_of(table, "b"), 30);
    step_drop(table, "a");
    assert_int_equal(floor_of(table, "a"), 30);
    table_destroy(&table);
}

/* ---- flush ---- */

static void dead_clean_items_leave_when_they_are_met(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    step_publish_value(table, "b", 2, false);
    step_mark(table, "a", 10);
    step_mark(table, "b", 10);
    assert_int_equal(table_flush_lsn(table), 0);
    step_flush(table, 3);
    assert_int_equal(table_flush_lsn(table), 3);
    assert_int_equal(figures_of(table).items, 2);
    assert_int_equal(step_found(table, "a"), 0);
    assert_int_equal(figures_of(table).items, 1);
    table_destroy(&table);
}

static void dead_dirty_items_stay_until_they_are_marked(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);
    struct item **items;
    size_t count;

    step_publish_value(table, "a", 1, false);
    step_flush(table, 2);
    assert_int_equal(step_found(table, "a"), 0);
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
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "dirty", 1, false);
    step_publish_value(table, "clean", 2, false);
    step_mark(table, "clean", 10);
    step_flush(table, 3);
    step_publish_value(table, "at", 3, false); /* below is dead, not at */
    step_publish_value(table, "dirty", 4, false);
    step_publish_value(table, "clean", 5, false);
    assert_int_equal(step_found(table, "at"), 3);
    assert_int_equal(step_found(table, "dirty"), 4);
    assert_int_equal(step_found(table, "clean"), 5);
    assert_int_equal(figures_of(table).items, 3);
    assert_int_equal(step_checkpoint(table, 20), 3);
    assert_int_equal(step_found(table, "clean"), 5);
    table_destroy(&table);
}

static void a_fill_may_take_the_place_of_a_dead_item(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    step_publish_value(table, "b", 2, false);
    step_mark(table, "b", 10);
    step_flush(table, 3);
    step_fill(table, "a", 4);
    step_fill(table, "b", 5);
    assert_int_equal(step_found(table, "a"), 4);
    assert_int_equal(step_found(table, "b"), 5);
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
    struct table *table = make_table(TABLE_PLENTY, 4);

    step_publish_value(table, "a", 1, false);
    step_publish_value(table, "b", 2, false);
    assert_delta(table, 2);
    step_publish_value(table, "a", 3, false);
    step_publish_value(table, "a", 4, true); /* not looked at: an older version is in RAM */
    assert_delta(table, 2);
    step_checkpoint(table, 10);
    assert_delta(table, 0);
    step_publish_value(table, "a", 5, false); /* over a CLEAN value: the tree has it */
    assert_delta(table, 0);
    table_destroy(&table);
}

static void known_keys_do_not_count(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 4);

    step_publish_value(table, "a", 1, true);
    assert_delta(table, 0);
    step_publish_tombstone(table, "a", 2, false);
    assert_delta(table, -1);
    step_publish_value(table, "a", 3, false);
    assert_delta(table, 0);
    table_destroy(&table);
}

static void tombstones_count_what_the_tree_still_has(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 4);

    step_publish_tombstone(table, "nowhere", 1, false);
    assert_delta(table, 0);
    step_publish_tombstone(table, "tree", 2, true);
    assert_delta(table, -1);
    step_fill(table, "filled", 3);
    step_publish_tombstone(table, "filled", 4, false);
    assert_delta(table, -2);
    step_publish_value(table, "new", 5, false);
    step_publish_tombstone(table, "new", 6, false); /* the tree never had it */
    assert_delta(table, -2);
    step_checkpoint(table, 10);
    assert_delta(table, 0);
    table_destroy(&table);
}

static void a_version_replaced_while_it_was_applied_is_in_the_tree(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_publish_value(table, "a", 1, false);
    step_publish_tombstone(table, "b", 2, true);
    struct item *a = step_get(table, "a");
    struct item *b = step_get(table, "b");
    step_publish_value(table, "a", 3, false);
    step_publish_value(table, "b", 4, false);
    assert_delta(table, 1 + 0);
    table_mark_clean(table, a, 10); /* the tree has "a" now, */
    assert_delta(table, 0 + 0);
    table_mark_clean(table, b, 10); /* and no longer "b" */
    assert_delta(table, 0 + 1);
    item_unref(&a);
    item_unref(&b);
    step_checkpoint(table, 11);
    assert_delta(table, 0);
    table_destroy(&table);
}

static void a_flush_starts_the_count_anew(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 4);

    step_publish_value(table, "a", 1, false);
    step_publish_value(table, "b", 2, false);
    step_publish_tombstone(table, "c", 3, true);
    step_publish_value(table, "d", 4, true);
    struct item *d = step_get(table, "d");
    step_flush(table, 5);
    assert_delta(table, 0);
    step_publish_value(table, "a", 6, false); /* over a dead DIRTY value: the new tree does not have it */
    assert_delta(table, 1);
    step_publish_value(table, "d", 7, false);
    assert_delta(table, 2);
    table_mark_clean(table, d, 10); /* dead: says nothing about the new tree */
    assert_delta(table, 2);
    item_unref(&d);
    assert_int_equal(step_checkpoint(table, 11), 4);
    assert_delta(table, 0);
    assert_int_equal(figures_of(table).items, 2);
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
    struct table *table = make_table(TABLE_PLENTY, 8);
    struct item **items;
    size_t count;
    uint64_t sum = 0;
    char text[KEY_TEXT_BYTES];

    assert_ok(table_collect_dirty(table, &items, &count));
    assert_int_equal(count, 0);
    free(items);
    for (unsigned i = 1; i <= COUNT; i++)
        step_publish(table, make_item(number_key(text, i), TABLE_VALUE, i), false);
    step_fill(table, "clean", 5000);
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
        cmocka_unit_test(the_dirty_are_collected_and_walked),
    };

    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
