/* SPDX-License-Identifier: BSD-3-Clause */
/* evict: in what order the CLEAN items of one stripe leave RAM, and the list of its DIRTY ones.
 *
 * Every item of a stripe is in one of three queues.  DIRTY is only a list.  SMALL and MAIN are S3-FIFO's: an item that
 * becomes CLEAN, or is read from the tree, enters SMALL; it leaves SMALL for MAIN when it was hit since, else it
 * leaves RAM and its fingerprint stays in the ghost for a while; what comes back while it is there goes to MAIN at
 * once.  SMALL gives way first while it has more than a tenth of the CLEAN bytes, so a scan of cold keys passes
 * through SMALL and never meets what is in MAIN.
 *
 * The ghost is an array of sets of 16 words of 32 bits (one cache line): a 16-bit fingerprint and the time, counted in
 * items that left, when it came.  A word is valid for as many leavers as the stripe has CLEAN items; within a set the
 * oldest word gives way.  So nothing is ever searched or cleaned up, and a look costs one cache line.  It is allocated
 * when the first item leaves and forgets all when it has to grow.
 *
 * All of it belongs to the stripe's lock; counts may be read without it. */
#ifndef COFFER_STORAGE_EVICT_H
#define COFFER_STORAGE_EVICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/item.h"

struct fifo {
    struct item *newest, *oldest;
    uint64_t bytes; /* by item_footprint */
    _Atomic uint32_t count;
};

enum { GHOST_WAYS = 16 };

struct ghost_set {
    uint32_t words[GHOST_WAYS]; /* fingerprint << 16 | time; 0 = empty, as no fingerprint is 0 */
};

struct ghost {
    struct ghost_set *sets; /* NULL: none yet */
    uint32_t set_count;
    unsigned shift; /* a word's time is leavers >> shift: 16 bits are then enough for many times the window */
    uint64_t leavers;
};

struct evict {
    struct fifo dirty, small, main;
    struct ghost ghost;
    uint64_t main_dead; /* MAIN holds no item below this LSN */
};

void evict_init(struct evict *evict);
void evict_free(struct evict *evict); /* the ghost; the items are the caller's */

/* Into and out of a queue; the item is in none before and after. */
void evict_enter(struct evict *evict, struct item *item, enum item_queue queue);
void evict_leave(struct evict *evict, struct item *item);

/* Puts an item that is CLEAN from now on, in no queue, into SMALL, or into MAIN when it was there before, was hit
 * while it was DIRTY, or is in the ghost. */
void evict_admit(struct evict *evict, struct item *item);

/* The CLEAN item that has to go, still in its queue; items below the LSN `dead` go first from MAIN, and whenever they
 * are met in SMALL (what became CLEAN after a flush is above it, so they stand at the old ends).  On the way hit
 * items move on; each item looked at costs one of *steps.  NULL: there is none, or the steps are used up. */
struct item *evict_next(struct evict *evict, uint64_t dead, unsigned *steps);

/* Memory of the ghost. */
size_t evict_bytes(const struct evict *evict);

static inline uint32_t fifo_count(const struct fifo *fifo) {
    return atomic_load_explicit(&fifo->count, memory_order_relaxed);
}

#endif
