/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/readers.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/inbox.h"
#include "src/base/lock.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"
#include "tests/unit/support_tree.h"

/* A job of the tests: does one of several things, notes that it ran, and comes back through the inbox. */
struct task {
    struct reader_job job;
    struct ticket ticket;
    struct record_of_runs *runs;
    unsigned number;
    struct slice key;     /* to look up, if any */
    struct item *found;
    enum status status;
    pthread_barrier_t *meet; /* wait here, if any */
    char *fault_page;     /* read this, if any */
    bool delivered;
};

struct record_of_runs {
    struct lock lock;
    unsigned order[4096];
    unsigned count;
};

static struct task *task_of(struct reader_job *job) {
    return (struct task *)((char *)job - offsetof(struct task, job));
}

static void deliver(struct ticket *ticket) {
    ((struct task *)((char *)ticket - offsetof(struct task, ticket)))->delivered = true;
}

static void run(struct reader_job *job, struct tree_reader *reader) {
    struct task *task = task_of(job);
    uint64_t number, birth;
    if (task->meet != NULL)
        pthread_barrier_wait(task->meet);
    if (task->key.n > 0)
        task->status = tree_get(reader, task->key, &task->found, &number, &birth);
    if (task->fault_page != NULL)
        *(volatile char *)task->fault_page;
    lock_take(&task->runs->lock);
    task->runs->order[task->runs->count++] = task->number;
    lock_drop(&task->runs->lock);
}

struct fixture {
    struct tree_test t;
    struct readers *readers;
    struct inbox *inbox;
    struct record_of_runs runs;
    struct task tasks[4096];
    unsigned count;
};

static struct fixture *begin(unsigned threads) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    tree_test_make(&f->t);
    assert_ok(inbox_create(&f->inbox));
    lock_init(&f->runs.lock, LOCK_LEAF);
    assert_ok(readers_start(&f->readers, f->t.tree, threads));
    return f;
}

static void end(struct fixture *f) {
    readers_stop(&f->readers);
    inbox_drain(f->inbox);
    inbox_destroy(&f->inbox);
    lock_destroy(&f->runs.lock);
    tree_test_remove(&f->t);
    free(f);
}

static struct task *next_task(struct fixture *f) {
    struct task *task = &f->tasks[f->count];
    memset(task, 0, sizeof *task);
    task->job.run = run;
    task->job.ticket = &task->ticket;
    task->ticket.inbox = f->inbox;
    task->ticket.deliver = deliver;
    task->runs = &f->runs;
    task->number = f->count++;
    return task;
}

/* Until `count` tasks of this fixture were delivered. */
static void await(struct fixture *f, unsigned count) {
    for (unsigned got = 0; got < count;) {
        struct pollfd wait = {inbox_fd(f->inbox), POLLIN, 0};
        assert_int_equal(poll(&wait, 1, 30000), 1);
        got += inbox_drain(f->inbox);
    }
}

static void a_job_reads_the_tree_and_comes_back(void **state) {
    (void)state;
    struct fixture *f = begin(2);
    tree_test_set(&f->t, "key", "value", 0);
    struct task *hit = next_task(f), *miss = next_task(f);
    hit->key = slice_str("key");
    miss->key = slice_str("other");
    readers_submit(f->readers, &hit->job);
    readers_submit(f->readers, &miss->job);
    await(f, 2);
    assert_true(hit->delivered && miss->delivered);
    assert_ok(hit->status);
    assert_ok(miss->status);
    assert_non_null(hit->found);
    assert_true(slice_equal(item_value(hit->found), slice_str("value")));
    assert_null(miss->found);
    item_unref(&hit->found);
    end(f);
}

static void jobs_are_taken_in_order(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    struct fixture *f = begin(1);
    struct readers_figures figures;
    pthread_barrier_t meet;
    assert_int_equal(pthread_barrier_init(&meet, NULL, 2), 0);
    struct task *first = next_task(f);
    first->meet = &meet;
    readers_submit(f->readers, &first->job);
    for (unsigned i = 1; i < COUNT; i++)
        readers_submit(f->readers, &next_task(f)->job);
    readers_figures(f->readers, &figures);
    assert_in_range(figures.waiting, COUNT - 1, COUNT);
    pthread_barrier_wait(&meet);
    await(f, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(f->runs.order[i], i);
    readers_figures(f->readers, &figures);
    assert_int_equal(figures.waiting, 0);
    assert_in_range(figures.jobs, COUNT - 1, COUNT); /* the last one is counted after its ticket was posted */
    assert_true(figures.wait_micros_max > 0);
    pthread_barrier_destroy(&meet);
    end(f);
}

static void all_threads_work_at_once(void **state) {
    (void)state;
    enum { THREADS = 4 };
    struct fixture *f = begin(THREADS);
    pthread_barrier_t meet; /* passed only when four jobs run side by side */
    assert_int_equal(pthread_barrier_init(&meet, NULL, THREADS), 0);
    for (unsigned i = 0; i < 5 * THREADS; i++) {
        struct task *task = next_task(f);
        task->meet = &meet;
        readers_submit(f->readers, &task->job);
    }
    await(f, 5 * THREADS);
    pthread_barrier_destroy(&meet);
    end(f);
}

static void stopping_finishes_what_is_queued(void **state) {
    (void)state;
    enum { COUNT = 500 };
    struct fixture *f = begin(2);
    pthread_barrier_t meet;
    assert_int_equal(pthread_barrier_init(&meet, NULL, 2), 0);
    for (unsigned i = 0; i < COUNT; i++) {
        struct task *task = next_task(f);
        task->meet = i < 2 ? &meet : NULL;
        if (i % 2)
            task->job.ticket = NULL; /* nobody waits */
        readers_submit(f->readers, &task->job);
    }
    readers_stop(&f->readers);
    assert_null(f->readers);
    assert_int_equal(f->runs.count, COUNT);
    assert_int_equal(inbox_drain(f->inbox), COUNT / 2);
    pthread_barrier_destroy(&meet);
    end(f);
}

static void too_few_reader_slots_start_nothing(void **state) {
    (void)state;
    struct fixture *f = begin(2);
    struct readers *more;
    assert_status(readers_start(&more, f->t.tree, TREE_TEST_READERS), ST_LIMIT);
    assert_null(more);
    assert_ok(readers_start(&more, f->t.tree, TREE_TEST_READERS - 3));
    readers_stop(&more);
    end(f);
}

static void run_quiet(struct fixture *f, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        f->count = 0;
        f->runs.count = 0;
        readers_submit(f->readers, &next_task(f)->job);
        await(f, 1);
    }
}

static void inline_reads_wait_for_a_measure(void **state) {
    (void)state;
    struct fixture *f = begin(1);
    struct readers_figures figures;
    assert_false(readers_inline_ok(f->readers));
    run_quiet(f, 200);
    assert_false(readers_inline_ok(f->readers));
    run_quiet(f, 100);
    readers_figures(f->readers, &figures);
    /* A job of the test may take a fault when the machine is short of memory; then this says nothing. */
    if (figures.faults == 0)
        assert_true(readers_inline_ok(f->readers));
    end(f);
}

/* A page that is on the disk only: reading it is a major fault. */
static char *cold_page(struct fixture *f, int *fd) {
    enum { PAGE = 4096 };
    char path[512];
    char bytes[PAGE];
    memset(bytes, 'x', sizeof bytes);
    snprintf(path, sizeof path, "%s/cold", f->t.dir.path);
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(*fd >= 0);
    assert_int_equal(pwrite(*fd, bytes, PAGE, 0), PAGE);
    assert_int_equal(fsync(*fd), 0);
    char *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, *fd, 0);
    assert_true(map != MAP_FAILED);
    return map;
}

static void faults_turn_inline_reads_off(void **state) {
    (void)state;
    enum { PAGE = 4096, COLD = 40 };
    struct fixture *f = begin(1);
    struct readers_figures figures;
    int fd;
    char *page = cold_page(f, &fd);
    run_quiet(f, 300);
    bool was_on = readers_inline_ok(f->readers);
    for (unsigned i = 0; i < COLD; i++) {
        assert_int_equal(madvise(page, PAGE, MADV_DONTNEED), 0);
        assert_int_equal(posix_fadvise(fd, 0, PAGE, POSIX_FADV_DONTNEED), 0);
        f->count = 0;
        f->runs.count = 0;
        struct task *task = next_task(f);
        task->fault_page = page;
        readers_submit(f->readers, &task->job);
        await(f, 1);
    }
    run_quiet(f, 1); /* the last cold job is counted now */
    readers_figures(f->readers, &figures);
    /* A file system in memory has no cold pages. */
    if (was_on && figures.faults >= COLD / 2) {
        assert_false(readers_inline_ok(f->readers));
        run_quiet(f, 300);
        assert_false(readers_inline_ok(f->readers)); /* one good window is not enough */
        run_quiet(f, 5 * 256);
        readers_figures(f->readers, &figures);
        assert_true(readers_inline_ok(f->readers) || figures.faults > COLD);
    }
    munmap(page, PAGE);
    close(fd);
    end(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_reads_the_tree_and_comes_back),
        cmocka_unit_test(jobs_are_taken_in_order),
        cmocka_unit_test(all_threads_work_at_once),
        cmocka_unit_test(stopping_finishes_what_is_queued),
        cmocka_unit_test(too_few_reader_slots_start_nothing),
        cmocka_unit_test(inline_reads_wait_for_a_measure),
        cmocka_unit_test(faults_turn_inline_reads_off),
    };
    return cmocka_run_group_tests_name("readers", tests, NULL, NULL);
}
