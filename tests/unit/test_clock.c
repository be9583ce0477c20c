/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/clock.h"

#include <time.h>

#include "tests/unit/support_cmocka.h"

static void starts_at_the_wall_time(void **state) {
    (void)state;
    struct clock *clock = clock_create();
    assert_non_null(clock);
    int64_t before = (int64_t)time(NULL);
    int64_t ours = clock_wall(clock);
    int64_t after = (int64_t)time(NULL);
    /* Both clocks are read a moment apart, so a second may begin between them. */
    assert_true(ours >= before - 1 && ours <= after + 1);
    clock_destroy(&clock);
    assert_null(clock);
    clock_destroy(&clock);
}

static void advances_both_ways_and_adds_up(void **state) {
    (void)state;
    struct clock *clock = clock_create();
    int64_t start = clock_wall(clock);
    clock_advance(clock, 1000);
    clock_advance(clock, 500);
    int64_t later = clock_wall(clock);
    assert_true(later >= start + 1500 && later <= start + 1502);
    clock_advance(clock, -2000);
    int64_t earlier = clock_wall(clock);
    assert_true(earlier >= start - 500 && earlier <= start - 498);
    clock_destroy(&clock);
}

static void two_clocks_are_moved_apart(void **state) {
    (void)state;
    struct clock *a = clock_create();
    struct clock *b = clock_create();
    clock_advance(a, 86400);
    int64_t apart = clock_wall(a) - clock_wall(b);
    assert_true(apart >= 86399 && apart <= 86401);
    clock_destroy(&a);
    clock_destroy(&b);
}

static void advancing_is_no_drift(void **state) {
    (void)state;
    struct clock *clock = clock_create();
    assert_int_equal(clock_drift(clock), 0);
    clock_advance(clock, 86400);
    assert_int_equal(clock_drift(clock), 0);
    clock_destroy(&clock);
}

static void micros_go_forward_only(void **state) {
    (void)state;
    uint64_t last = clock_micros();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = clock_micros();
        assert_true(now >= last);
        last = now;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_at_the_wall_time), cmocka_unit_test(advances_both_ways_and_adds_up),
        cmocka_unit_test(two_clocks_are_moved_apart), cmocka_unit_test(advancing_is_no_drift),
        cmocka_unit_test(micros_go_forward_only),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
