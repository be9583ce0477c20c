/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_cmocka.h"

static void assert_content(struct buffer *buffer, const char *text) {
    assert_int_equal(buffer_length(buffer), strlen(text));
    if (text[0] != '\0') {
        assert_memory_equal(buffer_head(buffer), text, strlen(text));
    }
}

static void grows_at_the_end(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer);
    assert_content(&buffer, "");
    assert_ok(buffer_append(&buffer, "abc", 3));
    assert_ok(buffer_append(&buffer, NULL, 0));
    assert_ok(buffer_append(&buffer, "def", 3));
    assert_content(&buffer, "abcdef");
    buffer_free(&buffer);
    assert_null(buffer.data);
    assert_int_equal(buffer.capacity, 0);
    buffer_free(&buffer);
}

static void is_consumed_from_the_front(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer);
    assert_ok(buffer_append(&buffer, "abcdef", 6));
    buffer_consume(&buffer, 0);
    buffer_consume(&buffer, 2);
    assert_content(&buffer, "cdef");
    assert_ok(buffer_append(&buffer, "gh", 2));
    assert_content(&buffer, "cdefgh");
    buffer_consume(&buffer, 6);
    assert_content(&buffer, "");
    assert_int_equal(buffer.start, 0);
    assert_int_equal(buffer.end, 0);
    buffer_free(&buffer);
}

static void consumed_room_is_used_before_more_is_allocated(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer);
    assert_ok(buffer_reserve(&buffer, 1));
    size_t capacity = buffer.capacity;
    memset(buffer.data, 'x', capacity);
    buffer.end = capacity;
    buffer_consume(&buffer, capacity - 3);
    assert_ok(buffer_append(&buffer, "abcd", 4));
    assert_int_equal(buffer.capacity, capacity);
    assert_content(&buffer, "xxxabcd");
    buffer_free(&buffer);
}

/* A reader that leaves a short rest behind must not make the buffer grow without end. */
static void a_steady_stream_needs_bounded_memory(void **state) {
    (void)state;
    struct buffer buffer;
    char block[100];
    memset(block, 'y', sizeof block);
    buffer_init(&buffer);
    assert_ok(buffer_append(&buffer, block, 7));
    for (int i = 0; i < 10000; i++) {
        assert_ok(buffer_append(&buffer, block, sizeof block));
        buffer_consume(&buffer, sizeof block);
    }
    assert_int_equal(buffer_length(&buffer), 7);
    assert_true(buffer.capacity <= 1024);
    buffer_free(&buffer);
}

/* Against a plain array: any order of appends and consumes leaves the same bytes. */
static void random_use_keeps_every_byte(void **state) {
    (void)state;
    enum { STEPS = 20000 };
    struct buffer buffer;
    unsigned char next_in = 0;
    unsigned char next_out = 0;
    unsigned random = 12345;
    buffer_init(&buffer);
    for (int step = 0; step < STEPS; step++) {
        random = random * 1103515245u + 12345u;
        size_t n = (random >> 16) % 300;
        if (random & 0x8000u) {
            assert_ok(buffer_reserve(&buffer, n));
            assert_true(buffer_room(&buffer) >= n);
            for (size_t i = 0; i < n; i++) {
                buffer_tail(&buffer)[i] = (char)next_in++;
            }
            buffer.end += n;
        } else {
            n = n < buffer_length(&buffer) ? n : buffer_length(&buffer);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal((unsigned char)buffer_head(&buffer)[i], next_out++);
            }
            buffer_consume(&buffer, n);
        }
    }
    buffer_free(&buffer);
}

static void printf_appends_text_without_its_terminator(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer);
    assert_ok(buffer_printf(&buffer, "VALUE %s %d\r\n", "key", 42));
    assert_ok(buffer_printf(&buffer, "%s", ""));
    assert_content(&buffer, "VALUE key 42\r\n");
    char *large = malloc(5001);
    memset(large, 'z', 5000);
    large[5000] = '\0';
    assert_ok(buffer_printf(&buffer, "%s.", large));
    assert_int_equal(buffer_length(&buffer), 14 + 5001);
    assert_int_equal(buffer_head(&buffer)[14 + 5000], '.');
    free(large);
    buffer_free(&buffer);
}

static void impossible_sizes_are_refused(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer);
    assert_ok(buffer_append(&buffer, "abc", 3));
    assert_status(buffer_reserve(&buffer, SIZE_MAX), ST_NO_MEMORY);
    assert_status(buffer_reserve(&buffer, SIZE_MAX - 3), ST_NO_MEMORY);
    assert_content(&buffer, "abc");
    buffer_free(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_at_the_end),
        cmocka_unit_test(is_consumed_from_the_front),
        cmocka_unit_test(consumed_room_is_used_before_more_is_allocated),
        cmocka_unit_test(a_steady_stream_needs_bounded_memory),
        cmocka_unit_test(random_use_keeps_every_byte),
        cmocka_unit_test(printf_appends_text_without_its_terminator),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
