/* SPDX-License-Identifier: BSD-3-Clause */
/* compose: what the composers share: appending to a line that has been given room, values, the texts of a response.
 *
 * Pure; any thread. */
#ifndef COFFER_NET_COMPOSE_H
#define COFFER_NET_COMPOSE_H

#include <string.h>

#include "net/output.h"
#include "src/base/number.h"
#include "src/cmd/request.h"

static inline char *put(char *to, const void *bytes, size_t n) {
    memcpy(to, bytes, n);
    return to + n;
}

static inline char *put_text(char *to, const char *text) {
    return put(to, text, strlen(text));
}

static inline char *put_number(char *to, uint64_t number) {
    return to + number_print(to, number);
}

static inline char *put_signed(char *to, int64_t number) {
    if (number < 0) {
        *to++ = '-';
    }
    return put_number(to, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* Bytes of the item: small ones are copied side by side, large ones stay where they are. */
static inline void compose_item(struct output *output, struct item *item, struct slice bytes) {
    if (bytes.n <= OUTPUT_COPY_MAX) {
        output_bytes(output, bytes.p, bytes.n);
    } else {
        output_item(output, item, bytes);
    }
}

static inline struct slice response_text(const struct response *response) {
    const struct buffer *text = &response->text;
    return slice_of(text->data != NULL ? text->data + text->start : "", text->end - text->start);
}

/* The text up to the next NUL; *rest goes behind that. */
static inline struct slice next_text(struct slice *rest) {
    const char *end = memchr(rest->p, '\0', rest->n);
    size_t n = end != NULL ? (size_t)(end - rest->p) : rest->n;
    size_t behind = end != NULL ? n + 1 : n;
    struct slice text = slice_of(rest->p, n);
    *rest = slice_of(rest->p + behind, rest->n - behind);
    return text;
}

#endif
