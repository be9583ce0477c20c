/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/record.h"

#include <endian.h>

#include "src/base/check.h"

enum {
    KIND_MASK = 0x03,
    HAS_FLAGS = 0x04,
    HAS_EXPTIME = 0x08,
    HAS_BUCKET = 0x10,
    HAS_CAS = 0x20,
    MARKS_SHIFT = 6,
    MARKS_MASK = 0x03,
    LSN_SHIFT = 8, /* form and LSN share the first eight bytes */
    CHECK_BYTES = 4,
};

uint64_t record_value_sum(const struct hash_secret *secret, struct slice key, struct slice value) {
    if (key.p + key.n == value.p)
        return hash_sum(secret, key.p, key.n + value.n);
    return hash_sum2(secret, key.p, key.n, value.p, value.n);
}

static unsigned char *put32(unsigned char *to, uint32_t value) {
    value = htole32(value);
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

static unsigned char *put64(unsigned char *to, uint64_t value) {
    value = htole64(value);
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

static unsigned form_of(const struct record *record) {
    unsigned form = (unsigned)record->kind | record->marks << MARKS_SHIFT;
    form |= record->flags != 0 ? HAS_FLAGS : 0;
    form |= record->exptime != 0 ? HAS_EXPTIME : 0;
    form |= record->bucket != record_bucket_of(record->exptime) ? HAS_BUCKET : 0;
    form |= record->cas != 0 && record->cas != record->lsn ? HAS_CAS : 0;
    return form;
}

size_t record_header(const struct record *record, const struct hash_secret *secret,
                     unsigned char bytes[RECORD_HEADER_MAX], uint64_t *sum) {
    unsigned form = form_of(record);
    unsigned char *end = bytes;

    CHECK(record->lsn <= RECORD_LSN_MAX && record->marks <= MARKS_MASK);
    CHECK(record->exptime == 0 || record->bucket != RECORD_NO_BUCKET);
    end = put64(end, form | record->lsn << LSN_SHIFT);
    if (form & HAS_FLAGS)
        end = put32(end, record->flags);
    if (form & HAS_EXPTIME)
        end = put64(end, (uint64_t)record->exptime);
    if (form & HAS_BUCKET)
        end = put64(end, record->bucket);
    if (form & HAS_CAS)
        end = put64(end, record->cas);
    end = put64(end, record->value_sum);
    *sum = hash_sum(secret, bytes, (size_t)(end - bytes));
    end = put32(end, (uint32_t)*sum);
    return (size_t)(end - bytes);
}

static uint32_t get32(const char **from) {
    uint32_t value;
    memcpy(&value, *from, sizeof value);
    *from += sizeof value;
    return le32toh(value);
}

static uint64_t get64(const char **from) {
    uint64_t value;
    memcpy(&value, *from, sizeof value);
    *from += sizeof value;
    return le64toh(value);
}

static size_t header_bytes(unsigned form) {
    size_t bytes = RECORD_HEADER_MIN;
    bytes += form & HAS_FLAGS ? sizeof(uint32_t) : 0;
    bytes += form & HAS_EXPTIME ? sizeof(uint64_t) : 0;
    bytes += form & HAS_BUCKET ? sizeof(uint64_t) : 0;
    bytes += form & HAS_CAS ? sizeof(uint64_t) : 0;
    return bytes;
}

enum status record_decode(struct record *record, const struct hash_secret *secret, struct slice bytes,
                          uint64_t *sum) {
    unsigned form = bytes.n > 0 ? (unsigned char)bytes.p[0] : 0;
    size_t header = header_bytes(form);
    const char *at = bytes.p;

    *sum = 0;
    memset(record, 0, sizeof *record);
    if (bytes.n < header || (form & KIND_MASK) > RECORD_POINTER)
        return ST_CORRUPT;
    record->kind = (enum record_kind)(form & KIND_MASK);
    record->marks = form >> MARKS_SHIFT & MARKS_MASK;
    record->lsn = get64(&at) >> LSN_SHIFT;
    record->flags = form & HAS_FLAGS ? get32(&at) : 0;
    record->exptime = form & HAS_EXPTIME ? (int64_t)get64(&at) : 0;
    record->bucket = form & HAS_BUCKET ? get64(&at) : record_bucket_of(record->exptime);
    record->cas = form & HAS_CAS ? get64(&at) : 0;
    record->value_sum = get64(&at);
    *sum = hash_sum(secret, bytes.p, header - CHECK_BYTES);
    record->value = slice_of(bytes.p + header, bytes.n - header);
    return get32(&at) == (uint32_t)*sum ? ST_OK : ST_CORRUPT;
}
