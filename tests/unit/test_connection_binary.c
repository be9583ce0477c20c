/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that speak the binary protocol: order, bodies without a line end, and when they are closed. */
#include "tests/unit/support_packet.h"
#include "tests/unit/support_stage.h"

#define SEND(f, ...) send_all(f, (const struct packet_of[]){__VA_ARGS__}, PACKETS(__VA_ARGS__))
#define EXPECT(f, ...) expect_packets((f)->client, (const struct packet_of[]){__VA_ARGS__}, PACKETS(__VA_ARGS__))
#define PACKETS(...) (sizeof((const struct packet_of[]){__VA_ARGS__}) / sizeof(struct packet_of))

static void send_all(struct fixture *f, const struct packet_of *packets, size_t count) {
    send_packets(f->client, packets, count);
}

/* The stage answers all but get and set as it answers version. */
#define NOOP {.opcode = BINARY_NOOP}
#define NOOPED {.opcode = BINARY_NOOP, .value = "1.6.45"}
#define ASK(code, name) {.opcode = (code), .key = (name)}
#define TELL(code, name, text) {.opcode = (code), .extras = "00000000", .key = (name), .value = (text)}
#define PUT(code, name, text) {.opcode = (code), .extras = "0000000000000000", .key = (name), .value = (text)}
#define TOLD(code, how, text) {.opcode = (code), .status = (how), .value = (text)}

static void test_pipeline(void **state) {
    struct fixture *f = *state;
    SEND(f, ASK(BINARY_GETKQ, "a"), ASK(BINARY_GETKQ, "miss"), PUT(BINARY_SETQ, "x", "1"), PUT(BINARY_SET, "x", "11"),
         ASK(0x55, "whatever"), ASK(BINARY_GET, "miss"), NOOP);
    EXPECT(f, TELL(BINARY_GETKQ, "a", "v"), {.opcode = BINARY_SET}, TOLD(0x55, BINARY_UNKNOWN, "Unknown command"),
           TOLD(BINARY_GET, BINARY_NOT_FOUND, "Not found"), NOOPED);
    expect_journal("get a;get miss;set x;set x;get miss;");
}

static void test_byte_by_byte(void **state) {
    struct fixture *f = *state;
    const struct packet_of packets[] = {
        PUT(BINARY_SET, "x", "11111"), ASK(BINARY_GETK, "a"), PUT(BINARY_SET, "x", NULL), ASK(0x55, "k"), NOOP};
    struct buffer bytes;
    buffer_init(&bytes);
    for (size_t i = 0; i < sizeof packets / sizeof packets[0]; i++) {
        packet_append(&bytes, &packets[i]);
    }
    for (size_t i = 0; i < buffer_length(&bytes); i++) {
        send_bytes(f->client, buffer_head(&bytes) + i, 1);
        if (i % 5 == 0) {
            int other = new_client(f); /* makes the worker turn to somebody else in between */
            ask(other, "version\r\n");
            expect(other, "VERSION 1.6.45\r\n");
            close(other);
        }
    }
    EXPECT(f, {.opcode = BINARY_SET}, TELL(BINARY_GETK, "a", "v"), {.opcode = BINARY_SET},
           TOLD(0x55, BINARY_UNKNOWN, "Unknown command"), NOOPED);
    buffer_free(&bytes);
}

static void test_replies_keep_their_order_behind_a_parked_read(void **state) {
    struct fixture *f = *state;
    SEND(f, ASK(BINARY_GETKQ, "cold1"), ASK(BINARY_GETKQ, "a"), ASK(BINARY_GETKQ, "miss"), ASK(0x55, "k"), NOOP);
    wait_parked(1);
    expect_nothing(f, f->client);
    release("cold1");
    EXPECT(f, TELL(BINARY_GETKQ, "cold1", "vvvvv"), TELL(BINARY_GETKQ, "a", "v"),
           TOLD(0x55, BINARY_UNKNOWN, "Unknown command"), NOOPED);
}

static void test_large_values(void **state) {
    struct fixture *f = *state;
    char *text = malloc(1 << 20);
    assert_non_null(text);
    memset(text, 'v', 1 << 20);
    SEND(f, {.opcode = BINARY_SET, .extras = "0000000000000000", .key = "x", .value = text, .value_n = 1 << 20},
         ASK(BINARY_GET, "big"), NOOP);
    EXPECT(f, {.opcode = BINARY_SET},
           {.opcode = BINARY_GET, .extras = "00000000", .value = text, .value_n = 100000}, NOOPED);
    free(text);
}

static void test_too_large_value_is_dropped(void **state) {
    struct fixture *f = *state;
    size_t n = (1 << 20) + 1;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, '\x80', n); /* would be taken for packets */
    SEND(f, {.opcode = BINARY_SETQ, .extras = "0000000000000000", .key = "x", .value = text, .value_n = n}, NOOP);
    EXPECT(f, TOLD(BINARY_SETQ, BINARY_TOO_LARGE, "Too large."), NOOPED);
    free(text);
}

static void test_bad_framing_closes_behind_what_was_asked_before(void **state) {
    struct fixture *f = *state;
    SEND(f, ASK(BINARY_GETK, "cold1"), {.opcode = BINARY_GET}, NOOP);
    wait_parked(1);
    expect_nothing(f, f->client);
    release("cold1");
    EXPECT(f, TELL(BINARY_GETK, "cold1", "vvvvv"), TOLD(BINARY_GET, BINARY_INVALID, "Invalid arguments"));
    expect_end(f->client);
}

static void test_quit_is_answered(void **state) {
    struct fixture *f = *state;
    SEND(f, ASK(BINARY_GETKQ, "a"), {.opcode = BINARY_QUIT}, NOOP);
    EXPECT(f, TELL(BINARY_GETKQ, "a", "v"), {.opcode = BINARY_QUIT});
    expect_end(f->client);
}

static void test_quitq_is_not(void **state) {
    struct fixture *f = *state;
    SEND(f, ASK(BINARY_GETKQ, "a"), {.opcode = BINARY_QUITQ}, NOOP);
    EXPECT(f, TELL(BINARY_GETKQ, "a", "v"));
    expect_end(f->client);
}

static void test_text_behind_packets_closes(void **state) {
    struct fixture *f = *state;
    SEND(f, NOOP);
    ask(f->client, "get a\r\n");
    EXPECT(f, NOOPED);
    char header[BINARY_HEADER + sizeof "Invalid arguments" - 1];
    read_bytes(f->client, header, sizeof header);
    assert_int_equal(binary_read(header + BINARY_AT_STATUS, 2), BINARY_INVALID);
    assert_int_equal(binary_read(header + BINARY_AT_OPAQUE, 4), 0);
    expect_end(f->client);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_pipeline),
        TEST(test_byte_by_byte),
        TEST(test_replies_keep_their_order_behind_a_parked_read),
        TEST(test_large_values),
        TEST(test_too_large_value_is_dropped),
        TEST(test_bad_framing_closes_behind_what_was_asked_before),
        TEST(test_quit_is_answered),
        TEST(test_quitq_is_not),
        TEST(test_text_behind_packets_closes),
    };
    return cmocka_run_group_tests_name("connection_binary", tests, NULL, NULL);
}
