/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/binary_parse.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/support_feed.h"
#include "tests/unit/support_packet.h"

/* All of a packet but its value. */
enum { KEPT_MAX = BINARY_HEADER + 20 + STORE_KEY_MAX };

static const struct packet_of noop = {.opcode = BINARY_NOOP};

static void expect_bytes(const struct buffer *input, const char *expected) {
    feed_expect(protocol_choose('\x80'), KEPT_MAX, input->data + input->start, input->end - input->start, expected);
}

/* The packet, and a NOOP, which comes through when the connection is in step. */
static void expect(struct packet_of packet, const char *expected) {
    struct buffer input;
    char with_noop[512];
    buffer_init(&input);
    packet_append(&input, &packet);
    packet_append(&input, &noop);
    snprintf(with_noop, sizeof with_noop, "%s\nNOOP\n", expected);
    expect_bytes(&input, with_noop);
    buffer_free(&input);
}

/* Nothing behind the packet is looked at. */
static void expect_close(struct packet_of packet, const char *expected) {
    struct buffer input;
    buffer_init(&input);
    packet_append(&input, &packet);
    packet_append(&input, &noop);
    expect_bytes(&input, expected);
    buffer_free(&input);
}

static void expect_invalid(struct packet_of packet) {
    char expected[80];
    snprintf(expected, sizeof expected, "> Invalid arguments %02x0000040a0b0c0d close\n", packet.opcode);
    expect_close(packet, expected);
}

#define EXPECT(expected, ...) expect((struct packet_of){.opcode = __VA_ARGS__}, expected)
#define EXPECT_INVALID(...) expect_invalid((struct packet_of){.opcode = __VA_ARGS__})

static void test_get(void **state) {
    (void)state;
    EXPECT("GET k", BINARY_GET, .key = "k");
    EXPECT("GET k quiet", BINARY_GETQ, .key = "k");
    EXPECT("GET k", BINARY_GETK, .key = "k");
    EXPECT("GET k quiet", BINARY_GETKQ, .key = "k");
    EXPECT("GET a\\20b\\0d\\0ac", BINARY_GET, .key = "a b\r\nc");
    EXPECT("GET k touch=100", BINARY_GAT, .key = "k", .extras = "00000064");
    EXPECT("GET k touch=0 quiet", BINARY_GATQ, .key = "k", .extras = "00000000");
    EXPECT("GET k touch=4294967295", BINARY_GATK, .key = "k", .extras = "ffffffff");
    EXPECT("GET k touch=100 quiet", BINARY_GATKQ, .key = "k", .extras = "00000064");
    EXPECT("TOUCH k exp=100", BINARY_TOUCH, .key = "k", .extras = "00000064");
}

static void test_store(void **state) {
    (void)state;
    EXPECT("STORE k set flags=5 exp=100 [abc]", BINARY_SET, .key = "k", .extras = "0000000500000064", .value = "abc");
    EXPECT("STORE k set flags=4294967295 exp=4294967295 quiet [abc]", BINARY_SETQ, .key = "k",
           .extras = "ffffffffffffffff", .value = "abc");
    EXPECT("STORE k add flags=0 exp=0 []", BINARY_ADD, .key = "k", .extras = "0000000000000000");
    EXPECT("STORE k add flags=0 exp=0 quiet [\r\n]", BINARY_ADDQ, .key = "k", .extras = "0000000000000000",
           .value = "\r\n");
    EXPECT("STORE k replace flags=0 exp=0 [x]", BINARY_REPLACE, .key = "k", .extras = "0000000000000000", .value = "x");
    EXPECT("STORE k replace flags=0 exp=0 quiet [x]", BINARY_REPLACEQ, .key = "k", .extras = "0000000000000000",
           .value = "x");
    EXPECT("STORE k append flags=0 exp=0 [x]", BINARY_APPEND, .key = "k", .value = "x");
    EXPECT("STORE k append flags=0 exp=0 quiet [x]", BINARY_APPENDQ, .key = "k", .value = "x");
    EXPECT("STORE k prepend flags=0 exp=0 []", BINARY_PREPEND, .key = "k");
    EXPECT("STORE k prepend flags=0 exp=0 quiet [x]", BINARY_PREPENDQ, .key = "k", .value = "x");
}

/* With a cas all of these want that version and no other. */
static void test_store_with_cas(void **state) {
    (void)state;
    EXPECT("STORE k set flags=0 exp=0 cas=7 [x]", BINARY_SET, .key = "k", .extras = "0000000000000000", .value = "x",
           .cas = 7);
    EXPECT("STORE k set flags=0 exp=0 cas=18446744073709551615 [x]", BINARY_ADD, .key = "k",
           .extras = "0000000000000000", .value = "x", .cas = UINT64_MAX);
    EXPECT("STORE k set flags=0 exp=0 cas=7 quiet [x]", BINARY_REPLACEQ, .key = "k", .extras = "0000000000000000",
           .value = "x", .cas = 7);
    EXPECT("STORE k append flags=0 exp=0 cas=7 uncounted [x]", BINARY_APPEND, .key = "k", .value = "x", .cas = 7);
}

static void test_delete_and_arithmetic(void **state) {
    (void)state;
    EXPECT("DELETE k", BINARY_DELETE, .key = "k");
    EXPECT("DELETE k cas=9 quiet", BINARY_DELETEQ, .key = "k", .cas = 9);
    EXPECT("ARITH k +1 create=10 exp=60", BINARY_INCREMENT, .key = "k",
           .extras = "0000000000000001" "000000000000000a" "0000003c");
    EXPECT("ARITH k +18446744073709551615 cas=9 quiet", BINARY_INCREMENTQ, .key = "k", .cas = 9,
           .extras = "ffffffffffffffff" "000000000000000a" "ffffffff");
    EXPECT("ARITH k -1 create=0 exp=4294967294", BINARY_DECREMENT, .key = "k",
           .extras = "0000000000000001" "0000000000000000" "fffffffe");
    EXPECT("ARITH k -1 quiet", BINARY_DECREMENTQ, .key = "k",
           .extras = "0000000000000001" "0000000000000000" "ffffffff");
}

static void test_the_rest(void **state) {
    (void)state;
    EXPECT("NOOP", BINARY_NOOP);
    EXPECT("VERSION", BINARY_VERSION);
    EXPECT("QUIT", BINARY_QUIT);
    EXPECT("QUIT quiet", BINARY_QUITQ);
    EXPECT("FLUSH", BINARY_FLUSH);
    EXPECT("FLUSH exp=3600 quiet", BINARY_FLUSHQ, .extras = "00000e10");
    EXPECT("VERBOSITY 1", BINARY_VERBOSITY, .extras = "00000005");
    EXPECT("VERBOSITY 0", BINARY_VERBOSITY, .extras = "00000000");
    EXPECT("VERBOSITY 0", BINARY_VERBOSITY);
    EXPECT("STATS", BINARY_STAT);
    EXPECT("STATS items", BINARY_STAT, .key = "items");
    EXPECT("STATS cachedump 1 10", BINARY_STAT, .key = "cachedump 1 10");
    EXPECT("STATS", BINARY_STAT, .key = " ");
    EXPECT("STATS 1 2 3 4 5 6 7 8", BINARY_STAT, .key = "1 2 3 4 5 6 7 8 9 10");
}

/* Unknown opcodes, and what we do not offer, are dropped with their bodies; the connection stays in step. */
static void test_unknown_opcodes(void **state) {
    (void)state;
    static const unsigned char opcodes[] = {0x1f, BINARY_SASL_LIST, BINARY_SASL_AUTH, BINARY_SASL_STEP, 0x25, 0x3d,
                                            0xff};
    for (size_t i = 0; i < sizeof opcodes; i++) {
        char expected[80];
        snprintf(expected, sizeof expected, "> Unknown command %02x0000810a0b0c0d", opcodes[i]);
        EXPECT(expected, opcodes[i]);
        EXPECT(expected, opcodes[i], .key = "PLAIN", .extras = "0102", .value = "user and password");
    }
}

static void test_lengths_that_do_not_fit(void **state) {
    (void)state;
    EXPECT_INVALID(BINARY_GET);
    EXPECT_INVALID(BINARY_GET, .key = "k", .extras = "00000000");
    EXPECT_INVALID(BINARY_GET, .key = "k", .value = "x");
    EXPECT_INVALID(BINARY_GAT, .key = "k");
    EXPECT_INVALID(BINARY_TOUCH, .key = "k");
    EXPECT_INVALID(BINARY_SET, .extras = "0000000000000000", .value = "x");
    EXPECT_INVALID(BINARY_SET, .key = "k", .value = "x");
    EXPECT_INVALID(BINARY_SETQ, .key = "k", .extras = "00000000", .value = "x");
    EXPECT_INVALID(BINARY_APPEND, .key = "k", .extras = "0000000000000000", .value = "x");
    EXPECT_INVALID(BINARY_DELETE, .key = "k", .extras = "00000000");
    EXPECT_INVALID(BINARY_DELETE, .key = "k", .value = "x");
    EXPECT_INVALID(BINARY_INCREMENT, .key = "k", .extras = "0000000000000001");
    EXPECT_INVALID(BINARY_INCREMENT, .key = "k", .extras = "0000000000000001" "000000000000000a" "0000003c",
                   .value = "x");
    EXPECT_INVALID(BINARY_NOOP, .key = "k");
    EXPECT_INVALID(BINARY_NOOP, .extras = "00");
    EXPECT_INVALID(BINARY_VERSION, .value = "x");
    EXPECT_INVALID(BINARY_QUIT, .key = "k");
    EXPECT_INVALID(BINARY_FLUSH, .key = "k");
    EXPECT_INVALID(BINARY_FLUSH, .extras = "0000");
    EXPECT_INVALID(BINARY_STAT, .extras = "00000000");
    EXPECT_INVALID(BINARY_STAT, .key = "items", .value = "x");
}

static void test_lengths_that_contradict_each_other(void **state) {
    (void)state;
    EXPECT_INVALID(BINARY_GET, .key = "k", .key_n = 5);
    EXPECT_INVALID(BINARY_GET, .key = "k", .extras_n = 5);
    EXPECT_INVALID(0x77, .key = "k", .extras_n = 200);
    EXPECT_INVALID(BINARY_SET, .key = "k", .extras = "0000000000000000", .body_n = 8);
    EXPECT_INVALID(BINARY_GET, .key = "k", .key_n = 65535, .body_n = 0xffffffff);
}

static void test_key_lengths(void **state) {
    (void)state;
    char key[252];
    memset(key, 'k', sizeof key);
    key[250] = '\0';
    EXPECT("GET 250xk", BINARY_GET, .key = key);
    key[250] = 'k';
    key[251] = '\0';
    EXPECT_INVALID(BINARY_GET, .key = key);
    EXPECT_INVALID(BINARY_SET, .key = key, .extras = "0000000000000000", .value = "x");
    EXPECT_INVALID(0x77, .key = key);
}

/* Nothing of such a packet can be believed, so nothing of it is repeated. */
static void test_bad_magic(void **state) {
    (void)state;
    const char *expected = "> Invalid arguments 0000000400000000 close\n";
    expect_close((struct packet_of){.opcode = BINARY_GET, .key = "k", .magic = 0x81}, expected);
    expect_close((struct packet_of){.opcode = BINARY_GET, .key = "k", .magic = 'g'}, expected);
}

static void test_text_behind_packets(void **state) {
    (void)state;
    struct buffer input;
    buffer_init(&input);
    packet_append(&input, &noop);
    assert_ok(buffer_printf(&input, "get a\r\n"));
    expect_bytes(&input, "NOOP\n> Invalid arguments 0000000400000000 close\n");
    buffer_free(&input);
}

static void test_a_value_of_any_length_may_be_announced(void **state) {
    (void)state;
    struct buffer input;
    struct parser parser = {.state = 0};
    struct request request = {.command = 0};
    struct parsed parsed = {.request = &request};
    const struct packet_of packet = {
        .opcode = BINARY_SET, .key = "k", .extras = "0000000000000000", .body_n = 0xffffffff};
    buffer_init(&input);
    packet_append(&input, &packet);
    assert_int_equal(binary_parse(&parser, slice_of(buffer_head(&input), buffer_length(&input)), &parsed), PARSE_BODY);
    assert_int_equal(parsed.body, 0xffffffff - 9);
    buffer_free(&input);
}

static void test_peek(void **state) {
    (void)state;
    struct buffer input;
    struct parser parser = {.state = 0};
    struct slice keys[8];
    const struct packet_of packets[] = {
        {.opcode = BINARY_GETKQ, .key = "a"},
        {.opcode = BINARY_SET, .key = "bb", .extras = "0000000000000000", .value = "some value"},
        {.opcode = BINARY_NOOP},
        {.opcode = BINARY_GET, .key = "c"},
        {.opcode = BINARY_SET, .key = "d", .extras = "0000000000000000", .body_n = 1000},
        {.opcode = BINARY_GET, .key = "e"},
    };
    buffer_init(&input);
    for (size_t i = 0; i < sizeof packets / sizeof packets[0]; i++) {
        packet_append(&input, &packets[i]);
    }
    struct slice all = slice_of(buffer_head(&input), buffer_length(&input));
    assert_int_equal(binary_peek(&parser, all, keys, 8), 4);
    assert_true(slice_equal(keys[0], slice_str("a")));
    assert_true(slice_equal(keys[1], slice_str("bb")));
    assert_true(slice_equal(keys[2], slice_str("c")));
    assert_true(slice_equal(keys[3], slice_str("d")));
    assert_int_equal(binary_peek(&parser, all, keys, 2), 2);
    assert_int_equal(binary_peek(&parser, slice_of(all.p, 24), keys, 8), 0);
    assert_int_equal(binary_peek(&parser, slice_of(all.p, 25), keys, 8), 1);
    buffer_free(&input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_store_with_cas),
        cmocka_unit_test(test_delete_and_arithmetic),
        cmocka_unit_test(test_the_rest),
        cmocka_unit_test(test_unknown_opcodes),
        cmocka_unit_test(test_lengths_that_do_not_fit),
        cmocka_unit_test(test_lengths_that_contradict_each_other),
        cmocka_unit_test(test_key_lengths),
        cmocka_unit_test(test_bad_magic),
        cmocka_unit_test(test_text_behind_packets),
        cmocka_unit_test(test_a_value_of_any_length_may_be_announced),
        cmocka_unit_test(test_peek),
    };
    return cmocka_run_group_tests_name("binary_parse", tests, NULL, NULL);
}
