/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking ahead finds the keys in the order in which they will be asked for. */
#include <stdlib.h>
#include <string.h>

#include "net/text_parse.h"
#include "tests/unit/support_cmocka.h"

static void expect(const struct parser *parser, const char *input, const char *const *keys, unsigned max) {
    struct slice found[16];
    unsigned wanted = 0;
    while (keys[wanted] != NULL) {
        wanted++;
    }
    assert_int_equal(text_peek(parser, slice_str(input), found, max), wanted);
    for (unsigned i = 0; i < wanted; i++) {
        assert_true(slice_equal(found[i], slice_str(keys[i])));
    }
}

static void test_keys_of_a_pipeline(void **state) {
    (void)state;
    struct parser parser = {0};
    const char *const keys[] = {"a", "bb", "c", "d", "e", "f", NULL};
    expect(&parser, "get a\r\nset bb 0 0 5\r\nget x\r\ngets c d\ndelete e\r\nincr f 1\r\n", keys, 16);
    expect(&parser, "mg a v\r\nms bb 5 T0\r\nget x\r\nmd c\r\nmn\r\nma d\r\nms e 0\r\n\r\nmg f\r\n", keys, 16);
}

static void test_no_more_than_asked_for(void **state) {
    (void)state;
    struct parser parser = {0};
    const char *const keys[] = {"a", "b", NULL};
    expect(&parser, "get a b c d\r\nget e\r\n", keys, 2);
}

static void test_a_body_that_has_not_arrived_ends_the_look(void **state) {
    (void)state;
    struct parser parser = {0};
    const char *const keys[] = {"a", NULL};
    expect(&parser, "set a 0 0 100\r\nget b\r\n", keys, 16);
}

static void test_lengths_that_lie_end_the_look(void **state) {
    (void)state;
    struct parser parser = {0};
    const char *const keys[] = {"a", NULL};
    expect(&parser, "set a 0 0 18446744073709551615\r\nget b\r\n", keys, 16);
    expect(&parser, "set a 0 0 -1\r\nget b\r\n", keys, 16);
    expect(&parser, "set a 0 0\r\nget b\r\n", keys, 16);
}

static void test_in_the_middle_of_a_line_of_keys(void **state) {
    (void)state;
    struct parser parser = {0};
    struct request request = {0};
    struct parsed parsed = {.request = &request};
    const char *input = "get a b c\r\nget d\r\n";
    const char *const keys[] = {"b", "c", "d", NULL};
    assert_int_equal(text_parse(&parser, slice_str(input), &parsed), PARSE_REQUEST);
    expect(&parser, input + parsed.consumed, keys, 16);
}

static void test_what_is_no_command_is_harmless(void **state) {
    (void)state;
    struct parser parser = {0};
    const char *const none[] = {NULL};
    char *junk = malloc(70000);
    assert_non_null(junk);
    memset(junk, 'x', 69999);
    junk[69999] = '\0';
    expect(&parser, junk, none, 16);
    expect(&parser, "\r\n\n   \r\n", none, 16);
    free(junk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_of_a_pipeline),
        cmocka_unit_test(test_no_more_than_asked_for),
        cmocka_unit_test(test_a_body_that_has_not_arrived_ends_the_look),
        cmocka_unit_test(test_lengths_that_lie_end_the_look),
        cmocka_unit_test(test_in_the_middle_of_a_line_of_keys),
        cmocka_unit_test(test_what_is_no_command_is_harmless),
    };
    return cmocka_run_group_tests_name("text_peek", tests, NULL, NULL);
}
