/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults are counted per job, in windows of WINDOW_JOBS.  Turning inline reads on takes the last WINDOWS of them
 * together (one fault in a single window would already be more than 0.1 %), turning them off as little as the third
 * fault of the running window: by then the workers may have done 64 times as many reads themselves. */
#include "storage/readers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "src/base/check.h"
#include "src/base/clock.h"
#include "src/base/lock.h"
#include "src/base/thread.h"

enum {
    READERS_MAGIC = 0x72647273,
    WINDOW_JOBS = 256,
    WINDOWS = 4,
    ON_BELOW = 1000, /* fewer faults than one in so many jobs */
    OFF_ABOVE = 100, /* more faults than one in so many jobs */
};

struct worker {
    struct readers *readers;
    struct tree_reader *reader;
    pthread_t thread;
    uint64_t faults; /* of this thread so far; its own */
};

struct windows {
    uint64_t jobs, faults;          /* of the running one */
    uint64_t past_faults[WINDOWS];  /* of the last full ones, a ring */
    uint64_t full;                  /* how many were full so far */
};

struct readers {
    unsigned magic;
    unsigned threads; /* constant after start */
    atomic_bool inline_ok;

    struct lock lock; /* guards what follows */
    struct cond filled;
    bool stopping;
    struct reader_job *first, **last;
    struct windows windows;
    struct readers_figures figures;

    struct worker workers[];
};

static uint64_t thread_faults(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
    return (uint64_t)usage.ru_majflt;
}

static void judge_off(struct readers *readers) {
    if (readers->windows.faults * OFF_ABOVE > WINDOW_JOBS)
        atomic_store_explicit(&readers->inline_ok, false, memory_order_relaxed);
}

static void judge_on(struct readers *readers) {
    const struct windows *w = &readers->windows;
    uint64_t known = w->full < WINDOWS ? w->full : WINDOWS;
    uint64_t faults = 0;

    for (uint64_t i = 0; i < known; i++)
        faults += w->past_faults[i];
    if (faults * ON_BELOW < known * WINDOW_JOBS)
        atomic_store_explicit(&readers->inline_ok, true, memory_order_relaxed);
}

/* The lock is held. */
static void account(struct readers *readers, uint64_t faults) {
    struct windows *w = &readers->windows;

    readers->figures.jobs++;
    readers->figures.faults += faults;
    w->jobs++;
    w->faults += faults;
    judge_off(readers);
    if (w->jobs == WINDOW_JOBS) {
        w->past_faults[w->full++ % WINDOWS] = w->faults;
        w->jobs = w->faults = 0;
        judge_on(readers);
    }
}

/* The lock is held.  The oldest job; NULL: everything is done and no more will come. */
static struct reader_job *take(struct readers *readers) {
    while (readers->first == NULL && !readers->stopping)
        cond_wait(&readers->filled, &readers->lock);
    struct reader_job *job = readers->first;
    if (job != NULL) {
        uint64_t waited = clock_micros() - job->queued_micros;
        readers->first = job->next;
        if (readers->first == NULL)
            readers->last = &readers->first;
        readers->figures.waiting--;
        if (waited > readers->figures.wait_micros_max)
            readers->figures.wait_micros_max = waited;
    }
    return job;
}

/* Returns the major faults that the job took.  The job is its owner's again once the ticket was posted, or once run
 * has returned when there is none. */
static uint64_t run_job(struct worker *worker, struct reader_job *job) {
    struct ticket *ticket = job->ticket;
    uint64_t before = worker->faults;

    job->next = NULL;
    job->run(job, worker->reader);
    worker->faults = thread_faults();
    if (ticket != NULL)
        inbox_post(ticket);
    return worker->faults - before;
}

static void *work(void *arg) {
    struct worker *worker = arg;
    struct readers *readers = worker->readers;
    struct reader_job *job;

    CHECK_OBJ(readers, READERS_MAGIC);
    worker->faults = thread_faults();
    lock_take(&readers->lock);
    while ((job = take(readers)) != NULL) {
        lock_drop(&readers->lock);
        uint64_t faults = run_job(worker, job);
        lock_take(&readers->lock);
        account(readers, faults);
    }
    lock_drop(&readers->lock);
    return NULL;
}

static enum status start_worker(struct readers *readers, struct tree *tree) {
    struct worker *worker = &readers->workers[readers->threads];
    enum status status = tree_reader_open(&worker->reader, tree);

    worker->readers = readers;
    if (status == ST_OK)
        status = thread_start(&worker->thread, "coffer-reader", work, worker);
    if (status == ST_OK)
        readers->threads++;
    else
        tree_reader_close(&worker->reader);
    return status;
}

enum status readers_start(struct readers **readers, struct tree *tree, unsigned threads) {
    struct readers *started = calloc(1, sizeof *started + threads * sizeof started->workers[0]);
    enum status status = ST_OK;

    *readers = NULL;
    CHECK(threads > 0);
    if (started == NULL)
        return ST_NO_MEMORY;
    started->magic = READERS_MAGIC;
    started->last = &started->first;
    lock_init(&started->lock, LOCK_POOL);
    cond_init(&started->filled);
    for (unsigned i = 0; i < threads && status == ST_OK; i++)
        status = start_worker(started, tree);
    if (status == ST_OK)
        *readers = started;
    else
        readers_stop(&started);
    return status;
}

void readers_stop(struct readers **readers) {
    struct readers *stopped = *readers;

    *readers = NULL;
    if (stopped == NULL)
        return;
    CHECK_OBJ(stopped, READERS_MAGIC);
    lock_take(&stopped->lock);
    stopped->stopping = true;
    cond_broadcast(&stopped->filled);
    lock_drop(&stopped->lock);
    for (unsigned i = 0; i < stopped->threads; i++) {
        thread_join(stopped->workers[i].thread);
        tree_reader_close(&stopped->workers[i].reader);
    }
    CHECK(stopped->first == NULL);
    cond_destroy(&stopped->filled);
    lock_destroy(&stopped->lock);
    stopped->magic = 0;
    free(stopped);
}

void readers_submit(struct readers *readers, struct reader_job *job) {
    CHECK_OBJ(readers, READERS_MAGIC);
    job->next = NULL;
    job->queued_micros = clock_micros();
    lock_take(&readers->lock);
    CHECK(!readers->stopping);
    *readers->last = job;
    readers->last = &job->next;
    readers->figures.waiting++;
    cond_signal(&readers->filled);
    lock_drop(&readers->lock);
}

bool readers_inline_ok(const struct readers *readers) {
    CHECK_OBJ(readers, READERS_MAGIC);
    return atomic_load_explicit(&readers->inline_ok, memory_order_relaxed);
}

void readers_figures(struct readers *readers, struct readers_figures *figures) {
    CHECK_OBJ(readers, READERS_MAGIC);
    lock_take(&readers->lock);
    *figures = readers->figures;
    lock_drop(&readers->lock);
}
