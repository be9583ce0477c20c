/* SPDX-License-Identifier: BSD-3-Clause */
/* The reply parsers of coffer-bench.  Each conversation is given whole, and again cut at every byte, and must
 * be read alike. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/protocol.h"
#include "tests/unit/support_cmocka.h"

enum { SCRIPT = 512 };

struct log {
    char text[SCRIPT];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void note(struct log *log, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(log->text + log->n, SCRIPT - log->n, format, arguments);
    va_end(arguments);
    assert_true(n >= 0 && (size_t)n < SCRIPT - log->n);
    log->n += (size_t)n;
}

/* Notes what the parser says, pieces of a value joined; true when it wants more bytes. */
static bool note_reply(struct log *log, const struct reply *reply) {
    static const char *const results[] = {"ok", "refused", "failed"};
    switch (reply->kind) {
    case REPLY_VALUE:
        note(log, "value %.*s %zu [", (int)reply->text.n, reply->text.p, reply->size);
        break;
    case REPLY_PIECE:
        note(log, "%.*s%s", (int)reply->text.n, reply->text.p, reply->last ? "] " : "");
        break;
    case REPLY_ABSENT:
        note(log, "absent ");
        break;
    case REPLY_DONE:
        note(log, "%s ", results[reply->result]);
        break;
    case REPLY_BROKEN:
        note(log, "broken ");
        break;
    case REPLY_MORE:
        return true;
    }
    return false;
}

/* Feeds the parser `step` bytes more at a time, from memory of exactly that size. */
static void read_all(const struct protocol *protocol, enum operation operation, unsigned keys,
                     struct slice in, size_t step, struct log *log) {
    struct parser parser = {.operation = operation, .keys = keys};
    struct reply reply = {.kind = REPLY_MORE};
    size_t start = 0, end = 0;
    *log = (struct log){.n = 0};
    while (end < in.n && reply.kind != REPLY_BROKEN) {
        end = end + step < in.n ? end + step : in.n;
        char *copy = malloc(end - start + 1);
        assert_non_null(copy);
        memcpy(copy, in.p + start, end - start);
        size_t used = 0;
        bool more = false;
        while (!more && reply.kind != REPLY_BROKEN) {
            used += protocol->next(&parser, slice_of(copy + used, end - start - used), &reply);
            assert_true(used <= end - start);
            more = note_reply(log, &reply);
        }
        start += used;
        free(copy);
        reply.kind = more ? REPLY_MORE : reply.kind;
    }
    if (reply.kind != REPLY_BROKEN) {
        assert_int_equal(start, in.n);
    }
}

static void expect(const struct protocol *protocol, enum operation operation, unsigned keys, const char *in,
                   size_t n, const char *expected) {
    struct log log;
    for (size_t step = 1; step <= n; step++) {
        read_all(protocol, operation, keys, slice_of(in, n), step, &log);
        assert_string_equal(log.text, expected);
    }
}

#define EXPECT(protocol, operation, keys, in, expected)                                                      \
    expect(&protocol_##protocol, operation, keys, in, sizeof(in) - 1, expected)

static void text_replies(void **state) {
    (void)state;
    EXPECT(text, OP_SET, 1, "STORED\r\nNOT_STORED\r\nSTORED\r\n", "ok refused ok ");
    EXPECT(text, OP_SET, 1, "SERVER_ERROR out of memory\r\nSTORED\r\n", "failed ok ");
    EXPECT(text, OP_GET, 1, "END\r\nVALUE k 0 5\r\nEND\r\n\r\nEND\r\n", "ok value k 5 [END\r\n] ok ");
    EXPECT(text, OP_GET, 3, "VALUE a 1 1\r\nx\r\nVALUE b 4294967295 0 77\r\n\r\nEND\r\nERROR\r\n",
           "value a 1 [x] value b 0 [] ok failed ");
    EXPECT(text, OP_DELETE, 1, "DELETED\r\nNOT_FOUND\r\nCLIENT_ERROR bad\r\n", "ok refused failed ");
}

static void text_nonsense_is_broken(void **state) {
    (void)state;
    EXPECT(text, OP_SET, 1, "END\r\n", "broken ");
    EXPECT(text, OP_GET, 1, "STORED\r\n", "broken ");
    EXPECT(text, OP_GET, 1, "VALUE k 0\r\n", "broken ");
    EXPECT(text, OP_GET, 1, "VALUE k 0 x\r\n", "broken ");
    EXPECT(text, OP_SET, 1, "VALUE k 0 1\r\n", "broken ");
    EXPECT(text, OP_GET, 1, "VALUE k 0 1\r\nxyEND\r\n", "value k 1 [x] broken ");
    EXPECT(text, OP_SET, 1, "\r\n", "broken ");
}

static void meta_replies(void **state) {
    (void)state;
    EXPECT(meta, OP_SET, 1, "HD\r\nNS\r\nSERVER_ERROR x\r\n", "ok refused failed ");
    EXPECT(meta, OP_GET, 1, "VA 3\r\nabc\r\nEN\r\nVA 0 f0\r\n\r\n", "value  3 [abc] ok ok value  0 [] ok ");
    EXPECT(meta, OP_GET, 2, "VA 3 ka\r\nabc\r\nVA 1 s1 kb\r\n\n\r\nMN\r\nMN\r\n",
           "value a 3 [abc] value b 1 [\n] ok ok ");
    EXPECT(meta, OP_DELETE, 1, "HD\r\nNF\r\n", "ok refused ");
    EXPECT(meta, OP_GET, 1, "HD\r\n", "broken ");
    EXPECT(meta, OP_SET, 1, "EN\r\n", "broken ");
}

static void resp_replies(void **state) {
    (void)state;
    EXPECT(resp, OP_SET, 1, "+OK\r\n-OOM command not allowed\r\n", "ok failed ");
    EXPECT(resp, OP_GET, 1, "$3\r\nabc\r\n$-1\r\n$0\r\n\r\n", "value  3 [abc] ok ok value  0 [] ok ");
    EXPECT(resp, OP_GET, 3, "*3\r\n$1\r\na\r\n$-1\r\n$2\r\n\r\n\r\n",
           "value  1 [a] absent value  2 [\r\n] ok ");
    EXPECT(resp, OP_GET, 2, "*2\r\n$1\r\na\r\n$-1\r\n*2\r\n$-1\r\n$-1\r\n",
           "value  1 [a] absent ok absent absent ok ");
    EXPECT(resp, OP_GET, 2, "-ERR no\r\n", "failed ");
    EXPECT(resp, OP_DELETE, 1, ":1\r\n:0\r\n", "ok refused ");
}

static void resp_nonsense_is_broken(void **state) {
    (void)state;
    EXPECT(resp, OP_GET, 2, "*3\r\n$-1\r\n", "broken ");
    EXPECT(resp, OP_GET, 2, "$1\r\na\r\n", "broken ");
    EXPECT(resp, OP_GET, 1, "*1\r\n$1\r\na\r\n", "broken ");
    EXPECT(resp, OP_GET, 1, "$-2\r\n", "broken ");
    EXPECT(resp, OP_GET, 1, "+OK\r\n", "broken ");
    EXPECT(resp, OP_SET, 1, ":1\r\n", "broken ");
}

/* A header of the binary protocol; the lengths fit one byte. */
#define BINARY(opcode, key, extras, status, body)                                                            \
    "\x81" opcode "\0" key extras "\0\0" status "\0\0\0" body "\0\0\0\0\0\0\0\0\0\0\0\0"

static void binary_replies(void **state) {
    (void)state;
    EXPECT(binary, OP_SET, 1,
           BINARY("\x01", "\0", "\0", "\0", "\0") BINARY("\x01", "\0", "\0", "\x82", "\3") "OOM",
           "ok failed ");
    EXPECT(binary, OP_GET, 1,
           BINARY("\0", "\0", "\4", "\0", "\7") "\0\0\0\0abc" BINARY("\0", "\0", "\0", "\1", "\2") "no",
           "value  3 [abc] ok ok ");
    EXPECT(binary, OP_GET, 2,
           BINARY("\x0d", "\1", "\4", "\0", "\6") "\0\0\0\0kv" BINARY("\x0a", "\0", "\0", "\0", "\0"),
           "value k 1 [v] ok ");
    EXPECT(binary, OP_DELETE, 1, BINARY("\4", "\0", "\0", "\0", "\0") BINARY("\4", "\0", "\0", "\1", "\0"),
           "ok refused ");
    EXPECT(binary, OP_SET, 1, BINARY("\0", "\0", "\0", "\0", "\0"), "broken ");
    EXPECT(binary, OP_SET, 1, "012345678901234567890123", "broken ");
}

static void lines_without_end_are_broken(void **state) {
    (void)state;
    static const struct protocol *const protocols[] = {&protocol_text, &protocol_meta, &protocol_resp};
    char line[PROTOCOL_LINE_MAX + 1];
    struct parser parser = {.operation = OP_SET, .keys = 1};
    struct reply reply;
    memset(line, 'x', sizeof line);
    for (size_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++) {
        assert_int_equal(protocols[i]->next(&parser, slice_of(line, PROTOCOL_LINE_MAX - 1), &reply), 0);
        assert_int_equal(reply.kind, REPLY_MORE);
        assert_int_equal(protocols[i]->next(&parser, slice_of(line, PROTOCOL_LINE_MAX), &reply), 0);
        assert_int_equal(reply.kind, REPLY_BROKEN);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_replies),
        cmocka_unit_test(text_nonsense_is_broken),
        cmocka_unit_test(meta_replies),
        cmocka_unit_test(resp_replies),
        cmocka_unit_test(resp_nonsense_is_broken),
        cmocka_unit_test(binary_replies),
        cmocka_unit_test(lines_without_end_are_broken),
    };
    return cmocka_run_group_tests_name("bench_replies", tests, NULL, NULL);
}
