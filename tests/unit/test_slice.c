/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/slice.h"

#include "tests/unit/support_cmocka.h"

static void equality_is_by_bytes_and_length(void **state) {
    (void)state;
    assert_true(slice_equal(slice_str("abc"), slice_of("abcd", 3)));
    assert_false(slice_equal(slice_str("abc"), slice_str("abcd")));
    assert_false(slice_equal(slice_str("abc"), slice_str("abd")));
    assert_false(slice_equal(slice_of("a\0b", 3), slice_of("a\0c", 3)));
    assert_true(slice_equal(slice_of(NULL, 0), slice_str("")));
}

static void order_is_that_of_unsigned_bytes_shorter_first(void **state) {
    (void)state;
    assert_int_equal(slice_compare(slice_str("a"), slice_str("a")), 0);
    assert_true(slice_compare(slice_str("a"), slice_str("b")) < 0);
    assert_true(slice_compare(slice_str("b"), slice_str("a")) > 0);
    assert_true(slice_compare(slice_str("a"), slice_str("ab")) < 0);
    assert_true(slice_compare(slice_str("b"), slice_str("ab")) > 0);
    assert_true(slice_compare(slice_str("\x7f"), slice_str("\x80")) < 0);
    assert_true(slice_compare(slice_of(NULL, 0), slice_str("a")) < 0);
    assert_int_equal(slice_compare(slice_of(NULL, 0), slice_of(NULL, 0)), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality_is_by_bytes_and_length),
        cmocka_unit_test(order_is_that_of_unsigned_bytes_shorter_first),
    };
    return cmocka_run_group_tests_name("slice", tests, NULL, NULL);
}
