/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_items.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/check.h"
#include "src/base/hash.h"

struct item *make_item(struct slice key, size_t value_length, uint64_t lsn) {
    struct item *item;

    CHECK(item_create(&item, key, value_length) == ST_OK);
    memset(item_body(item), (char)lsn, value_length);
    item->lsn = lsn;
    return item;
}

struct item *make_tombstone(struct slice key, uint64_t lsn) {
    struct item *item;

    CHECK(item_create_tombstone(&item, key) == ST_OK);
    item->lsn = lsn;
    return item;
}

bool item_is_whole(const struct item *item) {
    struct slice value = item_value(item);

    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] != (char)item->lsn)
            return false;
    return memcmp(value.p + value.n, "\r\n", 2) == 0;
}

struct slice number_key(char *text, unsigned number) {
    int n = snprintf(text, KEY_TEXT_BYTES, "key%09u", number);

    return slice_of(text, (size_t)n);
}

uint64_t random_next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

unsigned random_below(uint64_t *state, unsigned limit) {
    return (unsigned)((random_next(state) >> 32) * limit >> 32);
}

uint64_t random_seed(const char *test) {
    const char *text = getenv("TEST_SEED");
    uint64_t seed;

    if (text != NULL)
        seed = strtoull(text, NULL, 0);
    else
        hash_random(&seed, sizeof seed);
    seed |= 1;
    printf("%s: TEST_SEED=0x%" PRIx64 "\n", test, seed);
    return seed;
}
