/* SPDX-License-Identifier: BSD-3-Clause */
/* buffer: bytes that grow at the end and are consumed from the front.
 *
 * Owned by one thread.  Running out of memory is an error return, never an abort: a client chooses the sizes. */
#ifndef COFFER_BASE_BUFFER_H
#define COFFER_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/slice.h"
#include "src/base/status.h"

struct buffer {
    char *data;
    size_t start; /* first unconsumed byte */
    size_t end;   /* one past the last byte */
    size_t capacity;
};

void buffer_init(struct buffer *buffer);
void buffer_free(struct buffer *buffer); /* leaves it as after buffer_init */

/* Makes room for n more bytes at the end (moving the content to the front where that is enough). */
enum status buffer_reserve(struct buffer *buffer, size_t n) MUST_CHECK;
enum status buffer_append(struct buffer *buffer, const void *bytes, size_t n) MUST_CHECK;
enum status buffer_printf(struct buffer *buffer, const char *format, ...) MUST_CHECK
    __attribute__((format(printf, 2, 3)));

static inline char *buffer_head(struct buffer *buffer) {
    return buffer->data + buffer->start;
}
static inline char *buffer_tail(struct buffer *buffer) {
    return buffer->data + buffer->end;
}
static inline size_t buffer_length(const struct buffer *buffer) {
    return buffer->end - buffer->start;
}
static inline size_t buffer_room(const struct buffer *buffer) {
    return buffer->capacity - buffer->end;
}

/* Drops n bytes from the front; an empty buffer starts again at 0. */
void buffer_consume(struct buffer *buffer, size_t n);

#endif
