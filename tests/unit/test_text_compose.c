/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/text_compose.h"

#include <stdlib.h>

#include "src/base/buffer.h"
#include "tests/unit/support_compose.h"

static const struct reply_form plain;

static void expect_n(const struct request *request, const struct response *response, const struct reply_form *form,
                     const char *expected, size_t n) {
    compose_expect(protocol_choose('g'), request, response, form, expected, n);
}

static void expect(const struct request *request, const struct response *response, const struct reply_form *form,
                   const char *expected) {
    expect_n(request, response, form, expected, strlen(expected));
}

static void expect_result(enum command_code command, enum result result, const char *expected) {
    struct request request = {.command = command};
    struct response response = {.result = result};
    expect(&request, &response, &plain, expected);
}

static void test_one_line_answers(void **state) {
    (void)state;
    expect_result(CMD_STORE, RESULT_STORED, "STORED\r\n");
    expect_result(CMD_STORE, RESULT_NOT_STORED, "NOT_STORED\r\n");
    expect_result(CMD_STORE, RESULT_EXISTS, "EXISTS\r\n");
    expect_result(CMD_STORE, RESULT_MISS, "NOT_FOUND\r\n");
    expect_result(CMD_DELETE, RESULT_DELETED, "DELETED\r\n");
    expect_result(CMD_DELETE, RESULT_MISS, "NOT_FOUND\r\n");
    expect_result(CMD_TOUCH, RESULT_TOUCHED, "TOUCHED\r\n");
    expect_result(CMD_FLUSH, RESULT_OK, "OK\r\n");
    expect_result(CMD_VERSION, RESULT_VERSION, "VERSION 1.6.45\r\n");
    expect_result(CMD_STATS, RESULT_RESET, "RESET\r\n");
    expect_result(CMD_QUIT, RESULT_CLOSE, "");
}

static void test_errors(void **state) {
    (void)state;
    expect_result(CMD_ARITH, RESULT_NOT_NUMERIC, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
    expect_result(CMD_STORE, RESULT_TOO_LARGE, "SERVER_ERROR object too large for cache\r\n");
    expect_result(CMD_STORE, RESULT_NO_MEMORY, "SERVER_ERROR out of memory storing object\r\n");
    expect_result(CMD_GET, RESULT_NO_MEMORY, "SERVER_ERROR out of memory\r\n");
    expect_result(CMD_STORE, RESULT_READ_ONLY, "SERVER_ERROR write failed: the store is read-only\r\n");
    expect_result(CMD_SHUTDOWN, RESULT_DISABLED, "ERROR: shutdown not enabled\r\n");
    expect_result(CMD_DEBUG, RESULT_DISABLED, "ERROR\r\n");
    expect_result(CMD_STATS, RESULT_UNKNOWN, "ERROR\r\n");
}

/* Whatever the table of results grows by, text has words for it. */
static void test_every_error_is_a_line(void **state) {
    (void)state;
#define X(name, error)                                                                                   \
    if (error && RESULT_##name != RESULT_BAD_ARGUMENT) {                                                 \
        struct request request = {.command = CMD_TOUCH};                                                 \
        struct response response = {.result = RESULT_##name};                                            \
        struct output_pools pools;                                                                       \
        struct output output;                                                                            \
        output_pools_init(&pools);                                                                       \
        output_init(&output, &pools);                                                                    \
        text_compose(&output, &request, &response, &plain, 0);                                           \
        assert_in_range(output_unsent(&output), 7, 100);                                                 \
        output_clear(&output);                                                                           \
        output_pools_free(&pools);                                                                       \
    }
    RESULT_TABLE(X)
#undef X
}

static void test_numbers(void **state) {
    (void)state;
    struct request request = {.command = CMD_ARITH};
    struct response response = {.result = RESULT_NUMBER, .number = UINT64_MAX};
    expect(&request, &response, &plain, "18446744073709551615\r\n");
    response.number = 0;
    expect(&request, &response, &plain, "0\r\n");
}

static void test_noreply_is_silent(void **state) {
    (void)state;
    struct reply_form form = {.noreply = true};
    struct request request = {.command = CMD_STORE};
    struct response stored = {.result = RESULT_STORED};
    struct response failed = {.result = RESULT_TOO_LARGE};
    expect(&request, &stored, &form, "");
    expect(&request, &failed, &form, "");
}

static void test_value(void **state) {
    (void)state;
    struct reply_form form = {.part = true};
    struct item *item = compose_item_of("k\xa0y", 3);
    struct request request = {.command = CMD_GET, .key = slice_str("k\xa0y")};
    struct response response = {.result = RESULT_HIT, .item = item, .cas = 77};
    expect(&request, &response, &form, "VALUE k\xa0y 4294967295 3\r\nvvv\r\n");
    form.with_cas = true;
    expect(&request, &response, &form, "VALUE k\xa0y 4294967295 3 77\r\nvvv\r\n");
    item_unref(&item);
}

static void test_miss_in_a_multi_get_is_silent(void **state) {
    (void)state;
    struct reply_form form = {.part = true};
    struct request request = {.command = CMD_GET, .key = slice_str("k")};
    struct response response = {.result = RESULT_MISS};
    expect(&request, &response, &form, "");
}

/* The sizes around the one from which a value is sent from its item. */
static void test_values_of_all_sizes(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 3000, OUTPUT_COPY_MAX - 2, OUTPUT_COPY_MAX - 1, OUTPUT_COPY_MAX, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct item *item = compose_item_of("k", sizes[i]);
        struct request request = {.command = CMD_GET, .key = slice_str("k")};
        struct response response = {.result = RESULT_HIT, .item = item};
        struct buffer expected;
        buffer_init(&expected);
        assert_ok(buffer_printf(&expected, "VALUE k 4294967295 %zu\r\n", sizes[i]));
        assert_ok(buffer_append(&expected, item_body(item), sizes[i]));
        assert_ok(buffer_append(&expected, "\r\n", 2));
        expect_n(&request, &response, &plain, buffer_head(&expected), buffer_length(&expected));
        buffer_free(&expected);
        item_unref(&item);
    }
}

static void test_stats(void **state) {
    (void)state;
    struct request request = {.command = CMD_STATS};
    struct response response = {.result = RESULT_STATS};
    buffer_init(&response.text);
    expect(&request, &response, &plain, "END\r\n");
    assert_ok(buffer_append(&response.text, "pid\00012\0version\0001.6.45\0", 22));
    expect(&request, &response, &plain, "STAT pid 12\r\nSTAT version 1.6.45\r\nEND\r\n");
    response.result = RESULT_LINES;
    expect(&request, &response, &plain, "pid\r\n12\r\nversion\r\n1.6.45\r\nEND\r\n");
    buffer_free(&response.text);
}

static void test_refusals_carry_their_text(void **state) {
    (void)state;
    struct request request = {.command = CMD_STATS};
    struct response response = {.result = RESULT_BAD_ARGUMENT};
    buffer_init(&response.text);
    assert_ok(buffer_printf(&response.text, "no such thing"));
    expect(&request, &response, &plain, "CLIENT_ERROR no such thing\r\n");
    request.command = CMD_MEMLIMIT;
    expect(&request, &response, &plain, "MEMLIMIT_TOO_SMALL no such thing\r\n");
    buffer_free(&response.text);
}

static void test_dump_rows(void **state) {
    (void)state;
    struct item *first = compose_item_of("a b\x01~-._Z9", 0);
    struct item *second = compose_item_of("plain", 0);
    item_set(second, 0, 5000, 0);
    assert_ok(item_set_cas(&first, 12));
    assert_ok(item_set_cas(&second, 13));
    struct store_row rows[] = {{.item = first, .size = 10, .idle = 0}, {.item = second, .size = 0, .idle = 60,
                                                                       .fetched = true}};
    struct request request = {.command = CMD_DUMP};
    struct response response = {.result = RESULT_ROWS, .rows = rows, .row_count = 2, .more = true};
    const char *lines = "key=a%20b%01~-._Z9 exp=-1 la=1000 cas=12 fetch=no cls=1 size=10\r\n"
                        "key=plain exp=5000 la=940 cas=13 fetch=yes cls=1 size=0\r\n";
    expect(&request, &response, &plain, lines);
    response.row_count = 0;
    response.more = false;
    expect(&request, &response, &plain, "END\r\n");
    item_unref(&first);
    item_unref(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_line_answers),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_every_error_is_a_line),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_noreply_is_silent),
        cmocka_unit_test(test_value),
        cmocka_unit_test(test_miss_in_a_multi_get_is_silent),
        cmocka_unit_test(test_values_of_all_sizes),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_refusals_carry_their_text),
        cmocka_unit_test(test_dump_rows),
    };
    return cmocka_run_group_tests_name("text_compose", tests, NULL, NULL);
}
