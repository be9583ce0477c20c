/* SPDX-License-Identifier: BSD-3-Clause */
/* log: the write-ahead log, a chain of recycled segment files, with group commit.
 *
 * Records are appended to memory under the caller's stripe lock (so log order equals memory order for each key) and
 * written in groups: log_write takes the write token, writes everything appended so far by anyone with whole-page
 * writes, publishes `written`; a sync thread publishes `durable`.  log_format.h has the bytes.
 *
 * The mark is `durable` in STORE_SYNC_ALWAYS, else `written`.  After EIO on a write, or a failed sync, the log is
 * failed for good: marks stand still, log_health is ST_READ_ONLY, appends are refused at log_reserve.  ENOSPC on a
 * write keeps the bytes and is tried again.
 *
 * Order at start: log_open (scan, find the end, write the unattested tail again in place, sync), log_replay any
 * number of times, log_start (new segment with base = max(last LSN, last base) + 2^32, sync thread).  Repeatable if
 * killed at any point.
 *
 * Threads: append, reserve, write, marks: any.  open, replay, start, close: one.  The log has three of its own: one
 * syncs, one prepares and recycles segments, one writes when workers should not.  log_internal.h has the map. */
#ifndef COFFER_STORAGE_LOG_H
#define COFFER_STORAGE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/hash.h"
#include "src/base/inbox.h"
#include "src/base/slice.h"
#include "storage/store.h"

struct log;

enum log_op { /* on disk: never renumber */
    LOG_SET = 1,      /* key has this value, flags, exptime, cas, marks */
    LOG_DELETE = 2,   /* key is gone */
    LOG_FLUSH = 3,    /* everything with a lower LSN is gone */
    LOG_FLUSH_AT = 4, /* the same will happen at exptime (0: a pending one is cancelled) */
};

enum log_value_kind { LOG_INLINE = 0, LOG_POINTER = 1 /* value is a checked pointer into the value log */ };

struct log_record {
    uint64_t lsn; /* set by log_append and at replay */
    enum log_op op;
    enum log_value_kind kind;
    unsigned marks;
    uint32_t flags;
    int64_t exptime;
    uint64_t cas; /* 0: the same as the LSN */
    struct slice key;
    struct slice value;
    uint64_t value_sum; /* log_value_sum(value), computed by the caller before it takes locks */
};

struct log_config {
    int dir;         /* descriptor of the log directory; borrowed */
    const char *dir_name; /* for messages */
    const struct hash_secret *secret;
    enum store_sync sync;
    unsigned sync_ms;
    uint64_t log_max, segment_bytes, record_max; /* record_max: the longest key + value */
    struct clock *clock;
    struct logger *logger;
    struct faults *faults;
};

struct log_findings {
    uint64_t first_lsn, last_lsn; /* of valid records above `applied`; 0 when there are none */
    uint64_t records, bytes;      /* above applied */
    uint64_t dropped_bytes;       /* of the torn tail */
    bool clean;                   /* the whole log is attested: nothing had to be written again */
};

/* applied, m: from the tree.  Refuses with ST_CORRUPT (naming file and offset in the logger) when the chain of
 * headers does not start at or below applied, or damage lies at or below an attested LSN or m.  An empty directory is
 * an empty log. */
enum status log_open(struct log **log, const struct log_config *config, uint64_t applied, uint64_t m,
                     struct log_findings *findings) MUST_CHECK;

/* Calls fn for every record above `after`, in order, until it returns something else than ST_OK. */
enum status log_replay(struct log *log, uint64_t after,
                       enum status (*fn)(void *arg, const struct log_record *record), void *arg) MUST_CHECK;

enum status log_start(struct log *log) MUST_CHECK;

/* Writes and syncs what is pending, then an attest-only group, stops the sync thread, frees. */
void log_close(struct log **log);

uint64_t log_value_sum(const struct log *log, struct slice value);

/* Worst-case bytes a record takes from the log, padding included: what has to be reserved for it. */
size_t log_record_room(size_t key_bytes, size_t value_bytes);

/* Reserves room in allocated and synced segments.  ST_OK; ST_AGAIN: over log_max, or nothing prepared: wait for a
 * checkpoint, a segment being prepared, a write or a sync (on_room tells); ST_NO_SPACE: the disk is full; ST_IO: a
 * segment could not be prepared; ST_READ_ONLY; ST_NO_MEMORY; ST_LIMIT: more than log_max can ever hold.  Sessions
 * reserve in bulk. */
enum status log_reserve(struct log *log, size_t bytes) MUST_CHECK;
void log_unreserve(struct log *log, size_t bytes);
/* on_room(arg) is called (any thread, no lock held, short) when a reservation that was refused may be granted now, or
 * would get another answer than ST_AGAIN; set before log_start. */
void log_on_room(struct log *log, void (*on_room)(void *arg), void *arg);

/* Appends to memory, consuming log_record_room() of what the caller has reserved; assigns and returns the LSN. */
uint64_t log_append(struct log *log, struct log_record *record);

/* Writes everything appended so far, unless another thread holds the token (it looks again after its write, so
 * nothing is forgotten), or writes have become slow (then the log's own writer does it).  Does not wait for a sync. */
void log_write(struct log *log);

uint64_t log_last(const struct log *log); /* highest LSN given out, or the base */
uint64_t log_written(const struct log *log);
uint64_t log_durable(const struct log *log);
uint64_t log_mark(const struct log *log);
enum status log_health(const struct log *log) MUST_CHECK;

/* A waiter is owned by one session thread.  Its ticket is posted once, when the mark has reached `lsn` or the log
 * failed (at once if that is so already).  While armed a smaller lsn replaces the old one. */
struct log_waiter {
    struct ticket ticket;
    uint64_t lsn;
    bool armed;
    struct log_waiter *next;
};
void log_await(struct log *log, struct log_waiter *waiter, uint64_t lsn);
void log_await_cancel(struct log *log, struct log_waiter *waiter); /* after it the ticket is not posted any more */

/* Blocks until durable >= lsn, forcing a write and a sync; ST_NO_SPACE while writes fail for want of room, so that the
 * caller tries again later; ST_READ_ONLY.  For the tree thread. */
enum status log_make_durable(struct log *log, uint64_t lsn) MUST_CHECK;

/* The tree has everything up to `applied`, durably: segments wholly below are recycled. */
void log_applied(struct log *log, uint64_t applied);

struct log_figures {
    uint64_t bytes, segments, writes, written_bytes, syncs, sync_micros_max;
    uint64_t since_applied; /* bytes of log that a restart would replay */
};
void log_figures(struct log *log, struct log_figures *figures);
/* One atomic load: bytes appended since the last log_applied, for the checkpoint trigger. */
uint64_t log_backlog(const struct log *log);

#endif
