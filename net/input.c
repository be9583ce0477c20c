/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/input.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/check.h"

enum { BUFFERS_KEPT = 64 };

void input_home_init(struct input_home *home) {
    pool_init(&home->buffers, INPUT_BUFFER, BUFFERS_KEPT);
    home->shared = NULL;
}

void input_home_free(struct input_home *home) {
    free(home->shared);
    home->shared = NULL;
    pool_free(&home->buffers);
}

static void forget(struct input *input) {
    *input = (struct input){.kind = INPUT_NONE};
}

/* The worker's buffer, with what the input holds at its front. */
static enum status borrow(struct input *input, struct input_home *home) {
    if (home->shared == NULL) {
        home->shared = pool_take(&home->buffers);
        if (home->shared == NULL) {
            return ST_NO_MEMORY;
        }
    }
    size_t n = input_bytes(input).n;
    if (input->kind == INPUT_COPY) {
        memcpy(home->shared, input->data + input->start, n);
        free(input->data);
    }
    *input = (struct input){.data = home->shared, .end = (unsigned)n, .kind = INPUT_SHARED};
    return ST_OK;
}

enum status input_room(struct input *input, struct input_home *home, char **to, size_t *room) {
    if (input->kind == INPUT_NONE || input->kind == INPUT_COPY) {
        enum status status = borrow(input, home);
        if (status != ST_OK) {
            return status;
        }
    } else if (input->start > 0) {
        size_t n = input_bytes(input).n;
        memmove(input->data, input->data + input->start, n);
        input->start = 0;
        input->end = (unsigned)n;
    }
    *to = input->data + input->end;
    *room = INPUT_BUFFER - input->end;
    return ST_OK;
}

static enum status keep_copy(struct input *input) {
    struct slice bytes = input_bytes(input);
    char *copy = malloc(bytes.n);
    if (copy == NULL) {
        return ST_NO_MEMORY;
    }
    memcpy(copy, bytes.p, bytes.n);
    *input = (struct input){.data = copy, .end = (unsigned)bytes.n, .kind = INPUT_COPY};
    return ST_OK;
}

enum status input_settle(struct input *input, struct input_home *home) {
    if (input_empty(input)) {
        input_drop(input, home);
        return ST_OK;
    }
    if (input->kind != INPUT_SHARED) {
        return ST_OK;
    }
    CHECK(input->data == home->shared);
    if (input_bytes(input).n <= INPUT_COPY_MAX) {
        return keep_copy(input);
    }
    home->shared = NULL;
    input->kind = INPUT_OWN;
    return ST_OK;
}

void input_drop(struct input *input, struct input_home *home) {
    if (input->kind == INPUT_OWN) {
        pool_give(&home->buffers, input->data);
    } else if (input->kind == INPUT_COPY) {
        free(input->data);
    }
    forget(input);
}
