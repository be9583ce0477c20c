/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/input.h"

#include <string.h>

#include "tests/unit/support_cmocka.h"

static void fill(struct input *input, struct input_home *home, const char *bytes, size_t n) {
    char *to;
    size_t room;
    assert_ok(input_room(input, home, &to, &room));
    assert_true(n <= room);
    memcpy(to, bytes, n);
    input_filled(input, n);
}

static void expect(const struct input *input, const char *bytes, size_t n) {
    struct slice got = input_bytes(input);
    assert_int_equal(got.n, n);
    assert_memory_equal(got.p, bytes, n);
}

static void test_idle_connection_holds_nothing(void **state) {
    (void)state;
    struct input_home home;
    struct input input = {.kind = INPUT_NONE};
    input_home_init(&home);
    fill(&input, &home, "get a\r\n", 7);
    expect(&input, "get a\r\n", 7);
    input_take(&input, 7);
    assert_ok(input_settle(&input, &home));
    assert_null(input.data);
    assert_non_null(home.shared);
    input_home_free(&home);
}

static void test_two_connections_keep_their_partial_lines(void **state) {
    (void)state;
    struct input_home home;
    struct input one = {.kind = INPUT_NONE};
    struct input two = {.kind = INPUT_NONE};
    input_home_init(&home);
    fill(&one, &home, "xxget a", 7);
    input_take(&one, 2);
    assert_ok(input_settle(&one, &home));
    fill(&two, &home, "incr", 4);
    assert_ok(input_settle(&two, &home));
    assert_int_equal(one.kind, INPUT_COPY);
    fill(&one, &home, "b\r\n", 3);
    expect(&one, "get ab\r\n", 8);
    input_drop(&one, &home);
    fill(&two, &home, " b 1\r\n", 6);
    expect(&two, "incr b 1\r\n", 10);
    input_drop(&two, &home);
    input_home_free(&home);
}

static void test_much_input_keeps_the_buffer(void **state) {
    (void)state;
    struct input_home home;
    struct input one = {.kind = INPUT_NONE};
    struct input two = {.kind = INPUT_NONE};
    char bytes[INPUT_BUFFER];
    char *to;
    size_t room;
    memset(bytes, 'p', sizeof bytes);
    input_home_init(&home);
    fill(&one, &home, bytes, sizeof bytes);
    input_take(&one, 100);
    assert_ok(input_settle(&one, &home));
    assert_int_equal(one.kind, INPUT_OWN);
    fill(&two, &home, "other", 5);
    input_drop(&two, &home);
    expect(&one, bytes, sizeof bytes - 100);
    input_take(&one, sizeof bytes - 101);
    assert_ok(input_room(&one, &home, &to, &room));
    assert_int_equal(room, sizeof bytes - 1);
    input_take(&one, 1);
    assert_ok(input_settle(&one, &home));
    assert_int_equal(one.kind, INPUT_NONE);
    assert_int_equal(home.buffers.idle, 1);
    input_home_free(&home);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_connection_holds_nothing),
        cmocka_unit_test(test_two_connections_keep_their_partial_lines),
        cmocka_unit_test(test_much_input_keeps_the_buffer),
    };
    return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
