/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/histogram.h"

#include <stdlib.h>
#include <string.h>

enum status histogram_create(struct histogram **histogram) {
    *histogram = calloc(1, sizeof **histogram);
    return *histogram == NULL ? ST_NO_MEMORY : ST_OK;
}

void histogram_destroy(struct histogram **histogram) {
    free(*histogram);
    *histogram = NULL;
}

void histogram_clear(struct histogram *histogram) {
    memset(histogram, 0, sizeof *histogram);
}

void histogram_merge(struct histogram *into, const struct histogram *from) {
    into->total += from->total;
    into->sum += from->sum;
    if (from->largest > into->largest) {
        into->largest = from->largest;
    }
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        into->bucket[i] += from->bucket[i];
    }
}

/* The value in the middle of a bucket. */
static uint64_t middle(unsigned index) {
    if (index < 2u << HISTOGRAM_BITS) {
        return index;
    }
    unsigned shift = (index >> HISTOGRAM_BITS) - 1;
    uint64_t steps = (index & ((1u << HISTOGRAM_BITS) - 1)) | 1u << HISTOGRAM_BITS;
    return (steps << shift) + (UINT64_C(1) << shift >> 1);
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent) {
    uint64_t seen = 0;
    double wanted = percent / 100 * (double)histogram->total;
    for (unsigned i = 0; percent < 100 && i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen > 0 && (double)seen >= wanted) {
            uint64_t value = middle(i);
            return value < histogram->largest ? value : histogram->largest;
        }
    }
    return histogram->largest;
}

double histogram_mean(const struct histogram *histogram) {
    return histogram->total == 0 ? 0 : (double)histogram->sum / (double)histogram->total;
}
