/* SPDX-License-Identifier: BSD-3-Clause */
/* output: the replies of one connection that have not left yet, and what they wait for.
 *
 * Small things are copied side by side into blocks; large values are references to their items.  A fence stands in
 * front of a reply that must not leave before the store's mark has reached its stamp: bytes before the first unreached
 * fence may go, those behind it wait.  A quiet fence has no bytes: a write without reply that later replies must not
 * overtake.  Fences also know where replies begin and end, so that held ones can be turned into errors when their
 * writes fail for good.
 *
 * Running out of memory makes the output `failed` for good: the owner closes the connection.  Blocks come from the
 * worker's pools; an empty output holds none.  Used by the worker's thread. */
#ifndef COFFER_NET_OUTPUT_H
#define COFFER_NET_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "net/pool.h"
#include "src/base/slice.h"
#include "storage/store.h"

enum {
    OUTPUT_ROOM_MAX = 512,    /* the most that output_room gives */
    OUTPUT_COPY_MAX = 4096,   /* larger values go by reference */
};

struct output_pools {
    struct pool blocks, fences;
};

struct output {
    struct output_pools *pools;
    struct output_block *first, *last;
    uint64_t begin, end; /* positions in the stream: of the first byte that has not left, and behind the last one */
    struct output_fences *fences_first, *fences_last;
    unsigned fences;
    unsigned fences_added; /* ever; wraps */
    uint32_t held_line; /* the multi-part reply that the newest fence belongs to */
    bool held_part;     /* whether it belongs to one */
    bool failed;
};

/* A reply, or one part of a reply that is made of several (the keys of a multi-get). */
struct output_reply {
    uint64_t start; /* output.end before it was composed */
    uint64_t stamp;
    bool quiet;     /* no bytes by request, but later replies wait for it */
    bool part;
    bool last;      /* the part that ends the reply */
    uint32_t line;  /* which reply the part belongs to */
    uint64_t tag;   /* for output_lost */
};

/* Appends what stands in the place of a reply that may not be given. */
typedef void output_lost(struct output *output, uint64_t tag);

/* What output_fail met. */
struct output_loss {
    unsigned replies; /* turned into errors */
    bool quiet;       /* a write without reply was lost: what came behind it is dropped, and the peer must be told */
    bool open;        /* parts of reply `line` that are still to come must be dropped */
    uint32_t line;
};

void output_pools_init(struct output_pools *pools);
void output_pools_free(struct output_pools *pools);

void output_init(struct output *output, struct output_pools *pools);
void output_clear(struct output *output); /* drops everything; keeps positions */

static inline size_t output_unsent(const struct output *output) {
    return (size_t)(output->end - output->begin);
}

/* n <= OUTPUT_ROOM_MAX contiguous bytes to write to; output_added tells how many were.  NULL: failed. */
char *output_room(struct output *output, size_t n);
void output_added(struct output *output, size_t n);
void output_bytes(struct output *output, const void *bytes, size_t n);
static inline void output_text(struct output *output, const char *text) {
    output_bytes(output, text, strlen(text));
}
/* bytes lie within the item, which is kept until they have left. */
void output_item(struct output *output, struct item *item, struct slice bytes);

/* Ends a reply whose stamp the mark may not have reached; a no-op when it has and nothing is held before it. */
void output_fence(struct output *output, const struct output_reply *reply, uint64_t mark);

/* How many bytes may leave at this mark; forgets the fences that it has reached. */
size_t output_ready(struct output *output, uint64_t mark);
/* The stamp that the first held byte waits for; 0 = nothing is held. */
uint64_t output_awaits(const struct output *output);

/* At most `limit` bytes from the front as up to `max` parts; returns how many parts. */
int output_gather(const struct output *output, size_t limit, struct iovec *parts, int max);
void output_sent(struct output *output, size_t n);

/* The mark will never move again: replies above it become what `lost` appends, each as a whole. */
void output_fail(struct output *output, uint64_t mark, output_lost *lost, struct output_loss *loss);

#endif
