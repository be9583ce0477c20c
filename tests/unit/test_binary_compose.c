/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/binary_compose.h"

#include <stdlib.h>

#include "tests/unit/support_compose.h"
#include "tests/unit/support_packet.h"

static const struct protocol *binary(void) {
    return protocol_choose('\x80');
}

static struct reply_form form_of(unsigned char opcode, bool quiet) {
    return (struct reply_form){.quiet = quiet, .tag = binary_tag(opcode, PACKET_OPAQUE, BINARY_NO_MEMORY)};
}

static void append_reply(struct buffer *to, struct packet_of packet) {
    packet.magic = BINARY_RESPONSE;
    packet_append(to, &packet);
}

static void expect_reply(const struct request *request, const struct response *response, bool quiet,
                         struct packet_of reply) {
    struct reply_form form = form_of(reply.opcode, quiet);
    struct buffer expected;
    buffer_init(&expected);
    append_reply(&expected, reply);
    compose_expect(binary(), request, response, &form, buffer_head(&expected), buffer_length(&expected));
    buffer_free(&expected);
}

static void expect_silence(unsigned char opcode, const struct request *request, const struct response *response) {
    struct reply_form form = form_of(opcode, true);
    compose_expect(binary(), request, response, &form, "", 0);
}

#define PACKET(...) (struct packet_of){.opcode = __VA_ARGS__}
#define EXPECT(request, response, ...) expect_reply(request, response, false, PACKET(__VA_ARGS__))
#define EXPECT_QUIET(request, response, ...) expect_reply(request, response, true, PACKET(__VA_ARGS__))

static void test_hit(void **state) {
    (void)state;
    struct item *item = compose_item_of("k", 3);
    struct request get = {.command = CMD_GET, .key = slice_str("k")};
    struct response hit = {.result = RESULT_HIT, .item = item, .cas = 0x0102030405060708};
    const uint64_t cas = hit.cas;
    EXPECT(&get, &hit, BINARY_GET, .extras = "ffffffff", .value = "vvv", .cas = cas);
    EXPECT(&get, &hit, BINARY_GETK, .extras = "ffffffff", .key = "k", .value = "vvv", .cas = cas);
    EXPECT(&get, &hit, BINARY_GAT, .extras = "ffffffff", .value = "vvv", .cas = cas);
    EXPECT(&get, &hit, BINARY_GATK, .extras = "ffffffff", .key = "k", .value = "vvv", .cas = cas);
    EXPECT_QUIET(&get, &hit, BINARY_GETQ, .extras = "ffffffff", .value = "vvv", .cas = cas);
    EXPECT_QUIET(&get, &hit, BINARY_GETKQ, .extras = "ffffffff", .key = "k", .value = "vvv", .cas = cas);
    EXPECT_QUIET(&get, &hit, BINARY_GATKQ, .extras = "ffffffff", .key = "k", .value = "vvv", .cas = cas);
    item_unref(&item);
}

static void test_values_of_all_sizes(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, OUTPUT_COPY_MAX - 1, OUTPUT_COPY_MAX, OUTPUT_COPY_MAX + 1, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct item *item = compose_item_of("k", sizes[i]);
        struct request get = {.command = CMD_GET, .key = slice_str("k")};
        struct response hit = {.result = RESULT_HIT, .item = item};
        EXPECT(&get, &hit, BINARY_GET, .extras = "ffffffff", .value = sizes[i] > 0 ? item_body(item) : NULL,
               .value_n = sizes[i]);
        item_unref(&item);
    }
}

static void test_miss(void **state) {
    (void)state;
    struct request get = {.command = CMD_GET, .key = slice_str("k")};
    struct request other = {.command = CMD_DELETE, .key = slice_str("k")};
    struct response miss = {.result = RESULT_MISS};
    EXPECT(&get, &miss, BINARY_GET, BINARY_NOT_FOUND, .value = "Not found");
    EXPECT(&get, &miss, BINARY_GETK, BINARY_NOT_FOUND, .key = "k");
    EXPECT(&get, &miss, BINARY_GATK, BINARY_NOT_FOUND, .key = "k");
    expect_silence(BINARY_GETQ, &get, &miss);
    expect_silence(BINARY_GETKQ, &get, &miss);
    expect_silence(BINARY_GATQ, &get, &miss);
    expect_silence(BINARY_GATKQ, &get, &miss);
    EXPECT_QUIET(&other, &miss, BINARY_DELETEQ, BINARY_NOT_FOUND, .value = "Not found");
}

static void test_touch(void **state) {
    (void)state;
    struct item *item = compose_item_of("k", 3);
    struct request touch = {.command = CMD_TOUCH, .key = slice_str("k")};
    struct response touched = {.result = RESULT_TOUCHED, .item = item, .cas = 5};
    struct response miss = {.result = RESULT_MISS};
    EXPECT(&touch, &touched, BINARY_TOUCH, .extras = "ffffffff", .cas = 5);
    EXPECT(&touch, &miss, BINARY_TOUCH, BINARY_NOT_FOUND, .value = "Not found");
    item_unref(&item);
}

static void test_success_without_a_body(void **state) {
    (void)state;
    struct request store = {.command = CMD_STORE};
    struct request remove = {.command = CMD_DELETE};
    struct request flush = {.command = CMD_FLUSH};
    struct response stored = {.result = RESULT_STORED, .cas = 5};
    struct response deleted = {.result = RESULT_DELETED};
    struct response ok = {.result = RESULT_OK};
    struct response closed = {.result = RESULT_CLOSE};
    struct response reset = {.result = RESULT_RESET};
    EXPECT(&store, &stored, BINARY_SET, .cas = 5);
    EXPECT(&remove, &deleted, BINARY_DELETE);
    EXPECT(&flush, &ok, BINARY_FLUSH);
    EXPECT(&flush, &ok, BINARY_NOOP);
    EXPECT(&flush, &ok, BINARY_VERBOSITY);
    EXPECT(&flush, &closed, BINARY_QUIT);
    EXPECT(&flush, &reset, BINARY_STAT);
    expect_silence(BINARY_SETQ, &store, &stored);
    expect_silence(BINARY_DELETEQ, &remove, &deleted);
    expect_silence(BINARY_FLUSHQ, &flush, &ok);
    expect_silence(BINARY_QUITQ, &flush, &closed);
}

static void test_numbers(void **state) {
    (void)state;
    struct request request = {.command = CMD_ARITH};
    struct response number = {.result = RESULT_NUMBER, .number = 0x6162636465666768, .cas = 5};
    EXPECT(&request, &number, BINARY_INCREMENT, .value = "abcdefgh", .cas = 5);
    expect_silence(BINARY_DECREMENTQ, &request, &number);
}

static void test_version(void **state) {
    (void)state;
    struct request request = {.command = CMD_VERSION};
    struct response version = {.result = RESULT_VERSION};
    EXPECT(&request, &version, BINARY_VERSION, .value = "1.6.45");
}

/* Quiet requests tell of their errors, too. */
static void test_errors(void **state) {
    (void)state;
    static const struct {
        enum request_mode mode;
        enum result result;
        unsigned status;
        const char *text;
    } rows[] = {
        {MODE_SET, RESULT_EXISTS, BINARY_EXISTS, "Data exists for key."},
        {MODE_SET, RESULT_MISS, BINARY_NOT_FOUND, "Not found"},
        {MODE_ADD, RESULT_NOT_STORED, BINARY_EXISTS, "Data exists for key."},
        {MODE_REPLACE, RESULT_NOT_STORED, BINARY_NOT_FOUND, "Not found"},
        {MODE_APPEND, RESULT_NOT_STORED, BINARY_NOT_STORED, "Not stored."},
        {MODE_PREPEND, RESULT_NOT_STORED, BINARY_NOT_STORED, "Not stored."},
        {MODE_SET, RESULT_TOO_LARGE, BINARY_TOO_LARGE, "Too large."},
        {MODE_SET, RESULT_NO_MEMORY, BINARY_NO_MEMORY, "Out of memory"},
        {MODE_SET, RESULT_DISK_FULL, BINARY_NO_MEMORY, "Out of disk space"},
        {MODE_SET, RESULT_READ_ONLY, BINARY_INTERNAL, "Write failed: the store is read-only"},
        {MODE_SET, RESULT_DAMAGED, BINARY_INTERNAL, "Read failed: damaged data"},
        {MODE_SET, RESULT_NOT_NUMERIC, BINARY_NOT_NUMERIC, "Non-numeric server-side value for incr or decr"},
        {MODE_SET, RESULT_UNKNOWN, BINARY_NOT_FOUND, "Not found"},
        {MODE_SET, RESULT_BAD_ARGUMENT, BINARY_NOT_FOUND, "Not found"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request request = {.command = CMD_STORE, .mode = rows[i].mode};
        struct response response = {.result = rows[i].result};
        EXPECT(&request, &response, BINARY_SET, rows[i].status, .value = rows[i].text);
        EXPECT_QUIET(&request, &response, BINARY_SETQ, rows[i].status, .value = rows[i].text);
    }
}

/* Whatever the table of results grows by, an error has a status and a text. */
static void test_every_error_has_a_status(void **state) {
    (void)state;
    static const bool is_error[RESULT_COUNT] = {
#define X(name, error) [RESULT_##name] = error,
        RESULT_TABLE(X)
#undef X
    };
    for (unsigned result = 0; result < RESULT_COUNT; result++) {
        struct request request = {.command = CMD_STORE};
        struct response response = {.result = (enum result)result};
        struct reply_form form = form_of(BINARY_SET, true);
        struct output_pools pools;
        struct output output;
        struct iovec part;
        if (!is_error[result]) {
            continue;
        }
        output_pools_init(&pools);
        output_init(&output, &pools);
        binary_compose(&output, &request, &response, &form, 0);
        assert_int_equal(output_gather(&output, SIZE_MAX, &part, 1), 1);
        assert_true(part.iov_len > BINARY_HEADER);
        assert_int_not_equal(binary_read((char *)part.iov_base + BINARY_AT_STATUS, 2), 0);
        output_clear(&output);
        output_pools_free(&pools);
    }
}

static void test_stats(void **state) {
    (void)state;
    struct request request = {.command = CMD_STATS};
    struct response response = {.result = RESULT_STATS};
    struct reply_form form = form_of(BINARY_STAT, false);
    struct buffer expected;
    buffer_init(&response.text);
    EXPECT(&request, &response, BINARY_STAT);
    assert_ok(buffer_append(&response.text, "pid\00012\0version\0001.6.45\0", 22));
    buffer_init(&expected);
    append_reply(&expected, PACKET(BINARY_STAT, .key = "pid", .value = "12"));
    append_reply(&expected, PACKET(BINARY_STAT, .key = "version", .value = "1.6.45"));
    append_reply(&expected, PACKET(BINARY_STAT));
    compose_expect(binary(), &request, &response, &form, buffer_head(&expected), buffer_length(&expected));
    buffer_free(&expected);
    buffer_free(&response.text);
}

static void test_lines_of_stats(void **state) {
    (void)state;
    struct request request = {.command = CMD_STATS, .words = {slice_str("detail"), slice_str("dump")}, .word_count = 2};
    struct response response = {.result = RESULT_LINES};
    struct reply_form form = form_of(BINARY_STAT, false);
    struct buffer expected;
    buffer_init(&response.text);
    buffer_init(&expected);
    assert_ok(buffer_append(&response.text, "PREFIX a\0PREFIX b\0", 18));
    append_reply(&expected, PACKET(BINARY_STAT, .key = "detailed", .value = "PREFIX a\r\nPREFIX b\r\nEND\r\n"));
    append_reply(&expected, PACKET(BINARY_STAT));
    compose_expect(binary(), &request, &response, &form, buffer_head(&expected), buffer_length(&expected));
    buffer_free(&expected);
    buffer_free(&response.text);
}

/* What the parser refuses, and a reply whose write was lost. */
static void test_refusal_and_loss(void **state) {
    (void)state;
    struct output_pools pools;
    struct output output;
    struct iovec part;
    struct buffer expected;
    output_pools_init(&pools);
    output_init(&output, &pools);
    binary_refuse(&output, binary_tag(0x99, PACKET_OPAQUE, BINARY_UNKNOWN), "Unknown command");
    binary_lost(&output, binary_tag(BINARY_SETQ, PACKET_OPAQUE, BINARY_NO_MEMORY));
    buffer_init(&expected);
    append_reply(&expected, PACKET(0x99, BINARY_UNKNOWN, .value = "Unknown command"));
    append_reply(&expected,
                 PACKET(BINARY_SETQ, BINARY_INTERNAL, .value = "Write failed: the store is read-only"));
    assert_int_equal(output_gather(&output, SIZE_MAX, &part, 1), 1);
    assert_int_equal(part.iov_len, buffer_length(&expected));
    assert_memory_equal(part.iov_base, buffer_head(&expected), part.iov_len);
    buffer_free(&expected);
    output_clear(&output);
    output_pools_free(&pools);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hit),
        cmocka_unit_test(test_values_of_all_sizes),
        cmocka_unit_test(test_miss),
        cmocka_unit_test(test_touch),
        cmocka_unit_test(test_success_without_a_body),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_every_error_has_a_status),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_lines_of_stats),
        cmocka_unit_test(test_refusal_and_loss),
    };
    return cmocka_run_group_tests_name("binary_compose", tests, NULL, NULL);
}
