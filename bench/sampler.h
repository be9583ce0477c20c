/* SPDX-License-Identifier: BSD-3-Clause */
/* sampler: what a process has used, from /proc, and what a block device has written, from /sys.  A process is read
 * by the same user, or root.
 *
 * The kernel also counts a process's own writes, but at the first dirtying of a page, and where the page cache holds
 * large folios the whole folio counts for each: a hundred times too much was seen.  So the device is asked, which
 * counts everybody's writes. */
#ifndef COFFER_BENCH_SAMPLER_H
#define COFFER_BENCH_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"

struct sample {
    double cpu;          /* seconds, user and system together, to the nanosecond */
    double user, system; /* seconds, to 10 ms */
    uint64_t resident;   /* bytes; of these anonymous memory */
    uint64_t anonymous;
};

/* ST_NOT_FOUND when there is no such process. */
enum status sampler_read(pid_t pid, struct sample *sample) MUST_CHECK;

/* Writes out what the directory's filesystem holds in the page cache, then tells how many bytes its block device has
 * ever been sent.  ST_NOT_FOUND when there is no such directory, or no one device below it. */
enum status sampler_device(const char *directory, uint64_t *written) MUST_CHECK;

/* CPU seconds of the calling process. */
double sampler_own_cpu(void);

#endif
