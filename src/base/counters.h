/* SPDX-License-Identifier: BSD-3-Clause */
/* counters: event counters of one worker, written by it alone, read by anybody (relaxed).
 *
 * One struct a worker, on its own cache lines, so counting is a plain add. */
#ifndef COFFER_BASE_COUNTERS_H
#define COFFER_BASE_COUNTERS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "src/tbl/counters.h"

enum counter {
#define X(name) COUNT_##name,
    COUNTER_TABLE(X)
#undef X
        COUNTER_COUNT
};

struct counters {
    alignas(64) _Atomic uint64_t value[COUNTER_COUNT];
};

/* Owner only. */
static inline void count_add(struct counters *counters, enum counter which, uint64_t n) {
    uint64_t now = atomic_load_explicit(&counters->value[which], memory_order_relaxed);
    atomic_store_explicit(&counters->value[which], now + n, memory_order_relaxed);
}

static inline void count(struct counters *counters, enum counter which) {
    count_add(counters, which, 1);
}

/* Any thread. */
static inline uint64_t counter_read(const struct counters *counters, enum counter which) {
    return atomic_load_explicit(&counters->value[which], memory_order_relaxed);
}

#endif
