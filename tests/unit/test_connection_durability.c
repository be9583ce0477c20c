/* SPDX-License-Identifier: BSD-3-Clause */
/* No reply leaves before what it has seen is as durable as promised, and none that never will be. */
#include "tests/unit/support_packet.h"
#include "tests/unit/support_stage.h"

/* ---- more strings ---- */

static void set_mark(uint64_t mark) {
    on_stage();
    stage.mark = mark;
    tell_session();
    off_stage();
}

static void fail_log(void) {
    on_stage();
    stage.failed = true;
    tell_session();
    off_stage();
}

static uint64_t counted(struct fixture *f, enum counter which) {
    return counter_read(worker_counters(f->worker), which);
}

/* ---- the mark ---- */

static void test_reply_waits_for_the_mark(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a\r\nset x 5 0 1\r\n1\r\nget b\r\nset x 7 0 1\r\n1\r\n");
    expect(f->client, A END);
    expect_nothing(f, f->client);
    expect_journal("get a;set x;get b;set x;");
    set_mark(4);
    expect_nothing(f, f->client);
    set_mark(5);
    expect(f->client, "STORED\r\n" B END);
    expect_nothing(f, f->client);
    set_mark(9);
    expect(f->client, "STORED\r\n");
    assert_int_equal(counted(f, COUNT_replies_held), 2);
}

static void test_read_waits_for_what_it_has_seen(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get at8\r\n");
    expect_nothing(f, f->client);
    set_mark(8);
    expect(f->client, HIT("at8", "3") "vvv\r\n" END);
}

static void test_reply_waits_for_earlier_noreply_write(void **state) {
    struct fixture *f = *state;
    ask(f->client, "set x 5 0 1 noreply\r\n1\r\nget a\r\n");
    expect_nothing(f, f->client);
    set_mark(5);
    expect(f->client, A END);
}

static void test_several_connections_wait_for_different_marks(void **state) {
    struct fixture *f = *state;
    int clients[20];
    for (unsigned i = 0; i < 20; i++) {
        char line[64];
        clients[i] = new_client(f);
        snprintf(line, sizeof line, "set x %u 0 1\r\n1\r\n", 100 + i * 7 % 20);
        ask(clients[i], line);
    }
    expect_nothing(f, clients[19]);
    for (unsigned mark = 100; mark < 120; mark++) {
        set_mark(mark);
        for (unsigned i = 0; i < 20; i++) {
            if (100 + i * 7 % 20 == mark) {
                expect(clients[i], "STORED\r\n");
                close(clients[i]);
            }
        }
    }
}

#define FAILED "SERVER_ERROR write failed: the store is read-only\r\n"

static void test_held_replies_fail_with_the_log(void **state) {
    struct fixture *f = *state;
    ask(f->client, "set x 5 0 1\r\n1\r\nget a\r\nget at7 b\r\nget b\r\n");
    expect_nothing(f, f->client);
    fail_log();
    expect(f->client, FAILED A END FAILED B END);
    assert_int_equal(counted(f, COUNT_replies_failed), 2);
    ask(f->client, "get at9 a\r\nget a\r\n");
    expect(f->client, FAILED A END);
}

static void test_lost_noreply_write_closes(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a\r\nset x 5 0 1 noreply\r\n1\r\nget b\r\n");
    expect(f->client, A END);
    expect_nothing(f, f->client);
    fail_log();
    expect_end(f->client);
}

/* The reply of a multi-get whose other keys are still to be read. */
static void test_log_fails_amid_a_multi_get(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a at7 cold1 b\r\nget b\r\n");
    wait_parked(1);
    expect(f->client, A);
    fail_log();
    expect(f->client, FAILED);
    release("cold1");
    expect(f->client, B END);
}

/* A quiet request that is lost says so itself, in its own name, in front of the answer that would hide it. */
static void test_lost_quiet_packet_is_told(void **state) {
    struct fixture *f = *state;
    const struct packet_of asked[] = {
        {.opcode = BINARY_SETQ, .key = "x", .extras = "0000000000000000", .value = "1"},
        {.opcode = BINARY_SETQ, .key = "x", .extras = "0000000500000000", .value = "1"},
        {.opcode = BINARY_GETK, .key = "b"},
    };
    const struct packet_of told[] = {
        {.opcode = BINARY_SETQ, .status = BINARY_INTERNAL, .value = "Write failed: the store is read-only"},
        {.opcode = BINARY_GETK, .extras = "00000000", .key = "b", .value = "v"},
    };
    send_packets(f->client, asked, 3);
    expect_nothing(f, f->client);
    fail_log();
    expect_packets(f->client, told, 2);
}

static void test_lost_quiet_meta_command_is_told(void **state) {
    struct fixture *f = *state;
    ask(f->client, "ms x 1 F5 q\r\n1\r\nms x 1 F0 q\r\n1\r\nmg b v\r\n");
    expect_nothing(f, f->client);
    fail_log();
    expect(f->client, FAILED "VA 1\r\nv\r\n");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_reply_waits_for_the_mark),
        TEST(test_read_waits_for_what_it_has_seen),
        TEST(test_reply_waits_for_earlier_noreply_write),
        TEST(test_several_connections_wait_for_different_marks),
        TEST(test_held_replies_fail_with_the_log),
        TEST(test_lost_noreply_write_closes),
        TEST(test_log_fails_amid_a_multi_get),
        TEST(test_lost_quiet_packet_is_told),
        TEST(test_lost_quiet_meta_command_is_told),
    };
    return cmocka_run_group_tests_name("connection_durability", tests, NULL, NULL);
}
