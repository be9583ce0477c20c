/* SPDX-License-Identifier: BSD-3-Clause */
/* The log's files, and the keeper thread that prepares them ahead and takes them back.
 *
 * A new file is filled with zeros under its final name and synced, then the directory is synced, then it is a spare.
 * A retired file becomes a spare under the next number by rename and a sync of the directory; its old header names
 * its old number, so at the next start it reads as not started.  Killed in between, a file under the old name is a
 * segment that the tree has, and one under the new name is not started: both may go.
 *
 * Preparing has a thread of its own because zeros for one segment take longer than the sync of a group may. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "src/base/check.h"
#include "src/base/clock.h"
#include "src/base/io.h"
#include "src/base/thread.h"
#include "storage/log_internal.h"

enum {
    ZERO_BYTES = 1 << 20, /* written at once; after each the keeper looks whether it has to stop */
    ZERO_SYNC = 8 << 20,  /* synced at once, so that a sync of the log meets a short queue */
    PAUSE_MIN_MICROS = 100000,
    PAUSE_MAX_MICROS = 1000000,
};

void log_segment_name(uint64_t seq, char name[LOG_NAME_BYTES]) {
    static const char digits[] = "0123456789abcdef";

    for (int i = LOG_NAME_BYTES - 2; i >= 0; i--, seq >>= 4)
        name[i] = digits[seq & 15];
    name[LOG_NAME_BYTES - 1] = '\0';
}

bool log_segment_number(const char *name, uint64_t *seq) {
    static const char digits[] = "0123456789abcdef";

    if (strlen(name) != LOG_NAME_BYTES - 1 || strspn(name, digits) != LOG_NAME_BYTES - 1)
        return false;
    *seq = strtoull(name, NULL, 16);
    return *seq > 0;
}

struct log_segment *log_segment_new(uint64_t seq, int fd, uint64_t bytes) {
    struct log_segment *segment = calloc(1, sizeof *segment);

    if (segment != NULL) {
        segment->seq = seq;
        segment->fd = fd;
        segment->bytes = bytes;
        segment->blocks_tail = &segment->blocks;
    }
    return segment;
}

void log_segment_free(struct log_segment **segment) {
    io_close(&(*segment)->fd);
    free(*segment);
    *segment = NULL;
}

static bool must_stop(struct log *log) {
    bool stop;

    lock_take(&log->sync);
    stop = log->keeper_stop;
    lock_drop(&log->sync);
    return stop;
}

/* Asked first, so that trying does not take the last bytes of a full disk from others. */
static enum status have_space(const struct log *log) {
    struct statvfs disk;

    if (fstatvfs(log->config.dir, &disk) == 0 && disk.f_bavail * disk.f_frsize < log->config.segment_bytes) {
        errno = ENOSPC;
        return ST_NO_SPACE;
    }
    return ST_OK;
}

/* Only to be refused early and to lie in one piece; file systems that cannot do it are filled all the same. */
static enum status allocate(int fd, uint64_t bytes) {
    int result;

    do {
        result = fallocate(fd, 0, 0, (off_t)bytes);
    } while (result != 0 && errno == EINTR);
    return result != 0 && (errno == ENOSPC || errno == EDQUOT) ? ST_NO_SPACE : ST_OK;
}

static enum status fill(struct log *log, int fd) {
    uint64_t at = 0, bytes = log->config.segment_bytes;
    enum status status = allocate(fd, bytes);
    char *zeros = calloc(1, ZERO_BYTES);

    if (zeros == NULL)
        status = ST_NO_MEMORY;
    while (status == ST_OK && at < bytes) {
        size_t n = bytes - at < ZERO_BYTES ? (size_t)(bytes - at) : ZERO_BYTES;

        status = must_stop(log) ? ST_AGAIN : io_pwrite(log->config.faults, FAULT_LOG_ZERO, fd, zeros, n, at);
        at += n;
        if (status == ST_OK && (at % ZERO_SYNC == 0 || at == bytes))
            status = io_datasync(log->config.faults, FAULT_LOG_ZERO, fd);
    }
    free(zeros);
    return status;
}

static void remove_file(struct log *log, const char *name) {
    enum status status = io_unlink(log->config.faults, FAULT_LOG_UNLINK, log->config.dir, name);

    if (status != ST_OK && status != ST_NOT_FOUND)
        log_warn(log->config.logger, "%s/%s: cannot be removed: %m", log->config.dir_name, name);
}

enum status log_file_create(struct log *log, const char *name, int *fd) {
    enum status status = have_space(log);
    int saved;

    *fd = -1;
    if (status == ST_OK)
        status = io_open(log->config.faults, FAULT_LOG_OPEN, log->config.dir, name, O_RDWR | O_CREAT | O_TRUNC, 0600,
                         fd);
    if (status != ST_OK)
        return status;
    status = fill(log, *fd);
    if (status != ST_OK) {
        saved = errno;
        io_close(fd);
        remove_file(log, name);
        errno = saved;
    }
    return status;
}

/* ---- the keeper ---- */

static void count_file(struct log *log, uint64_t bytes) {
    atomic_fetch_add(&log->files_bytes, bytes);
    atomic_fetch_add(&log->files, 1);
}

/* The segment's file is removed; what it takes no longer counts. */
static void discard(struct log *log, struct log_segment *segment) {
    char name[LOG_NAME_BYTES];

    log_segment_name(segment->seq, name);
    remove_file(log, name);
    atomic_fetch_sub(&log->files_bytes, segment->bytes);
    atomic_fetch_sub(&log->files, 1);
    log_segment_free(&segment);
}

/* Its old content leaves the page cache: nobody reads it, and a 4 KB write into one of the large folios that zeroing
 * or reading has left there costs twice what a write of a page that is not cached does (ext4 walks all its buffers). */
static void add_spare(struct log *log, struct log_segment *segment) {
    (void)posix_fadvise(segment->fd, 0, 0, POSIX_FADV_DONTNEED);
    segment->next = NULL;
    lock_take(&log->append);
    *log->spares_tail = segment;
    log->spares_tail = &segment->next;
    log->spare_count++;
    lock_drop(&log->append);
}

/* Without the next segment's header a start would find no segment that begins at or below `applied`. */
bool log_can_retire(const struct log *log, const struct log_segment *segment) {
    return segment->next != NULL && segment->next->begun_durably && segment->last <= atomic_load(&log->applied) &&
           !segment->syncing && !atomic_load(&segment->unsynced) && !atomic_load(&segment->in_memory);
}

/* The oldest segments that the tree has wholly, as a list. */
static struct log_segment *take_retired(struct log *log) {
    struct log_segment *first = NULL, **tail = &first;

    lock_take(&log->sync);
    while (log_can_retire(log, log->live)) {
        *tail = log->live;
        tail = &log->live->next;
        log->live = log->live->next;
    }
    *tail = NULL;
    lock_drop(&log->sync);
    return first;
}

/* A file that can be used again must have its size, its blocks (not a hole, which a write may find no room for), and
 * nothing that waits to be written back. */
static bool file_is_usable(struct log *log, struct log_segment *segment, const char *name) {
    struct stat st;
    enum status status = ST_OK;

    if (segment->bytes != log->config.segment_bytes || atomic_load(&log->files_bytes) > log->config.log_max)
        return false;
    if (segment->fd < 0) { /* of an earlier process */
        status = io_open(log->config.faults, FAULT_LOG_OPEN, log->config.dir, name, O_RDWR, 0, &segment->fd);
        if (status == ST_OK)
            status = io_datasync(log->config.faults, FAULT_LOG_ZERO, segment->fd);
    }
    return status == ST_OK && fstat(segment->fd, &st) == 0 && (uint64_t)st.st_size == segment->bytes &&
           (uint64_t)st.st_blocks * 512 >= segment->bytes;
}

static bool rename_to_spare(struct log *log, struct log_segment *segment) {
    char from[LOG_NAME_BYTES], to[LOG_NAME_BYTES];

    log_segment_name(segment->seq, from);
    log_segment_name(log->last_name + 1, to);
    if (!file_is_usable(log, segment, from) ||
        io_rename(log->config.faults, FAULT_LOG_RENAME, log->config.dir, from, to) != ST_OK)
        return false;
    segment->seq = ++log->last_name;
    segment->recycled = true;
    return true;
}

/* Names in the directory become durable.  After a failure other than for want of room nobody knows what it holds. */
static enum status sync_names(struct log *log) {
    enum status status = io_dirsync(log->config.faults, log->config.dir);

    if (status != ST_OK && status != ST_NO_SPACE)
        log_fail(log, "syncing the directory", log->last_name);
    return status;
}

/* Makes spares of a list of files, or removes them. */
static void recycle(struct log *log, struct log_segment *segment) {
    struct log_segment *renamed = NULL, **tail = &renamed;
    enum status status = ST_OK;

    while (segment != NULL) {
        struct log_segment *next = segment->next;

        if (rename_to_spare(log, segment)) {
            *tail = segment;
            tail = &segment->next;
        } else {
            discard(log, segment);
        }
        segment = next;
    }
    *tail = NULL;
    if (renamed != NULL)
        status = sync_names(log);
    while (renamed != NULL) {
        struct log_segment *next = renamed->next;

        if (status == ST_OK)
            add_spare(log, renamed);
        else
            discard(log, renamed);
        renamed = next;
    }
}

static enum status prepare(struct log *log) {
    char name[LOG_NAME_BYTES];
    int fd;
    enum status status;
    struct log_segment *segment;

    log_segment_name(log->last_name + 1, name);
    status = log_file_create(log, name, &fd);
    if (status != ST_OK)
        return status;
    segment = log_segment_new(++log->last_name, fd, log->config.segment_bytes);
    status = segment != NULL ? sync_names(log) : ST_NO_MEMORY;
    if (status == ST_OK) {
        count_file(log, segment->bytes);
        add_spare(log, segment);
        return ST_OK;
    }
    if (segment != NULL)
        log_segment_free(&segment);
    else
        io_close(&fd);
    remove_file(log, name);
    return status;
}

static bool wants_spare(struct log *log) {
    bool wants;

    lock_take(&log->append);
    wants = log->spare_count < LOG_SPARES || log_file_room(log) < log->reserved + log->refused_max;
    wants = wants && atomic_load(&log->files_bytes) + log->config.segment_bytes <= log->config.log_max;
    if (!wants)
        log->prepare_status = ST_OK;
    lock_drop(&log->append);
    return wants && !atomic_load(&log->failed);
}

struct keeper_state {
    uint64_t pause;    /* microseconds to the next try after a failure; 0: the last one succeeded */
    uint64_t retry_at;
};

static void note_result(struct log *log, struct keeper_state *state, enum status status) {
    if (status != ST_OK && state->pause == 0)
        log_warn(log->config.logger, "%s: no new log segment can be made: %s; tried again while it is needed",
                 log->config.dir_name, status_text(status));
    lock_take(&log->append);
    log->prepare_status = status;
    lock_drop(&log->append);
    if (status == ST_OK) {
        state->pause = 0;
        return;
    }
    state->pause = state->pause == 0 ? PAUSE_MIN_MICROS : state->pause * 2;
    state->pause = state->pause < PAUSE_MAX_MICROS ? state->pause : PAUSE_MAX_MICROS;
    state->retry_at = clock_micros() + state->pause;
    log_room_tell(log); /* who was asked to wait gets the error */
}

/* Returns microseconds until the keeper has to look again by itself; 0: when it is woken. */
static uint64_t keeper_round(struct log *log, struct keeper_state *state) {
    struct log_segment *left = log->left;

    log->left = NULL;
    recycle(log, left);
    recycle(log, take_retired(log));
    log_room_check(log);
    while (wants_spare(log) && !must_stop(log)) {
        uint64_t now = clock_micros();
        enum status status;

        if (state->pause > 0 && now < state->retry_at)
            return state->retry_at - now;
        status = prepare(log);
        if (status != ST_AGAIN)
            note_result(log, state, status);
        log_room_check(log);
    }
    return 0;
}

static void *keeper_main(void *arg) {
    struct log *log = arg;
    struct keeper_state state = {0, 0};

    CHECK_OBJ(log, LOG_MAGIC);
    lock_take(&log->sync);
    while (!log->keeper_stop) {
        uint64_t again;

        log->keeper_work = false;
        lock_drop(&log->sync);
        again = keeper_round(log, &state);
        lock_take(&log->sync);
        if (log->keeper_work || log->keeper_stop)
            continue;
        if (again > 0)
            (void)cond_wait_for(&log->keeper_wake, &log->sync, again);
        else
            cond_wait(&log->keeper_wake, &log->sync);
    }
    lock_drop(&log->sync);
    return NULL;
}

enum status log_keeper_start(struct log *log) {
    enum status status = thread_start(&log->keeper_thread, "log-keeper", keeper_main, log);

    log->keeper_running = status == ST_OK;
    return status;
}

void log_keeper_stop(struct log *log) {
    if (!log->keeper_running)
        return;
    lock_take(&log->sync);
    log->keeper_stop = true;
    cond_signal(&log->keeper_wake);
    lock_drop(&log->sync);
    thread_join(log->keeper_thread);
    log->keeper_running = false;
}

void log_keeper_kick(struct log *log) {
    lock_take(&log->sync);
    log->keeper_work = true;
    cond_signal(&log->keeper_wake);
    lock_drop(&log->sync);
}
