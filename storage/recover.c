/* SPDX-License-Identifier: BSD-3-Clause */
/* The replay at start: log records above `applied` become DIRTY items again.
 *
 * log_open has found the log's end and made everything up to it durable.  Nothing is applied to the tree before the
 * replay has passed M (the tree may hold newer records than the ones being replayed, and tree plus log is consistent
 * only from M on), so until then the DIRTY budget may be exceeded; after that, checkpoints are run in between.  On a
 * full disk they are not, and what the log holds stays in RAM: a store that filled its disk must start. */
#include "src/base/check.h"
#include "storage/ballast.h"
#include "storage/item.h"
#include "storage/store_internal.h"

enum { PROGRESS_MICROS = 3 * 1000 * 1000 };

struct replay {
    struct store *store;
    uint64_t m;
    uint64_t done, reported_micros;
    bool full; /* a checkpoint found no space: no more are tried */
};

static enum status replay_item(struct store *store, const struct log_record *record) {
    uint64_t hash = table_hash(store->table, record->key);
    struct stripe *stripe;
    struct item *item;
    enum status status;

    if (record->op == LOG_DELETE) {
        status = item_create_tombstone(&item, record->key);
    } else {
        status = item_create(&item, record->key, record->value.n);
        if (status == ST_OK) {
            if (record->value.n > 0)
                memcpy(item_body(item), record->value.p, record->value.n);
            item_set(item, record->flags, record->exptime, record->marks);
        }
    }
    if (status != ST_OK)
        return status;
    if (record->cas != 0)
        status = item_set_cas(&item, record->cas);
    if (status != ST_OK) {
        item_unref(&item);
        return status;
    }
    item->lsn = record->lsn;
    stripe = table_lock(store->table, hash);
    stripe_publish(stripe, hash, item, false);
    table_unlock(stripe);
    return ST_OK;
}

static void replay_flush(struct store *store, const struct log_record *record) {
    table_lock_all(store->table);
    if (record->op == LOG_FLUSH)
        table_flush(store->table, record->lsn);
    flush_set_pending(store,
                      (struct pending_flush){record->op == LOG_FLUSH ? 0 : record->exptime, record->lsn});
    table_unlock_all(store->table);
}

/* Brings what was replayed up to this LSN into the tree. */
static enum status relieve(struct replay *replay, uint64_t lsn) {
    struct store *store = replay->store;
    struct checkpoint_limits limits = {.upto = lsn, .replaying = true};
    enum status status = checkpoint_run(store, &limits);

    if (status != ST_NO_SPACE)
        return status;
    replay->full = true;
    log_warn(store->config.logger,
             "recovery: the disk is full; what the log holds stays in memory until there is room");
    return ST_OK;
}

static enum status replay_record(void *arg, const struct log_record *record) {
    struct replay *replay = arg;
    struct store *store = replay->store;
    enum status status = ST_OK;

    if (record->op == LOG_FLUSH || record->op == LOG_FLUSH_AT)
        replay_flush(store, record);
    else
        status = replay_item(store, record);
    replay->done++;
    if (status == ST_OK && record->lsn >= replay->m && !replay->full &&
        table_bytes_dirty(store->table) > store->config.memory / 2)
        status = relieve(replay, record->lsn);
    if (replay->done % 4096 == 0 && clock_micros() - replay->reported_micros > PROGRESS_MICROS) {
        replay->reported_micros = clock_micros();
        log_info(store->config.logger, "recovery: %llu of %llu log records (%llu %%)",
                 (unsigned long long)replay->done, (unsigned long long)store->findings.records,
                 (unsigned long long)(replay->done * 100 / (store->findings.records + 1)));
    }
    return status;
}

/* If the wall clock is more than a day ahead of what it was, it may be wrong: expired items are misses, but nothing is
 * deleted for an hour, so that an operator can mend the clock. */
static void check_clock(struct store *store, int64_t last_wall) {
    int64_t now = clock_wall(store->config.clock);

    if (last_wall != 0 && now - last_wall > 24 * 3600) {
        store->grace_until_micros = clock_micros() + 3600ULL * 1000 * 1000;
        log_warn(store->config.logger,
                 "the clock is %lld hours ahead of when this store last ran: expired items are misses, but none is "
                 "deleted for an hour, in case the clock is wrong",
                 (long long)(now - last_wall) / 3600);
    } else if (last_wall - now > 60) {
        log_warn(store->config.logger,
                 "the clock is %lld seconds behind of when this store last ran: items live that much longer",
                 (long long)(last_wall - now));
    }
}

enum status recover_run(struct store *store) {
    uint64_t begun = clock_micros();
    struct replay replay = {.store = store, .reported_micros = begun};
    struct tree_marks marks;
    enum status status;

    tree_get_marks(store->tree, &marks);
    replay.m = marks.m;
    table_lock_all(store->table);
    table_flush(store->table, marks.birth);
    table_unlock_all(store->table);
    flush_set_pending(store, (struct pending_flush){marks.flush_at, marks.applied});
    atomic_store(&store->applied, marks.applied);
    check_clock(store, marks.wall);
    (void)fault_hit(store->config.faults, FAULT_RECOVERY_SCANNED);
    status = log_replay(store->log, marks.applied, replay_record, &replay);
    if (status != ST_OK)
        return status;
    status = log_start(store->log);
    if (status == ST_NO_SPACE && ballast_release(store))
        status = log_start(store->log);
    if (status != ST_OK)
        return status;
    (void)fault_hit(store->config.faults, FAULT_RECOVERY_REPLAYED);
    log_applied(store->log, atomic_load(&store->applied));
    ballast_look(store);
    flush_tick(store, clock_wall(store->config.clock));
    store->recovery_micros = clock_micros() - begun;
    log_info(store->config.logger, "recovery: %llu items in the tree, %llu log records replayed (%.1f MB) in %.3f s%s",
             (unsigned long long)tree_items(store->tree), (unsigned long long)replay.done,
             (double)store->findings.bytes / 1e6, (double)store->recovery_micros / 1e6,
             store->findings.clean ? ", clean stop" : "");
    return ST_OK;
}
