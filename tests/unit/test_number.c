/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/number.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/unit/support_cmocka.h"

enum { UNTOUCHED = 77 };

static void unsigned_numbers_are_digits_only(void **state) {
    (void)state;
    uint64_t value = UNTOUCHED;
    static const char *const bad[] = {"",      " ",    "+1",   "-1",  "1 ",  " 1",
                                      "0x10", "1e3", "12a", "a12", "1.0", "18446744073709551616",
                                      "18446744073709551620", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(number_u64(slice_str(bad[i]), &value));
        assert_int_equal(value, UNTOUCHED);
    }
    assert_false(number_u64(slice_of("1\0002", 3), &value));
    assert_false(number_u64(slice_of("\xb1", 1), &value));
    assert_true(number_u64(slice_str("0"), &value));
    assert_int_equal(value, 0);
    assert_true(number_u64(slice_str("0000000000000000000000000000012"), &value));
    assert_int_equal(value, 12);
    assert_true(number_u64(slice_str("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
}

static void only_the_slice_is_read(void **state) {
    (void)state;
    uint64_t value;
    assert_true(number_u64(slice_of("12345", 2), &value));
    assert_int_equal(value, 12);
}

static void narrow_numbers_must_fit(void **state) {
    (void)state;
    uint32_t value = UNTOUCHED;
    assert_false(number_u32(slice_str("4294967296"), &value));
    assert_int_equal(value, UNTOUCHED);
    assert_true(number_u32(slice_str("4294967295"), &value));
    assert_true(value == UINT32_MAX);
}

static void signed_numbers_reach_both_ends(void **state) {
    (void)state;
    int64_t value = UNTOUCHED;
    static const char *const bad[] = {"", "-", "--1", "+1", "- 1", "9223372036854775808", "-9223372036854775809"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(number_i64(slice_str(bad[i]), &value));
        assert_int_equal(value, UNTOUCHED);
    }
    assert_true(number_i64(slice_str("9223372036854775807"), &value));
    assert_true(value == INT64_MAX);
    assert_true(number_i64(slice_str("-9223372036854775808"), &value));
    assert_true(value == INT64_MIN);
    assert_true(number_i64(slice_str("-1"), &value));
    assert_true(value == -1);
    assert_true(number_i64(slice_str("-0"), &value));
    assert_true(value == 0);
}

static void sizes_take_units(void **state) {
    (void)state;
    uint64_t value = UNTOUCHED;
    static const char *const bad[] = {"", "m", "1x", "1 m", "1mb", "1.5g", "-1k", "18446744073709551615k",
                                      "16777216t", "18014398509481984k"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(number_size(slice_str(bad[i]), &value));
        assert_int_equal(value, UNTOUCHED);
    }
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"512", 512},
                {"1k", 1024},
                {"2K", 2048},
                {"64m", 64 << 20},
                {"64M", 64 << 20},
                {"3g", UINT64_C(3) << 30},
                {"3G", UINT64_C(3) << 30},
                {"1t", UINT64_C(1) << 40},
                {"16777215T", UINT64_C(16777215) << 40}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(number_size(slice_str(good[i].text), &value));
        assert_true(value == good[i].bytes);
    }
}

static void printing_agrees_with_printf(void **state) {
    (void)state;
    static const uint64_t values[] = {0, 1, 9, 10, 99, 100, 1234567890, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char expected[NUMBER_DIGITS + 1];
        char out[NUMBER_DIGITS];
        int n = snprintf(expected, sizeof expected, "%" PRIu64, values[i]);
        assert_int_equal(number_print(out, values[i]), n);
        assert_memory_equal(out, expected, (size_t)n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_numbers_are_digits_only), cmocka_unit_test(only_the_slice_is_read),
        cmocka_unit_test(narrow_numbers_must_fit),          cmocka_unit_test(signed_numbers_reach_both_ends),
        cmocka_unit_test(sizes_take_units),                 cmocka_unit_test(printing_agrees_with_printf),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
