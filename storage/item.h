/* SPDX-License-Identifier: BSD-3-Clause */
/* item: one version of one key in memory; the layout behind store.h's `struct item`.
 *
 * One allocation: header, an explicit cas when there is one, key, value, "\r\n".  Sized so that a 16-byte key with a
 * 100-byte value takes 192 bytes of malloc, what memcached 1.6 takes for it.
 *
 * Guards: what is marked const never changes once the item was published; chain, newer, older, access and all from
 * `queue` on belong to the key's stripe lock; refs is atomic.  The table holds one reference, everybody who uses an
 * item without the stripe lock another. */
#ifndef COFFER_STORAGE_ITEM_H
#define COFFER_STORAGE_ITEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/store.h"

enum item_kind {
    ITEM_VALUE = 0,
    ITEM_TOMBSTONE = 1, /* the key is deleted; nothing older may be read for it */
};

enum item_queue { ITEM_NOWHERE, ITEM_DIRTY, ITEM_SMALL, ITEM_MAIN }; /* ITEM_DIRTY <=> not yet in the tree */

struct item {
    struct item *chain;         /* next in the bucket; stripe lock */
    struct item *newer, *older; /* neighbours in the queue; stripe lock */
    uint64_t lsn;               /* const */
    int64_t exptime;            /* const */
    _Atomic uint32_t refs;
    uint32_t hash_high;   /* const: upper half of the key's hash */
    uint32_t flags;       /* const */
    uint32_t value_bytes; /* const */
    uint32_t access;      /* wall seconds of the last hit (truncated); stripe lock */
    uint8_t kind : 1;     /* const, enum item_kind */
    uint8_t has_cas : 1;  /* const: cas differs from the LSN and stands before the key */
    uint8_t marks : 2;    /* const, enum item_mark */
    uint8_t : 4;
    uint8_t key_bytes;    /* const; stands here so that const bits and the bits below are not one memory location */
    uint8_t queue : 2;    /* enum item_queue; stripe lock, like all that follows */
    uint8_t freq : 2;     /* S3-FIFO's counter, 0 to 3 */
    uint8_t fetched : 1;  /* a read has hit it */
    uint8_t filled : 1;   /* read from the tree, not written: dropping it raises no floor */
    uint8_t in_tree : 1;  /* DIRTY: the tree is believed to hold an older version (for curr_items) */
    uint8_t was_main : 1; /* DIRTY: the version that it replaced came from ITEM_MAIN */
    char data[];
};

static inline uint64_t item_cas(const struct item *item) {
    uint64_t cas = item->lsn;
    if (item->has_cas)
        memcpy(&cas, item->data, sizeof cas);
    return cas;
}

static inline char *item_key_bytes(const struct item *item) {
    return (char *)item->data + (item->has_cas ? sizeof(uint64_t) : 0);
}

static inline struct slice item_key(const struct item *item) {
    return slice_of(item_key_bytes(item), item->key_bytes);
}

static inline struct slice item_value(const struct item *item) {
    return slice_of(item_key_bytes(item) + item->key_bytes, item->value_bytes);
}

/* A tombstone for the key; never has a value. */
enum status item_create_tombstone(struct item **item, struct slice key) MUST_CHECK;

/* What malloc takes for it, for the budget. */
size_t item_footprint(const struct item *item);

static inline bool item_expired(const struct item *item, int64_t now) {
    return item->exptime != 0 && item->exptime <= now;
}

#endif
