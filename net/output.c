/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/output.h"

#include <string.h>

#include "src/base/check.h"

/* Sizes of a block and of a bunch of fences, a little under a power of two for malloc's own header. */
enum { BLOCK_SIZE = 4064, BLOCK_SEGMENTS = 24, FENCES_SIZE = 1008, POOL_KEPT = 256 };

struct segment {
    const char *p;
    size_t n;
    struct item *item; /* NULL: the bytes are the block's own */
};

struct output_block {
    struct output_block *next;
    unsigned first, count; /* segments [first, count) are unsent */
    size_t used;           /* of bytes[] */
    struct segment segments[BLOCK_SEGMENTS];
    char bytes[];
};

enum { BLOCK_BYTES = BLOCK_SIZE - (int)sizeof(struct output_block) };

_Static_assert((int)BLOCK_BYTES >= (int)OUTPUT_ROOM_MAX, "output_room must fit an empty block");

struct fence {
    uint64_t start, end;
    uint64_t stamp;
    uint64_t tag;
    uint32_t line;
    bool quiet, part, last;
};

struct output_fences {
    struct output_fences *next;
    unsigned first, count;
    struct fence fence[];
};

enum { FENCES = (FENCES_SIZE - (int)sizeof(struct output_fences)) / (int)sizeof(struct fence) };

void output_pools_init(struct output_pools *pools) {
    pool_init(&pools->blocks, BLOCK_SIZE, POOL_KEPT);
    pool_init(&pools->fences, FENCES_SIZE, POOL_KEPT);
}

void output_pools_free(struct output_pools *pools) {
    pool_free(&pools->blocks);
    pool_free(&pools->fences);
}

void output_init(struct output *output, struct output_pools *pools) {
    *output = (struct output){.pools = pools};
}

/* ---- adding ---- */

static struct output_block *add_block(struct output *output) {
    struct output_block *block = output->failed ? NULL : pool_take(&output->pools->blocks);
    if (block == NULL) {
        output->failed = true;
        return NULL;
    }
    block->next = NULL;
    block->first = block->count = 0;
    block->used = 0;
    if (output->last != NULL) {
        output->last->next = block;
    } else {
        output->first = block;
    }
    output->last = block;
    return block;
}

/* Whether bytes at the end of the block's memory would continue its last segment. */
static bool extends_segment(const struct output_block *block) {
    return block->count > block->first && block->segments[block->count - 1].item == NULL;
}

static bool has_room(const struct output_block *block, size_t n) {
    return block != NULL && BLOCK_BYTES - block->used >= n &&
           (block->count < BLOCK_SEGMENTS || extends_segment(block));
}

char *output_room(struct output *output, size_t n) {
    struct output_block *block = output->last;
    CHECK(n <= OUTPUT_ROOM_MAX);
    if (!has_room(block, n)) {
        block = add_block(output);
    }
    return block != NULL ? block->bytes + block->used : NULL;
}

void output_added(struct output *output, size_t n) {
    struct output_block *block = output->last;
    CHECK(block->used + n <= BLOCK_BYTES);
    if (extends_segment(block)) {
        block->segments[block->count - 1].n += n;
    } else {
        CHECK(block->count < BLOCK_SEGMENTS);
        block->segments[block->count++] = (struct segment){block->bytes + block->used, n, NULL};
    }
    block->used += n;
    output->end += n;
}

void output_bytes(struct output *output, const void *bytes, size_t n) {
    const char *from = bytes;
    while (n > 0) {
        char *to = output_room(output, 1);
        if (to == NULL) {
            return;
        }
        size_t room = BLOCK_BYTES - output->last->used;
        size_t some = n < room ? n : room;
        memcpy(to, from, some);
        output_added(output, some);
        from += some;
        n -= some;
    }
}

void output_item(struct output *output, struct item *item, struct slice bytes) {
    struct output_block *block = output->last;
    if (bytes.n == 0) {
        return;
    }
    if (block == NULL || block->count == BLOCK_SEGMENTS) {
        block = add_block(output);
    }
    if (block == NULL) {
        return;
    }
    item_ref(item);
    block->segments[block->count++] = (struct segment){bytes.p, bytes.n, item};
    output->end += bytes.n;
}

/* ---- fences ---- */

static struct fence *first_fence(const struct output *output) {
    return output->fences > 0 ? &output->fences_first->fence[output->fences_first->first] : NULL;
}

static struct fence *last_fence(const struct output *output) {
    return output->fences > 0 ? &output->fences_last->fence[output->fences_last->count - 1] : NULL;
}

static void drop_first_fence(struct output *output) {
    struct output_fences *bunch = output->fences_first;
    bunch->first++;
    output->fences--;
    if (bunch->first == bunch->count) {
        output->fences_first = bunch->next;
        if (bunch->next == NULL) {
            output->fences_last = NULL;
        }
        pool_give(&output->pools->fences, bunch);
    }
}

static struct fence *add_fence(struct output *output) {
    struct output_fences *bunch = output->fences_last;
    if (bunch == NULL || bunch->count == FENCES) {
        bunch = output->failed ? NULL : pool_take(&output->pools->fences);
        if (bunch == NULL) {
            output->failed = true;
            return NULL;
        }
        bunch->next = NULL;
        bunch->first = bunch->count = 0;
        if (output->fences_last != NULL) {
            output->fences_last->next = bunch;
        } else {
            output->fences_first = bunch;
        }
        output->fences_last = bunch;
    }
    output->fences++;
    output->fences_added++;
    return &bunch->fence[bunch->count++];
}

/* A run of writes without replies needs one fence, at the highest of their stamps. */
static bool joins_quiet_fence(const struct output *output, const struct output_reply *reply) {
    struct fence *newest = last_fence(output);
    if (!reply->quiet || newest == NULL || !newest->quiet || newest->start != output->end) {
        return false;
    }
    if (reply->stamp > newest->stamp) {
        newest->stamp = reply->stamp;
    }
    return true;
}

void output_fence(struct output *output, const struct output_reply *reply, uint64_t mark) {
    bool held = reply->stamp > mark;
    bool ends_held = reply->last && output->fences > 0 && output->held_part && output->held_line == reply->line;
    if ((!held && !ends_held) || (held && joins_quiet_fence(output, reply))) {
        return;
    }
    struct fence *fence = add_fence(output);
    if (fence != NULL) {
        *fence = (struct fence){.start = reply->start, .end = output->end, .stamp = reply->stamp,
                                .tag = reply->tag, .line = reply->line, .quiet = reply->quiet, .part = reply->part,
                                .last = reply->last};
        output->held_part = reply->part;
        output->held_line = reply->line;
    }
}

size_t output_ready(struct output *output, uint64_t mark) {
    struct fence *fence;
    while ((fence = first_fence(output)) != NULL && fence->stamp <= mark) {
        drop_first_fence(output);
    }
    return (size_t)((fence != NULL ? fence->start : output->end) - output->begin);
}

uint64_t output_awaits(const struct output *output) {
    struct fence *fence = first_fence(output);
    return fence != NULL ? fence->stamp : 0;
}

/* ---- leaving ---- */

int output_gather(const struct output *output, size_t limit, struct iovec *parts, int max) {
    int count = 0;
    for (struct output_block *block = output->first; block != NULL; block = block->next) {
        for (unsigned i = block->first; i < block->count; i++) {
            const struct segment *segment = &block->segments[i];
            size_t n = segment->n < limit ? segment->n : limit;
            if (n == 0 || count == max) {
                return count;
            }
            parts[count++] = (struct iovec){(void *)segment->p, n};
            limit -= n;
        }
    }
    return count;
}

static void drop_first_block(struct output *output) {
    struct output_block *block = output->first;
    output->first = block->next;
    if (block->next == NULL) {
        output->last = NULL;
    }
    pool_give(&output->pools->blocks, block);
}

void output_sent(struct output *output, size_t n) {
    output->begin += n;
    while (n > 0) {
        struct output_block *block = output->first;
        struct segment *segment = &block->segments[block->first];
        size_t some = n < segment->n ? n : segment->n;
        segment->p += some;
        segment->n -= some;
        n -= some;
        if (segment->n == 0) {
            item_unref(&segment->item);
            block->first++;
        }
        if (block->first == block->count) {
            drop_first_block(output);
        }
    }
}

void output_clear(struct output *output) {
    output_sent(output, output_unsent(output));
    while (output->fences > 0) {
        drop_first_fence(output);
    }
    /* Left by an addition that ran out of memory half way. */
    while (output->first != NULL) {
        drop_first_block(output);
    }
}

/* ---- failing ---- */

static void move_bytes(struct output *to, struct output *from, uint64_t until) {
    while (from->begin < until) {
        struct segment *segment = &from->first->segments[from->first->first];
        size_t left = (size_t)(until - from->begin);
        size_t n = segment->n < left ? segment->n : left;
        if (segment->item != NULL) {
            output_item(to, segment->item, slice_of(segment->p, n));
        } else {
            output_bytes(to, segment->p, n);
        }
        output_sent(from, n);
    }
}

/* Where the reply that this fence is the first of ends; forgets the fences of its other parts. */
static uint64_t end_of_reply(struct output *output, struct fence fence, struct output_loss *loss) {
    if (!fence.part || fence.last) {
        return fence.end;
    }
    struct fence *next;
    while ((next = first_fence(output)) != NULL && next->part && next->line == fence.line) {
        struct fence part = *next;
        drop_first_fence(output);
        if (part.last) {
            return part.end;
        }
    }
    loss->open = true;
    loss->line = fence.line;
    return output->end;
}

void output_fail(struct output *output, uint64_t mark, output_lost *lost, struct output_loss *loss) {
    struct output kept;
    output_init(&kept, output->pools);
    kept.begin = kept.end = output->begin;
    *loss = (struct output_loss){0};
    struct fence *next;
    while ((next = first_fence(output)) != NULL && !loss->quiet) {
        struct fence fence = *next;
        drop_first_fence(output);
        if (fence.stamp <= mark) {
            continue;
        }
        move_bytes(&kept, output, fence.start);
        if (fence.quiet) {
            loss->quiet = true;
        } else {
            lost(&kept, fence.tag);
            loss->replies++;
            output_sent(output, (size_t)(end_of_reply(output, fence, loss) - output->begin));
        }
    }
    if (!loss->quiet) {
        move_bytes(&kept, output, output->end);
    }
    kept.fences_added = output->fences_added;
    kept.failed = kept.failed || output->failed;
    output_clear(output);
    *output = kept;
}
