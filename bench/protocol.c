/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/protocol.h"

#include "bench/protocol_parts.h"

static const struct protocol *const protocols[] = {&protocol_text, &protocol_meta, &protocol_binary,
                                                   &protocol_resp};

const struct protocol *protocol_find(const char *name) {
    for (size_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++) {
        if (strcmp(protocols[i]->name, name) == 0) {
            return protocols[i];
        }
    }
    return NULL;
}

const char *protocol_names(void) {
    return "text, meta, binary, resp";
}

const char *operation_text(enum operation operation) {
    static const char *const texts[] = {
#define X(name, text) text,
        OPERATION_TABLE(X)
#undef X
    };
    return texts[operation];
}

size_t protocol_request_max(const struct dataset *dataset, unsigned n) {
    enum { AROUND_REQUEST = 128, AROUND_KEY = 32 };
    return AROUND_REQUEST + n * (AROUND_KEY + dataset_key_max(dataset)) + dataset_value_max(dataset);
}

size_t protocol_done(enum reply_result result, struct slice text, size_t used, struct reply *reply) {
    reply->kind = REPLY_DONE;
    reply->result = result;
    reply->text = text;
    return used;
}

size_t protocol_broken(struct slice in, struct reply *reply) {
    reply->kind = REPLY_BROKEN;
    reply->text = in;
    return 0;
}

size_t protocol_line(struct slice in, struct slice *line, struct reply *reply) {
    size_t look = in.n < PROTOCOL_LINE_MAX ? in.n : PROTOCOL_LINE_MAX;
    const char *end = look == 0 ? NULL : memchr(in.p, '\n', look);
    if (end == NULL) {
        reply->kind = REPLY_MORE;
        return look < PROTOCOL_LINE_MAX ? 0 : protocol_broken(in, reply);
    }
    size_t n = end - in.p;
    *line = slice_of(in.p, n > 0 && in.p[n - 1] == '\r' ? n - 1 : n);
    return n + 1;
}

struct slice protocol_word(struct slice *line) {
    const char *space = line->n == 0 ? NULL : memchr(line->p, ' ', line->n);
    struct slice word = slice_of(line->p, space == NULL ? line->n : (size_t)(space - line->p));
    size_t used = word.n + (space != NULL);
    *line = slice_of(line->p + used, line->n - used);
    return word;
}

size_t protocol_value(struct parser *parser, struct slice key, size_t size, size_t used,
                      struct reply *reply) {
    parser->state = IN_VALUE;
    parser->left = size;
    reply->kind = REPLY_VALUE;
    reply->text = key;
    reply->size = size;
    return used;
}

size_t protocol_piece(struct parser *parser, struct slice in, struct reply *reply) {
    size_t n = in.n < parser->left ? in.n : parser->left;
    if (n == 0 && parser->left > 0) {
        reply->kind = REPLY_MORE;
        return 0;
    }
    parser->left -= n;
    reply->kind = REPLY_PIECE;
    reply->text = slice_of(in.p, n);
    reply->last = parser->left == 0;
    if (reply->last) {
        parser->state = BEHIND_VALUE;
    }
    return n;
}

size_t protocol_behind(struct slice in, struct reply *reply) {
    if (in.n < 2) {
        reply->kind = REPLY_MORE;
        return 0;
    }
    return BEGINS(in, "\r\n") ? 2 : protocol_broken(in, reply);
}
