/* SPDX-License-Identifier: BSD-3-Clause */
/* Memcached's meta commands.  One key is asked for by "mg key v" and answered by VA or EN; several by "mg key
 * k q v" each and "mn" behind the last, so that misses are silent and MN ends the reply. */
#include "bench/protocol_parts.h"

static char *meta_set(const struct dataset *dataset, uint64_t id, uint32_t expire, char *out) {
    out = PUT(out, "ms ");
    out = dataset_key(dataset, id, out);
    *out++ = ' ';
    out = put_number(out, dataset_value_size(dataset, id));
    if (expire != 0) {
        out = PUT(out, " T");
        out = put_number(out, expire);
    }
    out = PUT(out, "\r\n");
    out = dataset_value(dataset, id, out);
    return PUT(out, "\r\n");
}

static char *meta_get(const struct dataset *dataset, const uint64_t *ids, unsigned n, char *out) {
    for (unsigned i = 0; i < n; i++) {
        out = PUT(out, "mg ");
        out = dataset_key(dataset, ids[i], out);
        out = n == 1 ? PUT(out, " v\r\n") : PUT(out, " k q v\r\n");
    }
    return n == 1 ? out : PUT(out, "mn\r\n");
}

static char *meta_delete(const struct dataset *dataset, uint64_t id, char *out) {
    out = PUT(out, "md ");
    out = dataset_key(dataset, id, out);
    return PUT(out, "\r\n");
}

/* The line after "VA ": size flag*; flag k is followed by the key. */
static size_t value_line(struct parser *parser, struct slice line, size_t used, struct reply *reply) {
    uint64_t size;
    struct slice key = {line.p, 0};
    if (parser->operation != OP_GET || !number_u64(protocol_word(&line), &size)) {
        return protocol_broken(line, reply);
    }
    while (line.n > 0) {
        struct slice flag = protocol_word(&line);
        if (flag.n > 1 && flag.p[0] == 'k') {
            key = slice_of(flag.p + 1, flag.n - 1);
        }
    }
    return protocol_value(parser, key, size, used, reply);
}

static size_t status_line(const struct parser *parser, struct slice line, size_t used, struct reply *reply) {
    bool get = parser->operation == OP_GET;
    struct slice rest = line;
    struct slice code = protocol_word(&rest);
    if (slice_equal(code, slice_str(!get ? "HD" : parser->keys > 1 ? "MN" : "EN"))) {
        return protocol_done(RESULT_OK, line, used, reply);
    }
    if (!get && (BEGINS(code, "NF") || BEGINS(code, "NS") || BEGINS(code, "EX"))) {
        return protocol_done(RESULT_REFUSED, line, used, reply);
    }
    if (BEGINS(code, "ERROR") || BEGINS(code, "CLIENT_ERROR") || BEGINS(code, "SERVER_ERROR")) {
        return protocol_done(RESULT_FAILED, line, used, reply);
    }
    return protocol_broken(line, reply);
}

static size_t meta_next(struct parser *parser, struct slice in, struct reply *reply) {
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
        if (parser->keys == 1) {
            return protocol_done(RESULT_OK, slice_of(in.p, 0), before, reply);
        }
        in = slice_of(in.p + before, in.n - before);
    }
    size_t used = protocol_line(in, &line, reply);
    if (used == 0) {
        return before;
    }
    if (BEGINS(line, "VA ")) {
        return value_line(parser, slice_of(line.p + 3, line.n - 3), before + used, reply);
    }
    return status_line(parser, line, before + used, reply);
}

const struct protocol protocol_meta = {
    .name = "meta",
    .port = 11211,
    .key_max = 250,
    .set = meta_set,
    .get = meta_get,
    .delete = meta_delete,
    .next = meta_next,
};
