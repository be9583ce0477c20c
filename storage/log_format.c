/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/log_format.h"

#include <endian.h>
#include <string.h>

#include "src/base/check.h"

enum { VERSION = 1, GROUP_MAGIC = 0x50524743 /* "CGRP" */ };

static const char header_magic[8] = "COFFRLOG";

/* Bits of a record's byte 21. */
enum { BIT_POINTER = 1, BIT_CAS = 2 };

static void put32(unsigned char *at, uint32_t value) {
    value = htole32(value);
    memcpy(at, &value, sizeof value);
}

static void put64(unsigned char *at, uint64_t value) {
    value = htole64(value);
    memcpy(at, &value, sizeof value);
}

static uint32_t get32(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static uint64_t get64(const unsigned char *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

/* ---- segment header: magic 8, version 4, bits 4, eight numbers of 8, sum 8, zeros ---- */

enum { HEADER_BIT_RECYCLED = 1, HEADER_SUM_AT = 80, HEADER_NUMBERS = 8 };

static uint64_t header_sum(const unsigned char *copy, const struct hash_secret *secret) {
    return hash_sum(secret, copy, HEADER_SUM_AT);
}

void log_header_encode(unsigned char page[LOG_PAGE], const struct hash_secret *secret,
                       const struct log_segment_header *header) {
    const uint64_t numbers[HEADER_NUMBERS] = {header->seq,      header->incarnation, header->segment_bytes,
                                              header->prev_seq, header->prev_end,    header->prev_lsn,
                                              header->base,     header->attested};
    memset(page, 0, LOG_PAGE);
    memcpy(page, header_magic, sizeof header_magic);
    put32(page + 8, VERSION);
    put32(page + 12, header->recycled ? HEADER_BIT_RECYCLED : 0);
    for (size_t i = 0; i < HEADER_NUMBERS; i++)
        put64(page + 16 + 8 * i, numbers[i]);
    put64(page + HEADER_SUM_AT, header_sum(page, secret));
    memcpy(page + LOG_HEADER_COPY, page, LOG_HEADER_BYTES);
}

static enum status header_decode_copy(const unsigned char *copy, const struct hash_secret *secret,
                                      struct log_segment_header *header) {
    uint64_t numbers[HEADER_NUMBERS];

    if (memcmp(copy, header_magic, sizeof header_magic) != 0 || get64(copy + HEADER_SUM_AT) != header_sum(copy, secret))
        return ST_CORRUPT;
    if (get32(copy + 8) != VERSION)
        return ST_INVALID;
    for (size_t i = 0; i < HEADER_NUMBERS; i++)
        numbers[i] = get64(copy + 16 + 8 * i);
    *header = (struct log_segment_header){
        .seq = numbers[0],
        .incarnation = numbers[1],
        .segment_bytes = numbers[2],
        .prev_seq = numbers[3],
        .prev_end = numbers[4],
        .prev_lsn = numbers[5],
        .base = numbers[6],
        .attested = numbers[7],
        .recycled = get32(copy + 12) & HEADER_BIT_RECYCLED,
    };
    return ST_OK;
}

enum status log_header_decode(const unsigned char page[LOG_PAGE], const struct hash_secret *secret,
                              struct log_segment_header *header) {
    enum status status = header_decode_copy(page, secret, header);
    return status == ST_CORRUPT ? header_decode_copy(page + LOG_HEADER_COPY, secret, header) : status;
}

/* ---- group header: magic 4, count 4, length 8, first 8, attested 8, sum 8 ---- */

enum { GROUP_SUM_AT = 32 };

/* Place and content under one keyed checksum: the bytes stay valid only where they were written. */
static uint64_t placed_sum(const struct hash_secret *secret, uint64_t content, uint64_t lsn, uint64_t seq,
                           uint64_t offset) {
    unsigned char bytes[32];
    put64(bytes, content);
    put64(bytes + 8, lsn);
    put64(bytes + 16, seq);
    put64(bytes + 24, offset);
    return hash_sum(secret, bytes, sizeof bytes);
}

static uint64_t group_sum(const unsigned char *bytes, const struct hash_secret *secret, uint64_t seq,
                          uint64_t offset) {
    return placed_sum(secret, hash_sum(secret, bytes, GROUP_SUM_AT), 0, seq, offset);
}

void log_group_encode(unsigned char bytes[LOG_GROUP_BYTES], const struct hash_secret *secret, uint64_t seq,
                      uint64_t offset, const struct log_group *group) {
    put32(bytes, GROUP_MAGIC);
    put32(bytes + 4, group->count);
    put64(bytes + 8, group->length);
    put64(bytes + 16, group->first);
    put64(bytes + 24, group->attested);
    put64(bytes + GROUP_SUM_AT, group_sum(bytes, secret, seq, offset));
}

bool log_group_decode(const unsigned char bytes[LOG_GROUP_BYTES], const struct hash_secret *secret, uint64_t seq,
                      uint64_t offset, struct log_group *group) {
    if (get32(bytes) != GROUP_MAGIC || get64(bytes + GROUP_SUM_AT) != group_sum(bytes, secret, seq, offset))
        return false;
    *group = (struct log_group){
        .count = get32(bytes + 4),
        .length = get64(bytes + 8),
        .first = get64(bytes + 16),
        .attested = get64(bytes + 24),
    };
    return group->length >= LOG_GROUP_BYTES;
}

/* ---- record: sum 8, lsn 8, length 4, op 1, bits 1, marks 1, key length 1, flags 4, exptime 8; cas 8 if it differs,
 * key, value ---- */

enum { RECORD_BODY_AT = 16 };

void log_record_encode(struct log_encoded *encoded, const struct hash_secret *secret,
                       const struct log_record *record) {
    unsigned char *bytes = encoded->bytes;
    size_t n = LOG_RECORD_BYTES;

    CHECK(record->key.n <= LOG_KEY_MAX && record->marks <= UINT8_MAX);
    if (record->cas != 0) {
        put64(bytes + n, record->cas);
        n += LOG_CAS_BYTES;
    }
    if (record->key.n > 0)
        memcpy(bytes + n, record->key.p, record->key.n);
    n += record->key.n;
    CHECK(record->value.n <= UINT32_MAX - n);
    encoded->head_bytes = n;
    encoded->record_bytes = n + record->value.n;
    put32(bytes + 16, (uint32_t)encoded->record_bytes);
    bytes[20] = (unsigned char)record->op;
    bytes[21] = (unsigned char)((record->kind == LOG_POINTER ? BIT_POINTER : 0) | (record->cas != 0 ? BIT_CAS : 0));
    bytes[22] = (unsigned char)record->marks;
    bytes[23] = (unsigned char)record->key.n;
    put32(bytes + 24, record->flags);
    put64(bytes + 28, (uint64_t)record->exptime);
    put64(bytes + n, record->value_sum);
    encoded->sum = hash_sum(secret, bytes + RECORD_BODY_AT, n + sizeof(uint64_t) - RECORD_BODY_AT);
}

void log_record_seal(struct log_encoded *encoded, const struct hash_secret *secret, uint64_t lsn, uint64_t seq,
                     uint64_t offset) {
    put64(encoded->bytes, placed_sum(secret, encoded->sum, lsn, seq, offset));
    put64(encoded->bytes + 8, lsn);
}

static size_t head_length(const unsigned char *bytes) {
    return (size_t)LOG_RECORD_BYTES + (bytes[21] & BIT_CAS ? LOG_CAS_BYTES : 0) + bytes[23];
}

bool log_record_length(const unsigned char bytes[LOG_RECORD_BYTES], uint64_t *length) {
    *length = get32(bytes + 16);
    return *length >= head_length(bytes) && bytes[20] >= LOG_SET && bytes[20] <= LOG_FLUSH_AT;
}

bool log_record_decode(const unsigned char *bytes, size_t length, const struct hash_secret *secret, uint64_t seq,
                       uint64_t offset, struct log_record *record) {
    unsigned char head[LOG_RECORD_HEAD_MAX + sizeof(uint64_t)];
    size_t n = head_length(bytes);
    uint64_t value_sum, sum;

    CHECK(length >= n);
    value_sum = hash_sum(secret, bytes + n, length - n);
    memcpy(head, bytes, n);
    put64(head + n, value_sum);
    sum = hash_sum(secret, head + RECORD_BODY_AT, n + sizeof(uint64_t) - RECORD_BODY_AT);
    if (get64(bytes) != placed_sum(secret, sum, get64(bytes + 8), seq, offset))
        return false;
    *record = (struct log_record){
        .lsn = get64(bytes + 8),
        .op = (enum log_op)bytes[20],
        .kind = bytes[21] & BIT_POINTER ? LOG_POINTER : LOG_INLINE,
        .marks = bytes[22],
        .flags = get32(bytes + 24),
        .exptime = (int64_t)get64(bytes + 28),
        .cas = bytes[21] & BIT_CAS ? get64(bytes + LOG_RECORD_BYTES) : 0,
        .key = slice_of((const char *)bytes + n - bytes[23], bytes[23]),
        .value = slice_of((const char *)bytes + n, length - n),
        .value_sum = value_sum,
    };
    return true;
}
