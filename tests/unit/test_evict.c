/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/evict.h"

#include <stdlib.h>

#include "src/base/check.h"
#include "src/base/hash.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"

enum { VALUE = 100, ENOUGH = 1000 };

/* An item in no queue, with a good hash; the LSN names it. */
static struct item *numbered(unsigned number) {
    char text[KEY_TEXT_BYTES];
    struct slice key = number_key(text, number);
    struct item *item = make_item(key, VALUE, number);

    item->hash_high = (uint32_t)(hash_key(key.p, key.n, 1) >> 32);
    return item;
}

static struct item *admitted(struct evict *evict, unsigned number) {
    struct item *item = numbered(number);

    evict_admit(evict, item);
    return item;
}

/* The next victim's number after it has left; 0 = none. */
static uint64_t evicted(struct evict *evict, uint64_t dead) {
    unsigned steps = ENOUGH;
    struct item *item = evict_next(evict, dead, &steps);
    uint64_t number = 0;

    if (item != NULL) {
        number = item->lsn;
        evict_leave(evict, item);
        item_unref(&item);
    }
    return number;
}

static void empty(struct fifo *fifo, struct evict *evict) {
    while (fifo->oldest != NULL) {
        struct item *item = fifo->oldest;
        evict_leave(evict, item);
        item_unref(&item);
    }
    assert_null(fifo->newest);
    assert_int_equal(fifo->bytes, 0);
    assert_int_equal(fifo_count(fifo), 0);
}

static void end(struct evict *evict) {
    empty(&evict->dirty, evict);
    empty(&evict->small, evict);
    empty(&evict->main, evict);
    evict_free(evict);
}

static void queues_keep_order_bytes_and_count(void **state) {
    (void)state;
    struct evict evict;
    struct item *items[3];

    evict_init(&evict);
    for (unsigned i = 0; i < 3; i++) {
        items[i] = numbered(i + 1);
        evict_enter(&evict, items[i], ITEM_DIRTY);
    }
    assert_ptr_equal(evict.dirty.oldest, items[0]);
    assert_ptr_equal(evict.dirty.newest, items[2]);
    assert_int_equal(fifo_count(&evict.dirty), 3);
    assert_int_equal(evict.dirty.bytes, 3 * item_footprint(items[0]));

    evict_leave(&evict, items[1]); /* from the middle */
    assert_ptr_equal(items[0]->newer, items[2]);
    assert_ptr_equal(items[2]->older, items[0]);
    assert_int_equal(items[1]->queue, ITEM_NOWHERE);
    evict_leave(&evict, items[2]); /* the newest */
    assert_ptr_equal(evict.dirty.newest, items[0]);
    evict_enter(&evict, items[1], ITEM_DIRTY);
    evict_leave(&evict, items[0]); /* the oldest */
    assert_ptr_equal(evict.dirty.oldest, items[1]);
    assert_int_equal(fifo_count(&evict.dirty), 1);
    item_unref(&items[0]);
    item_unref(&items[2]);
    end(&evict);
}

static void cold_items_leave_in_the_order_of_their_coming(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    for (unsigned i = 1; i <= 100; i++)
        admitted(&evict, i);
    for (unsigned i = 1; i <= 100; i++)
        assert_int_equal(evicted(&evict, 0), i);
    assert_int_equal(evicted(&evict, 0), 0);
    end(&evict);
}

static void dirty_items_never_leave(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    for (unsigned i = 1; i <= 10; i++)
        evict_enter(&evict, numbered(i), ITEM_DIRTY);
    assert_int_equal(evicted(&evict, 0), 0);
    assert_int_equal(evicted(&evict, UINT64_MAX), 0);
    assert_int_equal(fifo_count(&evict.dirty), 10);
    end(&evict);
}

static void a_hit_item_moves_to_main_instead(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    struct item *hit = admitted(&evict, 1);
    admitted(&evict, 2);
    hit->freq = 3;
    assert_int_equal(evicted(&evict, 0), 2);
    assert_int_equal(hit->queue, ITEM_MAIN);
    assert_int_equal(hit->freq, 0); /* the promotion has used it up */
    assert_int_equal(evicted(&evict, 0), 1);
    end(&evict);
}

static void main_gives_a_round_for_each_hit(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    for (unsigned i = 1; i <= 4; i++) {
        struct item *item = numbered(i);
        item->freq = (4 - i) & 3; /* 3 2 1 0 */
        evict_enter(&evict, item, ITEM_MAIN);
    }
    for (unsigned i = 4; i >= 1; i--)
        assert_int_equal(evicted(&evict, 0), i);
    end(&evict);
}

static void small_gives_way_above_a_tenth(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    for (unsigned i = 1; i <= 90; i++)
        evict_enter(&evict, numbered(i), ITEM_MAIN);
    for (unsigned i = 101; i <= 111; i++)
        admitted(&evict, i);
    assert_int_equal(evicted(&evict, 0), 101); /* 11 of 101 */
    assert_int_equal(evicted(&evict, 0), 1);   /* 10 of 100 is not above */
    assert_int_equal(evicted(&evict, 0), 102); /* 10 of 99 is */
    end(&evict);
}

static void what_comes_back_soon_goes_to_main(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    for (unsigned i = 1; i <= 100; i++)
        admitted(&evict, i);
    assert_int_equal(evicted(&evict, 0), 1);
    struct item *back = admitted(&evict, 1);
    assert_int_equal(back->queue, ITEM_MAIN);

    /* Only once: the ghost has let go of it. */
    evict_leave(&evict, back);
    evict_admit(&evict, back);
    assert_int_equal(back->queue, ITEM_SMALL);
    end(&evict);
}

static void what_comes_back_late_starts_anew(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    for (unsigned i = 1; i <= 100; i++)
        admitted(&evict, i);
    assert_int_equal(evicted(&evict, 0), 1);
    for (unsigned i = 101; i <= 210; i++) { /* more leave than the stripe has CLEAN items */
        admitted(&evict, i);
        assert_int_equal(evicted(&evict, 0), i - 99);
    }
    assert_int_equal(admitted(&evict, 1)->queue, ITEM_SMALL);
    end(&evict);
}

static void leaving_main_leaves_no_ghost(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    for (unsigned i = 1; i <= 10; i++)
        evict_enter(&evict, numbered(i), ITEM_MAIN);
    assert_int_equal(evicted(&evict, 0), 1);
    assert_int_equal(admitted(&evict, 1)->queue, ITEM_SMALL);
    end(&evict);
}

static void the_ghost_remembers_a_window_and_seldom_errs(void **state) {
    (void)state;
    enum { WINDOW = 2000 };
    struct evict evict;
    unsigned remembered = 0;
    unsigned mistaken = 0;

    evict_init(&evict);
    for (unsigned i = 1; i <= 2 * WINDOW; i++) {
        admitted(&evict, i);
        if (i > WINDOW)
            assert_int_equal(evicted(&evict, 0), i - WINDOW);
    }
    /* Admitting shifts no time, so all of 1 to WINDOW are in the window. */
    for (unsigned i = 1; i <= WINDOW; i++)
        remembered += admitted(&evict, i)->queue == ITEM_MAIN;
    for (unsigned i = 1; i <= WINDOW; i++)
        mistaken += admitted(&evict, 1000000 + i)->queue == ITEM_MAIN;
    assert_in_range(remembered, WINDOW * 85 / 100, WINDOW);
    assert_in_range(mistaken, 0, WINDOW / 100);
    end(&evict);
}

static void the_ghost_is_bounded_by_the_items(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    assert_int_equal(evict_bytes(&evict), 0);
    for (unsigned i = 1; i <= 101000; i++) { /* a thousand at a time, a hundred thousand leave */
        admitted(&evict, i);
        if (i > 1000)
            assert_int_not_equal(evicted(&evict, 0), 0);
    }
    assert_in_range(evict_bytes(&evict), 1000 * 4, 1000 * 4 * 2);
    end(&evict);
}

static void the_ghost_outlives_its_clock(void **state) {
    (void)state;
    struct evict evict;

    /* 16 bits of time go round many times; what left just now is known, what never came is not. */
    evict_init(&evict);
    for (unsigned i = 1; i <= 50; i++)
        admitted(&evict, i);
    for (unsigned i = 51; i <= 300000; i++) {
        struct item *item = admitted(&evict, i);
        uint64_t left = evicted(&evict, 0);
        assert_int_not_equal(left, 0);
        if (i % 1000 == 0) {
            struct item *back = admitted(&evict, (unsigned)left);
            assert_int_equal(back->queue, ITEM_MAIN);
            evict_leave(&evict, back);
            item_unref(&back);
            assert_int_equal(item->queue, ITEM_SMALL);
        }
    }
    end(&evict);
}

static void a_new_version_stays_where_the_old_one_was(void **state) {
    (void)state;
    struct evict evict;
    struct item *item = numbered(1);

    evict_init(&evict);
    item->was_main = 1;
    item->freq = 2;
    evict_admit(&evict, item);
    assert_int_equal(item->queue, ITEM_MAIN);
    assert_int_equal(item->freq, 2);
    assert_int_equal(item->was_main, 0);

    item = numbered(2); /* read while it was DIRTY */
    item->freq = 2;
    evict_admit(&evict, item);
    assert_int_equal(item->queue, ITEM_MAIN);
    assert_int_equal(item->freq, 0);
    end(&evict);
}

static void dead_items_go_first_from_main(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    for (unsigned i = 1; i <= 5; i++) {
        struct item *item = numbered(i);
        item->freq = 3; /* of no use to the dead */
        evict_enter(&evict, item, ITEM_MAIN);
    }
    evict_enter(&evict, numbered(100), ITEM_MAIN);
    for (unsigned i = 101; i <= 120; i++)
        admitted(&evict, i);
    for (unsigned i = 1; i <= 5; i++)
        assert_int_equal(evicted(&evict, 50), i);
    assert_int_equal(evicted(&evict, 50), 101);
    end(&evict);
}

static void dead_items_leave_no_ghost(void **state) {
    (void)state;
    struct evict evict;

    evict_init(&evict);
    for (unsigned i = 1; i <= 10; i++)
        admitted(&evict, i);
    assert_int_equal(evicted(&evict, 50), 1);
    assert_int_equal(admitted(&evict, 1)->queue, ITEM_SMALL);
    end(&evict);
}

static void a_search_ends_when_its_steps_are_used_up(void **state) {
    (void)state;
    struct evict evict;
    unsigned steps = 4;

    evict_init(&evict);
    for (unsigned i = 1; i <= 10; i++)
        admitted(&evict, i)->freq = 3;
    assert_null(evict_next(&evict, 0, &steps));
    assert_int_equal(steps, 0);
    assert_int_equal(fifo_count(&evict.small), 6);
    assert_int_equal(fifo_count(&evict.main), 4);
    end(&evict);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_keep_order_bytes_and_count),
        cmocka_unit_test(cold_items_leave_in_the_order_of_their_coming),
        cmocka_unit_test(dirty_items_never_leave),
        cmocka_unit_test(a_hit_item_moves_to_main_instead),
        cmocka_unit_test(main_gives_a_round_for_each_hit),
        cmocka_unit_test(small_gives_way_above_a_tenth),
        cmocka_unit_test(what_comes_back_soon_goes_to_main),
        cmocka_unit_test(what_comes_back_late_starts_anew),
        cmocka_unit_test(leaving_main_leaves_no_ghost),
        cmocka_unit_test(the_ghost_remembers_a_window_and_seldom_errs),
        cmocka_unit_test(the_ghost_is_bounded_by_the_items),
        cmocka_unit_test(the_ghost_outlives_its_clock),
        cmocka_unit_test(a_new_version_stays_where_the_old_one_was),
        cmocka_unit_test(dead_items_go_first_from_main),
        cmocka_unit_test(dead_items_leave_no_ghost),
        cmocka_unit_test(a_search_ends_when_its_steps_are_used_up),
    };

    return cmocka_run_group_tests_name("evict", tests, NULL, NULL);
}
