/* SPDX-License-Identifier: BSD-3-Clause */
/* Memcached's binary protocol.  One key is asked for by Get; several by GetKQ each and a NoOp behind the
 * last, so that misses are silent and the NoOp ends the reply.  Numbers are big-endian. */
#include "bench/protocol_parts.h"

enum {
    HEADER = 24,
    REQUEST = 0x80,
    RESPONSE = 0x81,
    GET = 0x00,
    SET = 0x01,
    DELETE = 0x04,
    NOOP = 0x0a,
    GETKQ = 0x0d,
    SUCCESS = 0,
    KEY_NOT_FOUND = 1,
    KEY_EXISTS = 2,
    NOT_STORED = 5,
};

/* The parser's states; 0 is at a header. */
enum { IN_BODY = IN_VALUE };

static char *put_big(char *out, uint64_t number, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) {
        *out++ = (char)(number >> 8 * i);
    }
    return out;
}

static uint64_t get_big(const char *in, unsigned bytes) {
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++) {
        number = number << 8 | (unsigned char)in[i];
    }
    return number;
}

static char *put_header(char *out, unsigned opcode, size_t key, size_t extras, size_t value) {
    memset(out, 0, HEADER);
    out[0] = (char)REQUEST;
    out[1] = (char)opcode;
    put_big(out + 2, key, 2);
    out[4] = (char)extras;
    put_big(out + 8, key + extras + value, 4);
    return out + HEADER;
}

static char *put_request(const struct dataset *dataset, unsigned opcode, uint64_t id, char *out) {
    out = put_header(out, opcode, dataset_key_size(dataset, id), 0, 0);
    return dataset_key(dataset, id, out);
}

static char *binary_set(const struct dataset *dataset, uint64_t id, uint32_t expire, char *out) {
    out = put_header(out, SET, dataset_key_size(dataset, id), 8, dataset_value_size(dataset, id));
    out = put_big(out, expire, 8); /* flags 0, then the expiry */
    out = dataset_key(dataset, id, out);
    return dataset_value(dataset, id, out);
}

static char *binary_get(const struct dataset *dataset, const uint64_t *ids, unsigned n, char *out) {
    for (unsigned i = 0; i < n; i++) {
        out = put_request(dataset, n == 1 ? GET : GETKQ, ids[i], out);
    }
    return n == 1 ? out : put_header(out, NOOP, 0, 0, 0);
}

static char *binary_delete(const struct dataset *dataset, uint64_t id, char *out) {
    return put_request(dataset, DELETE, id, out);
}

/* A reply without a value: its body, a text, is taken with it. */
static size_t status_reply(const struct parser *parser, unsigned status, struct slice body, size_t used,
                           struct reply *reply) {
    bool get = parser->operation == OP_GET;
    switch (status) {
    case SUCCESS:
        return protocol_done(RESULT_OK, body, used, reply);
    case KEY_NOT_FOUND:
        return protocol_done(get ? RESULT_OK : RESULT_REFUSED, body, used, reply);
    case KEY_EXISTS:
    case NOT_STORED:
        return protocol_done(get ? RESULT_FAILED : RESULT_REFUSED, body, used, reply);
    default:
        return protocol_done(RESULT_FAILED, body, used, reply);
    }
}

static bool is_expected(const struct parser *parser, unsigned opcode) {
    switch (parser->operation) {
    case OP_SET:
        return opcode == SET;
    case OP_DELETE:
        return opcode == DELETE;
    default:
        return parser->keys == 1 ? opcode == GET : opcode == GETKQ || opcode == NOOP;
    }
}

static size_t header(struct parser *parser, struct slice in, struct reply *reply) {
    reply->kind = REPLY_MORE;
    if (in.n < HEADER) {
        return 0;
    }
    unsigned opcode = (unsigned char)in.p[1], status = (unsigned)get_big(in.p + 6, 2);
    size_t key = get_big(in.p + 2, 2), extras = (unsigned char)in.p[4], body = get_big(in.p + 8, 4);
    bool hit = (opcode == GET || opcode == GETKQ) && status == SUCCESS;
    if ((unsigned char)in.p[0] != RESPONSE || !is_expected(parser, opcode) || key + extras > body) {
        return protocol_broken(in, reply);
    }
    /* Key and extras of a hit, or the text of an error: small, so they are awaited whole. */
    size_t small = hit ? key + extras : body;
    if (small > PROTOCOL_LINE_MAX - HEADER) {
        return protocol_broken(in, reply);
    }
    if (in.n < HEADER + small) {
        return 0;
    }
    if (!hit) {
        return status_reply(parser, status, slice_of(in.p + HEADER, body), HEADER + body, reply);
    }
    return protocol_value(parser, slice_of(in.p + HEADER + extras, key), body - small, HEADER + small, reply);
}

static size_t binary_next(struct parser *parser, struct slice in, struct reply *reply) {
    if (parser->state == IN_BODY) {
        return protocol_piece(parser, in, reply);
    }
    if (parser->state == BEHIND_VALUE) {
        parser->state = AT_LINE;
        if (parser->keys == 1) {
            return protocol_done(RESULT_OK, slice_of(in.p, 0), 0, reply);
        }
    }
    return header(parser, in, reply);
}

const struct protocol protocol_binary = {
    .name = "binary",
    .port = 11211,
    .key_max = 250,
    .set = binary_set,
    .get = binary_get,
    .delete = binary_delete,
    .next = binary_next,
};
