/* SPDX-License-Identifier: BSD-3-Clause */
/* log_format: the bytes of the log on disk, and nothing but bytes: no files, no locks.
 *
 * A segment file has a header page (two copies of the header, one is enough), then groups.  A group starts on a
 * 512-byte boundary with a group header and holds records back to back; an attest-only group holds none.  What lies
 * between the end of a group and the end of its 4 KB page is zeros until the next group follows.
 *
 * All numbers are little-endian.  Every checksum is keyed with the store's secret and covers the segment's sequence
 * number and the offset, so what an earlier life left in a recycled file fails by itself.
 *
 * Constants and layouts here are on disk: they never change their meaning; a new layout gets a new version. */
#ifndef COFFER_STORAGE_LOG_FORMAT_H
#define COFFER_STORAGE_LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/hash.h"
#include "src/base/status.h"
#include "storage/log.h"

enum {
    LOG_PAGE = 4096,         /* writes are whole pages; the first page of a segment is its header */
    LOG_SECTOR = 512,        /* groups start at multiples of it */
    LOG_HEADER_BYTES = 96,   /* of one copy of a segment's header */
    LOG_HEADER_COPY = 2048,  /* where the second copy stands */
    LOG_GROUP_BYTES = 40,    /* of a group's header */
    LOG_RECORD_BYTES = 36,   /* of a record before cas and key */
    LOG_CAS_BYTES = 8,       /* when cas differs from the LSN */
    LOG_KEY_MAX = 255,       /* what one byte can tell */
    LOG_RECORD_HEAD_MAX = LOG_RECORD_BYTES + LOG_CAS_BYTES + LOG_KEY_MAX,
};

/* How a segment continues the one before it.  Records of the segment have LSNs from base + 1 on, without gaps. */
struct log_segment_header {
    uint64_t seq;
    uint64_t incarnation;   /* how often this log was started */
    uint64_t segment_bytes;
    uint64_t prev_seq;      /* the segment before this one; segments between the two are void */
    uint64_t prev_end;      /* where its last group (or its last good record) ends */
    uint64_t prev_lsn;      /* its last LSN */
    uint64_t base;          /* prev_lsn; or far above it in the first segment after a start */
    uint64_t attested;      /* synced before this header was written */
    bool recycled;          /* bytes behind the last group may be of an earlier life; else they are zeros */
};

void log_header_encode(unsigned char page[LOG_PAGE], const struct hash_secret *secret,
                       const struct log_segment_header *header);
/* Takes the first good copy.  ST_CORRUPT: none; ST_INVALID: a good one of a version that is not known here. */
enum status log_header_decode(const unsigned char page[LOG_PAGE], const struct hash_secret *secret,
                              struct log_segment_header *header) MUST_CHECK;

struct log_group {
    uint32_t count;    /* records */
    uint64_t length;   /* with this header, without the padding behind */
    uint64_t first;    /* LSN of the first record, or of the next one when there is none */
    uint64_t attested; /* the LSN known to be synced when the group was closed */
};

void log_group_encode(unsigned char bytes[LOG_GROUP_BYTES], const struct hash_secret *secret, uint64_t seq,
                      uint64_t offset, const struct log_group *group);
bool log_group_decode(const unsigned char bytes[LOG_GROUP_BYTES], const struct hash_secret *secret, uint64_t seq,
                      uint64_t offset, struct log_group *group);

/* A record is encoded in two steps: everything that is known before the append lock is taken, then what is not. */
struct log_encoded {
    unsigned char bytes[LOG_RECORD_HEAD_MAX + sizeof(uint64_t)]; /* head, and room for the value's sum */
    size_t head_bytes;   /* the fixed part, cas and key; the value's bytes follow it on disk */
    size_t record_bytes; /* head and value */
    uint64_t sum;        /* of the head without LSN, and of the value */
};

void log_record_encode(struct log_encoded *encoded, const struct hash_secret *secret,
                       const struct log_record *record);
void log_record_seal(struct log_encoded *encoded, const struct hash_secret *secret, uint64_t lsn, uint64_t seq,
                     uint64_t offset);

/* What the fixed part says about the whole record's length; false when no record can look like this. */
bool log_record_length(const unsigned char bytes[LOG_RECORD_BYTES], uint64_t *length);
/* All `length` bytes of a record; key and value of `record` point into them.  False: the checksum is wrong. */
bool log_record_decode(const unsigned char *bytes, size_t length, const struct hash_secret *secret, uint64_t seq,
                       uint64_t offset, struct log_record *record);

static inline uint64_t log_align(uint64_t offset, uint64_t to) {
    return (offset + to - 1) & ~(to - 1);
}

#endif
