/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/base64.h"

#include <string.h>

#include "tests/unit/support_cmocka.h"

static const struct {
    const char *bytes, *text;
} pairs[] = {
    {"f", "Zg=="},       {"fo", "Zm8="},       {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"}, {"\xfb\xff\xbf", "+/+/"}, {"\r\n ", "DQog"},
};

static void test_both_ways(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char text[16];
        char bytes[16];
        size_t n;
        assert_int_equal(base64_encode(text, slice_str(pairs[i].bytes)), strlen(pairs[i].text));
        assert_memory_equal(text, pairs[i].text, strlen(pairs[i].text));
        assert_true(base64_decode(bytes, sizeof bytes, slice_str(pairs[i].text), &n));
        assert_int_equal(n, strlen(pairs[i].bytes));
        assert_memory_equal(bytes, pairs[i].bytes, n);
    }
}

static void test_every_byte_and_length(void **state) {
    (void)state;
    char bytes[250];
    char text[BASE64_LENGTH(sizeof bytes)];
    char back[250];
    for (size_t n = 1; n <= sizeof bytes; n++) {
        size_t length;
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (char)(i * 7 + n);
        }
        assert_int_equal(base64_encode(text, slice_of(bytes, n)), BASE64_LENGTH(n));
        assert_true(base64_decode(back, n, slice_of(text, BASE64_LENGTH(n)), &length));
        assert_int_equal(length, n);
        assert_memory_equal(back, bytes, n);
        assert_false(base64_decode(back, n - 1, slice_of(text, BASE64_LENGTH(n)), &length));
    }
}

static void test_what_is_no_base64(void **state) {
    (void)state;
    const char *texts[] = {"",     "Z",        "Zm",       "Zm9",      "Zm9vY",    "====",    "Z===", "Zm9=v===",
                           "Zm =", "Zg==Zg==", "Zm9v\nYg", "Zm9vYg=v", "Zm\xe4v", "Zm9v=Yg=", "Zm-v", "Zm_v"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char bytes[16];
        size_t n;
        assert_false(base64_decode(bytes, sizeof bytes, slice_str(texts[i]), &n));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_every_byte_and_length),
        cmocka_unit_test(test_what_is_no_base64),
    };
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
