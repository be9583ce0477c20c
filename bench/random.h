/* SPDX-License-Identifier: BSD-3-Clause */
/* random: fast pseudo-random numbers for choosing keys, and a mixing function for deriving values from them.
 *
 * The generator is xoroshiro128+, the mixer the finalizer of splitmix64.  One struct a thread. */
#ifndef COFFER_BENCH_RANDOM_H
#define COFFER_BENCH_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t a, b;
};

/* A bijection of 64 bits in which every input bit moves every output bit. */
static inline uint64_t random_mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline void random_seed(struct random *random, uint64_t seed) {
    random->a = random_mix(seed);
    random->b = random_mix(random->a) | 1; /* the state must not be all zero */
}

static inline uint64_t random_rotate(uint64_t x, unsigned by) {
    return x << by | x >> (64 - by);
}

static inline uint64_t random_next(struct random *random) {
    uint64_t a = random->a, b = random->b, result = a + b;
    b ^= a;
    random->a = random_rotate(a, 24) ^ b ^ b << 16;
    random->b = random_rotate(b, 37);
    return result;
}

/* x scaled to 0 ... below - 1, without a division; below must be under 2^32. */
static inline uint64_t random_scale(uint64_t x, uint64_t below) {
    return (x >> 32) * below >> 32;
}

/* 0 <= result < 1 */
static inline double random_unit(struct random *random) {
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

#endif
