/* SPDX-License-Identifier: BSD-3-Clause */
/* store_internal: what the files behind store.h share.
 *
 * store.c      opening, closing, figures
 * operation.c  sessions and the engine of reads and read-modify-writes
 * room.c       admission of writers: log room, the DIRTY budget, who waits
 * flush.c      flush_all, now and delayed
 * treejob.c    the tree thread: flushes, checkpoints, expiry
 * checkpoint.c one checkpoint
 * recover.c    the replay at start
 * scan.c       pages of items in key order */
#ifndef COFFER_STORAGE_STORE_INTERNAL_H
#define COFFER_STORAGE_STORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "src/base/hash.h"
#include "src/base/lock.h"
#include "storage/log.h"
#include "storage/readers.h"
#include "storage/store.h"
#include "storage/table.h"
#include "storage/tree.h"

enum { STORE_MAGIC = 0x5704e001, SESSION_MAGIC = 0x5e551001 };

/* A delayed flush that waits for its time, and the record that asked for it. */
struct pending_flush {
    int64_t at; /* wall seconds; 0 = none */
    uint64_t lsn;
};

struct store {
    unsigned magic;

    /* constant after store_open */
    struct store_config config;
    char *dir_name, *log_dir_name;
    int dir, log_dir, lock_file;
    struct hash_secret secret;
    struct table *table;
    struct log *log;
    struct tree *tree;
    struct readers *readers;
    pthread_t tree_thread;
    bool tree_thread_runs;

    atomic_bool hurried; /* nobody waits for room any more */

    /* room.c; under wait_lock */
    struct lock wait_lock;
    struct store_op *waiting; /* parked for room, in no order */
    uint64_t room_epoch;      /* counts the moments at which room may have appeared; read without the lock too */

    /* flush.c; flush_lock is taken inside the stripe locks */
    struct lock flush_lock;
    struct pending_flush pending; /* under flush_lock */
    _Atomic int64_t flush_due;    /* pending.at, for a look without the lock */
    size_t flush_room;            /* log room kept for one flush record; under all stripe locks */

    /* the tree thread; under job_lock */
    struct lock job_lock;
    struct cond job_wanted, job_done;
    bool stop;
    uint64_t checkpoints_asked, checkpoints_ended;
    enum status checkpoint_result;
    _Atomic bool job_kicked; /* a worker has asked already */

    /* owned by the tree thread (by the opening thread before it runs, by the closing one after) */
    uint64_t last_checkpoint_micros; /* monotonic: when it ended */
    uint64_t grace_until_micros;     /* nothing is deleted by expiry before */
    enum status sweep_failed;        /* of the last sweep */

    /* atomic */
    _Atomic uint64_t memory;
    _Atomic int checkpoint_failed; /* enum status of the last checkpoint */
    _Atomic uint64_t checkpoints, checkpoint_items, checkpoint_micros, checkpoint_failures;
    _Atomic uint64_t reclaimed, flushes, room_waits, cold_inline;
    _Atomic uint64_t applied;
    atomic_bool ballast; /* it is there */
    atomic_bool freeing; /* deletes or flushes on a full disk want the ballast */
    _Atomic uint64_t deadline_micros; /* monotonic: the store is being closed, and no chunk begins after; 0 = none */

    /* written once, by recovery */
    struct log_findings findings;
    uint64_t recovery_micros;
};

struct session {
    unsigned magic;
    struct store *store;
    struct inbox *inbox;
    struct tree_reader *reader;
    void (*on_mark)(void *arg);
    void *arg;
    struct log_waiter waiter;
    bool awaiting;  /* on_mark is owed */
    int64_t now;    /* coarse wall seconds */
    size_t room;    /* bytes of log reserved and not used */
    unsigned probe; /* counts inline reads: each 64th goes to the pool */
    unsigned parked;
};

/* ---- room.c ---- */

/* Makes sure that the session has `bytes` of log room and that the DIRTY budget admits a write; one that `frees` space
 * (delete, flush) is admitted on a full disk, too.  No lock may be held.
 * ST_AGAIN: the operation was parked (its ticket will be delivered). */
enum status room_get(struct session *session, struct store_op *op, size_t bytes, bool frees) MUST_CHECK;
/* Gives back what the session holds. */
void room_return(struct session *session);
/* Room may have appeared: delivers every parked operation.  Any thread, no lock held. */
void room_wake(struct store *store);

/* ---- flush.c ---- */

/* Fires a delayed flush whose time has come.  Cheap when there is none.  No lock held. */
void flush_tick(struct store *store, int64_t now);
struct pending_flush flush_pending(struct store *store);
void flush_set_pending(struct store *store, struct pending_flush pending);

/* ---- treejob.c ---- */

enum status treejob_start(struct store *store) MUST_CHECK;
void treejob_stop(struct store *store);
/* Wakes the tree thread to look for work; any thread. */
void treejob_kick(struct store *store);
/* The bounds at which a checkpoint starts by itself. */
bool treejob_pressing(const struct store *store);
/* now, or 0 while nothing may be deleted by expiry. */
int64_t treejob_expiry_now(const struct store *store);

/* ---- checkpoint.c: on the thread that owns the tree ---- */

struct checkpoint_limits {
    uint64_t upto;            /* everything up to this LSN is in RAM or in the tree already: becomes `applied` */
    bool replaying;           /* at start: the log is durable and must not be recycled yet */
};
/* ST_AGAIN: store->deadline_micros has passed; what is through is in the tree, applied stays. */
enum status checkpoint_run(struct store *store, const struct checkpoint_limits *limits) MUST_CHECK;
/* Puts a new, empty tree in place when a flush was logged that the tree does not know; else does nothing. */
enum status checkpoint_replace_tree(struct store *store, bool replaying) MUST_CHECK;

/* ---- recover.c ---- */

enum status recover_run(struct store *store) MUST_CHECK;

#endif
