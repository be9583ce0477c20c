/* SPDX-License-Identifier: BSD-3-Clause */
/* readers: the pool of threads that read from disk, so that cold reads run side by side at the disk's queue depth.
 *
 * Jobs are taken in the order of submission.  Each pool thread has its own tree_reader.  The pool measures the major
 * page faults of its threads (RUSAGE_THREAD) over sliding windows of jobs: readers_inline_ok() says whether workers
 * may read the tree themselves: below 0.1 % faults a job, and until above 1 % again; false until it has been measured.
 * While inline is on, workers send every 64th lookup here as a probe.
 *
 * Submit: any thread.  run() executes on a pool thread, then the ticket is posted. */
#ifndef COFFER_STORAGE_READERS_H
#define COFFER_STORAGE_READERS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/inbox.h"
#include "storage/tree.h"

struct readers;

struct reader_job {
    struct reader_job *next;
    void (*run)(struct reader_job *job, struct tree_reader *reader);
    struct ticket *ticket; /* posted after run; NULL = nobody waits */
    uint64_t queued_micros;
};

enum status readers_start(struct readers **readers, struct tree *tree, unsigned threads) MUST_CHECK;
void readers_stop(struct readers **readers); /* finishes what is queued */

void readers_submit(struct readers *readers, struct reader_job *job);
bool readers_inline_ok(const struct readers *readers);

struct readers_figures {
    uint64_t jobs, waiting, wait_micros_max, faults;
};
void readers_figures(struct readers *readers, struct readers_figures *figures);

#endif
