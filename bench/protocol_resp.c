/* SPDX-License-Identifier: BSD-3-Clause */
/* Redis: GET or MGET, SET with EX, DEL. */
#include "bench/protocol_parts.h"

/* One state more: the last element was a miss, and the end of the reply is still to be told. */
enum { BEHIND_ARRAY = BEHIND_VALUE + 1 };

static char *put_count(char *out, char kind, uint64_t count) {
    *out++ = kind;
    out = put_number(out, count);
    return PUT(out, "\r\n");
}

static char *put_key(const struct dataset *dataset, uint64_t id, char *out) {
    out = put_count(out, '$', dataset_key_size(dataset, id));
    out = dataset_key(dataset, id, out);
    return PUT(out, "\r\n");
}

static char *resp_set(const struct dataset *dataset, uint64_t id, uint32_t expire, char *out) {
    char digits[NUMBER_DIGITS];
    out = put_count(out, '*', expire == 0 ? 3 : 5);
    out = PUT(out, "$3\r\nSET\r\n");
    out = put_key(dataset, id, out);
    out = put_count(out, '$', dataset_value_size(dataset, id));
    out = dataset_value(dataset, id, out);
    out = PUT(out, "\r\n");
    if (expire != 0) {
        out = PUT(out, "$2\r\nEX\r\n");
        out = put_count(out, '$', number_print(digits, expire));
        out = put_number(out, expire);
        out = PUT(out, "\r\n");
    }
    return out;
}

static char *resp_get(const struct dataset *dataset, const uint64_t *ids, unsigned n, char *out) {
    out = put_count(out, '*', n + 1);
    out = n == 1 ? PUT(out, "$3\r\nGET\r\n") : PUT(out, "$4\r\nMGET\r\n");
    for (unsigned i = 0; i < n; i++) {
        out = put_key(dataset, ids[i], out);
    }
    return out;
}

static char *resp_delete(const struct dataset *dataset, uint64_t id, char *out) {
    out = PUT(out, "*2\r\n$3\r\nDEL\r\n");
    return put_key(dataset, id, out);
}

/* "$-1" or "$5", alone or as an element of an array of parser->values elements. */
static size_t bulk_line(struct parser *parser, struct slice line, size_t used, struct reply *reply) {
    uint64_t size;
    if (parser->operation != OP_GET || (parser->keys > 1) != (parser->values > 0)) {
        return protocol_broken(line, reply);
    }
    if (slice_equal(line, slice_str("-1"))) {
        if (parser->values == 0) {
            return protocol_done(RESULT_OK, line, used, reply);
        }
        parser->state = --parser->values == 0 ? BEHIND_ARRAY : AT_LINE;
        reply->kind = REPLY_ABSENT;
        return used;
    }
    return number_u64(line, &size) ? protocol_value(parser, slice_of(line.p, 0), size, used, reply)
                                   : protocol_broken(line, reply);
}

static size_t status_line(struct parser *parser, struct slice line, size_t used, struct reply *reply) {
    struct slice rest = line.n == 0 ? line : slice_of(line.p + 1, line.n - 1);
    uint64_t count;
    switch (line.n == 0 ? 0 : line.p[0]) {
    case '$':
        return bulk_line(parser, rest, used, reply);
    case '-':
        return protocol_done(RESULT_FAILED, line, used, reply);
    case '+':
        return parser->operation == OP_SET ? protocol_done(RESULT_OK, line, used, reply)
                                           : protocol_broken(line, reply);
    case ':':
        return parser->operation == OP_DELETE && number_u64(rest, &count)
                   ? protocol_done(count == 0 ? RESULT_REFUSED : RESULT_OK, line, used, reply)
                   : protocol_broken(line, reply);
    default:
        return protocol_broken(line, reply);
    }
}

/* "*n": must be as many as were asked for. */
static bool array_line(struct parser *parser, struct slice line) {
    uint64_t count;
    if (parser->operation != OP_GET || parser->keys < 2 || parser->values != 0 ||
        !number_u64(slice_of(line.p + 1, line.n - 1), &count) || count != parser->keys) {
        return false;
    }
    parser->values = parser->keys;
    return true;
}

/* After the CR LF of a value: true when the reply ends with it. */
static bool ends_reply(struct parser *parser) {
    parser->state = AT_LINE;
    return parser->values == 0 || --parser->values == 0;
}

static size_t resp_next(struct parser *parser, struct slice in, struct reply *reply) {
    struct slice line;
    size_t before = 0;
    if (parser->state == IN_VALUE) {
        return protocol_piece(parser, in, reply);
    }
    if (parser->state == BEHIND_ARRAY) {
        parser->state = AT_LINE;
        return protocol_done(RESULT_OK, slice_of(in.p, 0), 0, reply);
    }
    if (parser->state == BEHIND_VALUE) {
        before = protocol_behind(in, reply);
        if (before == 0) {
            return 0;
        }
        if (ends_reply(parser)) {
            return protocol_done(RESULT_OK, slice_of(in.p, 0), before, reply);
        }
        in = slice_of(in.p + before, in.n - before);
    }
    size_t used = protocol_line(in, &line, reply);
    if (used > 0 && line.n > 0 && line.p[0] == '*') {
        if (!array_line(parser, line)) {
            return protocol_broken(in, reply);
        }
        before += used;
        in = slice_of(in.p + used, in.n - used);
        used = protocol_line(in, &line, reply);
    }
    return used == 0 ? before : status_line(parser, line, before + used, reply);
}

const struct protocol protocol_resp = {
    .name = "resp",
    .port = 6379,
    .key_max = DATASET_KEY_MAX,
    .set = resp_set,
    .get = resp_get,
    .delete = resp_delete,
    .next = resp_next,
};
