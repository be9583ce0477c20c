/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/protocol_parts.h"

static char *text_set(const struct dataset *dataset, uint64_t id, uint32_t expire, char *out) {
    out = PUT(out, "set ");
    out = dataset_key(dataset, id, out);
    out = PUT(out, " 0 ");
    out = put_number(out, expire);
    *out++ = ' ';
    out = put_number(out, dataset_value_size(dataset, id));
    out = PUT(out, "\r\n");
    out = dataset_value(dataset, id, out);
    return PUT(out, "\r\n");
}

static char *text_get(const struct dataset *dataset, const uint64_t *ids, unsigned n, char *out) {
    out = PUT(out, "get");
    for (unsigned i = 0; i < n; i++) {
        *out++ = ' ';
        out = dataset_key(dataset, ids[i], out);
    }
    return PUT(out, "\r\n");
}

static char *text_delete(const struct dataset *dataset, uint64_t id, char *out) {
    out = PUT(out, "delete ");
    out = dataset_key(dataset, id, out);
    return PUT(out, "\r\n");
}

/* The line after "VALUE ": key flags bytes [cas] */
static size_t value_line(struct parser *parser, struct slice line, size_t used, struct reply *reply) {
    uint64_t size;
    struct slice key = protocol_word(&line);
    struct slice flags = protocol_word(&line);
    if (parser->operation != OP_GET || flags.n == 0 || !number_u64(protocol_word(&line), &size)) {
        return protocol_broken(line, reply);
    }
    return protocol_value(parser, key, size, used, reply);
}

static size_t status_line(const struct parser *parser, struct slice line, size_t used, struct reply *reply) {
    static const struct {
        const char *text;
        enum operation operation;
        enum reply_result result;
    } known[] = {
        {"STORED", OP_SET, RESULT_OK},          {"END", OP_GET, RESULT_OK},
        {"DELETED", OP_DELETE, RESULT_OK},      {"NOT_FOUND", OP_DELETE, RESULT_REFUSED},
        {"NOT_STORED", OP_SET, RESULT_REFUSED}, {"EXISTS", OP_SET, RESULT_REFUSED},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].operation == parser->operation && slice_equal(line, slice_str(known[i].text))) {
            return protocol_done(known[i].result, line, used, reply);
        }
    }
    if (BEGINS(line, "ERROR") || BEGINS(line, "CLIENT_ERROR") || BEGINS(line, "SERVER_ERROR")) {
        return protocol_done(RESULT_FAILED, line, used, reply);
    }
    return protocol_broken(line, reply);
}

static size_t text_next(struct parser *parser, struct slice in, struct reply *reply) {
    struct slice line;
    size_t before = 0;
    if (parser->state == IN_VALUE) {
        return protocol_piece(parser, in, reply);
    }
    if (parser->state == BEHIND_VALUE) {
        before = protocol_behind(in, reply);
        if (before == 0) {
            return 0;
        }
        parser->state = AT_LINE;
        in = slice_of(in.p + before, in.n - before);
    }
    size_t used = protocol_line(in, &line, reply);
    if (used == 0) {
        return before;
    }
    if (BEGINS(line, "VALUE ")) {
        return value_line(parser, slice_of(line.p + 6, line.n - 6), before + used, reply);
    }
    return status_line(parser, line, before + used, reply);
}

const struct protocol protocol_text = {
    .name = "text",
    .port = 11211,
    .key_max = 250,
    .set = text_set,
    .get = text_get,
    .delete = text_delete,
    .next = text_next,
};
