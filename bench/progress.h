/* SPDX-License-Identifier: BSD-3-Clause */
/* progress: a bar on standard error while a phase runs, when that is a terminal.  One thread. */
#ifndef COFFER_BENCH_PROGRESS_H
#define COFFER_BENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *name;
    uint64_t requests; /* the whole by requests, or 0 and */
    double seconds;    /* the whole by time */
    bool shown;
    uint64_t started, last_time, last_done;
};

void progress_begin(struct progress *progress, const char *name, uint64_t requests, double seconds,
                    bool quiet);
void progress_show(struct progress *progress, uint64_t done);
/* Takes the bar away. */
void progress_end(struct progress *progress);

#endif
