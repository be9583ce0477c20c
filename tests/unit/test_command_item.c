/* SPDX-License-Identifier: BSD-3-Clause */
/* get, gat, touch, delete and what mg and md do beyond them. */
#include "tests/unit/support_command.h"

static struct request get_of(const char *key) {
    return (struct request){.command = CMD_GET, .key = slice_str(key)};
}

static struct request mg_of(const char *key) {
    return (struct request){.command = CMD_GET, .key = slice_str(key), .meta = true};
}

static void store_with(struct bench *bench, const char *key, const char *value, uint32_t flags, int64_t exptime) {
    struct request request = {.command = CMD_STORE,
                              .key = slice_str(key),
                              .item = bench_item(key, value),
                              .flags = flags,
                              .exptime = exptime};
    assert_result(bench_result(bench, &request), RESULT_STORED);
}

static void invalidate(struct bench *bench, const char *key) {
    struct request request = {.command = CMD_DELETE, .key = slice_str(key), .meta = true, .invalidate = true};
    assert_result(bench_result(bench, &request), RESULT_DELETED);
}

/* ---- get ---- */

static void test_get_answers_value_flags_and_cas(void **state) {
    struct bench *bench = *state;
    uint64_t cas = bench_set(bench, "k", "value");
    struct request request = get_of("k");
    struct command *command = bench_run(bench, &request);
    struct item_view view;
    assert_result(command->response.result, RESULT_HIT);
    item_look(command->response.item, &view);
    assert_memory_equal(view.value.p, "value\r\n", 7);
    assert_int_equal(command->response.cas, cas);
    assert_true(command->response.stamp >= cas);
    bench_end(&command);
    assert_int_equal(bench_count(bench, COUNT_cmd_get), 1);
    assert_int_equal(bench_count(bench, COUNT_get_hits), 1);
    assert_int_equal(bench_count(bench, COUNT_cmd_meta), 0);
}

static void test_get_of_nothing_is_a_counted_miss(void **state) {
    struct bench *bench = *state;
    struct request request = get_of("nope");
    assert_result(bench_result(bench, &request), RESULT_MISS);
    assert_int_equal(bench_count(bench, COUNT_get_misses), 1);
    assert_int_equal(bench_count(bench, COUNT_get_hits), 0);
}

static void test_item_expires_at_its_time(void **state) {
    struct bench *bench = *state;
    store_with(bench, "short", "v", 0, 10);
    store_with(bench, "past", "v", 0, -1);
    bench_expect(bench, "short", "v");
    bench_expect(bench, "past", NULL);
    bench_advance(bench, 11);
    bench_expect(bench, "short", NULL);
}

static void test_expiry_after_2038_and_the_30_day_edge(void **state) {
    struct bench *bench = *state;
    store_with(bench, "edge", "v", 0, 2592000);
    store_with(bench, "date", "v", 0, 2592001);
    store_with(bench, "late", "v", 0, 2147483648);
    assert_int_equal(bench_look(bench, "edge").exptime, bench->worker.now + 2592000);
    bench_expect(bench, "date", NULL);
    assert_int_equal(bench_look(bench, "late").exptime, 2147483648);
}

static void test_hit_before_and_idle_are_from_before_the_command(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "v");
    struct request request = mg_of("k");
    struct command *command = bench_run(bench, &request);
    assert_false(command->response.was_fetched);
    bench_end(&command);
    bench_advance(bench, 5);
    request.no_bump = true;
    command = bench_run(bench, &request);
    assert_true(command->response.was_fetched);
    assert_int_equal(command->response.idle, 5);
    bench_end(&command);
    command = bench_run(bench, &request);
    assert_int_equal(command->response.idle, 5);
    bench_end(&command);
    assert_int_equal(bench_count(bench, COUNT_cmd_meta), 3);
}

/* ---- touch and gat ---- */

static void test_touch_keeps_value_flags_and_cas(void **state) {
    struct bench *bench = *state;
    store_with(bench, "k", "value", 77, 100);
    uint64_t cas = bench_look(bench, "k").cas;
    struct request touch = {.command = CMD_TOUCH, .key = KEY("k"), .exptime = 500};
    struct command *command = bench_run(bench, &touch);
    assert_result(command->response.result, RESULT_TOUCHED);
    assert_int_equal(command->response.cas, cas);
    bench_end(&command);
    struct item_view view = bench_look(bench, "k");
    assert_int_equal(view.cas, cas);
    assert_int_equal(view.flags, 77);
    assert_int_equal(view.exptime, bench->worker.now + 500);
    bench_expect(bench, "k", "value");
    touch.key = KEY("nope");
    assert_result(bench_result(bench, &touch), RESULT_MISS);
    assert_int_equal(bench_count(bench, COUNT_cmd_touch), 2);
    assert_int_equal(bench_count(bench, COUNT_touch_hits), 1);
    assert_int_equal(bench_count(bench, COUNT_touch_misses), 1);
}

static void test_touch_to_the_same_expiry_writes_nothing(void **state) {
    struct bench *bench = *state;
    struct store_figures before;
    struct store_figures after;
    bench_set(bench, "k", "v");
    store_figures(bench->store, &before);
    struct request touch = {.command = CMD_TOUCH, .key = KEY("k")};
    assert_result(bench_result(bench, &touch), RESULT_TOUCHED);
    store_figures(bench->store, &after);
    assert_int_equal(after.lsn, before.lsn);
}

static void test_gat_reads_and_touches(void **state) {
    struct bench *bench = *state;
    uint64_t cas = bench_set(bench, "k", "v");
    struct request gat = get_of("k");
    gat.touch = true;
    gat.touch_ttl = 50;
    struct command *command = bench_run(bench, &gat);
    struct item_view view;
    assert_result(command->response.result, RESULT_HIT);
    item_look(command->response.item, &view);
    assert_int_equal(view.exptime, bench->worker.now + 50);
    assert_int_equal(command->response.cas, cas);
    bench_end(&command);
    assert_int_equal(bench_look(bench, "k").exptime, bench->worker.now + 50);
    gat.key = KEY("nope");
    assert_result(bench_result(bench, &gat), RESULT_MISS);
    assert_int_equal(bench_count(bench, COUNT_cmd_get), 0);
    assert_int_equal(bench_count(bench, COUNT_cmd_touch), 2);
    assert_int_equal(bench_count(bench, COUNT_touch_hits), 1);
    assert_int_equal(bench_count(bench, COUNT_touch_misses), 1);
}

static void test_gat_into_the_past_answers_a_last_time(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "v");
    struct request gat = get_of("k");
    gat.touch = true;
    gat.touch_ttl = -1;
    assert_result(bench_result(bench, &gat), RESULT_HIT);
    bench_expect(bench, "k", NULL);
}

static void test_mg_t_with_e_sets_the_cas(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "v");
    struct request mg = mg_of("k");
    mg.touch = true;
    mg.touch_ttl = 90;
    mg.set_cas = true;
    mg.explicit_cas = 555;
    struct command *command = bench_run(bench, &mg);
    assert_int_equal(command->response.cas, 555);
    bench_end(&command);
    assert_int_equal(bench_look(bench, "k").cas, 555);
    /* Without T nothing is modified, so E has nothing to set. */
    mg.touch = false;
    mg.explicit_cas = 777;
    command = bench_run(bench, &mg);
    assert_int_equal(command->response.cas, 555);
    bench_end(&command);
}

/* ---- vivify, win, stale, recache ---- */

static void expect_flags(struct bench *bench, const struct request *request, bool won, bool stale, bool taken) {
    struct command *command = bench_run(bench, request);
    assert_result(command->response.result, RESULT_HIT);
    assert_int_equal(command->response.won, won);
    assert_int_equal(command->response.stale, stale);
    assert_int_equal(command->response.win_taken, taken);
    bench_end(&command);
}

static void test_vivify_makes_an_empty_item_and_one_winner(void **state) {
    struct bench *bench = *state;
    struct request mg = mg_of("k");
    mg.vivify = true;
    mg.vivify_ttl = 30;
    expect_flags(bench, &mg, true, false, false);
    bench_expect(bench, "k", "");
    assert_int_equal(bench_look(bench, "k").exptime, bench->worker.now + 30);
    assert_int_equal(bench_count(bench, COUNT_get_misses), 1);
    assert_int_equal(bench_count(bench, COUNT_total_items), 1);
    expect_flags(bench, &mg, false, false, true);
    mg = mg_of("k");
    expect_flags(bench, &mg, false, false, true);
    /* The winner's set ends it. */
    bench_set(bench, "k", "v");
    expect_flags(bench, &mg, false, false, false);
    assert_int_equal(bench_count(bench, COUNT_get_hits), 3);
}

static void test_stale_item_has_one_winner(void **state) {
    struct bench *bench = *state;
    uint64_t cas = bench_set(bench, "k", "v");
    invalidate(bench, "k");
    uint64_t stale_cas = bench_look(bench, "k").cas;
    assert_true(stale_cas > cas);
    struct request mg = mg_of("k");
    expect_flags(bench, &mg, true, true, false);
    expect_flags(bench, &mg, false, true, true);
    bench_expect(bench, "k", "v");
    assert_int_equal(bench_look(bench, "k").cas, stale_cas);
    assert_int_equal(bench_count(bench, COUNT_get_hits), 2);
    /* md I again gives the token back. */
    invalidate(bench, "k");
    expect_flags(bench, &mg, true, true, false);
}

static void test_classic_reads_leave_the_token_of_a_stale_item(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "v");
    invalidate(bench, "k");
    struct request get = get_of("k");
    assert_result(bench_result(bench, &get), RESULT_HIT);
    get.touch = true;
    get.touch_ttl = 100;
    assert_result(bench_result(bench, &get), RESULT_HIT);
    struct request mg = mg_of("k");
    expect_flags(bench, &mg, true, true, false);
}

static void test_stale_win_reports_the_first_look(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "v");
    invalidate(bench, "k");
    struct request mg = mg_of("k");
    bench_advance(bench, 4);
    struct command *command = bench_run(bench, &mg);
    assert_true(command->response.won);
    assert_int_equal(command->response.idle, 4);
    assert_false(command->response.was_fetched);
    bench_end(&command);
}

static void test_recache_wins_below_the_token(void **state) {
    struct bench *bench = *state;
    store_with(bench, "k", "v", 0, 100);
    store_with(bench, "forever", "v", 0, 0);
    uint64_t cas = bench_look(bench, "k").cas;
    struct request mg = mg_of("k");
    mg.recache = true;
    mg.recache_ttl = 30;
    expect_flags(bench, &mg, false, false, false);
    mg.recache_ttl = 200;
    expect_flags(bench, &mg, true, false, false);
    expect_flags(bench, &mg, false, false, true);
    assert_int_equal(bench_look(bench, "k").cas, cas);
    mg.key = KEY("forever");
    expect_flags(bench, &mg, false, false, false);
}

static void test_mg_touch_of_a_stale_item_wins_too(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "v");
    invalidate(bench, "k");
    struct request mg = mg_of("k");
    mg.touch = true;
    mg.touch_ttl = 60;
    expect_flags(bench, &mg, true, true, false);
    assert_int_equal(bench_look(bench, "k").exptime, bench->worker.now + 60);
    assert_int_equal(bench_look(bench, "k").marks, ITEM_STALE | ITEM_WON);
}

/* ---- delete ---- */

static void test_delete_removes_once(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "v");
    struct request request = {.command = CMD_DELETE, .key = KEY("k")};
    assert_result(bench_result(bench, &request), RESULT_DELETED);
    assert_result(bench_result(bench, &request), RESULT_MISS);
    bench_expect(bench, "k", NULL);
    assert_int_equal(bench_count(bench, COUNT_delete_hits), 1);
    assert_int_equal(bench_count(bench, COUNT_delete_misses), 1);
}

static void test_delete_compares_cas(void **state) {
    struct bench *bench = *state;
    uint64_t cas = bench_set(bench, "k", "v");
    struct request request = {.command = CMD_DELETE, .key = KEY("k"), .compare_cas = true, .cas = cas + 1};
    assert_result(bench_result(bench, &request), RESULT_EXISTS);
    bench_expect(bench, "k", "v");
    request.cas = cas;
    assert_result(bench_result(bench, &request), RESULT_DELETED);
    bench_expect(bench, "k", NULL);
}

static void test_invalidate_may_shorten_the_life(void **state) {
    struct bench *bench = *state;
    store_with(bench, "k", "v", 9, 100);
    struct request request = {.command = CMD_DELETE,
                              .key = KEY("k"),
                              .meta = true,
                              .invalidate = true,
                              .touch = true,
                              .touch_ttl = 30,
                              .set_cas = true,
                              .explicit_cas = 4242};
    struct command *command = bench_run(bench, &request);
    assert_result(command->response.result, RESULT_DELETED);
    assert_int_equal(command->response.cas, 4242);
    bench_end(&command);
    struct item_view view = bench_look(bench, "k");
    assert_int_equal(view.marks, ITEM_STALE);
    assert_int_equal(view.exptime, bench->worker.now + 30);
    assert_int_equal(view.flags, 9);
    assert_int_equal(view.cas, 4242);
}

static void test_drop_value_leaves_an_empty_item(void **state) {
    struct bench *bench = *state;
    store_with(bench, "k", "v", 9, 100);
    int64_t exptime = bench_look(bench, "k").exptime;
    struct request request = {.command = CMD_DELETE, .key = KEY("k"), .meta = true, .drop_value = true};
    assert_result(bench_result(bench, &request), RESULT_DELETED);
    bench_expect(bench, "k", "");
    struct item_view view = bench_look(bench, "k");
    assert_int_equal(view.exptime, exptime);
    assert_int_equal(view.flags, 0);
    assert_int_equal(view.marks, 0);
    request.invalidate = true;
    assert_result(bench_result(bench, &request), RESULT_DELETED);
    assert_int_equal(bench_look(bench, "k").marks, ITEM_STALE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_get_answers_value_flags_and_cas),
        TEST(test_get_of_nothing_is_a_counted_miss),
        TEST(test_item_expires_at_its_time),
        TEST(test_expiry_after_2038_and_the_30_day_edge),
        TEST(test_hit_before_and_idle_are_from_before_the_command),
        TEST(test_touch_keeps_value_flags_and_cas),
        TEST(test_touch_to_the_same_expiry_writes_nothing),
        TEST(test_gat_reads_and_touches),
        TEST(test_gat_into_the_past_answers_a_last_time),
        TEST(test_mg_t_with_e_sets_the_cas),
        TEST(test_vivify_makes_an_empty_item_and_one_winner),
        TEST(test_stale_item_has_one_winner),
        TEST(test_classic_reads_leave_the_token_of_a_stale_item),
        TEST(test_stale_win_reports_the_first_look),
        TEST(test_recache_wins_below_the_token),
        TEST(test_mg_touch_of_a_stale_item_wins_too),
        TEST(test_delete_removes_once),
        TEST(test_delete_compares_cas),
        TEST(test_invalidate_may_shorten_the_life),
        TEST(test_drop_value_leaves_an_empty_item),
    };
    return cmocka_run_group_tests_name("command_item", tests, NULL, NULL);
}
