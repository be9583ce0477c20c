/* SPDX-License-Identifier: BSD-3-Clause */
/* Admission of writers.
 *
 * A write needs log room (reserved in bulk per session, in segments that already exist) and must find the DIRTY bytes
 * below half of the memory budget.  When either lacks it is parked, and runs again when a checkpoint chunk, a
 * recycled segment or a prepared one may have made room.  The epoch closes the gap between looking and parking: who
 * finds it changed does not park but looks again.
 *
 * Deletes and flushes are the way out of a full disk.  While checkpoints fail for want of space they may exceed the
 * DIRTY budget, and the ballast is given up for them; for other writes it is not, or they would eat it up. */
#include "src/base/check.h"
#include "storage/store_internal.h"

enum { ROOM_BULK = 128 << 10 }; /* large against a record, small against a segment */

static uint64_t room_epoch(struct store *store) {
    return __atomic_load_n(&store->room_epoch, __ATOMIC_ACQUIRE);
}

void room_return(struct session *session) {
    if (session->room > 0)
        log_unreserve(session->store->log, session->room);
    session->room = 0;
}

void room_wake(struct store *store) {
    struct store_op *op;

    lock_take(&store->wait_lock);
    __atomic_add_fetch(&store->room_epoch, 1, __ATOMIC_RELEASE);
    op = store->waiting;
    store->waiting = NULL;
    lock_drop(&store->wait_lock);
    while (op != NULL) {
        struct store_op *next = op->state.next;
        inbox_post(&op->ticket);
        op = next;
    }
}

/* ST_AGAIN when parked, ST_OK when the epoch has moved and it is worth looking again. */
static enum status room_park(struct session *session, struct store_op *op, uint64_t epoch) {
    struct store *store = session->store;
    enum status status = ST_OK;

    room_return(session); /* who waits holds nothing that another could use */
    lock_take(&store->wait_lock);
    if (__atomic_load_n(&store->room_epoch, __ATOMIC_RELAXED) == epoch) {
        op->state.parked_for_room = true;
        op->state.next = store->waiting;
        store->waiting = op;
        session->parked++;
        status = ST_AGAIN;
    }
    lock_drop(&store->wait_lock);
    if (status == ST_AGAIN) {
        atomic_fetch_add_explicit(&store->room_waits, 1, memory_order_relaxed);
        treejob_kick(store);
    }
    return status;
}

void store_hurry(struct store *store) {
    CHECK_OBJ(store, STORE_MAGIC);
    atomic_store(&store->hurried, true);
    room_wake(store);
}

static bool dirty_over_budget(const struct store *store) {
    uint64_t memory = atomic_load_explicit(&store->memory, memory_order_relaxed);
    return table_bytes_dirty(store->table) > memory / 2;
}

static enum status room_reserve(struct session *session, size_t bytes) {
    struct log *log = session->store->log;
    size_t bulk = ROOM_BULK;
    enum status status;

    if (session->room >= bytes)
        return ST_OK;
    if (bulk > session->store->config.log_segment / 32)
        bulk = session->store->config.log_segment / 32;
    status = log_reserve(log, bytes - session->room + bulk);
    if (status == ST_OK) {
        session->room = bytes + bulk;
        return ST_OK;
    }
    if (status == ST_AGAIN) { /* not in bulk; perhaps just this one */
        status = log_reserve(log, bytes - session->room);
        if (status == ST_OK)
            session->room = bytes;
    }
    return status;
}

/* Makes the tree thread give up the ballast; false: there is none. */
static bool ask_for_ballast(struct store *store) {
    if (!atomic_load_explicit(&store->ballast, memory_order_relaxed))
        return false;
    if (!atomic_exchange(&store->freeing, true))
        store_checkpoint_soon(store);
    return true;
}

enum status room_get(struct session *session, struct store_op *op, size_t bytes, bool frees) {
    struct store *store = session->store;
    enum status status;

    for (;;) {
        uint64_t epoch = room_epoch(store);
        enum status failed = (enum status)atomic_load_explicit(&store->checkpoint_failed, memory_order_relaxed);
        bool exceeds = frees && failed == ST_NO_SPACE;

        status = log_health(store->log);
        if (status != ST_OK)
            return status;
        status = dirty_over_budget(store) && !exceeds ? ST_AGAIN : room_reserve(session, bytes);
        if ((exceeds || (frees && status == ST_NO_SPACE && failed == ST_OK)) && ask_for_ballast(store) &&
            status == ST_NO_SPACE) {
            status = ST_AGAIN;
            failed = ST_OK; /* the next checkpoint has room */
        }
        if (status != ST_AGAIN)
            return status;
        /* Waiting for a checkpoint that cannot succeed would be waiting for ever. */
        status = failed;
        if (status == ST_OK && atomic_load_explicit(&store->hurried, memory_order_relaxed))
            status = ST_BUSY;
        if (status != ST_OK)
            return status;
        status = room_park(session, op, epoch);
        if (status != ST_OK)
            return status;
    }
}
