/* SPDX-License-Identifier: BSD-3-Clause */
/* incr, decr and meta arithmetic. */
#include "tests/unit/support_command.h"

static struct request arith_of(const char *key, uint64_t delta, bool decrement) {
    return (struct request){.command = CMD_ARITH, .key = slice_str(key), .delta = delta, .decrement = decrement};
}

static void expect_number(struct bench *bench, const struct request *request, uint64_t number) {
    struct command *command = bench_run(bench, request);
    assert_result(command->response.result, RESULT_NUMBER);
    assert_int_equal(command->response.number, number);
    assert_true(command->response.cas > 0);
    bench_end(&command);
}

static void incr(struct bench *bench, const char *key, uint64_t delta, uint64_t number) {
    struct request request = arith_of(key, delta, false);
    expect_number(bench, &request, number);
}

static void decr(struct bench *bench, const char *key, uint64_t delta, uint64_t number) {
    struct request request = arith_of(key, delta, true);
    expect_number(bench, &request, number);
}

static void test_counts_in_place_with_spaces(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "114514");
    decr(bench, "k", 100000, 14514);
    bench_expect(bench, "k", "14514 ");
    incr(bench, "k", 1, 14515);
    bench_expect(bench, "k", "14515 ");
    incr(bench, "k", 1000000, 1014515);
    bench_expect(bench, "k", "1014515");
}

static void test_wraps_up_and_stops_at_zero(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "18446744073709551615");
    incr(bench, "k", 2, 1);
    bench_expect(bench, "k", "1                   ");
    decr(bench, "k", 5, 0);
    bench_set(bench, "k", "99");
    incr(bench, "k", 1, 100);
    bench_expect(bench, "k", "100");
}

static void test_keeps_flags_and_expiry_and_changes_cas(void **state) {
    struct bench *bench = *state;
    struct request set = {
        .command = CMD_STORE, .key = KEY("k"), .item = bench_item("k", "7"), .flags = 21, .exptime = 100};
    assert_result(bench_result(bench, &set), RESULT_STORED);
    struct item_view before = bench_look(bench, "k");
    incr(bench, "k", 1, 8);
    struct item_view after = bench_look(bench, "k");
    assert_int_equal(after.flags, 21);
    assert_int_equal(after.exptime, before.exptime);
    assert_true(after.cas > before.cas);
}

static void test_refuses_what_is_no_number(void **state) {
    struct bench *bench = *state;
    static const char *const values[] = {
        "", "abc", "12abc", "-1", "1.5", " 1", "18446744073709551616", "000000000000000000001", "1 2", " "};
    struct request request = arith_of("k", 1, false);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        bench_set(bench, "k", values[i]);
        assert_result(bench_result(bench, &request), RESULT_NOT_NUMERIC);
        bench_expect(bench, "k", values[i]);
    }
    assert_int_equal(bench_count(bench, COUNT_incr_hits), 0);
    assert_int_equal(bench_count(bench, COUNT_incr_misses), 0);
}

static void test_counts_hits_and_misses(void **state) {
    struct bench *bench = *state;
    struct request request = arith_of("nope", 1, false);
    assert_result(bench_result(bench, &request), RESULT_MISS);
    request.decrement = true;
    assert_result(bench_result(bench, &request), RESULT_MISS);
    bench_expect(bench, "nope", NULL);
    bench_set(bench, "k", "5");
    incr(bench, "k", 1, 6);
    decr(bench, "k", 1, 5);
    assert_int_equal(bench_count(bench, COUNT_incr_misses), 1);
    assert_int_equal(bench_count(bench, COUNT_decr_misses), 1);
    assert_int_equal(bench_count(bench, COUNT_incr_hits), 1);
    assert_int_equal(bench_count(bench, COUNT_decr_hits), 1);
}

static void test_creates_when_asked(void **state) {
    struct bench *bench = *state;
    struct request request = arith_of("k", 3, false);
    request.create = true;
    request.initial = 40;
    request.exptime = 60;
    expect_number(bench, &request, 40);
    bench_expect(bench, "k", "40");
    assert_int_equal(bench_look(bench, "k").exptime, bench->worker.now + 60);
    request.exptime = 500;
    expect_number(bench, &request, 43);
    assert_int_equal(bench_look(bench, "k").exptime, bench->worker.now + 60);
    assert_int_equal(bench_count(bench, COUNT_incr_hits), 1);
    assert_int_equal(bench_count(bench, COUNT_incr_misses), 0);
}

static void test_ma_touches_compares_and_sets_cas(void **state) {
    struct bench *bench = *state;
    uint64_t cas = bench_set(bench, "k", "5");
    struct request request = arith_of("k", 1, false);
    request.meta = request.compare_cas = true;
    request.cas = cas + 1;
    struct command *command = bench_run(bench, &request);
    assert_result(command->response.result, RESULT_EXISTS);
    assert_null(command->response.item);
    bench_end(&command);
    request.cas = cas;
    request.touch = request.set_cas = true;
    request.touch_ttl = 70;
    request.explicit_cas = 31337;
    command = bench_run(bench, &request);
    struct item_view view;
    assert_result(command->response.result, RESULT_NUMBER);
    assert_int_equal(command->response.cas, 31337);
    item_look(command->response.item, &view);
    assert_int_equal(view.exptime, bench->worker.now + 70);
    bench_end(&command);
    bench_expect(bench, "k", "6");
    assert_int_equal(bench_look(bench, "k").cas, 31337);
}

static void test_stale_counter_stays_stale(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "5");
    struct request request = {.command = CMD_DELETE, .key = KEY("k"), .meta = true, .invalidate = true};
    assert_result(bench_result(bench, &request), RESULT_DELETED);
    incr(bench, "k", 1, 6);
    assert_int_equal(bench_look(bench, "k").marks, ITEM_STALE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_counts_in_place_with_spaces),
        TEST(test_wraps_up_and_stops_at_zero),
        TEST(test_keeps_flags_and_expiry_and_changes_cas),
        TEST(test_refuses_what_is_no_number),
        TEST(test_counts_hits_and_misses),
        TEST(test_creates_when_asked),
        TEST(test_ma_touches_compares_and_sets_cas),
        TEST(test_stale_counter_stays_stale),
    };
    return cmocka_run_group_tests_name("command_arith", tests, NULL, NULL);
}
