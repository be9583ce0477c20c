/* SPDX-License-Identifier: BSD-3-Clause */
/* set add replace append prepend cas, ms and refused bodies. */
#include <stdlib.h>

#include "tests/unit/support_command.h"

static struct request store_of(const char *key, const char *value, enum request_mode mode) {
    return (struct request){
        .command = CMD_STORE, .key = slice_str(key), .item = bench_item(key, value), .mode = mode};
}

static enum result store(struct bench *bench, const char *key, const char *value, enum request_mode mode) {
    struct request request = store_of(key, value, mode);
    return bench_result(bench, &request);
}

static enum result store_cas(struct bench *bench, const char *key, const char *value, uint64_t cas) {
    struct request request = store_of(key, value, MODE_SET);
    request.compare_cas = request.count_as_cas = true;
    request.cas = cas;
    return bench_result(bench, &request);
}

static void test_set_replaces_flags_and_expiry(void **state) {
    struct bench *bench = *state;
    struct request request = store_of("k", "one", MODE_SET);
    request.flags = 5;
    request.exptime = 100;
    assert_result(bench_result(bench, &request), RESULT_STORED);
    assert_int_equal(bench_look(bench, "k").flags, 5);
    uint64_t first = bench_look(bench, "k").cas;
    uint64_t second = bench_set(bench, "k", "two");
    assert_true(second > first);
    struct item_view view = bench_look(bench, "k");
    assert_int_equal(view.flags, 0);
    assert_int_equal(view.exptime, 0);
    bench_expect(bench, "k", "two");
    assert_int_equal(bench_count(bench, COUNT_cmd_set), 2);
    assert_int_equal(bench_count(bench, COUNT_total_items), 2);
}

static void test_add_and_replace_want_the_right_past(void **state) {
    struct bench *bench = *state;
    assert_result(store(bench, "k", "v", MODE_REPLACE), RESULT_NOT_STORED);
    assert_result(store(bench, "k", "added", MODE_ADD), RESULT_STORED);
    assert_result(store(bench, "k", "again", MODE_ADD), RESULT_NOT_STORED);
    bench_expect(bench, "k", "added");
    assert_result(store(bench, "k", "replaced", MODE_REPLACE), RESULT_STORED);
    bench_expect(bench, "k", "replaced");
    assert_int_equal(bench_count(bench, COUNT_cmd_set), 4);
}

static void test_append_and_prepend_keep_flags_and_expiry(void **state) {
    struct bench *bench = *state;
    struct request request = store_of("k", "b", MODE_SET);
    request.flags = 9;
    request.exptime = 100;
    assert_result(bench_result(bench, &request), RESULT_STORED);
    uint64_t cas = bench_look(bench, "k").cas;
    int64_t exptime = bench_look(bench, "k").exptime;
    request = store_of("k", "c", MODE_APPEND);
    request.flags = 5;
    request.exptime = 1;
    assert_result(bench_result(bench, &request), RESULT_STORED);
    assert_result(store(bench, "k", "a", MODE_PREPEND), RESULT_STORED);
    bench_expect(bench, "k", "abc");
    struct item_view view = bench_look(bench, "k");
    assert_int_equal(view.flags, 9);
    assert_int_equal(view.exptime, exptime);
    assert_true(view.cas > cas);
}

static void test_append_to_nothing_stores_nothing(void **state) {
    struct bench *bench = *state;
    assert_result(store(bench, "k", "v", MODE_APPEND), RESULT_NOT_STORED);
    assert_result(store(bench, "k", "v", MODE_PREPEND), RESULT_NOT_STORED);
    bench_expect(bench, "k", NULL);
}

static void test_append_of_large_values(void **state) {
    struct bench *bench = *state;
    char *half = calloc(1, 2049);
    assert_non_null(half);
    memset(half, 'x', 2048);
    bench_set(bench, "k", half);
    assert_result(store(bench, "k", half, MODE_APPEND), RESULT_STORED);
    assert_int_equal(bench_look(bench, "k").value.n, 4096);
    assert_result(store(bench, "k", "y", MODE_APPEND), RESULT_TOO_LARGE);
    assert_int_equal(bench_look(bench, "k").value.n, 4096);
    assert_int_equal(bench_count(bench, COUNT_store_too_large), 1);
    free(half);
}

static void test_cas_stores_only_over_what_was_seen(void **state) {
    struct bench *bench = *state;
    assert_result(store_cas(bench, "k", "v", 1), RESULT_MISS);
    uint64_t cas = bench_set(bench, "k", "v");
    assert_result(store_cas(bench, "k", "w", cas + 1), RESULT_EXISTS);
    assert_result(store_cas(bench, "k", "w", 0), RESULT_EXISTS);
    bench_expect(bench, "k", "v");
    assert_result(store_cas(bench, "k", "w", cas), RESULT_STORED);
    assert_result(store_cas(bench, "k", "x", cas), RESULT_EXISTS);
    bench_expect(bench, "k", "w");
    assert_int_equal(bench_count(bench, COUNT_cas_misses), 1);
    assert_int_equal(bench_count(bench, COUNT_cas_hits), 1);
    assert_int_equal(bench_count(bench, COUNT_cas_badval), 3);
    assert_int_equal(bench_count(bench, COUNT_cmd_set), 6);
}

static void test_append_and_replace_compare_cas(void **state) {
    struct bench *bench = *state;
    uint64_t cas = bench_set(bench, "k", "v");
    struct request request = store_of("k", "w", MODE_APPEND);
    request.compare_cas = true;
    request.cas = cas + 1;
    assert_result(bench_result(bench, &request), RESULT_EXISTS);
    request = store_of("k", "w", MODE_REPLACE);
    request.compare_cas = true;
    request.cas = cas + 1;
    assert_result(bench_result(bench, &request), RESULT_EXISTS);
    request = store_of("k", "w", MODE_APPEND);
    request.compare_cas = true;
    request.cas = cas;
    assert_result(bench_result(bench, &request), RESULT_STORED);
    bench_expect(bench, "k", "vw");
    assert_int_equal(bench_count(bench, COUNT_cas_badval), 1);
}

/* ---- ms ---- */

static void test_explicit_cas_is_kept(void **state) {
    struct bench *bench = *state;
    struct request request = store_of("k", "v", MODE_SET);
    request.meta = request.set_cas = true;
    request.explicit_cas = 12345;
    struct command *command = bench_run(bench, &request);
    struct item_view view;
    assert_result(command->response.result, RESULT_STORED);
    assert_int_equal(command->response.cas, 12345);
    item_look(command->response.item, &view);
    assert_int_equal(view.value.n, 1);
    bench_end(&command);
    assert_int_equal(bench_look(bench, "k").cas, 12345);
    request = store_of("k", "w", MODE_APPEND);
    request.meta = request.set_cas = true;
    request.explicit_cas = 99;
    assert_result(bench_result(bench, &request), RESULT_STORED);
    assert_int_equal(bench_look(bench, "k").cas, 99);
}

static void test_append_with_vivify_creates(void **state) {
    struct bench *bench = *state;
    struct request request = store_of("k", "a", MODE_APPEND);
    request.meta = request.vivify = true;
    request.vivify_ttl = 40;
    request.flags = 3;
    struct command *command = bench_run(bench, &request);
    assert_result(command->response.result, RESULT_STORED);
    bench_end(&command);
    assert_int_equal(bench_look(bench, "k").exptime, bench->worker.now + 40);
    assert_int_equal(bench_look(bench, "k").flags, 3);
    request = store_of("k", "b", MODE_APPEND);
    request.meta = request.vivify = true;
    request.vivify_ttl = 90;
    command = bench_run(bench, &request);
    struct item_view view;
    item_look(command->response.item, &view);
    assert_int_equal(view.value.n, 2); /* ms s: the new size */
    bench_end(&command);
    bench_expect(bench, "k", "ab");
    assert_int_equal(bench_look(bench, "k").exptime, bench->worker.now + 40);
}

static void test_older_cas_with_invalidate_stores_stale(void **state) {
    struct bench *bench = *state;
    struct request request = store_of("k", "v", MODE_SET);
    request.exptime = 100;
    assert_result(bench_result(bench, &request), RESULT_STORED);
    uint64_t cas = bench_look(bench, "k").cas;
    int64_t exptime = bench_look(bench, "k").exptime;
    request = store_of("k", "old", MODE_SET);
    request.meta = request.compare_cas = request.invalidate = true;
    request.cas = cas - 1;
    request.exptime = 999;
    assert_result(bench_result(bench, &request), RESULT_STORED);
    bench_expect(bench, "k", "old");
    struct item_view view = bench_look(bench, "k");
    assert_int_equal(view.marks, ITEM_STALE);
    assert_int_equal(view.exptime, exptime);
    /* A newer cas than the item's is still refused; the right one clears the mark. */
    request = store_of("k", "no", MODE_SET);
    request.meta = request.compare_cas = request.invalidate = true;
    request.cas = view.cas + 1;
    assert_result(bench_result(bench, &request), RESULT_EXISTS);
    request = store_of("k", "yes", MODE_SET);
    request.meta = request.compare_cas = request.invalidate = true;
    request.cas = view.cas;
    assert_result(bench_result(bench, &request), RESULT_STORED);
    assert_int_equal(bench_look(bench, "k").marks, 0);
    bench_expect(bench, "k", "yes");
}

static void test_refused_ms_reports_no_item(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "v");
    struct request request = store_of("k", "w", MODE_ADD);
    request.meta = true;
    struct command *command = bench_run(bench, &request);
    assert_result(command->response.result, RESULT_NOT_STORED);
    assert_null(command->response.item);
    assert_int_equal(command->response.cas, 0);
    bench_end(&command);
}

/* ---- refused bodies ---- */

static enum result refuse(struct bench *bench, struct request request) {
    bench_set(bench, "k", "old");
    request.command = CMD_STORE;
    request.key = KEY("k");
    request.refusal = REFUSE_TOO_LARGE;
    return bench_result(bench, &request);
}

static void test_refused_set_removes_the_old_value(void **state) {
    struct bench *bench = *state;
    assert_result(refuse(bench, (struct request){.mode = MODE_SET}), RESULT_TOO_LARGE);
    bench_expect(bench, "k", NULL);
    assert_result(refuse(bench, (struct request){.mode = MODE_APPEND, .meta = true}), RESULT_TOO_LARGE);
    bench_expect(bench, "k", NULL);
    assert_int_equal(bench_count(bench, COUNT_store_too_large), 2);
    assert_int_equal(bench_count(bench, COUNT_delete_hits), 0);
}

static void test_refused_conditional_store_keeps_the_old_value(void **state) {
    struct bench *bench = *state;
    static const enum request_mode modes[] = {MODE_ADD, MODE_REPLACE, MODE_APPEND, MODE_PREPEND};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_result(refuse(bench, (struct request){.mode = modes[i]}), RESULT_TOO_LARGE);
        bench_expect(bench, "k", "old");
    }
    struct request cas = {.mode = MODE_SET, .compare_cas = true, .count_as_cas = true, .cas = 1};
    assert_result(refuse(bench, cas), RESULT_TOO_LARGE);
    bench_expect(bench, "k", "old");
    cas = (struct request){.mode = MODE_SET, .compare_cas = true, .cas = 1, .meta = true};
    assert_result(refuse(bench, cas), RESULT_TOO_LARGE);
    bench_expect(bench, "k", "old");
}

static void test_refused_for_memory(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "k", "old");
    struct request request = {
        .command = CMD_STORE, .key = KEY("k"), .mode = MODE_SET, .refusal = REFUSE_NO_MEMORY};
    assert_result(bench_result(bench, &request), RESULT_NO_MEMORY);
    bench_expect(bench, "k", NULL);
    assert_int_equal(bench_count(bench, COUNT_store_no_memory), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_set_replaces_flags_and_expiry),
        TEST(test_add_and_replace_want_the_right_past),
        TEST(test_append_and_prepend_keep_flags_and_expiry),
        TEST(test_append_to_nothing_stores_nothing),
        TEST(test_append_of_large_values),
        TEST(test_cas_stores_only_over_what_was_seen),
        TEST(test_append_and_replace_compare_cas),
        TEST(test_explicit_cas_is_kept),
        TEST(test_append_with_vivify_creates),
        TEST(test_older_cas_with_invalidate_stores_stale),
        TEST(test_refused_ms_reports_no_item),
        TEST(test_refused_set_removes_the_old_value),
        TEST(test_refused_conditional_store_keeps_the_old_value),
        TEST(test_refused_for_memory),
    };
    return cmocka_run_group_tests_name("command_store", tests, NULL, NULL);
}
