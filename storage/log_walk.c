/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading one segment: through a window of the file, group by group, record by record.  What is read may be anything,
 * so every length is checked against what is there before it is believed. */
#include <stdlib.h>
#include <string.h>

#include "src/base/check.h"
#include "src/base/io.h"
#include "storage/log_internal.h"

enum { WINDOW_BYTES = 1 << 20 };

void log_reader_init(struct log_reader *reader, struct faults *faults, int fd, uint64_t end) {
    *reader = (struct log_reader){.faults = faults, .fd = fd, .end = end};
}

void log_reader_free(struct log_reader *reader) {
    free(reader->window);
    reader->window = NULL;
    reader->capacity = reader->held = 0;
}

static enum status grow(struct log_reader *reader, size_t n) {
    size_t capacity = n < WINDOW_BYTES ? WINDOW_BYTES : n;

    if (n <= reader->capacity)
        return ST_OK;
    free(reader->window);
    reader->held = reader->capacity = 0;
    reader->window = malloc(capacity);
    if (reader->window == NULL)
        return ST_NO_MEMORY;
    reader->capacity = capacity;
    return ST_OK;
}

static enum status load(struct log_reader *reader, uint64_t offset, size_t n) {
    enum status status = grow(reader, n);

    if (status == ST_OK) {
        uint64_t left = offset < reader->end ? reader->end - offset : 0;

        reader->at = offset;
        reader->held = 0;
        status = io_pread(reader->faults, FAULT_LOG_READ, reader->fd, reader->window,
                          left < reader->capacity ? (size_t)left : reader->capacity, offset, &reader->held);
    }
    return status;
}

enum status log_reader_get(struct log_reader *reader, uint64_t offset, size_t n, const unsigned char **bytes,
                           size_t *got) {
    enum status status = ST_OK;

    if (offset < reader->at || offset + n > reader->at + reader->held)
        status = load(reader, offset, n);
    if (status != ST_OK)
        return status;
    *got = reader->held - (size_t)(offset - reader->at);
    *got = *got < n ? *got : n;
    *bytes = reader->window + (offset - reader->at);
    return ST_OK;
}

/* ---- walking ---- */

void log_walk_begin(struct log_walk *walk, const struct log *log, int fd, uint64_t seq, uint64_t base,
                    uint64_t file_end) {
    *walk = (struct log_walk){
        .secret = log->config.secret,
        .seq = seq,
        .limit = UINT64_MAX,
        .end = LOG_PAGE,
        .passed = LOG_PAGE,
        .lsn = base,
    };
    log_reader_init(&walk->reader, log->config.faults, fd, file_end);
}

void log_walk_end(struct log_walk *walk) {
    log_reader_free(&walk->reader);
}

/* *good: the record at walk->end is whole, the next one of the log, and ends at or before `end`. */
static enum status walk_record(struct log_walk *walk, uint64_t end, bool *good) {
    struct log_record record;
    const unsigned char *bytes;
    uint64_t length;
    size_t got;
    enum status status;

    *good = false;
    if (end - walk->end < LOG_RECORD_BYTES)
        return ST_OK;
    status = log_reader_get(&walk->reader, walk->end, LOG_RECORD_BYTES, &bytes, &got);
    if (status != ST_OK || got < LOG_RECORD_BYTES || !log_record_length(bytes, &length) || length > end - walk->end)
        return status;
    status = log_reader_get(&walk->reader, walk->end, (size_t)length, &bytes, &got);
    if (status != ST_OK || got < length ||
        !log_record_decode(bytes, (size_t)length, walk->secret, walk->seq, walk->end, &record) ||
        record.lsn != walk->lsn + 1)
        return status;
    if (walk->record != NULL && record.lsn > walk->skip)
        status = walk->record(walk->arg, &record);
    if (status != ST_OK)
        return status;
    *good = true;
    walk->lsn = record.lsn;
    walk->end += length;
    if (record.lsn > walk->skip) {
        walk->records++;
        walk->bytes += length;
    }
    return ST_OK;
}

/* *good: all records of the group are; or the limit was reached. */
static enum status walk_records(struct log_walk *walk, uint64_t start, const struct log_group *group, bool *good) {
    uint64_t end = start + group->length < walk->limit ? start + group->length : walk->limit;
    enum status status = ST_OK;

    *good = true;
    walk->end = start + LOG_GROUP_BYTES;
    for (uint32_t i = 0; i < group->count && *good && walk->end < walk->limit && status == ST_OK; i++)
        status = walk_record(walk, end, good);
    return status;
}

/* *good: there is a group where the next one has to begin, and it is whole. */
static enum status walk_group(struct log_walk *walk, bool *good) {
    uint64_t start = log_align(walk->end, LOG_SECTOR), before = walk->end;
    struct log_group group;
    const unsigned char *bytes;
    size_t got;
    enum status status = log_reader_get(&walk->reader, start, LOG_GROUP_BYTES, &bytes, &got);

    *good = false;
    if (status != ST_OK || got < LOG_GROUP_BYTES || !log_group_decode(bytes, walk->secret, walk->seq, start, &group) ||
        group.first != walk->lsn + 1)
        return status;
    if (group.attested > walk->attested)
        walk->attested = group.attested;
    walk->claimed = start + group.length;
    if (group.first + group.count - 1 <= walk->skip && group.length <= walk->reader.end - start &&
        start + group.length <= walk->limit) {
        walk->lsn += group.count;
        walk->end = start + group.length;
        walk->passed = group.count > 0 ? walk->end : walk->passed;
        *good = true;
        return ST_OK;
    }
    status = walk_records(walk, start, &group, good);
    if (!*good && walk->end == start + LOG_GROUP_BYTES)
        walk->end = before; /* a header without a good record is no part of the log */
    return status;
}

enum status log_walk_run(struct log_walk *walk) {
    enum status status = ST_OK;
    bool good = true;

    while (good && status == ST_OK && walk->end < walk->limit)
        status = walk_group(walk, &good);
    return status;
}
