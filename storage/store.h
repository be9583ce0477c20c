/* SPDX-License-Identifier: BSD-3-Clause */
/* store: the durable key-value store.  The only header of storage/ that other rooms include.
 *
 * A store lives in one directory and may be opened several times in a process on different directories.  Worker
 * threads open a session each and run operations through it; an operation is DONE at once or PARKED: then its
 * ticket is delivered to the session's inbox later and the owner calls store_run again with the same operation.
 *
 * Durability: a finished operation carries a stamp, the highest LSN that it wrote or saw.  A reply may leave when
 * store_mark() >= stamp.  At the end of each pass over its connections a worker calls session_commit(), which hands
 * the log to the OS, and session_await() for stamps that the mark has not reached.
 *
 * Keys are 1 to 250 bytes of any value (memcached's limit).  Times are absolute seconds since 1970; 0 is never. */
#ifndef COFFER_STORAGE_STORE_H
#define COFFER_STORAGE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/clock.h"
#include "src/base/fault.h"
#include "src/base/inbox.h"
#include "src/base/logger.h"
#include "src/base/slice.h"
#include "src/base/status.h"

enum { STORE_KEY_MAX = 250 };

struct store;
struct session;

/* ---- items: immutable once stored, reference counted, shared between threads ---- */

struct item;

enum item_mark {
    ITEM_STALE = 1, /* meta protocol: invalidated, kept for serving while it is recached */
    ITEM_WON = 2,   /* meta protocol: somebody was already told to recache it */
};

struct item_view {
    struct slice key;
    struct slice value; /* followed by "\r\n" in memory, so value.n + 2 bytes may be sent */
    uint32_t flags;
    int64_t exptime;
    uint64_t cas;
    uint64_t lsn;
    unsigned marks; /* enum item_mark */
};

/* A new item with a copy of the key and room for the value; the caller owns the reference. */
enum status item_create(struct item **item, struct slice key, size_t value_length) MUST_CHECK;
/* Where the value goes: value_length + 2 bytes, writable until the item is given to the store.  The last two bytes
 * are "\r\n" from item_create on; a reader may receive a data block with its line end right into place. */
char *item_body(struct item *item);
void item_set(struct item *item, uint32_t flags, int64_t exptime, unsigned marks);
/* An explicit cas instead of the LSN (meta flag E, and copies that must keep theirs); 0 = the LSN.  May move the item
 * (ask item_body again); after an error it is as before. */
enum status item_set_cas(struct item **item, uint64_t cas) MUST_CHECK;
/* Cuts the value of an item that is not stored yet (decr keeps its length otherwise). */
void item_shorten(struct item *item, size_t value_length);

void item_look(const struct item *item, struct item_view *view);
void item_ref(struct item *item);
void item_unref(struct item **item); /* sets it to NULL; NULL is ignored */

/* ---- opening ---- */

enum store_sync { STORE_SYNC_ALWAYS, STORE_SYNC_INTERVAL, STORE_SYNC_OS };

struct store_config {
    const char *dir;       /* created with mode 0700 when missing */
    uint64_t memory;       /* bytes for items in RAM, DIRTY ones included */
    enum store_sync sync;
    unsigned sync_ms;      /* for STORE_SYNC_INTERVAL */
    uint64_t log_max;      /* bytes of log kept before writers wait for a checkpoint */
    uint64_t log_segment;  /* bytes of one log file; at least twice item_max; log_max holds at least 4 */
    uint64_t item_max;     /* the largest value in bytes */
    unsigned readers;      /* threads for cold reads */
    unsigned checkpoint_seconds; /* the oldest a DIRTY item gets before it is applied to the tree */
    unsigned sessions;     /* how many sessions will be opened at most */
    struct clock *clock;   /* borrowed */
    struct logger *logger; /* borrowed; may be NULL */
    struct faults *faults; /* borrowed; may be NULL */
};

void store_config_init(struct store_config *config); /* defaults; dir, clock NULL */

/* Locks the directory, recovers, starts the threads.  Logs what was found.  ST_BUSY: another process has it;
 * ST_CORRUPT: damage in synced data, named in the log. */
enum status store_open(struct store **store, const struct store_config *config) MUST_CHECK;

/* Time is short before store_close: writers that are parked for room, and those that would have to be, get ST_BUSY. */
void store_hurry(struct store *store);

/* Syncs the log, applies DIRTY items for at most `seconds`, stops the threads.  Sessions must be closed. */
void store_close(struct store **store, unsigned seconds);

/* ---- sessions: one per worker thread, used by that thread only ---- */

/* inbox: where tickets of parked operations are delivered.  on_mark(arg) runs on the session's thread after
 * session_await()'s stamp was reached or the log failed. */
enum status session_open(struct session **session, struct store *store, struct inbox *inbox,
                         void (*on_mark)(void *arg), void *arg) MUST_CHECK;
void session_close(struct session **session); /* nothing may be parked */

/* Refreshes the session's coarse clock; call it at the start of each pass.  Returns the wall time. */
int64_t session_tick(struct session *session);
/* End of a pass: writes what the log has pending (unless another thread is at it), trims the RAM table. */
void session_commit(struct session *session);

/* Every reply with a stamp up to this may leave. */
uint64_t store_mark(const struct store *store);
/* Asks for on_mark when the mark reaches stamp, or the log fails.  One at a time: until it has run, further calls do
 * nothing. */
void session_await(struct session *session, uint64_t stamp);
/* ST_OK; or ST_READ_ONLY once a log write or sync has failed for good: then the mark stands still, and replies
 * above it must become errors. */
enum status store_health(const struct store *store) MUST_CHECK;

/* These keys (at most STORE_EXPECT_MAX) are about to be asked for: fetches what their lookups touch first, all at once.
 * Only worth it for two and more; of no consequence otherwise. */
enum { STORE_EXPECT_MAX = 16 };
void session_expect(struct session *session, const struct slice *keys, unsigned count);

/* ---- operations ---- */

enum store_progress { STORE_DONE, STORE_PARKED };

enum store_verdict {
    STORE_KEEP,   /* change nothing */
    STORE_PUT,    /* store op->fresh (built by op->build when that is set) */
    STORE_DELETE, /* remove the item */
};

/* One operation on one key.  The caller fills the first part, and keeps the memory and the key's bytes in place
 * until the operation is DONE.  decide == NULL is a plain read. */
struct store_op {
    struct ticket ticket; /* .deliver is set by the caller; .inbox by the session */
    struct slice key;
    /* What is to happen, given the live version (NULL: there is none).  Runs on the session's thread under the
     * key's lock: short, no I/O, may run several times.  May record its verdict in memory around the op. */
    enum store_verdict (*decide)(struct store_op *op, const struct item *old);
    /* Makes op->fresh from the live version; may run several times (then op->fresh is NULL again) and without the
     * lock.  NULL when op->fresh was prepared by the caller.  Its error ends the operation. */
    enum status (*build)(struct store_op *op, const struct item *old);
    bool blind;         /* decide does not look at old (set): no read of the tree is needed */
    bool quiet_access;  /* a read that counts as no access (meta's no-bump) */
    bool want_item;     /* return the item that is current after the operation in `item` (always for reads) */
    struct item *fresh; /* the caller's reference is taken over in every outcome */

    /* results */
    struct item *item;     /* a reference for the caller: found, or just stored; NULL: none */
    enum store_verdict verdict; /* what was done; STORE_KEEP when status is not ST_OK */
    enum status status;    /* ST_OK also for misses and refusals; else nothing was changed */
    uint64_t stamp;        /* see store_mark */
    uint64_t cas;          /* of what was stored (STORE_PUT), or of the version seen (STORE_KEEP); 0 when none */
    bool was_fetched;      /* a read had hit the found item before */
    uint32_t idle;         /* seconds since the found item's last access */

    struct store_op_state {
        struct item *cold;      /* the tree's version, when it was read */
        uint64_t cold_number;   /* of the snapshot it was read in; 0 = not read */
        unsigned tries;
        bool parked_for_room;
        enum status failed;
        struct store_op *next;
        void *cold_job;
    } state; /* the store's own; zero before the first store_run */
};

enum store_progress store_run(struct session *session, struct store_op *op) MUST_CHECK;

/* Everything written before is gone; in force at `when` (absolute; 0 or past = now), counted from a durable record.
 * Use like store_run; only ticket, status and stamp of op count. */
enum store_progress store_flush(struct session *session, struct store_op *op, int64_t when) MUST_CHECK;

/* ---- scans: a page of items in key order, read by the pool ---- */

struct store_row {
    struct item *item; /* with its value when asked for, else with an empty one */
    uint64_t size;     /* value bytes */
    uint32_t idle;     /* seconds since the last access; 0 when it is not in RAM */
    bool fetched;
};

struct store_scan {
    struct ticket ticket;          /* .deliver set by the caller */
    char after[STORE_KEY_MAX];     /* in: rows above this key; out: the last key looked at */
    size_t after_length;           /* 0 = from the first key */
    struct slice prefix;           /* only keys with this prefix; stays in place */
    unsigned limit;                /* rows at most */
    bool values;
    /* results */
    struct store_row *rows;        /* free with store_scan_free */
    unsigned count;
    bool more;                     /* there may be further rows */
    enum status status;
    uint64_t stamp;
    void *job;                     /* the store's own; freed by store_scan_free */
};

/* Always PARKED: the ticket is delivered when the page is there. */
void store_scan_page(struct session *session, struct store_scan *scan);
void store_scan_free(struct store_scan *scan); /* the rows and their items */

/* ---- looking and steering; any thread ---- */

struct store_figures {
    uint64_t items, items_ram, items_dirty;
    uint64_t bytes_ram, bytes_dirty, memory; /* bytes_ram <= memory is not promised while DIRTY exceeds it */
    uint64_t evictions, evictions_unfetched, reclaimed; /* reclaimed: expired items freed */
    uint64_t lsn, lsn_written, lsn_durable, lsn_applied;
    uint64_t log_bytes, log_segments, log_writes, log_syncs, log_sync_micros_max;
    uint64_t log_written_bytes;
    uint64_t checkpoints, checkpoint_items, checkpoint_micros, checkpoint_failures; /* micros: of the last one */
    uint64_t tree_items, tree_bytes, tree_generation;
    uint64_t cold_reads, cold_inline, cold_waiting, cold_micros_max;
    uint64_t room_waits;
    uint64_t flushes;
    uint64_t recovered_records, recovered_bytes, recovery_micros, dropped_bytes;
    bool read_only;
};

void store_figures(struct store *store, struct store_figures *figures);

/* Applies all that is DIRTY now; returns when done.  Blocks: not for workers (tests, shutdown). */
enum status store_checkpoint(struct store *store) MUST_CHECK;
/* Starts a checkpoint if none runs; does not wait. */
void store_checkpoint_soon(struct store *store);
enum status store_set_memory(struct store *store, uint64_t bytes) MUST_CHECK;

#endif
