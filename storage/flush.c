/* SPDX-License-Identifier: BSD-3-Clause */
/* flush_all.
 *
 * A flush is one log record; its LSN F kills everything below it, in RAM by comparison, on disk by a new tree that the
 * tree thread puts in place.  All stripe locks are held while it is appended and published, so no write derived from
 * older data can slip above it.  A delayed one is logged when asked for and again, as a plain flush, when it fires;
 * a plain flush cancels a pending one (memcached's rule: there is one horizon, the last one set).
 *
 * The record's log room is set aside beforehand, since a flush that fires has no client to be told to wait. */
#include "src/base/check.h"
#include "storage/store_internal.h"

struct pending_flush flush_pending(struct store *store) {
    struct pending_flush pending;

    lock_take(&store->flush_lock);
    pending = store->pending;
    lock_drop(&store->flush_lock);
    return pending;
}

void flush_set_pending(struct store *store, struct pending_flush pending) {
    lock_take(&store->flush_lock);
    store->pending = pending;
    atomic_store_explicit(&store->flush_due, pending.at, memory_order_release);
    lock_drop(&store->flush_lock);
}

/* All stripe locks are held and the record's room is there. */
static uint64_t append_flush(struct store *store, int64_t at) {
    struct log_record record = {.op = at ? LOG_FLUSH_AT : LOG_FLUSH, .exptime = at};
    uint64_t lsn;

    record.value_sum = log_value_sum(store->log, record.value);
    lsn = log_append(store->log, &record);
    if (at == 0) {
        table_flush(store->table, lsn);
        atomic_fetch_add_explicit(&store->flushes, 1, memory_order_relaxed);
    }
    flush_set_pending(store, (struct pending_flush){at, lsn});
    return lsn;
}

void flush_tick(struct store *store, int64_t now) {
    int64_t due = atomic_load_explicit(&store->flush_due, memory_order_acquire);
    size_t room = log_record_room(0, 0);
    bool fired = false;

    if (due == 0 || due > now)
        return;
    table_lock_all(store->table);
    due = atomic_load_explicit(&store->flush_due, memory_order_relaxed);
    if (due != 0 && due <= now) { /* nobody was faster */
        if (store->flush_room == 0 && log_reserve(store->log, room) == ST_OK)
            store->flush_room = room;
        if (store->flush_room != 0) {
            store->flush_room = 0;
            append_flush(store, 0);
            fired = true;
        }
    }
    table_unlock_all(store->table);
    if (fired)
        treejob_kick(store);
}

enum store_progress store_flush(struct session *session, struct store_op *op, int64_t when) {
    struct store *store = session->store;
    size_t room = log_record_room(0, 0);

    CHECK_OBJ(session, SESSION_MAGIC);
    if (op->state.parked_for_room)
        session->parked--;
    op->state.parked_for_room = false;
    op->ticket.inbox = session->inbox;
    op->stamp = 0;
    op->status = room_get(session, op, 2 * room, true); /* one for now, one to keep for a flush that fires later */
    if (op->status == ST_AGAIN)
        return STORE_PARKED;
    if (op->status != ST_OK)
        return STORE_DONE;
    table_lock_all(store->table);
    if (store->flush_room == 0) {
        store->flush_room = room;
        session->room -= room;
    }
    session->room -= room;
    op->stamp = append_flush(store, when > session->now ? when : 0);
    table_unlock_all(store->table);
    treejob_kick(store);
    return STORE_DONE;
}
