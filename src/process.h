/* SPDX-License-Identifier: BSD-3-Clause */
/* process: what a server does about the process it runs in: descriptors, background, user, limits, pid file.
 *
 * Used by the main thread at start and end; process_daemonize before any other thread exists and before LMDB opens its
 * files.  Errors are written to `message`, as half a line without an end. */
#ifndef COFFER_PROCESS_H
#define COFFER_PROCESS_H

#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/status.h"

/* Opens /dev/null for each of the descriptors 0 to 2 that is closed, so that no data file can get their numbers. */
void process_open_standard(void);

/* Goes to the background.  Returns in the new process with a descriptor for process_report; the one that called waits
 * for the report and exits with it (with 1 when the new process dies before). */
enum status process_daemonize(int *report) MUST_CHECK;
/* Tells the waiting process its exit status.  report -1: there is none.  Sets it to -1. */
void process_report(int *report, int exit_status);

/* For a process in the background: 0 becomes /dev/null, 1 and 2 append to path, or are /dev/null when it is "". */
void process_redirect(const char *path);

/* As root: becomes the user, to whom a missing or empty data directory and a missing log file ("": none) are given.
 * Without being root nothing happens. */
enum status process_become(const char *user, const char *data_dir, const char *log_file,
                           struct buffer *message) MUST_CHECK;

/* Raises the limit of open descriptors to `wanted` if that may be done; returns what it is now. */
uint64_t process_raise_descriptors(uint64_t wanted);
/* What clients stored is not to be found in core files. */
void process_forbid_core(void);

/* The file is there as a whole or not at all. */
enum status process_write_pid(const char *path, struct buffer *message) MUST_CHECK;
/* Unless another process has taken it over. */
void process_remove_pid(const char *path);

#endif
