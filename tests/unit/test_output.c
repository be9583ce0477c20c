/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/output.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/buffer.h"
#include "tests/unit/support_cmocka.h"

#define LOST "LOST\n"

enum { TAG = 77 };

struct fixture {
    struct output_pools pools;
    struct output output;
    struct buffer sent;
};

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    output_pools_init(&f->pools);
    output_init(&f->output, &f->pools);
    buffer_init(&f->sent);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    output_clear(&f->output);
    assert_null(f->output.first);
    assert_null(f->output.fences_first);
    output_pools_free(&f->pools);
    buffer_free(&f->sent);
    free(f);
    return 0;
}

/* Sends what may leave, `step` bytes at a time through two parts a call, and remembers it. */
static void send_ready(struct fixture *f, uint64_t mark, size_t step) {
    struct iovec parts[2];
    size_t ready;
    while ((ready = output_ready(&f->output, mark)) > 0) {
        int n = output_gather(&f->output, ready < step ? ready : step, parts, 2);
        size_t moved = 0;
        assert_in_range(n, 1, 2);
        for (int i = 0; i < n; i++) {
            assert_ok(buffer_append(&f->sent, parts[i].iov_base, parts[i].iov_len));
            moved += parts[i].iov_len;
        }
        assert_true(moved <= ready);
        output_sent(&f->output, moved);
    }
}

static void expect_sent(struct fixture *f, const char *text) {
    assert_ok(buffer_append(&f->sent, "", 1));
    assert_string_equal(buffer_head(&f->sent), text);
    buffer_consume(&f->sent, buffer_length(&f->sent));
}

static void reply(struct fixture *f, const char *text, uint64_t stamp) {
    struct output_reply r = {.start = f->output.end, .stamp = stamp, .tag = TAG};
    output_text(&f->output, text);
    output_fence(&f->output, &r, 0);
}

static void quiet(struct fixture *f, uint64_t stamp) {
    struct output_reply r = {.start = f->output.end, .stamp = stamp, .quiet = true};
    output_fence(&f->output, &r, 0);
}

static void part(struct fixture *f, const char *text, uint64_t stamp, uint32_t line, bool last) {
    struct output_reply r = {
        .start = f->output.end, .stamp = stamp, .tag = TAG, .part = true, .last = last, .line = line};
    output_text(&f->output, text);
    output_fence(&f->output, &r, 0);
}

static void say_lost(struct output *output, uint64_t tag) {
    assert_int_equal(tag, TAG);
    output_text(output, LOST);
}

static struct output_loss fail_above(struct fixture *f, uint64_t mark) {
    struct output_loss loss;
    output_fail(&f->output, mark, say_lost, &loss);
    send_ready(f, mark, 1000);
    return loss;
}

/* ---- bytes ---- */

static void test_bytes_leave_in_order(void **state) {
    struct fixture *f = *state;
    struct buffer all;
    buffer_init(&all);
    for (unsigned i = 0; i < 5000; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u,", i * 7919);
        output_text(&f->output, text);
        assert_ok(buffer_append(&all, text, strlen(text)));
    }
    assert_int_equal(output_unsent(&f->output), buffer_length(&all));
    send_ready(f, 0, 777);
    assert_int_equal(output_unsent(&f->output), 0);
    assert_null(f->output.first);
    assert_ok(buffer_append(&all, "", 1));
    expect_sent(f, buffer_head(&all));
    buffer_free(&all);
}

static void test_sending_and_adding_take_turns(void **state) {
    struct fixture *f = *state;
    for (unsigned i = 0; i < 3000; i++) {
        output_text(&f->output, "abcdefgh");
        struct iovec piece;
        assert_int_equal(output_gather(&f->output, 5, &piece, 1), 1);
        assert_ok(buffer_append(&f->sent, piece.iov_base, piece.iov_len));
        output_sent(&f->output, piece.iov_len);
    }
    send_ready(f, 0, 100);
    assert_int_equal(buffer_length(&f->sent), 24000);
    for (size_t i = 0; i < 24000; i++) {
        assert_int_equal(buffer_head(&f->sent)[i], "abcdefgh"[i % 8]);
    }
}

static struct item *new_item(char fill, size_t n) {
    struct item *item;
    assert_ok(item_create(&item, slice_str("key"), n));
    memset(item_body(item), fill, n);
    return item;
}

static void test_items_are_kept_until_sent(void **state) {
    struct fixture *f = *state;
    for (unsigned i = 0; i < 100; i++) {
        struct item_view view;
        struct item *item = new_item((char)('a' + i % 26), 5000);
        item_look(item, &view);
        output_text(&f->output, "<");
        output_item(&f->output, item, slice_of(view.value.p, view.value.n + 2));
        item_unref(&item);
    }
    assert_int_equal(output_unsent(&f->output), 100 * 5003);
    send_ready(f, 0, 4096);
    assert_int_equal(buffer_length(&f->sent), 100 * 5003);
    for (unsigned i = 0; i < 100; i++) {
        const char *one = buffer_head(&f->sent) + i * 5003;
        assert_int_equal(one[0], '<');
        assert_int_equal(one[1], 'a' + i % 26);
        assert_int_equal(one[5000], 'a' + i % 26);
        assert_memory_equal(one + 5001, "\r\n", 2);
    }
}

static void test_clearing_lets_items_go(void **state) {
    struct fixture *f = *state;
    struct item *item = new_item('x', 9000);
    struct item_view view;
    item_look(item, &view);
    output_item(&f->output, item, view.value);
    item_unref(&item);
    output_clear(&f->output);
    assert_int_equal(output_unsent(&f->output), 0);
}

/* ---- fences ---- */

static void test_reply_waits_for_its_stamp(void **state) {
    struct fixture *f = *state;
    reply(f, "a", 0);
    reply(f, "b", 10);
    reply(f, "c", 0);
    reply(f, "d", 20);
    assert_int_equal(output_ready(&f->output, 9), 1);
    assert_int_equal(output_awaits(&f->output), 10);
    send_ready(f, 10, 100);
    assert_int_equal(output_awaits(&f->output), 20);
    expect_sent(f, "abc");
    send_ready(f, 25, 100);
    assert_int_equal(output_awaits(&f->output), 0);
    expect_sent(f, "d");
}

/* A later reply with a lower stamp waits all the same: the connection has seen more. */
static void test_lower_stamp_waits_behind_higher(void **state) {
    struct fixture *f = *state;
    reply(f, "a", 30);
    reply(f, "b", 20);
    send_ready(f, 25, 100);
    expect_sent(f, "");
    send_ready(f, 30, 100);
    expect_sent(f, "ab");
}

static void test_quiet_write_holds_what_follows(void **state) {
    struct fixture *f = *state;
    reply(f, "a", 0);
    quiet(f, 10);
    quiet(f, 12);
    quiet(f, 11);
    assert_int_equal(f->output.fences, 1);
    reply(f, "b", 0);
    send_ready(f, 11, 100);
    expect_sent(f, "a");
    send_ready(f, 12, 100);
    expect_sent(f, "b");
}

static void test_many_fences(void **state) {
    struct fixture *f = *state;
    for (unsigned i = 1; i <= 1000; i++) {
        reply(f, "x", i);
    }
    for (unsigned i = 1; i <= 1000; i++) {
        assert_int_equal(output_awaits(&f->output), i);
        assert_int_equal(output_ready(&f->output, i), 1);
        output_sent(&f->output, 1);
    }
    assert_int_equal(f->output.fences, 0);
    assert_null(f->output.first);
}

/* ---- failing ---- */

static void test_only_replies_above_the_mark_fail(void **state) {
    struct fixture *f = *state;
    reply(f, "a\n", 5);
    reply(f, "b\n", 15);
    reply(f, "c\n", 0);
    reply(f, "d\n", 7);
    reply(f, "eee\n", 25);
    reply(f, "f\n", 26);
    struct output_loss loss = fail_above(f, 10);
    assert_int_equal(loss.replies, 3);
    assert_false(loss.quiet || loss.open);
    expect_sent(f, "a\n" LOST "c\nd\n" LOST LOST);
}

static void test_partly_sent_output_fails_behind_that(void **state) {
    struct fixture *f = *state;
    reply(f, "0123456789", 0);
    reply(f, "b", 15);
    output_sent(&f->output, 4);
    fail_above(f, 10);
    expect_sent(f, "456789" LOST);
}

static void test_reply_of_parts_fails_as_a_whole(void **state) {
    struct fixture *f = *state;
    part(f, "VALUE a\n", 15, 1, false);
    part(f, "VALUE b\n", 0, 1, false);
    part(f, "VALUE c\n", 20, 1, false);
    part(f, "END\n", 0, 1, true);
    part(f, "VALUE d\n", 0, 2, false);
    part(f, "END\n", 0, 2, true);
    struct output_loss loss = fail_above(f, 10);
    assert_int_equal(loss.replies, 1);
    assert_false(loss.open);
    expect_sent(f, LOST "VALUE d\nEND\n");
}

/* The parts that had nothing to wait for leave; the error ends the reply. */
static void test_later_part_fails(void **state) {
    struct fixture *f = *state;
    part(f, "VALUE a\n", 0, 1, false);
    part(f, "VALUE b\n", 15, 1, false);
    part(f, "END\n", 0, 1, true);
    reply(f, "x\n", 0);
    fail_above(f, 10);
    expect_sent(f, "VALUE a\n" LOST "x\n");
}

static void test_reply_whose_parts_are_still_to_come(void **state) {
    struct fixture *f = *state;
    reply(f, "x\n", 0);
    part(f, "VALUE a\n", 15, 7, false);
    part(f, "VALUE b\n", 0, 7, false);
    struct output_loss loss = fail_above(f, 10);
    assert_true(loss.open);
    assert_int_equal(loss.line, 7);
    expect_sent(f, "x\n" LOST);
}

static void test_lost_quiet_write_ends_the_output(void **state) {
    struct fixture *f = *state;
    reply(f, "a\n", 15);
    quiet(f, 16);
    reply(f, "b\n", 0);
    struct output_loss loss = fail_above(f, 10);
    assert_true(loss.quiet);
    expect_sent(f, LOST);
}

static void test_kept_quiet_write_ends_nothing(void **state) {
    struct fixture *f = *state;
    quiet(f, 6);
    reply(f, "a\n", 15);
    struct output_loss loss = fail_above(f, 10);
    assert_false(loss.quiet);
    expect_sent(f, LOST);
}

static void test_items_survive_failing(void **state) {
    struct fixture *f = *state;
    struct item_view view;
    struct item *item = new_item('v', 6000);
    item_look(item, &view);
    reply(f, "lost\n", 20);
    output_item(&f->output, item, view.value);
    item_unref(&item);
    fail_above(f, 10);
    assert_int_equal(buffer_length(&f->sent), strlen(LOST) + 6000);
    assert_int_equal(buffer_head(&f->sent)[strlen(LOST) + 5999], 'v');
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bytes_leave_in_order),
        TEST(test_sending_and_adding_take_turns),
        TEST(test_items_are_kept_until_sent),
        TEST(test_clearing_lets_items_go),
        TEST(test_reply_waits_for_its_stamp),
        TEST(test_lower_stamp_waits_behind_higher),
        TEST(test_quiet_write_holds_what_follows),
        TEST(test_many_fences),
        TEST(test_only_replies_above_the_mark_fail),
        TEST(test_partly_sent_output_fails_behind_that),
        TEST(test_reply_of_parts_fails_as_a_whole),
        TEST(test_later_part_fails),
        TEST(test_reply_whose_parts_are_still_to_come),
        TEST(test_lost_quiet_write_ends_the_output),
        TEST(test_kept_quiet_write_ends_nothing),
        TEST(test_items_survive_failing),
    };
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
