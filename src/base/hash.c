/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/hash.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

/* Inlined, so that the compiler sees the lengths and no call goes through the library's table. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "src/base/check.h"

_Static_assert(HASH_SECRET_SIZE == XXH_SECRET_DEFAULT_SIZE, "XXH3's recommended secret length");

uint64_t hash_key(const void *bytes, size_t n, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, n, seed);
}

uint64_t hash_sum(const struct hash_secret *secret, const void *bytes, size_t n) {
    return XXH3_64bits_withSecret(bytes, n, secret->bytes, sizeof secret->bytes);
}

uint64_t hash_sum2(const struct hash_secret *secret, const void *a, size_t an, const void *b, size_t bn) {
    XXH3_state_t state;
    CHECK(XXH3_64bits_reset_withSecret(&state, secret->bytes, sizeof secret->bytes) == XXH_OK);
    if (an > 0) {
        CHECK(XXH3_64bits_update(&state, a, an) == XXH_OK);
    }
    if (bn > 0) {
        CHECK(XXH3_64bits_update(&state, b, bn) == XXH_OK);
    }
    return XXH3_64bits_digest(&state);
}

void hash_random(void *bytes, size_t n) {
    unsigned char *at = bytes;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        /* With these arguments only a signal can interrupt it. */
        CHECK(got > 0 || errno == EINTR);
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
}
