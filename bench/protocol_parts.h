/* SPDX-License-Identifier: BSD-3-Clause */
/* protocol_parts: what the protocols' composers and parsers have in common.  For bench/protocol*.c only. */
#ifndef COFFER_BENCH_PROTOCOL_PARTS_H
#define COFFER_BENCH_PROTOCOL_PARTS_H

#include <string.h>

#include "bench/protocol.h"
#include "src/base/number.h"

/* The states that a parser of a line protocol is in. */
enum { AT_LINE, IN_VALUE, BEHIND_VALUE };

static inline char *put_bytes(char *out, const char *bytes, size_t n) {
    memcpy(out, bytes, n);
    return out + n;
}

/* For string literals. */
#define PUT(out, text) put_bytes((out), (text), sizeof(text) - 1)

static inline char *put_number(char *out, uint64_t number) {
    return out + number_print(out, number);
}

/* Whether the text begins with a string literal. */
#define BEGINS(text, with) ((text).n >= sizeof(with) - 1 && memcmp((text).p, (with), sizeof(with) - 1) == 0)

/* The next line without its CR LF; returns the bytes it took with it, 0 when it is not whole or too long, and
 * then `reply` is set. */
size_t protocol_line(struct slice in, struct slice *line, struct reply *reply);
/* The next word of a line; empty at its end. */
struct slice protocol_word(struct slice *line);

/* A value begins behind the `used` bytes that announced it. */
size_t protocol_value(struct parser *parser, struct slice key, size_t size, size_t used, struct reply *reply);
/* In IN_VALUE: hands on what there is. */
size_t protocol_piece(struct parser *parser, struct slice in, struct reply *reply);
/* In BEHIND_VALUE: 2 for the CR LF, else 0 and `reply` is set. */
size_t protocol_behind(struct slice in, struct reply *reply);

size_t protocol_done(enum reply_result result, struct slice text, size_t used, struct reply *reply);
size_t protocol_broken(struct slice in, struct reply *reply);

#endif
