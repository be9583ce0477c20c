/* SPDX-License-Identifier: BSD-3-Clause */
/* pool: pieces of memory of one size, handed out again while they are warm.
 *
 * Given-back pieces wait in a last-in first-out list, at most `keep` of them; the rest goes back to malloc, so a burst
 * does not hold memory for ever.  One thread. */
#ifndef COFFER_NET_POOL_H
#define COFFER_NET_POOL_H

#include <stddef.h>

struct pool {
    size_t size;
    unsigned keep;
    unsigned idle;
    struct pool_piece *free;
};

void pool_init(struct pool *pool, size_t size, unsigned keep);
void pool_free(struct pool *pool); /* the idle pieces */

/* NULL when there is no memory; the content is undefined. */
void *pool_take(struct pool *pool);
void pool_give(struct pool *pool, void *piece);

#endif
