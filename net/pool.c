/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/pool.h"

#include <stdlib.h>

#include "src/base/check.h"

struct pool_piece {
    struct pool_piece *next;
};

void pool_init(struct pool *pool, size_t size, unsigned keep) {
    CHECK(size >= sizeof(struct pool_piece));
    *pool = (struct pool){.size = size, .keep = keep};
}

void pool_free(struct pool *pool) {
    while (pool->free != NULL) {
        struct pool_piece *piece = pool->free;
        pool->free = piece->next;
        free(piece);
    }
    pool->idle = 0;
}

void *pool_take(struct pool *pool) {
    struct pool_piece *piece = pool->free;
    if (piece == NULL) {
        return malloc(pool->size);
    }
    pool->free = piece->next;
    pool->idle--;
    return piece;
}

void pool_give(struct pool *pool, void *given) {
    struct pool_piece *piece = given;
    if (pool->idle >= pool->keep) {
        free(piece);
        return;
    }
    piece->next = pool->free;
    pool->free = piece;
    pool->idle++;
}
