/* SPDX-License-Identifier: BSD-3-Clause */
/* input: bytes that a connection has received and not used yet.
 *
 * Reading goes into one buffer that all connections of a worker share, so a connection that waits holds none.  What is
 * left of it when the worker turns to the next connection is kept by its owner: a few bytes as a copy of just that
 * size (part of a command line), more (pipelined requests that wait for their turn) by keeping the whole buffer.
 *
 * Used by the worker's thread. */
#ifndef COFFER_NET_INPUT_H
#define COFFER_NET_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "net/pool.h"
#include "src/base/slice.h"
#include "src/base/status.h"

enum {
    INPUT_BUFFER = 16 * 1024,
    INPUT_COPY_MAX = 2304, /* an incomplete command line fits */
};

struct input_home {
    struct pool buffers;
    char *shared; /* NULL when a connection has kept the last one */
};

struct input {
    char *data;
    unsigned start, end;
    enum input_kind { INPUT_NONE, INPUT_SHARED, INPUT_COPY, INPUT_OWN } kind;
};

void input_home_init(struct input_home *home);
void input_home_free(struct input_home *home);

static inline struct slice input_bytes(const struct input *input) {
    return slice_of(input->data + input->start, input->end - input->start);
}

static inline bool input_empty(const struct input *input) {
    return input->start == input->end;
}

static inline void input_take(struct input *input, size_t n) {
    input->start += (unsigned)n;
}

/* Gets room behind the bytes: *room bytes at *to, at least INPUT_BUFFER - INPUT_COPY_MAX when what is there is no more
 * than an incomplete line.  input_filled tells how many were written. */
enum status input_room(struct input *input, struct input_home *home, char **to, size_t *room) MUST_CHECK;

static inline void input_filled(struct input *input, size_t n) {
    input->end += (unsigned)n;
}

/* When the worker turns away from this connection. */
enum status input_settle(struct input *input, struct input_home *home) MUST_CHECK;

void input_drop(struct input *input, struct input_home *home);

#endif
