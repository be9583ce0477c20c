/* SPDX-License-Identifier: BSD-3-Clause */
/* The sync thread: what is written becomes durable.
 *
 * One pass: S = written is taken first; then every segment that was written to since its last sync is synced; when
 * all have returned, durable = S.  A segment is marked after its write has returned and before `written` covers it,
 * so nothing below S is missed.  All who wait for an LSN up to S share the pass: that is the group commit.
 *
 * When a pass is due: always: as soon as written > durable.  interval: sync_ms after the last pass began.  os: never
 * by itself.  In every mode: when log_make_durable asks, and before LOG_UNSYNCED_MAX records are unsynced, because
 * the next start continues only LOG_BASE_STEP above the last record it finds.
 *
 * A failed sync latches the log: the kernel may have dropped the pages, and a later success would prove nothing.
 *
 * The thread sleeps without a timer while nothing is to be done: writers wake it when `written` reaches wake_at.  The
 * thread sets wake_at before it looks at `written`, they move `written` before they look at wake_at. */
#include "src/base/check.h"
#include "src/base/clock.h"
#include "src/base/io.h"
#include "src/base/thread.h"
#include "storage/log_internal.h"

enum { STALL_PAUSE_MICROS = 100000, IDLE_MICROS = 100000 };

#define FOREVER UINT64_MAX

/* Sync lock, dropped while the disk works.  A segment that is being synced stays on the list. */
static enum status sync_segments(struct log *log) {
    enum status status = ST_OK;

    for (struct log_segment *segment = log->live; segment != NULL && status == ST_OK; segment = segment->next) {
        if (!atomic_exchange(&segment->unsynced, false))
            continue;
        segment->syncing = true;
        lock_drop(&log->sync);
        status = io_datasync(log->config.faults, FAULT_LOG_SYNC, segment->fd);
        if (status != ST_OK)
            log_fail(log, "syncing", segment->seq);
        lock_take(&log->sync);
        segment->syncing = false;
        segment->begun_durably |= status == ST_OK;
    }
    return status;
}

enum status log_sync_once(struct log *log) {
    uint64_t upto = log_written(log), begun = clock_micros(), took;
    enum status status = log_health(log);

    if (status != ST_OK)
        return status;
    lock_take(&log->sync);
    status = sync_segments(log);
    took = clock_micros() - begun;
    log->sync_micros_max = took > log->sync_micros_max ? took : log->sync_micros_max;
    lock_drop(&log->sync);
    if (status != ST_OK || atomic_load(&log->failed))
        return ST_READ_ONLY;
    atomic_fetch_add_explicit(&log->syncs, 1, memory_order_relaxed);
    atomic_store(&log->durable, upto);
    log_publish(log);
    lock_take(&log->sync);
    cond_broadcast(&log->durable_moved);
    if (log_can_retire(log, log->live)) { /* it may have waited for this sync */
        log->keeper_work = true;
        cond_signal(&log->keeper_wake);
    }
    lock_drop(&log->sync);
    return ST_OK;
}

void log_sync_kick(struct log *log) {
    lock_take(&log->sync);
    cond_signal(&log->sync_wake);
    lock_drop(&log->sync);
}

/* What the thread knows from one round to the next. */
struct sync_state {
    uint64_t begun;    /* of the last pass, microseconds */
    uint64_t idle_from; /* nothing has been appended since */
    uint64_t idle_last; /* the LSN it was then */
    bool told;         /* an attest-only group was written in this idle period */
};

/* Sync lock.  Microseconds until a pass is due; 0: now. */
static uint64_t pass_due(const struct log *log, const struct sync_state *state, uint64_t now) {
    uint64_t written = log_written(log), durable = log_durable(log);
    uint64_t interval = (uint64_t)log->config.sync_ms * 1000;

    if (written <= durable)
        return FOREVER;
    if (log->config.sync == STORE_SYNC_ALWAYS || log->forced > durable || written - durable >= log->unsynced_max / 2)
        return 0;
    if (log->config.sync == STORE_SYNC_OS)
        return FOREVER;
    return now - state->begun >= interval ? 0 : interval - (now - state->begun);
}

/* Sync lock.  What `written` must reach for the thread to have something new to do. */
static uint64_t wake_mark(const struct log *log) {
    uint64_t durable = log_durable(log);

    if (log->config.sync == STORE_SYNC_ALWAYS || log->forced > durable)
        return durable + 1;
    if (log->config.sync == STORE_SYNC_INTERVAL && log_written(log) <= durable)
        return durable + 1;
    return durable + log->unsynced_max / 2;
}

/* Microseconds until the idle log should attest what was synced last; 0: now. */
static uint64_t attest_due(struct log *log, struct sync_state *state, uint64_t now) {
    uint64_t last = log_last(log);

    if (last != state->idle_last) {
        state->idle_last = last;
        state->idle_from = now;
        state->told = false;
    }
    if (state->told || log_durable(log) < last)
        return FOREVER;
    return now - state->idle_from >= IDLE_MICROS ? 0 : IDLE_MICROS - (now - state->idle_from);
}

static void attest(struct log *log, struct sync_state *state) {
    state->told = true;
    if (log_attest(log))
        log_write_out(log, true);
}

/* It stays stalled, and reservations are refused, until a write has gone through. */
static void write_again(struct log *log) {
    log_write_out(log, false);
    if (log_written(log) >= log_last(log))
        atomic_store(&log->stalled, false);
    log_room_check(log);
}

/* Sync lock, dropped while it works or sleeps. */
static void sync_round(struct log *log, struct sync_state *state) {
    uint64_t now = clock_micros(), due, idle;

    atomic_store(&log->wake_at, wake_mark(log));
    due = pass_due(log, state, now);
    idle = attest_due(log, state, now);
    if (due == 0) {
        atomic_store(&log->wake_at, UINT64_MAX); /* awake anyway */
        state->begun = now;
        lock_drop(&log->sync);
        if (log_sync_once(log) == ST_OK)
            log_room_check(log);
        lock_take(&log->sync);
    } else if (idle == 0) {
        lock_drop(&log->sync);
        attest(log, state);
        lock_take(&log->sync);
    } else {
        due = due < idle ? due : idle;
        if (due == FOREVER)
            cond_wait(&log->sync_wake, &log->sync);
        else
            (void)cond_wait_for(&log->sync_wake, &log->sync, due);
    }
}

static void *sync_main(void *arg) {
    struct log *log = arg;
    struct sync_state state = {.idle_last = 0};

    CHECK_OBJ(log, LOG_MAGIC);
    lock_take(&log->sync);
    while (!log->sync_stop) {
        if (atomic_load(&log->failed)) {
            cond_wait(&log->sync_wake, &log->sync);
        } else if (atomic_load(&log->stalled)) {
            cond_broadcast(&log->durable_moved); /* who forces must not wait for an operator to make room */
            (void)cond_wait_for(&log->sync_wake, &log->sync, STALL_PAUSE_MICROS);
            lock_drop(&log->sync);
            write_again(log);
            lock_take(&log->sync);
        } else {
            sync_round(log, &state);
        }
    }
    lock_drop(&log->sync);
    return NULL;
}

enum status log_sync_start(struct log *log) {
    enum status status = thread_start(&log->sync_thread, "log-sync", sync_main, log);

    log->sync_running = status == ST_OK;
    return status;
}

void log_sync_stop(struct log *log) {
    if (!log->sync_running)
        return;
    lock_take(&log->sync);
    log->sync_stop = true;
    cond_signal(&log->sync_wake);
    lock_drop(&log->sync);
    thread_join(log->sync_thread);
    log->sync_running = false;
}

enum status log_make_durable(struct log *log, uint64_t lsn) {
    enum status status = ST_OK;

    CHECK_OBJ(log, LOG_MAGIC);
    CHECK(lsn <= log_last(log));
    while (status == ST_OK && log_durable(log) < lsn) {
        log_write(log);
        lock_take(&log->sync);
        if (lsn > log->forced)
            log->forced = lsn;
        cond_signal(&log->sync_wake);
        if (log_durable(log) < lsn && !atomic_load(&log->failed) && !atomic_load(&log->stalled))
            cond_wait(&log->durable_moved, &log->sync);
        lock_drop(&log->sync);
        if (atomic_load(&log->failed))
            status = ST_READ_ONLY;
        else if (atomic_load(&log->stalled) && log_durable(log) < lsn)
            status = ST_NO_SPACE;
    }
    return status;
}
