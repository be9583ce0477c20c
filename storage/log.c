/* SPDX-License-Identifier: BSD-3-Clause */
/* Appending to memory, reservations, waiters, opening and closing.  log_internal.h has the map and the accounting. */
#include "storage/log.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/check.h"
#include "src/base/io.h"
#include "storage/log_internal.h"

/* ---- memory ---- */

/* Enough for `reserved` bytes: half of them at most are bytes of records, a block is left half used at each end of a
 * segment, and four cover where a count is rounded and an attest-only group. */
size_t log_blocks_needed(const struct log *log, uint64_t reserved) {
    return (size_t)(reserved / log->block_bytes + 2 * (reserved / log->capacity) + 4);
}

void log_free_blocks(struct log_block *block) {
    while (block != NULL) {
        struct log_block *next = block->next;
        free(block->bytes);
        free(block);
        block = next;
    }
}

/* No lock is held: the allocator may ask the kernel. */
static enum status add_blocks(struct log *log, size_t count) {
    enum status status = ST_OK;
    struct log_block *made = NULL, *last = NULL;
    size_t n = 0;

    while (n < count) {
        struct log_block *block = malloc(sizeof *block);
        unsigned char *bytes = block != NULL ? aligned_alloc(LOG_PAGE, log->block_bytes) : NULL;

        if (bytes == NULL) {
            free(block);
            status = ST_NO_MEMORY;
            break;
        }
        *block = (struct log_block){.next = made, .bytes = bytes};
        last = made == NULL ? block : last;
        made = block;
        n++;
    }
    if (made != NULL) {
        lock_take(&log->append);
        last->next = log->free_blocks;
        log->free_blocks = made;
        log->free_block_count += n;
        log->block_count += n;
        lock_drop(&log->append);
    }
    return status;
}

static void next_block(struct log *log) {
    struct log_segment *segment = log->current;
    struct log_block *block = log->free_blocks;

    CHECK(block != NULL); /* log_reserve has seen to it */
    log->free_blocks = block->next;
    log->free_block_count--;
    block->next = NULL;
    *segment->blocks_tail = block;
    segment->blocks_tail = &block->next;
    log->block = block;
    log->block_at = log->position;
}

/* Where the next byte goes, and in *n how many fit there. */
static inline unsigned char *append_place(struct log *log, size_t *n) {
    if (log->block == NULL || log->position == log->block_at + log->block_bytes)
        next_block(log);
    *n = (size_t)(log->block_at + log->block_bytes - log->position);
    return log->block->bytes + (log->position - log->block_at);
}

static void append_bytes(struct log *log, const void *bytes, size_t n) {
    const unsigned char *from = bytes;

    while (n > 0) {
        size_t room;
        unsigned char *to = append_place(log, &room);

        room = room < n ? room : n;
        memcpy(to, from, room);
        log->position += room;
        from += room;
        n -= room;
    }
}

/* ---- groups and segments; the append lock is held ---- */

/* Since the start, with headers and padding. */
static uint64_t appended_bytes(const struct log *log) {
    return log->current_at + log->position;
}

static void open_group(struct log *log) {
    static const unsigned char zeros[LOG_SECTOR];
    size_t room;

    append_bytes(log, zeros, (size_t)(log_align(log->position, LOG_SECTOR) - log->position));
    log->group = append_place(log, &room); /* a header never crosses blocks: both are made of whole sectors */
    log->group_at = log->position;
    log->group_first = atomic_load_explicit(&log->last, memory_order_relaxed) + 1;
    log->group_count = 0;
    log->position += LOG_GROUP_BYTES;
}

void log_close_group(struct log *log) {
    struct log_segment *segment = log->current;
    struct log_group group = {
        .count = log->group_count,
        .length = log->position - log->group_at,
        .first = log->group_first,
        .attested = log_durable(log),
    };

    if (log->group == NULL)
        return;
    log_group_encode(log->group, log->config.secret, segment->seq, log->group_at, &group);
    log->group = NULL;
    log->attested = group.attested;
    segment->closed = log->position;
    segment->closed_lsn = atomic_load_explicit(&log->last, memory_order_relaxed);
}

void log_begin_segment(struct log *log, struct log_segment *segment, const struct log_segment_header *header,
                       bool header_written) {
    segment->seq = header->seq;
    segment->next = segment->next_image = NULL;
    segment->blocks = NULL;
    segment->blocks_tail = &segment->blocks;
    segment->blocks_at = segment->written = segment->closed = 0;
    segment->closed_lsn = header->base;
    segment->sealed = false;
    atomic_store(&segment->in_memory, true);
    log->current = segment;
    log->current_at += log->position;
    log->block = NULL;
    log->position = 0;
    *log->images_tail = segment;
    log->images_tail = &segment->next_image;
    next_block(log);
    log_header_encode(log->block->bytes, log->config.secret, header);
    log->position = segment->closed = LOG_PAGE;
    segment->written = header_written ? LOG_PAGE : 0;

    lock_take(&log->sync);
    segment->base = header->base;
    segment->begun = log->current_at;
    segment->ended = false;
    segment->begun_durably = header_written;
    *log->live_tail = segment;
    log->live_tail = &segment->next;
    lock_drop(&log->sync);
}

/* The current segment has no place for the next record: it ends here, and a spare takes over. */
static void switch_segment(struct log *log) {
    struct log_segment *old = log->current, *spare = log->spares;
    uint64_t last = atomic_load_explicit(&log->last, memory_order_relaxed);

    CHECK(spare != NULL); /* what was reserved has room, so there is one */
    log_close_group(log);
    old->sealed = true;
    lock_take(&log->sync);
    old->last = last;
    old->ended = true;
    log->keeper_work = true;
    cond_signal(&log->keeper_wake);
    lock_drop(&log->sync);

    log->spares = spare->next;
    if (log->spares == NULL)
        log->spares_tail = &log->spares;
    log->spare_count--;
    const struct log_segment_header header = {
        .seq = spare->seq,
        .incarnation = log->incarnation,
        .segment_bytes = log->config.segment_bytes,
        .prev_seq = old->seq,
        .prev_end = old->closed,
        .prev_lsn = last,
        .base = last,
        .attested = log_durable(log),
        .recycled = spare->recycled,
    };
    log_begin_segment(log, spare, &header, false);
}

/* A group is open, and the record's bytes fit behind it in the current segment. */
static void make_place(struct log *log, size_t record_bytes) {
    uint64_t end = log->group != NULL ? log->position + record_bytes
                                      : log_align(log->position, LOG_SECTOR) + LOG_GROUP_BYTES + record_bytes;

    if (end > log->config.segment_bytes)
        switch_segment(log);
    if (log->group == NULL)
        open_group(log);
}

uint64_t log_file_room(const struct log *log) {
    unsigned usable = log->spare_count > 0 ? log->spare_count - 1 : 0;

    return log->config.segment_bytes - log_align(log->position, LOG_SECTOR) + usable * log->capacity;
}

bool log_attest(struct log *log) {
    bool done = false;

    lock_take(&log->append);
    if (log->group == NULL && log->attested < log_durable(log) && log_file_room(log) >= log->reserved + LOG_SECTOR &&
        log_align(log->position, LOG_SECTOR) + LOG_SECTOR <= log->config.segment_bytes &&
        log->free_block_count >= log_blocks_needed(log, log->reserved)) {
        open_group(log);
        log_close_group(log);
        done = true;
    }
    lock_drop(&log->append);
    return done;
}

uint64_t log_value_sum(const struct log *log, struct slice value) {
    return hash_sum(log->config.secret, value.p, value.n);
}

uint64_t log_append(struct log *log, struct log_record *record) {
    size_t room = log_record_room(record->key.n, record->value.n);
    struct log_encoded encoded;
    uint64_t lsn;

    CHECK_OBJ(log, LOG_MAGIC);
    log_record_encode(&encoded, log->config.secret, record);
    lock_take(&log->append);
    CHECK(log->reserved >= room);
    log->reserved -= room;
    make_place(log, encoded.record_bytes);
    lsn = atomic_load_explicit(&log->last, memory_order_relaxed) + 1;
    log_record_seal(&encoded, log->config.secret, lsn, log->current->seq, log->position);
    append_bytes(log, encoded.bytes, encoded.head_bytes);
    append_bytes(log, record->value.p, record->value.n);
    log->group_count++;
    atomic_store_explicit(&log->backlog, appended_bytes(log) - log->applied_bytes, memory_order_relaxed);
    atomic_store_explicit(&log->last, lsn, memory_order_release);
    lock_drop(&log->append);
    record->lsn = lsn;
    return lsn;
}

/* ---- reservations ---- */

/* Twice whole sectors for a group of its own: once for itself, once for what is lost when it ends a segment. */
size_t log_record_room(size_t key_bytes, size_t value_bytes) {
    size_t bytes = LOG_GROUP_BYTES + LOG_RECORD_BYTES + LOG_CAS_BYTES + key_bytes + value_bytes;
    return 2 * (size_t)log_align(bytes, LOG_SECTOR);
}

static bool memory_over(const struct log *log) {
    return (log->block_count - log->free_block_count) * (uint64_t)log->block_bytes > LOG_PENDING_MAX;
}

static bool unsynced_over(const struct log *log) {
    return log_last(log) - log_durable(log) >= log->unsynced_max;
}

/* Append lock. */
static bool has_room(const struct log *log, uint64_t bytes) {
    return log_file_room(log) >= log->reserved + bytes && !memory_over(log) && !unsynced_over(log) &&
           !atomic_load(&log->stalled);
}

/* Append lock.  ST_NO_MEMORY: *blocks more are needed first. */
static enum status reserve(struct log *log, size_t bytes, size_t *blocks) {
    if (atomic_load(&log->failed))
        return ST_READ_ONLY;
    if (!has_room(log, bytes)) {
        log->refused_min = bytes < log->refused_min ? bytes : log->refused_min;
        log->refused_max = bytes > log->refused_max ? bytes : log->refused_max;
        atomic_store(&log->refused, true);
        if (atomic_load(&log->stalled))
            return ST_NO_SPACE;
        return log_file_room(log) >= log->reserved + bytes || log->prepare_status == ST_OK ? ST_AGAIN
                                                                                         : log->prepare_status;
    }
    size_t needed = log_blocks_needed(log, log->reserved + bytes);
    if (log->free_block_count < needed) {
        *blocks = needed - log->free_block_count;
        return ST_NO_MEMORY;
    }
    log->reserved += bytes;
    return ST_OK;
}

enum status log_reserve(struct log *log, size_t bytes) {
    enum status status;

    CHECK_OBJ(log, LOG_MAGIC);
    if (bytes > (log->config.log_max / log->config.segment_bytes - 1) * log->capacity)
        return ST_LIMIT;
    for (;;) {
        size_t blocks = 0;

        lock_take(&log->append);
        status = reserve(log, bytes, &blocks);
        lock_drop(&log->append);
        if (status != ST_NO_MEMORY)
            break;
        status = add_blocks(log, blocks);
        if (status != ST_OK)
            return status;
    }
    if (status == ST_AGAIN || status == ST_NO_SPACE)
        log_keeper_kick(log);
    return status;
}

void log_unreserve(struct log *log, size_t bytes) {
    CHECK_OBJ(log, LOG_MAGIC);
    lock_take(&log->append);
    CHECK(log->reserved >= bytes);
    log->reserved -= bytes;
    lock_drop(&log->append);
    /* The caller may hold locks, so the keeper makes the call. */
    if (atomic_load(&log->refused))
        log_keeper_kick(log);
}

void log_on_room(struct log *log, void (*on_room)(void *arg), void *arg) {
    CHECK_OBJ(log, LOG_MAGIC);
    CHECK(!log->started);
    log->on_room = on_room;
    log->on_room_arg = arg;
}

static void call_on_room(struct log *log) {
    if (log->on_room != NULL)
        log->on_room(log->on_room_arg);
}

static void check_room(struct log *log, bool in_any_case) {
    bool call = false;

    if (!atomic_load(&log->refused))
        return;
    lock_take(&log->append);
    if (log->refused_max > 0 && (in_any_case || has_room(log, log->refused_min))) {
        log->refused_min = SIZE_MAX;
        log->refused_max = 0;
        atomic_store(&log->refused, false);
        call = true;
    }
    lock_drop(&log->append);
    if (call)
        call_on_room(log);
}

void log_room_check(struct log *log) {
    check_room(log, false);
}

void log_room_tell(struct log *log) {
    check_room(log, true);
}

/* ---- marks and waiters ---- */

uint64_t log_last(const struct log *log) {
    return atomic_load_explicit(&log->last, memory_order_acquire);
}

uint64_t log_written(const struct log *log) {
    return atomic_load(&log->written);
}

uint64_t log_durable(const struct log *log) {
    return atomic_load(&log->durable);
}

uint64_t log_mark(const struct log *log) {
    return log->config.sync == STORE_SYNC_ALWAYS ? log_durable(log) : log_written(log);
}

enum status log_health(const struct log *log) {
    CHECK_OBJ(log, LOG_MAGIC);
    return atomic_load(&log->failed) ? ST_READ_ONLY : ST_OK;
}

uint64_t log_backlog(const struct log *log) {
    return atomic_load_explicit(&log->backlog, memory_order_relaxed);
}

/* Posts what the mark has reached.  Tickets are posted under the lock, so that none comes after a cancel. */
static void post_waiters(struct log *log) {
    uint64_t rest = UINT64_MAX, mark;
    struct log_waiter **at = &log->waiters;

    lock_take(&log->wait);
    mark = atomic_load(&log->failed) ? UINT64_MAX : log_mark(log);
    while (*at != NULL) {
        struct log_waiter *waiter = *at;

        if (waiter->lsn <= mark) {
            *at = waiter->next;
            waiter->armed = false;
            inbox_post(&waiter->ticket);
        } else {
            rest = waiter->lsn < rest ? waiter->lsn : rest;
            at = &waiter->next;
        }
    }
    atomic_store(&log->awaited, rest);
    lock_drop(&log->wait);
}

void log_publish(struct log *log) {
    if (log_mark(log) >= atomic_load(&log->awaited))
        post_waiters(log);
}

/* `awaited` is set before the mark is looked at, and publishers move the mark before they look at `awaited`: one of
 * the two sees the other. */
void log_await(struct log *log, struct log_waiter *waiter, uint64_t lsn) {
    bool reached;

    CHECK_OBJ(log, LOG_MAGIC);
    lock_take(&log->wait);
    if (!waiter->armed) {
        waiter->armed = true;
        waiter->lsn = lsn;
        waiter->next = log->waiters;
        log->waiters = waiter;
    } else if (lsn < waiter->lsn) {
        waiter->lsn = lsn;
    }
    if (waiter->lsn < atomic_load(&log->awaited))
        atomic_store(&log->awaited, waiter->lsn);
    reached = atomic_load(&log->failed) || log_mark(log) >= waiter->lsn;
    lock_drop(&log->wait);
    if (reached)
        post_waiters(log);
}

void log_await_cancel(struct log *log, struct log_waiter *waiter) {
    CHECK_OBJ(log, LOG_MAGIC);
    lock_take(&log->wait);
    for (struct log_waiter **at = &log->waiters; waiter->armed; at = &(*at)->next) {
        if (*at == waiter) {
            *at = waiter->next;
            waiter->armed = false;
            break;
        }
    }
    lock_drop(&log->wait);
}

void log_fail(struct log *log, const char *what, uint64_t seq) {
    if (!atomic_exchange(&log->failed, true))
        log_error(log->config.logger,
                  "%s/%016llx: %s failed: %m; reads go on, writes are refused until the server is started again",
                  log->config.dir_name, (unsigned long long)seq, what);
    post_waiters(log);
    lock_take(&log->sync);
    cond_broadcast(&log->durable_moved);
    cond_signal(&log->sync_wake);
    lock_drop(&log->sync);
    call_on_room(log); /* who waits for room must hear that there will be none */
}

/* ---- what the tree has ---- */

/* Bytes of the log above `applied`; sync lock.  Inside a segment records are taken to be of one size. */
static uint64_t bytes_above(const struct log *log, uint64_t applied, uint64_t appended, uint64_t last) {
    for (const struct log_segment *segment = log->live; segment != NULL; segment = segment->next) {
        uint64_t end_lsn = segment->ended ? segment->last : last;
        uint64_t end = segment->next != NULL ? segment->next->begun : appended;

        if (end_lsn > applied && end_lsn > segment->base) {
            uint64_t above = end_lsn - (applied > segment->base ? applied : segment->base);
            double share = (double)above / (double)(end_lsn - segment->base);

            return appended - end + (uint64_t)(share * (double)(end - segment->begun));
        }
    }
    return 0;
}

void log_applied(struct log *log, uint64_t applied) {
    uint64_t above;

    CHECK_OBJ(log, LOG_MAGIC);
    CHECK(applied <= log_last(log));
    lock_take(&log->append);
    lock_take(&log->sync);
    if (applied > atomic_load(&log->applied))
        atomic_store(&log->applied, applied);
    above = bytes_above(log, atomic_load(&log->applied), appended_bytes(log), log_last(log));
    log->applied_bytes = appended_bytes(log) - above;
    atomic_store(&log->backlog, above);
    lock_drop(&log->sync);
    lock_drop(&log->append);
    log_keeper_kick(log);
}

void log_figures(struct log *log, struct log_figures *figures) {
    CHECK_OBJ(log, LOG_MAGIC);
    *figures = (struct log_figures){
        .bytes = atomic_load(&log->files_bytes),
        .segments = atomic_load(&log->files),
        .writes = atomic_load(&log->writes),
        .written_bytes = atomic_load(&log->written_bytes),
        .syncs = atomic_load(&log->syncs),
        .since_applied = log_backlog(log),
    };
    lock_take(&log->sync);
    figures->sync_micros_max = log->sync_micros_max;
    lock_drop(&log->sync);
}

/* ---- opening and closing ---- */

static bool config_is_sound(const struct log_config *config) {
    uint64_t segment = config->segment_bytes;

    return segment % LOG_PAGE == 0 && segment > LOG_PAGE && config->record_max < segment &&
           log_record_room(0, config->record_max) / 2 <= segment - LOG_PAGE && config->log_max / segment >= 4 &&
           config->record_max <= UINT32_MAX - LOG_RECORD_HEAD_MAX;
}

static void init_lists(struct log *log) {
    log->images_tail = &log->images;
    log->spares_tail = &log->spares;
    log->live_tail = &log->live;
    log->refused_min = SIZE_MAX;
    log->unsynced_max = LOG_UNSYNCED_MAX;
    log->slow_micros = LOG_SLOW_MICROS;
    atomic_init(&log->awaited, UINT64_MAX);
    atomic_init(&log->wake_at, UINT64_MAX);
    lock_init(&log->append, LOCK_LOG_APPEND);
    lock_init(&log->wait, LOCK_LOG_WAIT);
    lock_init(&log->sync, LOCK_LOG_SYNC);
    cond_init(&log->sync_wake);
    cond_init(&log->durable_moved);
    cond_init(&log->keeper_wake);
    cond_init(&log->writer_wake);
}

static void free_segments(struct log_segment *segment) {
    while (segment != NULL) {
        struct log_segment *next = segment->next;
        log_free_blocks(segment->blocks);
        log_segment_free(&segment);
        segment = next;
    }
}

static void free_log(struct log *log) {
    log_recovery_free(log);
    free_segments(log->live);
    free_segments(log->spares);
    free_segments(log->left);
    log_free_blocks(log->free_blocks);
    CHECK(log->waiters == NULL);
    cond_destroy(&log->writer_wake);
    cond_destroy(&log->keeper_wake);
    cond_destroy(&log->durable_moved);
    cond_destroy(&log->sync_wake);
    lock_destroy(&log->sync);
    lock_destroy(&log->wait);
    lock_destroy(&log->append);
    log->magic = 0;
    free(log);
}

enum status log_open(struct log **log, const struct log_config *config, uint64_t applied, uint64_t m,
                     struct log_findings *findings) {
    struct log *opened;
    enum status status;

    *log = NULL;
    if (!config_is_sound(config))
        return ST_INVALID;
    opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return ST_NO_MEMORY;
    opened->magic = LOG_MAGIC;
    opened->config = *config;
    opened->capacity = config->segment_bytes - LOG_PAGE;
    opened->block_bytes = config->segment_bytes < LOG_BLOCK_MAX ? (size_t)config->segment_bytes : LOG_BLOCK_MAX;
    init_lists(opened);
    status = log_recover(opened, applied, m, findings);
    if (status == ST_OK)
        *log = opened;
    else
        free_log(opened);
    return status;
}

enum status log_start(struct log *log) {
    enum status status;

    CHECK_OBJ(log, LOG_MAGIC);
    CHECK(!log->started);
    status = add_blocks(log, log_blocks_needed(log, 0) + 1);
    if (status == ST_OK)
        status = log_recovery_finish(log);
    if (status != ST_OK)
        return status;
    log->started = true;
    status = log_sync_start(log);
    if (status == ST_OK)
        status = log_writer_start(log);
    if (status == ST_OK)
        status = log_keeper_start(log);
    return status;
}

/* Everything is written and synced; the last group says so, unless the disk does not let it. */
static void finish(struct log *log) {
    enum status status;

    atomic_store(&log->stalled, false);
    log_write_out(log, true);
    status = log_sync_once(log);
    if (status == ST_OK && log_attest(log)) {
        log_write_out(log, true);
        status = log_sync_once(log);
    }
    if (status != ST_OK || log_durable(log) < log_last(log))
        log_error(log->config.logger, "%s: changes %llu to %llu could not be made durable", log->config.dir_name,
                  (unsigned long long)log_durable(log) + 1, (unsigned long long)log_last(log));
}

void log_close(struct log **log) {
    struct log *closing = *log;

    if (closing == NULL)
        return;
    CHECK_OBJ(closing, LOG_MAGIC);
    log_keeper_stop(closing);
    log_writer_stop(closing);
    log_sync_stop(closing);
    if (closing->started)
        finish(closing);
    free_log(closing);
    *log = NULL;
}
