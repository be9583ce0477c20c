/* SPDX-License-Identifier: BSD-3-Clause */
/* The write token: one thread at a time takes what all have appended to the files.
 *
 * A step is taken from memory under the append lock and written without it.  That is safe because whole pages below
 * the end of a closed group never change again; the page that the group ends in does (the next group may begin in
 * it), so it is copied under the lock, with zeros behind the group.  It is written again with that next group.
 *
 * Nothing is forgotten: whoever finds the token taken has appended before it looked, and the holder looks again after
 * it gave the token back.  Both sides exchange the token, so the one that came later sees what the other did.
 *
 * The writer thread helps where a worker would be kept from its clients: it goes on where one has written several
 * rounds for others, and after a write that took long (a stalled disk) it writes alone until that is a while ago, so
 * that a stall catches one worker, once. */
#include <limits.h>
#include <string.h>

#include "src/base/check.h"
#include "src/base/clock.h"
#include "src/base/io.h"
#include "src/base/thread.h"
#include "storage/log_internal.h"

enum {
    STEP_BLOCKS = 16,
    WORKER_ROUNDS = 3, /* that a worker writes for others before it goes back to its own clients */
    CALM_MICROS = 200000,
};

struct step {
    struct log_segment *segment;
    uint64_t at; /* file offset, whole pages */
    struct {
        const unsigned char *bytes;
        size_t n;
    } piece[STEP_BLOCKS];
    unsigned pieces;
    uint64_t to;     /* what will have been written of the image */
    uint64_t lsn;    /* written when the step is through; 0: a group ends in a later step */
    bool with_tail;  /* the page at the end comes from `tail` */
    _Alignas(LOG_PAGE) unsigned char tail[LOG_PAGE];
};

static uint64_t page_of(uint64_t offset) {
    return offset & ~(uint64_t)(LOG_PAGE - 1);
}

/* Append lock.  Collects whole pages [step->at, end); returns where it had to stop, at a block's boundary. */
static uint64_t collect_pages(const struct log *log, struct step *step, uint64_t end) {
    struct log_block *block = step->segment->blocks;
    uint64_t at = step->segment->blocks_at, from = step->at;

    while (from < end && step->pieces < STEP_BLOCKS) {
        uint64_t block_end = at + log->block_bytes;

        if (from < block_end) {
            uint64_t to = end < block_end ? end : block_end;

            step->piece[step->pieces].bytes = block->bytes + (from - at);
            step->piece[step->pieces++].n = (size_t)(to - from);
            from = to;
        }
        at = block_end;
        block = block->next;
    }
    return from;
}

static void copy_tail(const struct log *log, struct step *step, uint64_t end) {
    const struct log_block *block = step->segment->blocks;
    uint64_t at = step->segment->blocks_at, page = page_of(end);

    while (page >= at + log->block_bytes) {
        at += log->block_bytes;
        block = block->next;
    }
    memcpy(step->tail, block->bytes + (page - at), (size_t)(end - page));
    memset(step->tail + (end - page), 0, (size_t)(page + LOG_PAGE - end));
    step->with_tail = true;
}

static void recycle_block(struct log *log, struct log_segment *segment) {
    struct log_block *block = segment->blocks;

    segment->blocks = block->next;
    if (segment->blocks == NULL)
        segment->blocks_tail = &segment->blocks;
    segment->blocks_at += log->block_bytes;
    block->next = log->free_blocks;
    log->free_blocks = block;
    log->free_block_count++;
}

/* Append lock.  Blocks below the page that is written next are free, except for the one appended to; a sealed image
 * that is written is done with. */
static void drop_written(struct log *log, struct log_segment *segment) {
    bool done = segment->sealed && segment->written == segment->closed;

    while (segment->blocks != NULL &&
           (done || (segment->blocks_at + log->block_bytes <= page_of(segment->written) &&
                     segment->blocks != log->block)))
        recycle_block(log, segment);
    if (done) {
        CHECK(log->images == segment && segment->next_image != NULL);
        log->images = segment->next_image;
        atomic_store(&segment->in_memory, false);
    }
}

/* Append lock.  False: everything closed is written. */
static bool take_step(struct log *log, struct step *step) {
    struct log_segment *segment = log->images;
    uint64_t end;

    if (segment->sealed && segment->written == segment->closed) { /* sealed after its last write */
        drop_written(log, segment);
        segment = log->images;
    }
    if (!segment->sealed)
        log_close_group(log);
    if (segment->written == segment->closed)
        return false;
    step->segment = segment;
    step->at = page_of(segment->written);
    step->pieces = 0;
    step->with_tail = false;
    step->lsn = 0;
    end = page_of(segment->closed);
    step->to = collect_pages(log, step, end);
    if (step->to == end) {
        if (segment->closed > end)
            copy_tail(log, step, segment->closed);
        step->to = segment->closed;
        step->lsn = segment->closed_lsn;
    }
    return true;
}

static enum status write_pages(struct log *log, const struct step *step, const unsigned char *bytes, size_t n,
                               uint64_t at) {
    enum fault_point point = at < LOG_PAGE ? FAULT_LOG_HEADER : FAULT_LOG_WRITE;
    enum status status = io_pwrite(log->config.faults, point, step->segment->fd, bytes, n, at);

    if (status == ST_OK) {
        atomic_fetch_add_explicit(&log->writes, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&log->written_bytes, n, memory_order_relaxed);
    }
    return status;
}

static enum status write_step(struct log *log, const struct step *step) {
    enum status status = ST_OK;
    uint64_t at = step->at;

    for (unsigned i = 0; i < step->pieces && status == ST_OK; i++) {
        status = write_pages(log, step, step->piece[i].bytes, step->piece[i].n, at);
        at += step->piece[i].n;
    }
    if (status == ST_OK && step->with_tail)
        status = write_pages(log, step, step->tail, LOG_PAGE, at);
    return status;
}

/* Append lock.  Blocks that a burst has left, to be freed without the lock: the ones used longest ago, since the
 * first ones are still in the processor's caches.  Done rarely enough to pay for the walk. */
static struct log_block *take_surplus(struct log *log, size_t needed) {
    struct log_block **at = &log->free_blocks, *surplus;
    size_t keep = needed + LOG_BLOCKS_KEEP;

    if (log->free_block_count <= 2 * keep)
        return NULL;
    for (size_t i = 0; i < keep; i++)
        at = &(*at)->next;
    surplus = *at;
    *at = NULL;
    log->block_count -= log->free_block_count - keep;
    log->free_block_count = keep;
    return surplus;
}

static void step_done(struct log *log, const struct step *step) {
    struct log_block *surplus;

    if (atomic_load_explicit(&log->stalled, memory_order_relaxed))
        atomic_store(&log->stalled, false); /* there is room again */
    atomic_store(&step->segment->unsynced, true); /* before `written` says that there is something to sync */
    lock_take(&log->append);
    step->segment->written = step->to;
    drop_written(log, step->segment);
    surplus = take_surplus(log, log_blocks_needed(log, log->reserved));
    lock_drop(&log->append);
    log_free_blocks(surplus);
    if (step->lsn == 0)
        return;
    (void)fault_hit(log->config.faults, FAULT_LOG_WRITTEN);
    if (step->lsn > log_written(log) && !atomic_load(&log->failed)) {
        atomic_store(&log->written, step->lsn);
        log_publish(log);
        if (step->lsn >= atomic_load(&log->wake_at))
            log_sync_kick(log);
    }
}

static void step_failed(struct log *log, const struct step *step, enum status status) {
    if (status != ST_NO_SPACE) {
        log_fail(log, "writing", step->segment->seq);
        return;
    }
    if (!atomic_exchange(&log->stalled, true)) {
        log_warn(log->config.logger, "%s/%016llx: writing failed: %m; tried again until there is room",
                 log->config.dir_name, (unsigned long long)step->segment->seq);
        log_sync_kick(log);
        log_room_tell(log);
    }
}

static enum status timed_step(struct log *log, const struct step *step) {
    uint64_t begun = clock_micros(), now;
    enum status status = write_step(log, step);

    now = clock_micros();
    if (now - begun > log->slow_micros)
        atomic_store(&log->slow_until, now + CALM_MICROS);
    return status;
}

/* The token is held.  Writes what is appended now; `even_idle`: until nothing is left, attest-only groups too. */
static enum status write_round(struct log *log, bool even_idle) {
    uint64_t upto = log_last(log);
    struct step step;

    while (!atomic_load(&log->failed)) {
        bool more;
        enum status status;

        lock_take(&log->append);
        more = take_step(log, &step);
        lock_drop(&log->append);
        if (!more)
            return ST_OK;
        status = timed_step(log, &step);
        if (status != ST_OK) {
            step_failed(log, &step, status);
            return status;
        }
        step_done(log, &step);
        if (!even_idle && log_written(log) >= upto)
            return ST_OK;
    }
    return ST_READ_ONLY;
}

/* True: `rounds` have been used up and there is still more. */
static bool write_rounds(struct log *log, bool even_idle, unsigned rounds) {
    while (even_idle || log_last(log) > log_written(log)) {
        enum status status;

        if (rounds-- == 0)
            return true;
        if (atomic_load(&log->failed) || atomic_exchange(&log->token, true))
            break;
        status = write_round(log, even_idle);
        atomic_exchange(&log->token, false);
        if (status != ST_OK)
            break;
        even_idle = false;
    }
    return false;
}

void log_write_out(struct log *log, bool even_idle) {
    (void)write_rounds(log, even_idle, UINT_MAX);
}

static void kick_writer(struct log *log) {
    lock_take(&log->sync);
    log->writer_work = true;
    cond_signal(&log->writer_wake);
    lock_drop(&log->sync);
}

static bool writing_is_slow(struct log *log) {
    uint64_t until = atomic_load_explicit(&log->slow_until, memory_order_relaxed);
    return until != 0 && clock_micros() < until;
}

void log_write(struct log *log) {
    CHECK_OBJ(log, LOG_MAGIC);
    if (log_last(log) > log_written(log) && !atomic_load(&log->stalled))
        if (writing_is_slow(log) || write_rounds(log, false, WORKER_ROUNDS))
            kick_writer(log);
    log_room_check(log);
}

/* ---- the writer thread ---- */

static void *writer_main(void *arg) {
    struct log *log = arg;

    CHECK_OBJ(log, LOG_MAGIC);
    lock_take(&log->sync);
    while (!log->writer_stop) {
        if (!log->writer_work) {
            cond_wait(&log->writer_wake, &log->sync);
            continue;
        }
        log->writer_work = false;
        lock_drop(&log->sync);
        if (!atomic_load(&log->stalled))
            log_write_out(log, false);
        log_room_check(log);
        lock_take(&log->sync);
    }
    lock_drop(&log->sync);
    return NULL;
}

enum status log_writer_start(struct log *log) {
    enum status status = thread_start(&log->writer_thread, "log-writer", writer_main, log);

    log->writer_running = status == ST_OK;
    return status;
}

void log_writer_stop(struct log *log) {
    if (!log->writer_running)
        return;
    lock_take(&log->sync);
    log->writer_stop = true;
    cond_signal(&log->writer_wake);
    lock_drop(&log->sync);
    thread_join(log->writer_thread);
    log->writer_running = false;
}
