/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/logger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/check.h"

enum { LOGGER_MAGIC = 0x6c6f6767, LINE_MAX_BYTES = 2048, FIRST_FREE_FD = 3 };

struct logger {
    unsigned magic;
    int fd;     /* the number never changes: logger_reopen puts a new file behind it */
    char *path; /* NULL: standard error */
    atomic_int level;
};

/* Descriptors 0 to 2 stay what they are even when the caller was started with one of them closed. */
static int open_file(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0 || fd >= FIRST_FREE_FD) {
        return fd;
    }
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int saved = errno;
    close(fd);
    errno = saved;
    return higher;
}

enum status logger_open(struct logger **logger, const char *path, enum logger_level level) {
    enum status status = ST_NO_MEMORY;
    struct logger *opened = calloc(1, sizeof *opened);
    *logger = NULL;
    if (opened == NULL) {
        goto out;
    }
    opened->magic = LOGGER_MAGIC;
    opened->fd = STDERR_FILENO;
    atomic_init(&opened->level, (int)level);
    if (path != NULL && path[0] != '\0') {
        opened->path = strdup(path);
        if (opened->path == NULL) {
            goto out;
        }
        opened->fd = open_file(path);
        if (opened->fd < 0) {
            status = status_from_errno(errno);
            goto out;
        }
    }
    status = ST_OK;
    *logger = opened;
    opened = NULL;
out:
    if (opened != NULL) {
        int saved = errno;
        free(opened->path);
        free(opened);
        errno = saved;
    }
    return status;
}

void logger_close(struct logger **logger) {
    struct logger *closing = *logger;
    if (closing == NULL) {
        return;
    }
    CHECK_OBJ(closing, LOGGER_MAGIC);
    if (closing->path != NULL) {
        close(closing->fd);
    }
    closing->magic = 0;
    free(closing->path);
    free(closing);
    *logger = NULL;
}

enum status logger_reopen(struct logger *logger) {
    CHECK_OBJ(logger, LOGGER_MAGIC);
    if (logger->path == NULL) {
        return ST_OK;
    }
    int fd = open_file(logger->path);
    if (fd < 0) {
        return status_from_errno(errno);
    }
    /* dup3 swaps in one step, so a line of another thread goes to the old file or the new, never nowhere. */
    int done = dup3(fd, logger->fd, O_CLOEXEC);
    enum status status = done < 0 ? status_from_errno(errno) : ST_OK;
    close(fd);
    return status;
}

void logger_set_level(struct logger *logger, enum logger_level level) {
    CHECK_OBJ(logger, LOGGER_MAGIC);
    atomic_store_explicit(&logger->level, (int)level, memory_order_relaxed);
}

static size_t put_stamp(char *line, size_t room, enum logger_level level) {
    static const char *const names[] = {"error", "warn", "info", "debug"};
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(line, room, "%Y-%m-%dT%H:%M:%S", &utc);
    n += (size_t)snprintf(line + n, room - n, ".%03dZ %s ", (int)(now.tv_nsec / 1000000), names[level]);
    return n;
}

void logger_line(struct logger *logger, enum logger_level level, const char *format, ...) {
    char line[LINE_MAX_BYTES];
    if (logger == NULL) {
        return;
    }
    CHECK_OBJ(logger, LOGGER_MAGIC);
    if ((int)level > atomic_load_explicit(&logger->level, memory_order_relaxed)) {
        return;
    }
    int saved = errno;
    size_t n = put_stamp(line, sizeof line, level);
    va_list args;
    va_start(args, format);
    int text = vsnprintf(line + n, sizeof line - n, format, args);
    va_end(args);
    if (text > 0) {
        size_t room = sizeof line - n - 1; /* the line end takes the terminator's place */
        n += (size_t)text < room ? (size_t)text : room;
    }
    line[n++] = '\n';
    ssize_t written;
    do {
        written = write(logger->fd, line, n);
    } while (written < 0 && errno == EINTR);
    /* A line that cannot be written has nobody to be reported to; the server goes on. */
    errno = saved;
}
