/* SPDX-License-Identifier: BSD-3-Clause */
/* pace: when requests are due at a given rate.
 *
 * The schedule never waits for the server: a request that could not be sent when it was due keeps its moment,
 * and its latency counts from there.  So a server that stalls for a second at 1,000 requests a second shows a
 * thousand late requests, not one (no coordinated omission).
 *
 * Owned by one thread; all moments are monotonic nanoseconds. */
#ifndef COFFER_BENCH_PACE_H
#define COFFER_BENCH_PACE_H

#include <stdint.h>

struct pace {
    uint64_t start;
    double interval; /* nanoseconds */
    uint64_t sent;
};

static inline void pace_init(struct pace *pace, uint64_t start, double rate) {
    *pace = (struct pace){.start = start, .interval = 1e9 / rate};
}

/* When the next request is, or was, due. */
static inline uint64_t pace_next(const struct pace *pace) {
    return pace->start + (uint64_t)((double)pace->sent * pace->interval);
}

/* Takes the next request, returning when it was due. */
static inline uint64_t pace_take(struct pace *pace) {
    uint64_t due = pace_next(pace);
    pace->sent++;
    return due;
}

/* How many are due at `now` and not taken. */
static inline uint64_t pace_due(const struct pace *pace, uint64_t now) {
    if (now < pace_next(pace)) {
        return 0;
    }
    uint64_t all = (uint64_t)((double)(now - pace->start) / pace->interval) + 1;
    return all > pace->sent ? all - pace->sent : 1;
}

#endif
