/* SPDX-License-Identifier: BSD-3-Clause */
/* record: the bytes of one tree record; pure encoding and decoding.
 *
 * A record is a header of 20 to 48 bytes and the value.  All numbers are little-endian:
 *
 *     form    1   bits 0-1 kind, 2 flags, 3 exptime, 4 bucket, 5 cas follow, 6-7 marks
 *     lsn     7
 *     flags   4   when not 0
 *     exptime 8   when not 0
 *     bucket  8   when it is not the one that exptime falls in (without exptime: when there is one)
 *     cas     8   when it is not the LSN
 *     sum     8   keyed checksum of key and value
 *     check   4   low half of the keyed checksum of all header bytes before
 *
 * So the header can be trusted without reading the value, which may fill many pages, and a value is served only when
 * it belongs to this key and this header.  RECORD_POINTER (the value is a pointer into a value log) is reserved: it
 * is decoded, but nothing writes it.
 *
 * An expiry bucket is a span of TREE_BUCKET_SECONDS in the tree's expiry index. */
#ifndef COFFER_STORAGE_RECORD_H
#define COFFER_STORAGE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/hash.h"
#include "src/base/slice.h"
#include "src/base/status.h"
#include "storage/tree.h"

enum record_kind { RECORD_INLINE = 0, RECORD_POINTER = 1 }; /* on disk: never renumber */

enum { RECORD_HEADER_MIN = 20, RECORD_HEADER_MAX = 48 };

#define RECORD_NO_BUCKET UINT64_MAX
#define RECORD_LSN_MAX ((UINT64_C(1) << 56) - 1)

struct record {
    enum record_kind kind;
    unsigned marks;     /* enum item_mark */
    uint32_t flags;
    uint64_t lsn;       /* at most RECORD_LSN_MAX */
    int64_t exptime;    /* 0 = never */
    uint64_t bucket;    /* where the expiry index has the key; RECORD_NO_BUCKET = nowhere */
    uint64_t cas;       /* 0 = the LSN */
    uint64_t value_sum; /* record_value_sum(key, value) */
    struct slice value;
};

/* Keyed checksum of key and value; one pass when the value stands right behind the key in memory. */
uint64_t record_value_sum(const struct hash_secret *secret, struct slice key, struct slice value);

/* Writes everything but the value and returns how many bytes that is.  *sum: the checksum of the whole record, which
 * the tree adds up over all records. */
size_t record_header(const struct record *record, const struct hash_secret *secret,
                     unsigned char bytes[RECORD_HEADER_MAX], uint64_t *sum);

/* Reads the header; record->value points into `bytes` and is not verified: compare record_value_sum with value_sum
 * for that.  ST_CORRUPT: the bytes are no record. */
enum status record_decode(struct record *record, const struct hash_secret *secret, struct slice bytes,
                          uint64_t *sum) MUST_CHECK;

/* The bucket that an expiry falls in; RECORD_NO_BUCKET for 0. */
static inline uint64_t record_bucket_of(int64_t exptime) {
    if (exptime == 0)
        return RECORD_NO_BUCKET;
    return exptime < 0 ? 0 : (uint64_t)exptime / TREE_BUCKET_SECONDS;
}

/* The whole bucket lies in the past: what was put there for its own expiry has expired. */
static inline bool record_bucket_due(uint64_t bucket, int64_t now) {
    return now >= TREE_BUCKET_SECONDS && bucket < (uint64_t)now / TREE_BUCKET_SECONDS;
}

#endif
