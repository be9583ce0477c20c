/* SPDX-License-Identifier: BSD-3-Clause */
/* picker: which key comes next.
 *
 * Uniform: each key as likely as any other.  Zipf: the k-th most popular key is asked for in proportion to
 * 1 / k^theta; popular keys are strewn over the key space, so that neighbours in key order are not all hot.
 * Sequential: all keys in turn, each thread its own share of them (first, first + step, ...), then again.
 *
 * Owned by one thread. */
#ifndef COFFER_BENCH_PICKER_H
#define COFFER_BENCH_PICKER_H

#include <stdint.h>

#include "bench/random.h"

#define PICKER_TABLE(X) X(UNIFORM, "uniform") X(ZIPF, "zipf") X(SEQUENTIAL, "sequential")

enum picker_kind {
#define X(name, text) PICKER_##name,
    PICKER_TABLE(X)
#undef X
};

struct picker {
    enum picker_kind kind;
    uint64_t keys;
    uint64_t first, step, next; /* of SEQUENTIAL */
    double theta;               /* of ZIPF, and what is derived from it */
    double low, high, squeeze;
    struct random random;
};

/* Keys must be under 2^32.  Every theta >= 0 is good; 0.99 is YCSB's. */
void picker_init(struct picker *picker, enum picker_kind kind, uint64_t keys, double theta, uint64_t seed);
/* For SEQUENTIAL, and after it only these keys are asked for. */
void picker_share(struct picker *picker, uint64_t first, uint64_t step);

/* A popularity rank, 1 = most popular. */
uint64_t picker_zipf_rank(struct picker *picker);
uint64_t picker_next(struct picker *picker);

#endif
