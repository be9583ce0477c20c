/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "src/cmd/prefixes.h"
#include "tests/unit/support_cmocka.h"

static int setup(void **state) {
    struct prefixes *prefixes;
    assert_ok(prefixes_create(&prefixes));
    *state = prefixes;
    return 0;
}

static int teardown(void **state) {
    struct prefixes *prefixes = *state;
    prefixes_destroy(&prefixes);
    return 0;
}

/* The lines, NUL turned into line ends. */
static void dump(struct prefixes *prefixes, struct buffer *lines) {
    buffer_init(lines);
    assert_ok(prefixes_dump(prefixes, lines));
    for (size_t i = lines->start; i < lines->end; i++) {
        lines->data[i] = lines->data[i] == '\0' ? '\n' : lines->data[i];
    }
    assert_ok(buffer_append(lines, "", 1));
}

static void test_nothing_is_counted_until_enabled(void **state) {
    struct prefixes *prefixes = *state;
    struct buffer lines;
    assert_false(prefixes_enabled(prefixes));
    prefixes_set(prefixes, slice_str("a:1"));
    dump(prefixes, &lines);
    assert_string_equal(buffer_head(&lines), "");
    buffer_free(&lines);
}

static void test_odd_prefixes(void **state) {
    struct prefixes *prefixes = *state;
    struct buffer lines;
    prefixes_enable(prefixes, true);
    prefixes_get(prefixes, slice_of("a\0b:1", 5), true);
    prefixes_get(prefixes, slice_str(":empty"), false);
    prefixes_get(prefixes, slice_str("none"), false);
    dump(prefixes, &lines);
    assert_string_equal(buffer_head(&lines),
                        "PREFIX a%00b get 1 hit 1 set 0 del 0\nPREFIX NULL get 1 hit 0 set 0 del 0\n");
    buffer_free(&lines);
}

static void test_others_are_summed_when_the_table_is_full(void **state) {
    struct prefixes *prefixes = *state;
    struct buffer lines;
    char key[32];
    prefixes_enable(prefixes, true);
    for (unsigned i = 0; i < PREFIXES_MAX + 10; i++) {
        snprintf(key, sizeof key, "p%u:k", i);
        prefixes_set(prefixes, slice_str(key));
    }
    prefixes_get(prefixes, slice_str("p0:k"), true);
    dump(prefixes, &lines);
    assert_non_null(strstr(buffer_head(&lines), "PREFIX p0 get 1 hit 1 set 1 del 0\n"));
    assert_non_null(strstr(buffer_head(&lines), "PREFIX (others) get 0 hit 0 set 10 del 0\n"));
    buffer_free(&lines);
    prefixes_reset(prefixes);
    assert_true(prefixes_enabled(prefixes));
    prefixes_delete(prefixes, slice_str("new:k"));
    dump(prefixes, &lines);
    assert_string_equal(buffer_head(&lines), "PREFIX new get 0 hit 0 set 0 del 1\n");
    buffer_free(&lines);
}

static void test_no_table_counts_nothing(void **state) {
    struct buffer lines;
    (void)state;
    prefixes_enable(NULL, true);
    assert_false(prefixes_enabled(NULL));
    prefixes_get(NULL, slice_str("a:1"), true);
    prefixes_reset(NULL);
    buffer_init(&lines);
    assert_ok(prefixes_dump(NULL, &lines));
    assert_int_equal(buffer_length(&lines), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_counted_until_enabled),
        TEST(test_odd_prefixes),
        TEST(test_others_are_summed_when_the_table_is_full),
        cmocka_unit_test(test_no_table_counts_nothing),
    };
    return cmocka_run_group_tests_name("prefixes", tests, NULL, NULL);
}
