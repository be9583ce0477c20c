/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done at start, in this order; killed anywhere, the next start does the same again:
 *
 * 1. Read the headers.  A header voids the segments between the one that it continues and itself: log_start writes it
 *    there to cut off a torn tail for good.
 * 2. Begin at the newest segment that starts at or below `applied`, and follow the chain: a segment's groups and
 *    records up to where the next header says that it ends.  The first that is bad, or a header that does not
 *    connect, ends the log.
 * 3. Look on behind the end, sector by sector, and in all later segments.  The OS may have written pages in any order,
 *    so good groups may follow a torn one; but if anything there knows that an LSN above the end had been synced
 *    (it attests it, or the tree's M is above), what is bad is damage, not a torn tail: refuse.
 * 4. Write again, in place and with the same bytes, what nothing proves to be synced, and sync it.  A failed
 *    writeback may have marked those pages clean: they would be lost later without a word.  Needs no room.
 * 5. (log_start) Write the next segment's header into a file that is not part of the log, or a new one, sync it, give
 *    it its name, sync the directory.  From here on the rest of the old tail is void. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/check.h"
#include "src/base/io.h"
#include "storage/log_internal.h"

enum { COPY_BYTES = 1 << 20 };

static const char temporary_name[] = "start.tmp";

enum file_state {
    FILE_STARTED,     /* a good header of this number */
    FILE_NOT_STARTED, /* a good header of another number: recycled, and not used since */
    FILE_UNKNOWN,     /* no good header: never used, or damaged */
};

struct log_file {
    uint64_t seq, size;
    enum file_state state;
    struct log_segment_header header; /* FILE_STARTED */
    bool is_void, in_chain;
};

/* A part of the log that was found good. */
struct link {
    size_t file;
    uint64_t base, last; /* last == base: no records */
    uint64_t end;
};

struct log_recovery {
    uint64_t applied, m;
    struct log_file *files; /* by number */
    size_t file_count;
    struct link *chain;
    size_t chain_count;
    uint64_t last;     /* the last LSN that is good, or the highest base */
    uint64_t attested; /* the highest LSN that the chain attests */
    uint64_t claimed;  /* the end of the last group in the chain, had it been whole */
};

void log_recovery_free(struct log *log) {
    if (log->recovery != NULL) {
        free(log->recovery->files);
        free(log->recovery->chain);
        free(log->recovery);
        log->recovery = NULL;
    }
}

/* ---- 1. files and headers ---- */

static enum status add_file(struct log_recovery *recovery, uint64_t seq) {
    size_t n = recovery->file_count;

    if ((n & (n - 1)) == 0) {
        struct log_file *more = realloc(recovery->files, (n == 0 ? 1 : 2 * n) * sizeof *more);

        if (more == NULL)
            return ST_NO_MEMORY;
        recovery->files = more;
    }
    recovery->files[recovery->file_count++] = (struct log_file){.seq = seq};
    return ST_OK;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = ((const struct log_file *)a)->seq, y = ((const struct log_file *)b)->seq;
    return (x > y) - (x < y);
}

static enum status list_files(struct log *log, struct log_recovery *recovery) {
    int fd;
    enum status status = io_open(log->config.faults, FAULT_LOG_OPEN, log->config.dir, ".", O_RDONLY | O_DIRECTORY, 0,
                                 &fd);
    DIR *dir = status == ST_OK ? fdopendir(fd) : NULL;
    struct dirent *entry;

    if (dir == NULL) {
        log_error(log->config.logger, "%s: cannot be read: %m", log->config.dir_name);
        io_close(&fd);
        return status == ST_OK ? ST_IO : status;
    }
    while (status == ST_OK && (errno = 0, entry = readdir(dir)) != NULL) {
        uint64_t seq;

        if (log_segment_number(entry->d_name, &seq))
            status = add_file(recovery, seq);
    }
    if (status == ST_OK && errno != 0) {
        log_error(log->config.logger, "%s: cannot be read: %m", log->config.dir_name);
        status = ST_IO;
    }
    closedir(dir);
    if (recovery->file_count > 0)
        qsort(recovery->files, recovery->file_count, sizeof *recovery->files, by_number);
    return status;
}

static enum status report(struct log *log, const struct log_file *file, const char *what, enum status status) {
    if (status != ST_OK)
        log_error(log->config.logger, "%s/%016llx: %s: %m", log->config.dir_name, (unsigned long long)file->seq, what);
    return status;
}

static enum status open_file(struct log *log, const struct log_file *file, int flags, int *fd) {
    char name[LOG_NAME_BYTES];

    log_segment_name(file->seq, name);
    return report(log, file, "cannot be opened",
                  io_open(log->config.faults, FAULT_LOG_OPEN, log->config.dir, name, flags, 0, fd));
}

static enum status read_header(struct log *log, struct log_file *file) {
    unsigned char page[LOG_PAGE] = {0};
    struct stat st;
    size_t got;
    int fd;
    enum status status = open_file(log, file, O_RDONLY, &fd);

    if (status != ST_OK)
        return status;
    status = report(log, file, "cannot be read",
                    io_pread(log->config.faults, FAULT_LOG_READ, fd, page, sizeof page, 0, &got));
    if (status == ST_OK && fstat(fd, &st) != 0)
        status = report(log, file, "cannot be read", status_from_errno(errno));
    io_close(&fd);
    if (status != ST_OK)
        return status;
    file->size = (uint64_t)st.st_size;
    switch (log_header_decode(page, log->config.secret, &file->header)) {
    case ST_OK:
        file->state = file->header.seq == file->seq ? FILE_STARTED : FILE_NOT_STARTED;
        return ST_OK;
    case ST_CORRUPT:
        file->state = FILE_UNKNOWN;
        return ST_OK;
    default:
        log_error(log->config.logger, "%s/%016llx: written by a later version of Coffer", log->config.dir_name,
                  (unsigned long long)file->seq);
        return ST_INVALID;
    }
}

static enum status read_headers(struct log *log, struct log_recovery *recovery) {
    enum status status = ST_OK;

    for (size_t i = 0; i < recovery->file_count && status == ST_OK; i++)
        status = read_header(log, &recovery->files[i]);
    return status;
}

static void mark_void(struct log_recovery *recovery) {
    for (size_t i = recovery->file_count; i-- > 0;) {
        const struct log_file *file = &recovery->files[i];

        if (file->state != FILE_STARTED || file->is_void)
            continue;
        for (size_t j = i; j-- > 0 && recovery->files[j].seq > file->header.prev_seq;)
            recovery->files[j].is_void = true;
    }
}

/* ---- 2. the chain ---- */

enum { NO_FILE = -1 };

static ssize_t find_first(const struct log_recovery *recovery) {
    for (size_t i = recovery->file_count; i-- > 0;) {
        const struct log_file *file = &recovery->files[i];

        if (file->state == FILE_STARTED && !file->is_void && file->header.prev_lsn <= recovery->applied)
            return (ssize_t)i;
    }
    return NO_FILE;
}

static ssize_t find_next(const struct log_recovery *recovery, size_t after) {
    for (size_t i = recovery->file_count; i-- > after + 1;) {
        const struct log_file *file = &recovery->files[i];

        if (file->state == FILE_STARTED && !file->is_void && file->header.prev_seq == recovery->files[after].seq)
            return (ssize_t)i;
    }
    return NO_FILE;
}

static uint64_t readable_end(const struct log_file *file) {
    return file->size < file->header.segment_bytes ? file->size : file->header.segment_bytes;
}

struct walk_limits {
    uint64_t skip, limit; /* as in struct log_walk */
    enum status (*record)(void *arg, const struct log_record *record);
    void *arg;
};

/* Walks over one file; the results stay in *walk. */
static enum status walk_file(struct log *log, size_t index, const struct walk_limits *limits, struct log_walk *walk) {
    const struct log_file *file = &log->recovery->files[index];
    int fd;
    enum status status = open_file(log, file, O_RDONLY, &fd);

    if (status != ST_OK)
        return status;
    log_walk_begin(walk, log, fd, file->seq, file->header.base, readable_end(file));
    walk->skip = limits->skip;
    walk->limit = limits->limit;
    walk->record = limits->record;
    walk->arg = limits->arg;
    status = log_walk_run(walk);
    if (status == ST_IO)
        log_error(log->config.logger, "%s/%016llx: cannot be read at offset %llu: %m", log->config.dir_name,
                  (unsigned long long)file->seq, (unsigned long long)walk->end);
    log_walk_end(walk);
    io_close(&fd);
    return status;
}

static void add_findings(struct log_findings *findings, const struct log_recovery *recovery,
                         const struct log_walk *walk, uint64_t base) {
    if (walk->records > 0 && findings->records == 0)
        findings->first_lsn = (base > recovery->applied ? base : recovery->applied) + 1;
    if (walk->records > 0)
        findings->last_lsn = walk->lsn;
    findings->records += walk->records;
    findings->bytes += walk->bytes;
}

/* Adds one segment to the chain. */
static enum status follow(struct log *log, size_t index, uint64_t limit, struct log_findings *findings) {
    struct log_recovery *recovery = log->recovery;
    struct log_file *file = &recovery->files[index];
    struct walk_limits limits = {.skip = recovery->applied, .limit = limit};
    struct log_walk walk;
    enum status status = walk_file(log, index, &limits, &walk);

    if (status != ST_OK)
        return status;
    file->in_chain = true;
    recovery->chain[recovery->chain_count++] =
        (struct link){.file = index, .base = file->header.base, .last = walk.lsn, .end = walk.end};
    recovery->last = walk.lsn;
    recovery->claimed = walk.claimed;
    if (walk.attested > recovery->attested)
        recovery->attested = walk.attested;
    if (file->header.attested > recovery->attested)
        recovery->attested = file->header.attested;
    add_findings(findings, recovery, &walk, file->header.base);
    return ST_OK;
}

static enum status follow_chain(struct log *log, size_t first, struct log_findings *findings) {
    struct log_recovery *recovery = log->recovery;
    ssize_t at = (ssize_t)first;
    enum status status = ST_OK;

    recovery->chain = calloc(recovery->file_count, sizeof *recovery->chain);
    if (recovery->chain == NULL)
        return ST_NO_MEMORY;
    while (at != NO_FILE && status == ST_OK) {
        ssize_t next = find_next(recovery, (size_t)at);
        const struct log_segment_header *header = next != NO_FILE ? &recovery->files[next].header : NULL;

        status = follow(log, (size_t)at, header != NULL ? header->prev_end : UINT64_MAX, findings);
        if (status == ST_OK && header != NULL) {
            const struct link *link = &recovery->chain[recovery->chain_count - 1];

            if (link->end != header->prev_end || link->last != header->prev_lsn)
                break;
        }
        at = next;
    }
    return status;
}

/* ---- 3. behind the end ---- */

/* What lies behind the end of the log in one file. */
struct remains {
    uint64_t attested; /* the highest LSN that a group there attests ... */
    uint64_t at;       /* ... and where that group is */
    uint64_t bytes;    /* of what looks like data of this life, up to its last byte that is not zero */
};

static size_t last_nonzero(const unsigned char *bytes, size_t n) {
    while (n > 0 && bytes[n - 1] == 0)
        n--;
    return n;
}

/* `region`: up to here everything belongs to this life; beyond it does too in a file that was never recycled, and
 * behind the segment's end. */
static enum status look_behind(struct log *log, const struct log_file *file, uint64_t from, uint64_t region,
                               struct remains *remains) {
    struct log_reader reader;
    bool fresh = file->state == FILE_STARTED && !file->header.recycled;
    uint64_t segment_end = file->state == FILE_STARTED ? file->header.segment_bytes : UINT64_MAX;
    uint64_t next;
    int fd;
    enum status status = open_file(log, file, O_RDONLY, &fd);

    *remains = (struct remains){0};
    if (status != ST_OK)
        return status;
    log_reader_init(&reader, log->config.faults, fd, file->size);
    for (uint64_t at = from; at < file->size; at = next) {
        const unsigned char *bytes;
        struct log_group group;
        size_t got;

        next = log_align(at + 1, LOG_SECTOR);
        status = report(log, file, "cannot be read",
                        log_reader_get(&reader, at, (size_t)(next - at), &bytes, &got));
        if (status != ST_OK || got == 0)
            break;
        if (at % LOG_SECTOR == 0 && got >= LOG_GROUP_BYTES &&
            log_group_decode(bytes, log->config.secret, file->seq, at, &group)) {
            region = at + group.length > region ? at + group.length : region;
            if (group.attested > remains->attested) {
                remains->attested = group.attested;
                remains->at = at;
            }
        }
        if (fresh || at < region || at >= segment_end) {
            size_t n = last_nonzero(bytes, got);
            remains->bytes = n > 0 ? at + n - from : remains->bytes;
        }
    }
    log_reader_free(&reader);
    io_close(&fd);
    return status;
}

static enum status refuse(struct log *log, uint64_t attested) {
    const struct log_recovery *recovery = log->recovery;
    const struct link *end = &recovery->chain[recovery->chain_count - 1];

    log_error(log->config.logger,
              "%s/%016llx: damaged at offset %llu: the changes up to %llu had been synced to disk, but those after "
              "%llu cannot be read.  Starting would lose them, so nothing was touched.  Copy the data directory "
              "away, then check the disk; restore a backup, or the file if you have an undamaged copy of it",
              log->config.dir_name, (unsigned long long)recovery->files[end->file].seq, (unsigned long long)end->end,
              (unsigned long long)attested, (unsigned long long)recovery->last);
    return ST_CORRUPT;
}

static void warn_dropped(struct log *log, uint64_t dropped) {
    const struct log_recovery *recovery = log->recovery;
    const struct link *end = &recovery->chain[recovery->chain_count - 1];
    const struct log_file *file = &recovery->files[end->file];

    if (dropped == 0 && recovery->claimed <= end->end && file->size == file->header.segment_bytes)
        return;
    log_warn(log->config.logger,
             "%s/%016llx: the log ends at offset %llu with change %llu; %llu bytes behind it are the rest of writes "
             "that were not completed and are dropped",
             log->config.dir_name, (unsigned long long)file->seq, (unsigned long long)end->end,
             (unsigned long long)recovery->last, (unsigned long long)dropped);
}

/* Torn tail or damage? */
static enum status judge_end(struct log *log, struct log_findings *findings) {
    const struct log_recovery *recovery = log->recovery;
    const struct link *end = &recovery->chain[recovery->chain_count - 1];
    uint64_t attested = recovery->attested > recovery->m ? recovery->attested : recovery->m;
    struct remains remains;
    enum status status = ST_OK;

    for (size_t i = end->file; i < recovery->file_count && status == ST_OK; i++) {
        const struct log_file *file = &recovery->files[i];
        uint64_t from = i == end->file ? end->end : LOG_PAGE;
        uint64_t page = log_align(from, LOG_PAGE), region = from;

        if (file->is_void || file->state == FILE_NOT_STARTED)
            continue;
        if (i == end->file) /* the rest of the page was written with the last group, as zeros */
            region = recovery->claimed > page ? recovery->claimed : page;
        status = look_behind(log, file, from, region, &remains);
        findings->dropped_bytes += remains.bytes;
        attested = remains.attested > attested ? remains.attested : attested;
        if (file->state == FILE_STARTED && file->header.attested > attested)
            attested = file->header.attested;
    }
    if (status != ST_OK)
        return status;
    if (attested > recovery->last)
        return refuse(log, attested);
    warn_dropped(log, findings->dropped_bytes);
    return ST_OK;
}

/* ---- 4. writing again ---- */

static enum status copy_onto_itself(struct log *log, int fd, uint64_t from, uint64_t to) {
    char *buffer = malloc(COPY_BYTES);
    enum status status = buffer != NULL ? ST_OK : ST_NO_MEMORY;
    size_t got;

    while (from < to && status == ST_OK) {
        size_t n = to - from < COPY_BYTES ? (size_t)(to - from) : COPY_BYTES;

        status = io_pread(log->config.faults, FAULT_LOG_READ, fd, buffer, n, from, &got);
        if (status == ST_OK && got < n) {
            errno = EIO;
            status = ST_IO; /* it was there a moment ago */
        }
        if (status == ST_OK)
            status = io_pwrite(log->config.faults, FAULT_LOG_REWRITE, fd, buffer, n, from);
        from += n;
    }
    free(buffer);
    return status;
}

static enum status rewrite_link(struct log *log, const struct link *link, uint64_t from) {
    const struct log_file *file = &log->recovery->files[link->file];
    int fd;
    enum status status = open_file(log, file, O_RDWR, &fd);

    if (status != ST_OK)
        return status;
    status = copy_onto_itself(log, fd, from, link->end);
    if (status == ST_OK)
        status = io_datasync(log->config.faults, FAULT_LOG_REWRITE, fd);
    io_close(&fd);
    return report(log, file, "the end of the log cannot be written again", status);
}

/* What stands before a record that is proved to be synced is synced as well; nothing is known about the rest, headers
 * and attest-only groups included. */
static enum status rewrite_tail(struct log *log) {
    const struct log_recovery *recovery = log->recovery;
    uint64_t proved = recovery->attested > recovery->m ? recovery->attested : recovery->m;
    size_t first = recovery->chain_count - 1;
    struct walk_limits limits = {.skip = proved};
    struct log_walk walk;
    uint64_t from;
    enum status status;

    while (first > 0 && (recovery->chain[first].base >= proved ||
                         recovery->chain[first].last == recovery->chain[first].base))
        first--;
    limits.limit = recovery->chain[first].end;
    status = walk_file(log, recovery->chain[first].file, &limits, &walk);
    /* Behind the last group that is proved; when none is, not even the header page is. */
    from = walk.passed > LOG_PAGE ? walk.passed & ~(uint64_t)(LOG_PAGE - 1) : 0;
    for (size_t i = first; i < recovery->chain_count && status == ST_OK; i++)
        status = rewrite_link(log, &recovery->chain[i], i == first ? from : 0);
    return status;
}

/* ---- all of it ---- */

static enum status recover_empty(struct log *log) {
    struct log_recovery *recovery = log->recovery;

    if (recovery->file_count == 0 && recovery->m <= recovery->applied) {
        recovery->last = recovery->applied;
        return ST_OK;
    }
    if (recovery->file_count == 0)
        log_error(log->config.logger,
                  "%s: empty, but the tree needs the log's changes from %llu to %llu.  Restore a backup",
                  log->config.dir_name, (unsigned long long)recovery->applied + 1, (unsigned long long)recovery->m);
    else
        log_error(log->config.logger,
                  "%s: no segment begins at or below change %llu, up to which the tree has everything (looked at "
                  "offset 0 of each, the first is %016llx).  A file is missing or damaged, or the file `secret` is "
                  "not the right one.  Restore a backup, or the missing file",
                  log->config.dir_name, (unsigned long long)recovery->applied,
                  (unsigned long long)recovery->files[0].seq);
    return ST_CORRUPT;
}

enum status log_recover(struct log *log, uint64_t applied, uint64_t m, struct log_findings *findings) {
    struct log_recovery *recovery = calloc(1, sizeof *recovery);
    ssize_t first;
    enum status status;

    *findings = (struct log_findings){.clean = true};
    if (recovery == NULL)
        return ST_NO_MEMORY;
    log->recovery = recovery;
    recovery->applied = applied;
    recovery->m = m > applied ? m : applied;
    status = list_files(log, recovery);
    if (status == ST_OK)
        status = read_headers(log, recovery);
    if (status != ST_OK)
        return status;
    mark_void(recovery);
    first = find_first(recovery);
    if (first == NO_FILE)
        return recover_empty(log);
    status = follow_chain(log, (size_t)first, findings);
    if (status == ST_OK)
        status = judge_end(log, findings);
    if (status == ST_OK)
        status = rewrite_tail(log);
    findings->clean = recovery->last <= recovery->attested || recovery->last <= recovery->m;
    return status;
}

static enum status replay_link(struct log *log, const struct link *link, struct walk_limits *limits) {
    struct log_walk walk;
    enum status status;

    limits->limit = link->end;
    status = walk_file(log, link->file, limits, &walk);
    if (status == ST_OK && walk.lsn != link->last) {
        log_error(log->config.logger, "%s/%016llx: offset %llu was good when it was read before and is not now",
                  log->config.dir_name, (unsigned long long)log->recovery->files[link->file].seq,
                  (unsigned long long)walk.end);
        status = ST_CORRUPT;
    }
    return status;
}

enum status log_replay(struct log *log, uint64_t after,
                       enum status (*fn)(void *arg, const struct log_record *record), void *arg) {
    const struct log_recovery *recovery = log->recovery;
    struct walk_limits limits = {.skip = after, .record = fn, .arg = arg};
    enum status status = ST_OK;

    CHECK_OBJ(log, LOG_MAGIC);
    CHECK(!log->started);
    for (size_t i = 0; i < recovery->chain_count && status == ST_OK; i++)
        if (recovery->chain[i].last > after)
            status = replay_link(log, &recovery->chain[i], &limits);
    return status;
}

/* ---- 5. the new segment ---- */

static uint64_t highest_number(const struct log_recovery *recovery) {
    return recovery->file_count > 0 ? recovery->files[recovery->file_count - 1].seq : 0;
}

static struct log_segment_header next_header(struct log *log) {
    const struct log_recovery *recovery = log->recovery;
    const struct link *end = recovery->chain_count > 0 ? &recovery->chain[recovery->chain_count - 1] : NULL;
    uint64_t from = recovery->last > recovery->m ? recovery->last : recovery->m;
    struct log_segment_header header = {
        .seq = highest_number(recovery) + 1,
        .segment_bytes = log->config.segment_bytes,
        .prev_seq = end != NULL ? recovery->files[end->file].seq : 0,
        .prev_end = end != NULL ? end->end : 0,
        .prev_lsn = recovery->last,
        .base = from + LOG_BASE_STEP,
        .attested = from + LOG_BASE_STEP,
    };

    for (size_t i = 0; i < recovery->file_count; i++)
        if (recovery->files[i].state == FILE_STARTED && recovery->files[i].header.incarnation >= log->incarnation)
            log->incarnation = recovery->files[i].header.incarnation;
    header.incarnation = ++log->incarnation;
    return header;
}

/* A file that is no part of the log, has the right size and all its blocks: then starting needs no room. */
static struct log_file *find_usable(struct log *log, int *fd) {
    struct log_recovery *recovery = log->recovery;

    for (size_t i = recovery->file_count; i-- > 0;) {
        struct log_file *file = &recovery->files[i];
        struct stat st;

        if (file->in_chain || file->size != log->config.segment_bytes || open_file(log, file, O_RDWR, fd) != ST_OK)
            continue;
        if (fstat(*fd, &st) == 0 && (uint64_t)st.st_blocks * 512 >= file->size)
            return file;
        io_close(fd);
    }
    return NULL;
}

/* The header goes into the file under its old name, where it means nothing, then the file gets its new one. */
static enum status write_start(struct log *log, struct log_segment_header *header, const struct log_file *file,
                               int *fd) {
    char from[LOG_NAME_BYTES], to[LOG_NAME_BYTES];
    const char *old = temporary_name;
    unsigned char *page = aligned_alloc(LOG_PAGE, LOG_PAGE);
    enum status status = page != NULL ? ST_OK : ST_NO_MEMORY;

    header->recycled = file != NULL;
    log_segment_name(header->seq, to);
    if (file != NULL) {
        log_segment_name(file->seq, from);
        old = from;
    } else if (status == ST_OK) {
        status = log_file_create(log, old, fd);
    }
    if (status == ST_OK) {
        log_header_encode(page, log->config.secret, header);
        status = io_pwrite(log->config.faults, FAULT_LOG_HEADER, *fd, page, LOG_PAGE, 0);
    }
    if (status == ST_OK)
        status = io_datasync(log->config.faults, FAULT_LOG_HEADER, *fd);
    if (status == ST_OK)
        status = io_rename(log->config.faults, FAULT_LOG_RENAME, log->config.dir, old, to);
    if (status == ST_OK)
        status = io_dirsync(log->config.faults, log->config.dir);
    free(page);
    if (status != ST_OK) {
        log_error(log->config.logger, "%s: the next segment of the log cannot be made: %s", log->config.dir_name,
                  status_text(status));
        io_close(fd);
    }
    return status;
}

/* The chain becomes the live list's beginning; everything else is left to the keeper. */
static enum status hand_over(struct log *log, const struct log_file *used) {
    const struct log_recovery *recovery = log->recovery;

    for (size_t i = 0; i < recovery->file_count; i++) {
        const struct log_file *file = &recovery->files[i];
        struct log_segment *segment;

        if (file == used)
            continue;
        segment = log_segment_new(file->seq, -1, file->size);
        if (segment == NULL)
            return ST_NO_MEMORY;
        atomic_fetch_add(&log->files_bytes, file->size);
        atomic_fetch_add(&log->files, 1);
        if (!file->in_chain) {
            segment->next = log->left;
            log->left = segment;
            continue;
        }
        for (size_t k = 0; k < recovery->chain_count; k++) {
            const struct link *link = &recovery->chain[k];

            if (&recovery->files[link->file] != file)
                continue;
            segment->base = link->base;
            segment->last = link->last;
            segment->ended = segment->begun_durably = true;
            segment->begun = log->current_at;
            log->current_at += link->end;
        }
        *log->live_tail = segment;
        log->live_tail = &segment->next;
    }
    return ST_OK;
}

enum status log_recovery_finish(struct log *log) {
    struct log_recovery *recovery = log->recovery;
    struct log_segment_header header = next_header(log);
    int fd = -1;
    const struct log_file *used;
    struct log_segment *segment;
    enum status status;

    if (unlinkat(log->config.dir, temporary_name, 0) != 0 && errno != ENOENT) {
        log_error(log->config.logger, "%s/%s: cannot be removed: %m", log->config.dir_name, temporary_name);
        return status_from_errno(errno);
    }
    used = find_usable(log, &fd);
    segment = log_segment_new(header.seq, -1, log->config.segment_bytes);
    if (segment == NULL) {
        io_close(&fd);
        return ST_NO_MEMORY;
    }
    status = write_start(log, &header, used, &fd);
    if (status == ST_OK)
        status = hand_over(log, used);
    segment->fd = fd;
    if (status != ST_OK) {
        log_segment_free(&segment);
        return status;
    }
    segment->recycled = header.recycled;
    atomic_fetch_add(&log->files_bytes, segment->bytes);
    atomic_fetch_add(&log->files, 1);
    log->last_name = header.seq;
    log->attested = header.attested;
    atomic_store(&log->applied, recovery->applied);
    atomic_store(&log->last, header.base);
    atomic_store(&log->written, header.base);
    atomic_store(&log->durable, header.base);
    lock_take(&log->append);
    log_begin_segment(log, segment, &header, true);
    lock_drop(&log->append);
    log_recovery_free(log);
    return ST_OK;
}
