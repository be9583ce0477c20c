/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/index.h"

#include <stdlib.h>

#include "src/base/check.h"

enum {
    LINE = 64,
    BUCKETS_MIN = 2,
    LOAD_MAX = 6,   /* items a bucket */
    FETCH_AHEAD = 2 /* buckets: their items are fetched while the ones before are moved */
};

_Static_assert(sizeof(struct index_bucket) == LINE, "a bucket is one cache line");

static struct index_bucket *make_buckets(uint64_t count) {
    struct index_bucket *buckets = aligned_alloc(LINE, count * sizeof *buckets);

    if (buckets != NULL)
        memset(buckets, 0, count * sizeof *buckets);
    return buckets;
}

enum status index_init(struct index *index) {
    index->mask = BUCKETS_MIN - 1;
    index->owner_flag = false;
    index->buckets = make_buckets(BUCKETS_MIN);
    return index->buckets == NULL ? ST_NO_MEMORY : ST_OK;
}

void index_free(struct index *index) {
    free(index->buckets);
    index->buckets = NULL;
}

static struct index_bucket *bucket_of(const struct index *index, const struct item *item) {
    return &index->buckets[item->hash_high & index->mask];
}

static uint64_t word_of(const struct item *item) {
    CHECK((uintptr_t)item >> INDEX_TAG_SHIFT == 0);
    return index_tag(item->hash_high) << INDEX_TAG_SHIFT | (uintptr_t)item;
}

/* The word that holds this one (0: the first free one), or NULL. */
static uint64_t *find_word(struct index_bucket *bucket, uint64_t word) {
    for (unsigned i = 0; i < INDEX_WAYS; i++)
        if (bucket->words[i] == word)
            return &bucket->words[i];
    return NULL;
}

/* What points to an item that is in the chain. */
static struct item **find_link(struct index_bucket *bucket, const struct item *item) {
    struct item **link = &bucket->more;

    while (*link != item) {
        CHECK(*link != NULL);
        link = &(*link)->chain;
    }
    return link;
}

void index_add(struct index *index, struct item *item) {
    struct index_bucket *bucket = bucket_of(index, item);
    uint64_t *word = find_word(bucket, 0);

    item->chain = NULL;
    if (word != NULL) {
        *word = word_of(item);
    } else {
        item->chain = bucket->more;
        bucket->more = item;
    }
}

void index_remove(struct index *index, struct item *item) {
    struct index_bucket *bucket = bucket_of(index, item);
    uint64_t *word = find_word(bucket, word_of(item));
    struct item *moved = bucket->more;

    if (word == NULL) {
        *find_link(bucket, item) = item->chain;
    } else if (moved != NULL) {
        *word = word_of(moved);
        bucket->more = moved->chain;
        moved->chain = NULL;
    } else {
        *word = 0;
    }
}

void index_replace(struct index *index, struct item *old, struct item *fresh) {
    struct index_bucket *bucket = bucket_of(index, old);
    uint64_t *word = find_word(bucket, word_of(old));

    fresh->chain = NULL;
    if (word != NULL) {
        *word = word_of(fresh);
    } else {
        fresh->chain = old->chain;
        *find_link(bucket, old) = fresh;
    }
}

/* Always inline: see index_fetch_items. */
static inline __attribute__((always_inline)) void fetch_items(const struct index_bucket *bucket) {
    for (unsigned i = 0; i < INDEX_WAYS; i++)
        __builtin_prefetch(index_item(bucket->words[i]));
}

static void each_in_bucket(const struct index_bucket *bucket, void (*fn)(void *arg, struct item *item), void *arg) {
    struct item *item = bucket->more;

    for (unsigned i = 0; i < INDEX_WAYS; i++)
        if (bucket->words[i] != 0)
            fn(arg, index_item(bucket->words[i]));
    while (item != NULL) {
        struct item *next = item->chain;
        fn(arg, item);
        item = next;
    }
}

void index_each(struct index *index, void (*fn)(void *arg, struct item *item), void *arg) {
    for (uint32_t i = 0; i <= index->mask; i++) {
        if (i + FETCH_AHEAD <= index->mask)
            fetch_items(&index->buckets[i + FETCH_AHEAD]);
        each_in_bucket(&index->buckets[i], fn, arg);
    }
}

static void add_to(void *arg, struct item *item) {
    index_add(arg, item);
}

void index_make_room(struct index *index, uint64_t items) {
    uint64_t count = index->mask + UINT64_C(1);
    struct index grown = {NULL, (uint32_t)(2 * count - 1), index->owner_flag};

    if (items <= count * LOAD_MAX || count > UINT32_MAX / 2)
        return;
    grown.buckets = make_buckets(2 * count);
    if (grown.buckets == NULL)
        return;
    index_each(index, add_to, &grown);
    index_free(index);
    *index = grown;
}

size_t index_bytes(const struct index *index) {
    return (index->mask + (size_t)1) * sizeof *index->buckets;
}
