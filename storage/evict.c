/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/evict.h"

#include <stdlib.h>

#include "src/base/check.h"

enum {
    SMALL_SHARE = 10,        /* SMALL's part of the CLEAN bytes is one in this many */
    GHOST_TICKS = 8192,      /* the window in units of a word's time: an eighth of what 16 bits count */
    GHOST_SETS_MAX = 1 << 26 /* far more than a stripe has items for */
};

void evict_init(struct evict *evict) {
    *evict = (struct evict){0};
}

void evict_free(struct evict *evict) {
    free(evict->ghost.sets);
    evict->ghost.sets = NULL;
}

size_t evict_bytes(const struct evict *evict) {
    return evict->ghost.sets == NULL ? 0 : evict->ghost.set_count * sizeof *evict->ghost.sets;
}

/* ---- queues ---- */

static struct fifo *fifo_of(struct evict *evict, enum item_queue queue) {
    switch (queue) {
    case ITEM_DIRTY:
        return &evict->dirty;
    case ITEM_SMALL:
        return &evict->small;
    default:
        CHECK(queue == ITEM_MAIN);
        return &evict->main;
    }
}

/* Written under the lock only, so no locked instruction is needed. */
static void fifo_set_count(struct fifo *fifo, uint32_t count) {
    atomic_store_explicit(&fifo->count, count, memory_order_relaxed);
}

void evict_enter(struct evict *evict, struct item *item, enum item_queue queue) {
    struct fifo *fifo = fifo_of(evict, queue);

    CHECK(item->queue == ITEM_NOWHERE);
    item->queue = (unsigned)queue & 3;
    item->newer = NULL;
    item->older = fifo->newest;
    if (fifo->newest != NULL)
        fifo->newest->newer = item;
    else
        fifo->oldest = item;
    fifo->newest = item;
    fifo->bytes += item_footprint(item);
    fifo_set_count(fifo, fifo_count(fifo) + 1);
}

void evict_leave(struct evict *evict, struct item *item) {
    struct fifo *fifo = fifo_of(evict, item->queue);

    *(item->newer != NULL ? &item->newer->older : &fifo->newest) = item->older;
    *(item->older != NULL ? &item->older->newer : &fifo->oldest) = item->newer;
    item->newer = NULL;
    item->older = NULL;
    item->queue = ITEM_NOWHERE;
    fifo->bytes -= item_footprint(item);
    fifo_set_count(fifo, fifo_count(fifo) - 1);
}

/* ---- ghost ---- */

static struct ghost_set *ghost_set_of(const struct ghost *ghost, uint32_t hash) {
    return &ghost->sets[((uint64_t)hash * ghost->set_count) >> 32];
}

/* The set was chosen by the upper bits, the fingerprint takes the lower ones. */
static uint16_t ghost_fingerprint(uint32_t hash) {
    uint16_t low = (uint16_t)hash;
    return low == 0 ? 1 : low;
}

static uint16_t ghost_time(const struct ghost *ghost) {
    return (uint16_t)(ghost->leavers >> ghost->shift);
}

static uint16_t ghost_age(const struct ghost *ghost, uint32_t word) {
    return (uint16_t)(ghost_time(ghost) - (uint16_t)word);
}

/* Room for more than a window, since a set may get more than its share, and so that it need not grow soon again. */
static void ghost_make_room(struct ghost *ghost, uint64_t window) {
    uint64_t wanted = (window + window / 2) / GHOST_WAYS + 1;
    struct ghost_set *sets;

    if (ghost->sets != NULL && window <= (uint64_t)ghost->set_count * GHOST_WAYS)
        return;
    if (wanted > GHOST_SETS_MAX)
        wanted = GHOST_SETS_MAX;
    if (ghost->sets != NULL && wanted <= ghost->set_count)
        return;
    sets = aligned_alloc(sizeof *sets, wanted * sizeof *sets);
    if (sets == NULL)
        return; /* the old one goes on serving, or none: only hit ratio is lost */
    memset(sets, 0, wanted * sizeof *sets);
    free(ghost->sets);
    ghost->sets = sets;
    ghost->set_count = (uint32_t)wanted;
    ghost->shift = 0;
    while ((wanted * GHOST_WAYS) >> ghost->shift > GHOST_TICKS)
        ghost->shift++;
}

static void ghost_add(struct ghost *ghost, uint32_t hash, uint64_t window) {
    struct ghost_set *set;
    unsigned place = 0;
    unsigned oldest = 0;

    ghost_make_room(ghost, window);
    ghost->leavers++;
    if (ghost->sets == NULL)
        return;
    set = ghost_set_of(ghost, hash);
    for (unsigned i = 0; i < GHOST_WAYS; i++) {
        unsigned age = set->words[i] == 0 ? UINT16_MAX + 1 : ghost_age(ghost, set->words[i]);
        if (age >= oldest) {
            oldest = age;
            place = i;
        }
    }
    set->words[place] = (uint32_t)ghost_fingerprint(hash) << 16 | ghost_time(ghost);
}

/* Was it seen leaving less than a window ago?  Then it is forgotten. */
static bool ghost_take(struct ghost *ghost, uint32_t hash, uint64_t window) {
    struct ghost_set *set;

    if (ghost->sets == NULL)
        return false;
    set = ghost_set_of(ghost, hash);
    for (unsigned i = 0; i < GHOST_WAYS; i++) {
        uint32_t word = set->words[i];
        if (word >> 16 == ghost_fingerprint(hash) && ghost_age(ghost, word) <= window >> ghost->shift) {
            set->words[i] = 0;
            return true;
        }
    }
    return false;
}

/* ---- S3-FIFO ---- */

/* As many as MAIN can have; its present count is none before the first promotions. */
static uint64_t ghost_window(const struct evict *evict) {
    return (uint64_t)fifo_count(&evict->small) + fifo_count(&evict->main);
}

void evict_admit(struct evict *evict, struct item *item) {
    enum item_queue queue = ITEM_SMALL;

    if (item->was_main) {
        queue = ITEM_MAIN; /* with the counter that it had there */
    } else if (item->freq > 0) {
        queue = ITEM_MAIN;
        item->freq = 0; /* used up, as on the way from SMALL */
    } else if (ghost_take(&evict->ghost, item->hash_high, ghost_window(evict))) {
        queue = ITEM_MAIN;
    }
    item->was_main = 0;
    evict_enter(evict, item, queue);
}

static bool small_gives_way(const struct evict *evict) {
    const struct fifo *small = &evict->small;
    const struct fifo *main = &evict->main;

    return small->oldest != NULL &&
           (main->oldest == NULL || small->bytes * SMALL_SHARE > small->bytes + main->bytes);
}

static void second_round(struct evict *evict, struct item *item) {
    bool promoted = item->queue == ITEM_SMALL;

    evict_leave(evict, item);
    if (promoted)
        item->freq = 0;
    else
        item->freq--;
    evict_enter(evict, item, ITEM_MAIN);
}

/* After a flush MAIN may be full of dead items that no promotion pushes out; they must not hold the room that live
 * ones in SMALL need.  Looks at MAIN only until its old end was seen to be alive. */
static bool main_gives_dead(struct evict *evict, uint64_t dead) {
    const struct item *oldest = evict->main.oldest;

    if (evict->main_dead == dead)
        return false;
    if (oldest != NULL && oldest->lsn < dead)
        return true;
    evict->main_dead = dead;
    return false;
}

struct item *evict_next(struct evict *evict, uint64_t dead, unsigned *steps) {
    while (*steps > 0) {
        struct item *item =
            main_gives_dead(evict, dead) || !small_gives_way(evict) ? evict->main.oldest : evict->small.oldest;
        if (item == NULL)
            return NULL;
        (*steps)--;
        if (item->lsn < dead)
            return item;
        if (item->freq == 0) {
            if (item->queue == ITEM_SMALL)
                ghost_add(&evict->ghost, item->hash_high, ghost_window(evict));
            return item;
        }
        second_round(evict, item);
    }
    return NULL;
}
