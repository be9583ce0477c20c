/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/check.h"

enum { FIRST_FREE_FD = 3, NAME_ROOM = 256 };

/* Repeats a call while a signal interrupts it. */
#define RETRY(result, call)                                                                            \
    do {                                                                                               \
        (result) = (call);                                                                             \
    } while ((result) < 0 && errno == EINTR)

static enum status failed(void) {
    return status_from_errno(errno);
}

/* Where a call that is no write meets its point: "short" can only mean that it fails. */
static enum status meet(struct faults *faults, enum fault_point at) {
    int fault = fault_hit(faults, at);
    if (fault == 0) {
        return ST_OK;
    }
    errno = fault > 0 ? fault : EIO;
    return failed();
}

/* Moves a descriptor above standard error, so that a stray print can never land in a data file. */
static int above_standard(int fd) {
    if (fd < 0 || fd >= FIRST_FREE_FD) {
        return fd;
    }
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int saved = errno;
    close(fd);
    errno = saved;
    return higher;
}

enum status io_open(struct faults *faults, enum fault_point at, int dir, const char *name, int flags, mode_t mode,
                    int *fd) {
    *fd = -1;
    enum status status = meet(faults, at);
    if (status != ST_OK) {
        return status;
    }
    RETRY(*fd, openat(dir, name, flags | O_CLOEXEC, mode));
    *fd = above_standard(*fd);
    if (*fd < 0) {
        return errno == ENOENT ? ST_NOT_FOUND : failed();
    }
    return ST_OK;
}

void io_close(int *fd) {
    if (*fd >= 0) {
        int saved = errno;
        close(*fd);
        errno = saved;
        *fd = -1;
    }
}

static enum status write_all(int fd, const char *bytes, size_t n, uint64_t offset) {
    while (n > 0) {
        ssize_t done;
        RETRY(done, pwrite(fd, bytes, n, (off_t)offset));
        if (done <= 0) {
            errno = done == 0 ? ENOSPC : errno;
            return failed();
        }
        bytes += done;
        n -= (size_t)done;
        offset += (uint64_t)done;
    }
    return ST_OK;
}

enum status io_pwrite(struct faults *faults, enum fault_point at, int fd, const void *bytes, size_t n,
                      uint64_t offset) {
    int fault = fault_hit(faults, at);
    if (fault == 0) {
        return write_all(fd, bytes, n, offset);
    }
    if (fault > 0) {
        errno = fault;
        return failed();
    }
    /* What a disk that fills up in the middle does: half is there, then the error. */
    enum status status = write_all(fd, bytes, n / 2, offset);
    if (status == ST_OK) {
        errno = ENOSPC;
        status = failed();
    }
    return status;
}

enum status io_pread(struct faults *faults, enum fault_point at, int fd, void *bytes, size_t n, uint64_t offset,
                     size_t *got) {
    *got = 0;
    enum status status = meet(faults, at);
    if (status != ST_OK) {
        return status;
    }
    while (*got < n) {
        ssize_t done;
        RETRY(done, pread(fd, (char *)bytes + *got, n - *got, (off_t)(offset + *got)));
        if (done < 0) {
            return failed();
        }
        if (done == 0) {
            break;
        }
        *got += (size_t)done;
    }
    return ST_OK;
}

static enum status result_of(int result) {
    return result < 0 ? failed() : ST_OK;
}

enum status io_datasync(struct faults *faults, enum fault_point at, int fd) {
    enum status status = meet(faults, at);
    if (status == ST_OK) {
        int result;
        RETRY(result, fdatasync(fd));
        status = result_of(result);
    }
    return status;
}

enum status io_dirsync(struct faults *faults, int dir) {
    enum status status = meet(faults, FAULT_DIR_SYNC);
    if (status == ST_OK) {
        int result;
        RETRY(result, fsync(dir));
        status = result_of(result);
    }
    return status;
}

enum status io_rename(struct faults *faults, enum fault_point at, int dir, const char *from, const char *to) {
    enum status status = meet(faults, at);
    return status == ST_OK ? result_of(renameat(dir, from, dir, to)) : status;
}

enum status io_unlink(struct faults *faults, enum fault_point at, int dir, const char *name) {
    enum status status = meet(faults, at);
    if (status == ST_OK && unlinkat(dir, name, 0) < 0) {
        status = errno == ENOENT ? ST_NOT_FOUND : failed();
    }
    return status;
}

/* The new directory's own name must survive a power cut as well: it is kept by the parent. */
static enum status sync_parent(int fd) {
    int parent;
    RETRY(parent, openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (parent < 0) {
        /* A parent that may be passed through but not read cannot be synced by anybody but its owner. */
        return errno == EACCES ? ST_OK : failed();
    }
    enum status status = io_dirsync(NULL, parent);
    io_close(&parent);
    return status;
}

enum status io_opendir(const char *path, int *fd) {
    *fd = -1;
    bool created = mkdir(path, 0700) == 0;
    if (!created && errno != EEXIST) {
        return failed();
    }
    RETRY(*fd, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    *fd = above_standard(*fd);
    if (*fd < 0) {
        return failed();
    }
    enum status status = created ? sync_parent(*fd) : ST_OK;
    if (status != ST_OK) {
        io_close(fd);
    }
    return status;
}

static enum status write_whole(struct faults *faults, enum fault_point at, int dir, const char *name,
                               const void *bytes, size_t n) {
    int fd;
    RETRY(fd, openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    fd = above_standard(fd);
    if (fd < 0) {
        return failed();
    }
    enum status status = io_pwrite(faults, at, fd, bytes, n, 0);
    if (status == ST_OK) {
        status = io_datasync(NULL, at, fd);
    }
    io_close(&fd);
    return status;
}

enum status io_replace(struct faults *faults, enum fault_point write_at, enum fault_point rename_at, int dir,
                       const char *name, const void *bytes, size_t n) {
    char temporary[NAME_ROOM];
    int length = snprintf(temporary, sizeof temporary, "%s.tmp", name);
    CHECK(length > 0 && length < NAME_ROOM);
    enum status status = write_whole(faults, write_at, dir, temporary, bytes, n);
    if (status == ST_OK) {
        status = io_rename(faults, rename_at, dir, temporary, name);
    }
    if (status != ST_OK) {
        int saved = errno;
        unlinkat(dir, temporary, 0); /* best effort: the next replacement truncates it anyway */
        errno = saved;
        return status;
    }
    return io_dirsync(faults, dir);
}
