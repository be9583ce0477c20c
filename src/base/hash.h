/* SPDX-License-Identifier: BSD-3-Clause */
/* hash: XXH3 for the RAM table and, keyed with the store's secret, for checksums.
 *
 * Values are client bytes, so a checksum without a secret could be forged; HASH_SECRET_SIZE is XXH3's own
 * recommended secret length (XXH3_SECRET_DEFAULT_SIZE, xxhash.h). */
#ifndef COFFER_BASE_HASH_H
#define COFFER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_SECRET_SIZE = 192 };

struct hash_secret {
    unsigned char bytes[HASH_SECRET_SIZE];
};

/* Of a key, for table and stripe choice; `seed` is random per process so that nobody can aim at one bucket. */
uint64_t hash_key(const void *bytes, size_t n, uint64_t seed);

/* Keyed checksum of n bytes. */
uint64_t hash_sum(const struct hash_secret *secret, const void *bytes, size_t n);

/* The same over the concatenation of two ranges. */
uint64_t hash_sum2(const struct hash_secret *secret, const void *a, size_t an, const void *b, size_t bn);

/* Fills n bytes from getrandom(2). */
void hash_random(void *bytes, size_t n);

#endif
