/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree thread: the only one that writes the tree.  It replaces the tree after a flush, runs checkpoints when
 * something presses (DIRTY bytes, log length, age) or somebody asks, and deletes what has expired in between.
 *
 * A failed job loses nothing, since the log keeps everything until a commit succeeds: it is tried again after a pause
 * that grows, and writers that would have to wait for it get its error instead. */
#include "src/base/check.h"
#include "src/base/thread.h"
#include "storage/ballast.h"
#include "storage/item.h"
#include "storage/store_internal.h"

enum {
    IDLE_MICROS = 1000 * 1000,
    PAUSE_FIRST_MICROS = 100 * 1000,
    PAUSE_LAST_MICROS = 5 * 1000 * 1000,
    SWEEP_ENTRIES = 4000, /* index entries in one transaction */
    WALL_SECONDS = 6 * 3600, /* the oldest that the wall time in the tree gets */
};

bool treejob_pressing(const struct store *store) {
    uint64_t memory = atomic_load_explicit(&store->memory, memory_order_relaxed);

    return table_bytes_dirty(store->table) > memory / 4 || log_backlog(store->log) > store->config.log_max / 3;
}

void treejob_kick(struct store *store) {
    if (atomic_exchange_explicit(&store->job_kicked, true, memory_order_acq_rel))
        return;
    lock_take(&store->job_lock);
    cond_signal(&store->job_wanted);
    lock_drop(&store->job_lock);
}

int64_t treejob_expiry_now(const struct store *store) {
    if (clock_micros() < store->grace_until_micros)
        return 0;
    return clock_wall(store->config.clock);
}

/* ---- expiry ---- */

/* A key with a DIRTY version is left to its own apply; a CLEAN copy of what is about to go leaves RAM too. */
static bool sweep_skips(void *arg, struct slice key) {
    struct store *store = arg;
    uint64_t hash = table_hash(store->table, key);
    struct stripe *stripe = table_lock(store->table, hash);
    struct item *item = stripe_find(stripe, hash, key);
    bool dirty = item != NULL && item->queue == ITEM_DIRTY;

    if (item != NULL && !dirty && item_expired(item, treejob_expiry_now(store)))
        stripe_drop(stripe, item);
    table_unlock(stripe);
    return dirty;
}

/* One transaction of expiry; *more: further entries are due. */
static enum status sweep(struct store *store, bool *more) {
    int64_t now = treejob_expiry_now(store);
    unsigned examined = 0, freed = 0;
    struct tree_marks marks;
    enum status status;

    *more = false;
    if (now == 0)
        return ST_OK;
    status = tree_txn_begin(store->tree);
    if (status != ST_OK)
        return status;
    status = tree_txn_expire(store->tree, now, SWEEP_ENTRIES, sweep_skips, store, &examined, &freed);
    if (status != ST_OK || examined == 0) {
        tree_txn_abort(store->tree);
        return status;
    }
    tree_get_marks(store->tree, &marks);
    marks.wall = clock_wall(store->config.clock);
    status = tree_txn_commit(store->tree, &marks);
    if (status == ST_OK) {
        atomic_fetch_add(&store->reclaimed, freed);
        *more = examined == SWEEP_ENTRIES;
    }
    return status;
}

/* ---- the thread ---- */

/* The next start must not take a quiet week for a wrong clock (recover.c). */
static bool wall_is_old(const struct store *store) {
    struct tree_marks marks;

    tree_get_marks(store->tree, &marks);
    return marks.wall != 0 && clock_wall(store->config.clock) - marks.wall >= WALL_SECONDS;
}

static bool checkpoint_due(struct store *store, uint64_t now_micros) {
    uint64_t period = (uint64_t)store->config.checkpoint_seconds * 1000 * 1000;

    if (treejob_pressing(store) || table_flush_lsn(store->table) > tree_birth(store->tree) || wall_is_old(store))
        return true;
    return table_bytes_dirty(store->table) > 0 && now_micros - store->last_checkpoint_micros >= period;
}

/* A failure that lasts is told once. */
static void report_failure(struct store *store, const char *what, enum status before, enum status status) {
    if (before != status)
        log_error(store->config.logger, "%s failed: %s; nothing is lost, it is tried again", what, status_text(status));
}

static enum status run_checkpoint(struct store *store) {
    struct checkpoint_limits limits = {.upto = log_last(store->log)};
    enum status before = (enum status)atomic_load(&store->checkpoint_failed);
    bool in_vain = table_bytes_dirty(store->table) == 0; /* then it gives the log no segment back */
    enum status status = checkpoint_run(store, &limits);

    if (atomic_exchange(&store->freeing, false) && (status == ST_NO_SPACE || in_vain) && ballast_release(store))
        status = checkpoint_run(store, &limits);
    if (status == ST_AGAIN) /* the store is being closed, and goes on from here */
        return status;
    atomic_store(&store->checkpoint_failed, status);
    if (status != ST_OK) {
        report_failure(store, "checkpoint", before, status);
        room_wake(store); /* who waits for it shall not wait for ever */
    } else if (before != ST_OK) {
        log_info(store->config.logger, "checkpoints work again");
    }
    return status;
}

/* It frees space, and nobody waits for it: writers need not know that it failed. */
static enum status run_sweep(struct store *store, bool *more) {
    enum status status = sweep(store, more);

    if (status == ST_NO_SPACE && ballast_release(store))
        status = sweep(store, more);
    if (status != ST_OK)
        report_failure(store, "expiry", store->sweep_failed, status);
    store->sweep_failed = status;
    return status;
}

/* What the thread knows from one round to the next. */
struct job_state {
    enum status status; /* of the last round */
    uint64_t pause;     /* after the next failure */
    uint64_t rest;      /* how long to rest now; 0: there is more to do */
};

/* One round of work, without the job lock. */
static void work(struct store *store, bool asked, struct job_state *state) {
    bool more = false;

    state->status = asked || checkpoint_due(store, clock_micros()) ? run_checkpoint(store) : ST_OK;
    if (state->status == ST_OK || state->status == ST_NO_SPACE) { /* what has expired may be the room that lacks */
        enum status swept = run_sweep(store, &more);

        if (state->status == ST_OK)
            state->status = swept;
    }
    if (state->status == ST_OK) {
        ballast_fill(store);
        state->pause = PAUSE_FIRST_MICROS;
        state->rest = more ? 0 : IDLE_MICROS;
    } else {
        state->rest = state->pause;
        state->pause = state->pause * 2 > PAUSE_LAST_MICROS ? PAUSE_LAST_MICROS : state->pause * 2;
    }
}

/* Under the job lock.  Workers kick as long as something presses: after a failure that is no reason to try again
 * sooner, since each try walks over all that is DIRTY. */
static void rest(struct store *store, const struct job_state *state) {
    uint64_t now = clock_micros(), until = now + state->rest;

    while (now < until && !store->stop && store->checkpoints_asked == store->checkpoints_ended &&
           (state->status != ST_OK || !atomic_load_explicit(&store->job_kicked, memory_order_acquire))) {
        (void)cond_wait_for(&store->job_wanted, &store->job_lock, until - now);
        now = clock_micros();
    }
}

static void *tree_thread(void *arg) {
    struct store *store = arg;
    struct job_state state = {.status = ST_OK, .pause = PAUSE_FIRST_MICROS};

    lock_take(&store->job_lock);
    while (!store->stop) {
        uint64_t asked = store->checkpoints_asked;
        bool wanted = asked > store->checkpoints_ended;

        atomic_store_explicit(&store->job_kicked, false, memory_order_release);
        lock_drop(&store->job_lock);
        work(store, wanted, &state);
        lock_take(&store->job_lock);
        if (wanted) {
            store->checkpoints_ended = asked;
            store->checkpoint_result = (enum status)atomic_load(&store->checkpoint_failed);
            cond_broadcast(&store->job_done);
        }
        rest(store, &state);
    }
    lock_drop(&store->job_lock);
    return NULL;
}

enum status treejob_start(struct store *store) {
    enum status status = thread_start(&store->tree_thread, "tree", tree_thread, store);

    store->tree_thread_runs = status == ST_OK;
    return status;
}

void treejob_stop(struct store *store) {
    if (!store->tree_thread_runs)
        return;
    lock_take(&store->job_lock);
    store->stop = true;
    cond_signal(&store->job_wanted);
    lock_drop(&store->job_lock);
    thread_join(store->tree_thread);
    store->tree_thread_runs = false;
}

/* ---- asking for a checkpoint ---- */

void store_checkpoint_soon(struct store *store) {
    lock_take(&store->job_lock);
    store->checkpoints_asked++;
    cond_signal(&store->job_wanted);
    lock_drop(&store->job_lock);
}

enum status store_checkpoint(struct store *store) {
    enum status status;
    uint64_t mine;

    lock_take(&store->job_lock);
    mine = ++store->checkpoints_asked;
    cond_signal(&store->job_wanted);
    while (store->checkpoints_ended < mine)
        cond_wait(&store->job_done, &store->job_lock);
    status = store->checkpoint_result;
    lock_drop(&store->job_lock);
    return status;
}
