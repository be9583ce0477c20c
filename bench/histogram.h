/* SPDX-License-Identifier: BSD-3-Clause */
/* histogram: latencies in nanoseconds, log-linear as in HdrHistogram.
 *
 * Each power of two is cut into 128 equal buckets, so a value is known to better than 0.8 % whatever its
 * size, and recording is an index computation and an addition.  Values over HISTOGRAM_MAX (18 minutes) count
 * as that; the largest value and the sum are exact.
 *
 * Owned by one thread; merged when the threads have ended. */
#ifndef COFFER_BENCH_HISTOGRAM_H
#define COFFER_BENCH_HISTOGRAM_H

#include <stdint.h>

#include "src/base/status.h"

enum {
    HISTOGRAM_BITS = 7, /* 2^7 buckets a power of two */
    HISTOGRAM_RANGE = 40,
    HISTOGRAM_BUCKETS = (HISTOGRAM_RANGE - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS,
};
#define HISTOGRAM_MAX ((UINT64_C(1) << HISTOGRAM_RANGE) - 1)

struct histogram {
    uint64_t total; /* values recorded */
    uint64_t sum;
    uint64_t largest;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

enum status histogram_create(struct histogram **histogram) MUST_CHECK;
void histogram_destroy(struct histogram **histogram);
void histogram_clear(struct histogram *histogram);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The smallest recorded value that `percent` of all values do not exceed, as the middle of its bucket; 100 is
 * exact. 0 when nothing was recorded. */
uint64_t histogram_percentile(const struct histogram *histogram, double percent);
double histogram_mean(const struct histogram *histogram);

/* Values below 2^BITS have a bucket each; above, the leading bit chooses the power, the next BITS bits the
 * bucket. */
static inline unsigned histogram_index(uint64_t value) {
    if (value < 1u << HISTOGRAM_BITS) {
        return (unsigned)value;
    }
    unsigned shift = 63 - HISTOGRAM_BITS - (unsigned)__builtin_clzll(value);
    return (shift << HISTOGRAM_BITS) + (unsigned)(value >> shift);
}

static inline void histogram_record(struct histogram *histogram, uint64_t value) {
    if (value > histogram->largest) {
        histogram->largest = value;
    }
    histogram->sum += value;
    histogram->total++;
    histogram->bucket[histogram_index(value < HISTOGRAM_MAX ? value : HISTOGRAM_MAX)]++;
}

#endif
