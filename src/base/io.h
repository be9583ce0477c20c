/* SPDX-License-Identifier: BSD-3-Clause */
/* io: the only way to the file system for log, secret and manifest, so that tests can fail or slow each call.
 *
 * Every call names its fault point.  EINTR is retried.  Errors are statuses; errno is left set for the message.
 * Any thread. */
#ifndef COFFER_BASE_IO_H
#define COFFER_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/fault.h"
#include "src/base/status.h"

/* Like openat(2) with O_CLOEXEC, never returning descriptors 0 to 2. *fd is -1 on error. */
enum status io_open(struct faults *faults, enum fault_point at, int dir, const char *name, int flags, mode_t mode,
                    int *fd) MUST_CHECK;
void io_close(int *fd); /* sets it to -1; -1 is ignored */

/* All n bytes or an error.  The fault "short" writes half, then fails as a full disk does. */
enum status io_pwrite(struct faults *faults, enum fault_point at, int fd, const void *bytes, size_t n,
                      uint64_t offset) MUST_CHECK;
/* Reads up to n bytes; *got < n only at the end of the file. */
enum status io_pread(struct faults *faults, enum fault_point at, int fd, void *bytes, size_t n, uint64_t offset,
                     size_t *got) MUST_CHECK;
enum status io_datasync(struct faults *faults, enum fault_point at, int fd) MUST_CHECK;
enum status io_dirsync(struct faults *faults, int dir) MUST_CHECK; /* FAULT_DIR_SYNC */
enum status io_rename(struct faults *faults, enum fault_point at, int dir, const char *from,
                      const char *to) MUST_CHECK;
enum status io_unlink(struct faults *faults, enum fault_point at, int dir, const char *name) MUST_CHECK;
/* Creates the directory (0700) when missing and opens it. */
enum status io_opendir(const char *path, int *fd) MUST_CHECK;
/* Writes name.tmp, syncs it, renames it to name, syncs the directory: after ST_OK the file is whole and durable. */
enum status io_replace(struct faults *faults, enum fault_point write_at, enum fault_point rename_at, int dir,
                       const char *name, const void *bytes, size_t n) MUST_CHECK;

#endif
