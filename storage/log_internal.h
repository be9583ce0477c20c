/* SPDX-License-Identifier: BSD-3-Clause */
/* log_internal: what the log's own files share.
 *
 *   log.c           appending, reservations, waiters, opening and closing
 *   log_write.c     the write token: memory to file; the writer thread
 *   log_sync.c      the sync thread, attest-only groups
 *   log_segments.c  files: creating, the keeper thread that prepares and recycles them
 *   log_recover.c   the scan at start: chain of headers, end of the log, damage or torn tail
 *   log_walk.c      reading groups and records of one segment
 *   log_format.c    bytes
 *
 * A segment's life: prepared (name, size and directory entry are durable) -> current (appended to) -> sealed ->
 * retired once the tree has all of it, which makes it prepared again under a new number.  It is on one list a time:
 * `spares` when prepared, then `live`; and on `images` from its first byte until its last one is written.
 *
 * Room, all in bytes of file, under the append lock:
 *     room = rest of the current segment behind the next sector boundary + capacity of all spares but the last
 *     reserved <= room, always
 * A record in a group of its own takes at most U = whole sectors for group header and record; when it does not fit
 * into what is left of a segment, less than U is left and is lost.  So appending lowers `room` by at most 2 U, which
 * is what log_record_room says and what the append takes from `reserved`; hence a record with a reservation always
 * finds its place, if need be in a spare.  Attest-only groups take a sector only where room > reserved.
 *
 * The last spare is kept for the next start, which needs a segment also when the disk is full.
 *
 * Memory: blocks for all that is reserved are allocated by log_reserve (blocks_needed), so appending never
 * allocates. */
#ifndef COFFER_STORAGE_LOG_INTERNAL_H
#define COFFER_STORAGE_LOG_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/lock.h"
#include "storage/log.h"
#include "storage/log_format.h"

enum {
    LOG_MAGIC = 0x636c6f67,
    LOG_NAME_BYTES = 17,      /* sixteen hexadecimal digits */
    LOG_BLOCK_MAX = 256 << 10,
    LOG_BLOCKS_KEEP = 16,     /* idle blocks kept for the next burst */
    LOG_SLOW_MICROS = 50000,  /* a write that takes longer is of a stalled disk */
    LOG_SPARES = 2,           /* segments kept prepared beyond what is asked for */
};

/* A later start continues at least this far above any LSN that a lost tail may have held. */
#define LOG_BASE_STEP (UINT64_C(1) << 32)
/* A sync is forced at half of what may stay unsynced; reservations are refused at the whole. */
#define LOG_UNSYNCED_MAX (UINT64_C(1) << 31)
/* Bytes in memory, waiting to be written, above which writers wait: a stalled disk must not eat the memory. */
#define LOG_PENDING_MAX (UINT64_C(64) << 20)

/* A piece of a segment in memory, block_bytes long, page-aligned. */
struct log_block {
    struct log_block *next;
    unsigned char *bytes;
};

struct log_segment {
    /* constant while on a list */
    uint64_t seq;
    int fd;         /* of segments from before the start it is -1 once recovery is done */
    uint64_t bytes; /* size of the file */
    bool recycled;

    struct log_segment *next;       /* on `spares` (append lock) or `live` (sync lock) */
    struct log_segment *next_image; /* append lock */

    /* the image, append lock; the writer alone changes `written` and drops blocks */
    struct log_block *blocks;       /* oldest first */
    struct log_block **blocks_tail;
    uint64_t blocks_at; /* file offset of the first block */
    uint64_t written;   /* up to here the file has it */
    uint64_t closed;    /* where the last closed group ends */
    uint64_t closed_lsn;
    bool sealed;        /* nothing more comes */

    /* sync lock */
    uint64_t base;  /* LSN before the first record */
    uint64_t last;  /* LSN of the last record, once `ended` */
    uint64_t begun; /* log->current_at while it was current */
    bool ended;     /* sealed */
    bool syncing;   /* the sync thread is using fd */
    bool begun_durably; /* its header page has been synced: a start finds it */

    atomic_bool unsynced;  /* written to since the last sync began */
    atomic_bool in_memory; /* its image is not wholly written */
};

struct log_recovery;

struct log {
    unsigned magic;

    /* constant after log_open */
    struct log_config config;
    uint64_t capacity;    /* bytes of a segment for groups */
    size_t block_bytes;
    void (*on_room)(void *arg);
    void *on_room_arg;
    uint64_t incarnation;
    uint64_t unsynced_max; /* LOG_UNSYNCED_MAX */
    uint64_t slow_micros;  /* LOG_SLOW_MICROS */
    struct log_recovery *recovery; /* until log_start; owned by the thread that opens */
    bool started;

    /* append lock */
    struct lock append;
    struct log_segment *current;
    struct log_segment *images, **images_tail; /* not wholly written, oldest first; the last one is `current` */
    struct log_segment *spares, **spares_tail;
    unsigned spare_count;
    uint64_t position;  /* where the next byte of the current segment goes */
    uint64_t reserved;
    unsigned char *group; /* header of the open group in its block; NULL: no group is open */
    uint64_t group_at;
    uint64_t group_first;
    uint32_t group_count;
    uint64_t attested;  /* by the last closed group */
    struct log_block *block; /* where `position` is; NULL: exactly at the end of the last block */
    uint64_t block_at;
    struct log_block *free_blocks;
    size_t free_block_count, block_count;
    size_t refused_min, refused_max; /* of reservations since on_room was last called; SIZE_MAX, 0: none */
    enum status prepare_status; /* of the keeper's last try to prepare a segment */
    uint64_t current_at;    /* bytes appended before the current segment began */
    uint64_t applied_bytes; /* bytes appended that `applied` covers, roughly */

    /* waiters */
    struct lock wait;
    struct log_waiter *waiters;
    _Atomic uint64_t awaited; /* the smallest LSN waited for, or UINT64_MAX */

    /* sync lock: the list of segments, and what the sync thread and the keeper are told */
    struct lock sync;
    struct cond sync_wake, durable_moved, keeper_wake, writer_wake;
    struct log_segment *live, **live_tail; /* current and older ones, oldest first */
    uint64_t forced;      /* log_make_durable wants the log durable up to here */
    bool sync_stop, keeper_stop, keeper_work, writer_stop, writer_work;
    uint64_t sync_micros_max;
    pthread_t sync_thread, keeper_thread, writer_thread;
    bool sync_running, keeper_running, writer_running;

    /* keeper thread (and whoever starts and stops it) */
    uint64_t last_name; /* the highest number given to a file */
    struct log_segment *left; /* files from before the start that are no part of the log any more */

    /* atomics */
    _Atomic uint64_t last, written, durable, applied;
    _Atomic uint64_t wake_at; /* the sync thread wants to be woken when `written` gets here */
    _Atomic uint64_t slow_until; /* workers leave writing to the writer thread; 0: has never been slow */
    _Atomic uint64_t backlog;
    _Atomic uint64_t files_bytes, files;
    _Atomic uint64_t writes, written_bytes, syncs;
    atomic_bool failed;
    atomic_bool stalled; /* ENOSPC on a write: the sync thread alone tries again */
    atomic_bool token;   /* somebody is writing */
    atomic_bool refused; /* refused_min is set */
};

/* ---- log.c ---- */

/* Nothing becomes written or durable any more; everybody who waits is told.  `what` failed on a segment. */
void log_fail(struct log *log, const char *what, uint64_t seq);
/* `written` or `durable` has moved. */
void log_publish(struct log *log);
/* Calls on_room when what was refused would be granted now. */
void log_room_check(struct log *log);
/* Calls on_room in any case if something was refused: now it would be refused with an error. */
void log_room_tell(struct log *log);
/* Append lock: closes the open group, if there is one. */
void log_close_group(struct log *log);
/* Appends an attest-only group when that tells something new and there is room beyond what is reserved. */
bool log_attest(struct log *log);
/* Makes the segment current: its header page is appended, or is on disk already. */
void log_begin_segment(struct log *log, struct log_segment *segment, const struct log_segment_header *header,
                       bool header_written);
/* Append lock.  `room` of the accounting above. */
uint64_t log_file_room(const struct log *log);
/* Append lock.  Blocks that must be free for `reserved` bytes. */
size_t log_blocks_needed(const struct log *log, uint64_t reserved);
void log_free_blocks(struct log_block *block);

/* ---- log_write.c ---- */

/* Writes what is appended, unless somebody else is at it; `even_idle`: also attest-only groups. */
void log_write_out(struct log *log, bool even_idle);
enum status log_writer_start(struct log *log) MUST_CHECK;
void log_writer_stop(struct log *log);

/* ---- log_sync.c ---- */

enum status log_sync_start(struct log *log) MUST_CHECK;
void log_sync_stop(struct log *log);
/* Syncs once, as the sync thread does; only when that thread does not run. */
enum status log_sync_once(struct log *log) MUST_CHECK;
void log_sync_kick(struct log *log);

/* ---- log_segments.c ---- */

void log_segment_name(uint64_t seq, char name[LOG_NAME_BYTES]);
bool log_segment_number(const char *name, uint64_t *seq);
/* A file of segment_bytes zeros, synced; its directory entry is not. */
enum status log_file_create(struct log *log, const char *name, int *fd) MUST_CHECK;
struct log_segment *log_segment_new(uint64_t seq, int fd, uint64_t bytes);
void log_segment_free(struct log_segment **segment); /* closes its file */
/* Sync lock.  The tree has all of it, nobody needs its file any more, and the log can begin at the next one. */
bool log_can_retire(const struct log *log, const struct log_segment *segment);
enum status log_keeper_start(struct log *log) MUST_CHECK;
void log_keeper_stop(struct log *log);
void log_keeper_kick(struct log *log);

/* ---- log_recover.c ---- */

enum status log_recover(struct log *log, uint64_t applied, uint64_t m, struct log_findings *findings) MUST_CHECK;
/* Writes the new segment and hands over the old ones. */
enum status log_recovery_finish(struct log *log) MUST_CHECK;
void log_recovery_free(struct log *log);

/* ---- log_walk.c ---- */

/* Reads a file through a window. */
struct log_reader {
    struct faults *faults;
    int fd;
    uint64_t end; /* nothing is read beyond */
    unsigned char *window;
    size_t capacity;
    uint64_t at;
    size_t held;
};

void log_reader_init(struct log_reader *reader, struct faults *faults, int fd, uint64_t end);
void log_reader_free(struct log_reader *reader);
/* n bytes at offset, or *got of them at the end; valid until the next call. */
enum status log_reader_get(struct log_reader *reader, uint64_t offset, size_t n, const unsigned char **bytes,
                           size_t *got) MUST_CHECK;

/* Goes over the groups of one segment, from its first one. */
struct log_walk {
    struct log_reader reader;
    const struct hash_secret *secret;
    uint64_t seq;
    uint64_t limit; /* ends here at the latest, also inside a group: the next segment says so */
    uint64_t skip;  /* groups wholly up to this LSN are passed by their header alone */
    enum status (*record)(void *arg, const struct log_record *record); /* may be NULL */
    void *arg;

    uint64_t end;      /* of the last good record, or attest-only group */
    uint64_t lsn;      /* of the last good record; at first the segment's base */
    uint64_t attested; /* the highest seen, also in a group with bad records */
    uint64_t claimed;  /* where the last group with a good header ends, or should */
    uint64_t passed;   /* end of the last group with records that was passed over; LOG_PAGE: of none */
    uint64_t records, bytes; /* not passed over */
};

void log_walk_begin(struct log_walk *walk, const struct log *log, int fd, uint64_t seq, uint64_t base,
                    uint64_t file_end);
/* ST_OK at the limit or at the first bad byte; else what reading or `record` returned. */
enum status log_walk_run(struct log_walk *walk) MUST_CHECK;
void log_walk_end(struct log_walk *walk);

#endif
