/* SPDX-License-Identifier: BSD-3-Clause */
/* The table under its budget: what is counted, who leaves, who stays. */
#include "storage/table.h"

#include <stdlib.h>

#include "storage/item.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"
#include "tests/unit/support_table.h"

/* ---- memory ---- */

static void bytes_are_counted_at_link_and_unlink(void **state) {
    (void)state;
    struct table *table = make_table(TABLE_PLENTY, 4);
    struct item *sample = make_item(slice_str("a"), TABLE_VALUE, 1);
    uint64_t one = item_footprint(sample);

    item_unref(&sample);
    step_publish_value(table, "a", 1, false);
    step_publish_value(table, "b", 2, false);
    step_fill(table, "c", 3);
    assert_int_equal(figures_of(table).bytes, 3 * one);
    assert_int_equal(figures_of(table).bytes_dirty, 2 * one);
    assert_int_equal(table_bytes_dirty(table), 2 * one);
    step_publish(table, make_item(slice_str("a"), 10000, 4), false);
    assert_in_range(figures_of(table).bytes_dirty, one + 10000, one + 10200);
    step_publish_value(table, "a", 5, false);
    step_checkpoint(table, 10);
    assert_int_equal(figures_of(table).bytes, 3 * one);
    assert_int_equal(figures_of(table).bytes_dirty, 0);
    step_drop(table, "a");
    step_drop(table, "b");
    step_drop(table, "c");
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
        step_fill(table, text, i + 1);
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
    struct table *table = make_table(TABLE_PLENTY, 1);

    step_fill(table, "read", 1);
    step_fill(table, "unread", 2);
    step_hit(table, "read", 1);
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
        step_publish(table, make_item(number_key(text, i), TABLE_VALUE, i + 1), false);
    for (unsigned i = 0; i < 100; i++)
        table_reclaim(table);
    for (unsigned i = 0; i < 1000; i++) {
        number_key(text, i);
        assert_int_equal(step_found(table, text), i + 1);
    }
    assert_int_equal(figures_of(table).evictions, 0);
    table_destroy(&table);
}

static void reclaim_goes_through_the_stripes(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    struct table *table = make_table(TABLE_PLENTY, 64);
    char text[KEY_TEXT_BYTES];
    unsigned calls = 0;

    for (unsigned i = 0; i < COUNT; i++) {
        number_key(text, i);
        step_fill(table, text, i + 1);
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
        step_publish(table, make_item(slice_str(text), TABLE_VALUE, i + 1), false);
        if (i % 1000 == 999)
            step_checkpoint(table, i);
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
        n += step_found(table, text) != 0;
    }
    return n;
}

/* A read through the cache: found and hit, or filled. */
static void read_through(struct table *table, unsigned number) {
    char text[KEY_TEXT_BYTES];

    number_key(text, number);
    if (step_found(table, text) != 0)
        step_hit(table, text, 1);
    else
        step_fill(table, text, number + 1);
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
    struct table *table = make_table(TABLE_PLENTY, 1);
    uint64_t lsn = 1;

    step_publish_value(table, "a", lsn, false);
    step_hit(table, "a", 1);
    step_mark(table, "a", 1);
    struct item *item = step_get(table, "a");
    assert_int_equal(item->queue, ITEM_MAIN);
    assert_int_equal(item->freq, 0);
    item_unref(&item);
    for (int versions = 1; versions <= 2; versions++) { /* through one DIRTY version, and through two */
        for (int i = 0; i < versions; i++)
            step_publish_value(table, "a", ++lsn, false);
        step_mark(table, "a", lsn);
        item = step_get(table, "a");
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
            step_publish(table, make_item(slice_str(text), 95, ++lsn), false);
            step_hit(table, text, 1);
        }
        step_checkpoint(table, lsn);
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
    step_flush(table, 1000000);
    for (unsigned i = 0; i < ROOM / 2; i++)
        read_through(table, 2000000 + i);
    assert_in_range(present(table, 2000000, ROOM / 2), ROOM / 2 * 95 / 100, ROOM / 2);
    table_destroy(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
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
    };

    return cmocka_run_group_tests_name("table_memory", tests, NULL, NULL);
}
