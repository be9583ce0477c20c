/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions, and the engine that runs one operation on one key.
 *
 * A write happens in one critical section under the key's stripe lock: look at the live version, let the caller
 * decide, append to the log (which gives the LSN), publish DIRTY.  So log order equals memory order for each key.
 * What must not happen under the lock happens before it, and the section starts again: reading the tree, waiting for
 * room, building a large value.
 *
 * A tree result is used only under the stripe lock, when the key is still not in RAM and the snapshot's number has
 * reached the stripe's floor; else it is read again (DESIGN section 5, floor check). */
#include <stdlib.h>

#include "src/base/check.h"
#include "storage/item.h"
#include "storage/store_internal.h"

enum {
    BUILD_LOCKED_MAX = 4096, /* values up to this are rebuilt under the lock: a copy of some hundred ns */
    BUILD_TRIES = 3,         /* then large ones are too, so that a busy key cannot starve its writer */
    PROBE_EVERY = 64,
};

/* A read that a pool thread does for a parked operation. */
struct cold_job {
    struct reader_job job;
    struct store_op *op;
};

/* What a look under the stripe lock has found. */
enum view { VIEW_LIVE, VIEW_ABSENT, VIEW_UNKNOWN /* not in RAM, tree not read or read too early */ };

struct look {
    enum view view;
    struct item *ram;        /* the version in RAM, of any kind; NULL */
    const struct item *live; /* with VIEW_LIVE: in RAM or the cold one */
    bool in_tree;            /* the tree was read, and holds a version that no flush has killed */
    uint64_t seen;           /* highest LSN that the answer rests on */
};

/* ---- sessions ---- */

static void mark_reached(struct ticket *ticket) {
    struct log_waiter *waiter = (struct log_waiter *)ticket; /* its first member */
    struct session *session = (struct session *)((char *)waiter - offsetof(struct session, waiter));

    CHECK_OBJ(session, SESSION_MAGIC);
    session->awaiting = false;
    session->on_mark(session->arg);
}

enum status session_open(struct session **out, struct store *store, struct inbox *inbox, void (*on_mark)(void *arg),
                         void *arg) {
    struct session *session = calloc(1, sizeof *session);
    enum status status = ST_NO_MEMORY;

    CHECK_OBJ(store, STORE_MAGIC);
    if (session == NULL)
        goto out;
    session->magic = SESSION_MAGIC;
    session->store = store;
    session->inbox = inbox;
    session->on_mark = on_mark;
    session->arg = arg;
    session->waiter.ticket.inbox = inbox;
    session->waiter.ticket.deliver = mark_reached;
    session->now = clock_wall(store->config.clock);
    status = tree_reader_open(&session->reader, store->tree);
    if (status != ST_OK) {
        free(session);
        session = NULL;
    }
out:
    *out = session;
    return status;
}

void session_close(struct session **out) {
    struct session *session = *out;

    if (session == NULL)
        return;
    CHECK_OBJ(session, SESSION_MAGIC);
    CHECK(session->parked == 0);
    log_await_cancel(session->store->log, &session->waiter);
    if (session->awaiting) /* its ticket may be in the inbox already */
        inbox_drain(session->inbox);
    room_return(session);
    tree_reader_close(&session->reader);
    session->magic = 0;
    free(session);
    *out = NULL;
}

int64_t session_tick(struct session *session) {
    session->now = clock_wall(session->store->config.clock);
    flush_tick(session->store, session->now);
    return session->now;
}

_Static_assert((unsigned)STORE_EXPECT_MAX <= (unsigned)TABLE_FETCH_MAX, "what is expected can be fetched");

void session_expect(struct session *session, const struct slice *keys, unsigned count) {
    table_fetch(session->store->table, keys, count);
}

void session_commit(struct session *session) {
    struct store *store = session->store;

    log_write(store->log);
    table_reclaim(store->table);
    if (treejob_pressing(store))
        treejob_kick(store);
}

uint64_t store_mark(const struct store *store) {
    return log_mark(store->log);
}

void session_await(struct session *session, uint64_t stamp) {
    if (session->awaiting)
        return;
    session->awaiting = true;
    log_await(session->store->log, &session->waiter, stamp);
}

enum status store_health(const struct store *store) {
    return log_health(store->log);
}

/* ---- cold reads ---- */

static void cold_forget(struct store_op *op) {
    item_unref(&op->state.cold);
    op->state.cold_number = 0;
}

static enum status cold_read(struct store_op *op, struct tree_reader *reader) {
    uint64_t birth; /* records of a tree from before a flush are dead by their LSNs */

    cold_forget(op);
    return tree_get(reader, op->key, &op->state.cold, &op->state.cold_number, &birth);
}

static void cold_run(struct reader_job *job, struct tree_reader *reader) {
    struct cold_job *cold = (struct cold_job *)job; /* its first member */

    cold->op->state.failed = cold_read(cold->op, reader);
}

/* Reads the tree here while it is hot, else parks for the pool.  False: parked. */
static bool cold_fetch(struct session *session, struct store_op *op) {
    struct store *store = session->store;
    struct cold_job *cold = NULL;

    if (!readers_inline_ok(store->readers) || ++session->probe % PROBE_EVERY == 0)
        cold = calloc(1, sizeof *cold);
    if (cold == NULL) {
        op->state.failed = cold_read(op, session->reader);
        atomic_fetch_add_explicit(&store->cold_inline, 1, memory_order_relaxed);
        return true;
    }
    cold->op = op;
    cold->job.run = cold_run;
    cold->job.ticket = &op->ticket;
    op->state.cold_job = cold;
    session->parked++;
    readers_submit(store->readers, &cold->job);
    return false;
}

/* ---- looking ---- */

static struct look look_cold(struct store_op *op, struct stripe *stripe, uint64_t flush_lsn, int64_t now) {
    struct look look = {.view = VIEW_UNKNOWN, .seen = flush_lsn};
    const struct item *cold = op->state.cold;

    if (op->state.cold_number == 0)
        return look;
    if (op->state.cold_number < stripe_floor(stripe)) { /* too old to trust */
        cold_forget(op);
        return look;
    }
    look.in_tree = cold != NULL && cold->lsn >= flush_lsn;
    if (!look.in_tree || item_expired(cold, now)) {
        look.view = VIEW_ABSENT;
        return look;
    }
    look.view = VIEW_LIVE;
    look.live = cold;
    return look;
}

static struct look look_at(struct session *session, struct store_op *op, struct stripe *stripe, uint64_t hash) {
    uint64_t flush_lsn = table_flush_lsn(session->store->table);
    struct item *ram = stripe_find(stripe, hash, op->key);
    struct look look = {.ram = ram};

    if (ram == NULL)
        return look_cold(op, stripe, flush_lsn, session->now);
    look.seen = ram->lsn;
    if (ram->kind == ITEM_TOMBSTONE || item_expired(ram, session->now)) {
        look.view = VIEW_ABSENT;
        return look;
    }
    look.view = VIEW_LIVE;
    look.live = ram;
    return look;
}

static void note_access(const struct session *session, struct store_op *op, const struct item *item) {
    op->was_fetched = item->fetched;
    op->idle = item->access ? (uint32_t)session->now - item->access : 0;
}

/* Gives the live version to the caller, counting the access, and keeps a cold one in RAM. */
static void take_live(struct session *session, struct store_op *op, struct stripe *stripe, uint64_t hash,
                      const struct look *look) {
    struct item *item = (struct item *)look->live;

    item_ref(item); /* the caller's */
    op->item = item;
    note_access(session, op, item);
    if (look->ram == NULL) {
        op->state.cold = NULL; /* its reference becomes the table's */
        op->state.cold_number = 0;
        stripe_fill(stripe, hash, item);
    }
    if (!op->quiet_access && item->queue != ITEM_NOWHERE)
        stripe_hit(stripe, item, session->now);
}

/* ---- the end of an operation ---- */

static enum store_progress finish(struct store_op *op, enum status status) {
    if (status != ST_OK)
        op->verdict = STORE_KEEP;
    op->status = status;
    cold_forget(op);
    item_unref(&op->fresh);
    return STORE_DONE;
}

static void append_and_publish(struct session *session, struct store_op *op, struct stripe *stripe, uint64_t hash,
                               struct item *item, uint64_t value_sum, bool in_tree) {
    struct log_record record = {
        .op = item->kind == ITEM_TOMBSTONE ? LOG_DELETE : LOG_SET,
        .marks = item->marks,
        .flags = item->flags,
        .exptime = item->exptime,
        .cas = item->has_cas ? item_cas(item) : 0,
        .key = item_key(item),
        .value = item_value(item),
        .value_sum = value_sum,
    };

    session->room -= log_record_room(record.key.n, record.value.n);
    item->lsn = log_append(session->store->log, &record);
    item->access = (uint32_t)session->now;
    op->stamp = item->lsn;
    op->cas = item->kind == ITEM_TOMBSTONE ? 0 : item_cas(item);
    if (op->want_item && item->kind == ITEM_VALUE) {
        item_ref(item);
        op->item = item;
    }
    stripe_publish(stripe, hash, item, in_tree);
}

/* ---- reads ---- */

static enum store_progress run_read(struct session *session, struct store_op *op, uint64_t hash) {
    struct store *store = session->store;

    for (;;) {
        struct stripe *stripe = table_lock(store->table, hash);
        struct look look = look_at(session, op, stripe, hash);

        if (look.view == VIEW_LIVE)
            take_live(session, op, stripe, hash, &look);
        table_unlock(stripe);
        if (look.view != VIEW_UNKNOWN) {
            op->stamp = look.seen;
            op->cas = op->item ? item_cas(op->item) : 0;
            if (op->item && op->item->lsn > op->stamp)
                op->stamp = op->item->lsn;
            return finish(op, ST_OK);
        }
        if (!cold_fetch(session, op))
            return STORE_PARKED;
        if (op->state.failed != ST_OK)
            return finish(op, op->state.failed);
    }
}

/* ---- writes ---- */

/* Steps of one try under the lock: what to do after it was dropped. */
enum step {
    STEP_DONE,
    STEP_READ_TREE, /* the old version is needed and not known */
    STEP_BUILD,     /* op->fresh must be built from `base` without the lock */
    STEP_ROOM,      /* attempt->room bytes of log room are needed */
    STEP_FAILED,    /* op->state.failed */
};

/* What survives from one try to the next. */
struct attempt {
    size_t room;         /* to have before the next try */
    struct item *base;   /* the version that op->fresh was built from without the lock (a reference); NULL: none */
    bool built;          /* op->fresh was built by op->build, not given by the caller */
    uint64_t value_sum;  /* of op->fresh's value */
    bool value_sum_known;
};

static void drop_built(struct store_op *op, struct attempt *attempt) {
    if (attempt->built) {
        item_unref(&op->fresh);
        attempt->value_sum_known = false;
    }
    attempt->built = false;
    item_unref(&attempt->base);
}

static void sum_fresh(struct session *session, struct store_op *op, struct attempt *attempt) {
    if (op->fresh != NULL && !attempt->value_sum_known) {
        attempt->value_sum = log_value_sum(session->store->log, item_value(op->fresh));
        attempt->value_sum_known = true;
    }
}

static enum step put_locked(struct session *session, struct store_op *op, struct stripe *stripe, uint64_t hash,
                            const struct look *look, struct attempt *attempt) {
    struct item *fresh;
    size_t room;

    if (op->build != NULL && attempt->built && attempt->base != look->live)
        drop_built(op, attempt); /* somebody was faster */
    if (op->build != NULL && !attempt->built) {
        if (look->live != NULL && look->live->value_bytes > BUILD_LOCKED_MAX && op->state.tries < BUILD_TRIES) {
            op->state.tries++;
            attempt->base = (struct item *)look->live;
            item_ref(attempt->base);
            return STEP_BUILD;
        }
        op->state.failed = op->build(op, look->live);
        if (op->state.failed != ST_OK)
            return STEP_FAILED;
        CHECK(op->fresh != NULL);
        attempt->built = true;
        attempt->value_sum_known = false;
        if (look->live != NULL) {
            attempt->base = (struct item *)look->live;
            item_ref(attempt->base);
        }
    }
    room = log_record_room(op->key.n, op->fresh->value_bytes);
    if (session->room < room) {
        attempt->room = room;
        return STEP_ROOM;
    }
    sum_fresh(session, op, attempt);
    fresh = op->fresh;
    op->fresh = NULL;
    if (op->build != NULL && look->live != NULL) { /* a derived version goes on with the item's accesses */
        note_access(session, op, look->live);
        fresh->fetched = look->live->fetched || op->want_item;
    }
    append_and_publish(session, op, stripe, hash, fresh, attempt->value_sum, look->in_tree);
    return STEP_DONE;
}

static enum step delete_locked(struct session *session, struct store_op *op, struct stripe *stripe, uint64_t hash,
                               const struct look *look, struct attempt *attempt) {
    size_t room = log_record_room(op->key.n, 0);
    struct item *tombstone;

    if (session->room < room) {
        attempt->room = room;
        return STEP_ROOM;
    }
    op->state.failed = item_create_tombstone(&tombstone, op->key);
    if (op->state.failed != ST_OK)
        return STEP_FAILED;
    append_and_publish(session, op, stripe, hash, tombstone, log_value_sum(session->store->log, slice_of(NULL, 0)),
                       look->in_tree);
    return STEP_DONE;
}

static enum step try_locked(struct session *session, struct store_op *op, struct stripe *stripe, uint64_t hash,
                            struct attempt *attempt) {
    struct look look = look_at(session, op, stripe, hash);

    if (look.view == VIEW_UNKNOWN && !op->blind)
        return STEP_READ_TREE;
    op->verdict = op->decide(op, look.live);
    switch (op->verdict) {
    case STORE_PUT:
        return put_locked(session, op, stripe, hash, &look, attempt);
    case STORE_DELETE:
        return delete_locked(session, op, stripe, hash, &look, attempt);
    case STORE_KEEP:
        break;
    }
    op->stamp = look.seen;
    if (look.live != NULL) {
        op->cas = item_cas(look.live);
        if (look.live->lsn > op->stamp)
            op->stamp = look.live->lsn;
        if (op->want_item)
            take_live(session, op, stripe, hash, &look);
    }
    return STEP_DONE;
}

static enum store_progress run_write(struct session *session, struct store_op *op, uint64_t hash) {
    struct store *store = session->store;
    struct attempt attempt = {.room = log_record_room(op->key.n, op->fresh ? op->fresh->value_bytes : 0)};
    bool deletes = op->fresh == NULL && op->build == NULL; /* it has nothing to put */
    enum status status = ST_OK;
    enum step step;

    for (;;) {
        struct stripe *stripe;

        status = room_get(session, op, attempt.room, deletes);
        if (status != ST_OK)
            break;
        sum_fresh(session, op, &attempt);
        stripe = table_lock(store->table, hash);
        step = try_locked(session, op, stripe, hash, &attempt);
        table_unlock(stripe);
        if (step == STEP_DONE)
            break;
        status = op->state.failed;
        if (step == STEP_FAILED)
            break;
        if (step == STEP_READ_TREE) {
            if (!cold_fetch(session, op)) {
                status = ST_AGAIN;
                break;
            }
            status = op->state.failed;
        } else if (step == STEP_BUILD) {
            status = op->build(op, attempt.base);
            attempt.built = status == ST_OK;
            attempt.value_sum_known = false;
        }
        if (status != ST_OK)
            break;
    }
    drop_built(op, &attempt);
    return status == ST_AGAIN ? STORE_PARKED : finish(op, status);
}

/* ---- entry ---- */

/* A parked operation comes back: settle what it waited for.  Its memory is the session's again. */
static void resume(struct session *session, struct store_op *op) {
    if (op->state.cold_job != NULL || op->state.parked_for_room) {
        CHECK(session->parked > 0);
        session->parked--;
    }
    free(op->state.cold_job);
    op->state.cold_job = NULL;
    op->state.parked_for_room = false;
}

enum store_progress store_run(struct session *session, struct store_op *op) {
    uint64_t hash;

    CHECK(session->magic == SESSION_MAGIC);
    CHECK(op->key.n > 0 && op->key.n <= STORE_KEY_MAX);
    resume(session, op);
    op->ticket.inbox = session->inbox;
    if (op->state.failed != ST_OK)
        return finish(op, op->state.failed);
    hash = table_hash(session->store->table, op->key);
    return op->decide == NULL ? run_read(session, op, hash) : run_write(session, op, hash);
}
