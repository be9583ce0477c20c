/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/check.h"

enum { FIRST_CAPACITY = 256 };

void buffer_init(struct buffer *buffer) {
    *buffer = (struct buffer){NULL, 0, 0, 0};
}

void buffer_free(struct buffer *buffer) {
    free(buffer->data);
    buffer_init(buffer);
}

static void move_to_front(struct buffer *buffer) {
    if (buffer->start > 0) {
        memmove(buffer->data, buffer->data + buffer->start, buffer_length(buffer));
        buffer->end -= buffer->start;
        buffer->start = 0;
    }
}

static enum status grow(struct buffer *buffer, size_t needed) {
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    while (capacity < needed) {
        if (capacity > SIZE_MAX / 2) {
            return ST_NO_MEMORY;
        }
        capacity *= 2;
    }
    char *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        return ST_NO_MEMORY;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return ST_OK;
}

enum status buffer_reserve(struct buffer *buffer, size_t n) {
    size_t length = buffer_length(buffer);
    if (n <= buffer_room(buffer)) {
        return ST_OK;
    }
    if (n > SIZE_MAX - length) {
        return ST_NO_MEMORY;
    }
    /* Moving pays only when at least half is free, else many small appends would each move everything. */
    if (length + n <= buffer->capacity && buffer->start >= length) {
        move_to_front(buffer);
        return ST_OK;
    }
    enum status status = grow(buffer, length + n > buffer->capacity ? length + n : buffer->capacity + 1);
    if (status == ST_OK) {
        move_to_front(buffer);
    }
    return status;
}

enum status buffer_append(struct buffer *buffer, const void *bytes, size_t n) {
    enum status status = buffer_reserve(buffer, n);
    if (status == ST_OK && n > 0) {
        memcpy(buffer_tail(buffer), bytes, n);
        buffer->end += n;
    }
    return status;
}

enum status buffer_printf(struct buffer *buffer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    CHECK(n >= 0);

    enum status status = buffer_reserve(buffer, (size_t)n + 1);
    if (status == ST_OK) {
        va_start(args, format);
        vsnprintf(buffer_tail(buffer), (size_t)n + 1, format, args);
        va_end(args);
        buffer->end += (size_t)n;
    }
    return status;
}

void buffer_consume(struct buffer *buffer, size_t n) {
    CHECK(n <= buffer_length(buffer));
    buffer->start += n;
    if (buffer->start == buffer->end) {
        buffer->start = 0;
        buffer->end = 0;
    }
}
