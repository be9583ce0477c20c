/* SPDX-License-Identifier: BSD-3-Clause */
/* index: where a stripe's items are, by the upper half of their keys' hashes.
 *
 * A bucket is one cache line: seven words, each an item's address with 16 bits of its hash above it, and the head of a
 * chain for the items that found no free word.  So a miss costs one access to memory and a hit two, where chains of
 * items cost half an access more each: at 100 to 200 ns for one, that is what a lookup consists of.  It holds that
 * addresses of items have 48 bits (checked when an item is added).
 *
 * Buckets are a power of two and double at six items a bucket.  There is always at least one; without memory for more
 * the chains grow longer and nothing fails.  All of it belongs to the stripe's lock. */
#ifndef COFFER_STORAGE_INDEX_H
#define COFFER_STORAGE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/slice.h"
#include "src/base/status.h"
#include "storage/item.h"

enum { INDEX_WAYS = 7, INDEX_TAG_SHIFT = 48 };

struct index_bucket {
    uint64_t words[INDEX_WAYS]; /* hash << 48 | address; 0 = free */
    struct item *more;          /* linked by `chain`; NULL while a word is free */
};

struct index {
    struct index_bucket *buckets;
    uint32_t mask;
    bool owner_flag; /* not looked at in here: the owner's, so that a stripe's first cache line holds all of a lookup */
};

enum status index_init(struct index *index) MUST_CHECK;
void index_free(struct index *index); /* the items are the caller's */

/* `hash_high` of the item is set, and its key is not in the index. */
void index_add(struct index *index, struct item *item);
/* The item is in the index. */
void index_remove(struct index *index, struct item *item);
/* `fresh` has the key of `old`, which is in the index, and takes its place. */
void index_replace(struct index *index, struct item *old, struct item *fresh);

/* Doubles the buckets if there are too many items for them. */
void index_make_room(struct index *index, uint64_t items);

size_t index_bytes(const struct index *index);

/* Calls fn for each item, which may free it: the index is of no use afterwards. */
void index_each(struct index *index, void (*fn)(void *arg, struct item *item), void *arg);

static inline bool index_is_key(const struct item *item, uint32_t hash_high, struct slice key) {
    return item->hash_high == hash_high && item->key_bytes == key.n &&
           memcmp(item_key_bytes(item), key.p, key.n) == 0;
}

static inline uint64_t index_tag(uint32_t hash_high) {
    return hash_high >> 16; /* the bucket is chosen by the lower bits */
}

static inline struct item *index_item(uint64_t word) {
    return (struct item *)(uintptr_t)(word & ((UINT64_C(1) << INDEX_TAG_SHIFT) - 1));
}

/* For fetching ahead: the bucket's address, and the lines of the items in it that a lookup may look at. */
static inline const struct index_bucket *index_bucket_of(const struct index *index, uint32_t hash_high) {
    return &index->buckets[hash_high & index->mask];
}

/* Always inline: gcc 12 takes a function that only fetches for one without effect, and drops its calls. */
static inline __attribute__((always_inline)) void index_fetch_items(const struct index_bucket *bucket,
                                                                     uint32_t hash_high) {
    uint64_t tag = index_tag(hash_high);

    for (unsigned i = 0; i < INDEX_WAYS; i++)
        if (bucket->words[i] >> INDEX_TAG_SHIFT == tag) {
            const char *item = (const char *)index_item(bucket->words[i]);
            __builtin_prefetch(item, 1);
            __builtin_prefetch(item + 64);
            __builtin_prefetch(item + 128);
        }
}

static inline struct item *index_find(const struct index *index, uint32_t hash_high, struct slice key) {
    const struct index_bucket *bucket = &index->buckets[hash_high & index->mask];
    uint64_t tag = index_tag(hash_high);

    for (unsigned i = 0; i < INDEX_WAYS; i++) {
        uint64_t word = bucket->words[i];
        if (word >> INDEX_TAG_SHIFT == tag && word != 0 && index_is_key(index_item(word), hash_high, key))
            return index_item(word);
    }
    for (struct item *item = bucket->more; item != NULL; item = item->chain)
        if (index_is_key(item, hash_high, key))
            return item;
    return NULL;
}

#endif
