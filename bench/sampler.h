/* SPDX-License-Identifier: BSD-3-Clause */
/* sampler: what a process has used, from /proc.  Needs the right to read it: the same user, or root. */
#ifndef COFFER_BENCH_SAMPLER_H
#define COFFER_BENCH_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"

struct sample {
    double user, system; /* CPU seconds, to 10 ms */
    uint64_t resident;   /* bytes; of these anonymous memory */
    uint64_t anonymous;
    bool io_known;    /* false where /proc/PID/io may not be read */
    uint64_t written; /* bytes caused to be sent to devices; page cache counts when it is dirtied */
};

/* ST_NOT_FOUND when there is no such process. */
enum status sampler_read(pid_t pid, struct sample *sample) MUST_CHECK;

/* CPU seconds of the calling process. */
double sampler_own_cpu(void);

#endif
