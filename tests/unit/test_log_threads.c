/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits for the log's mark, and many threads at once. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/check.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_log.h"

/* ---- waiters ---- */

struct session {
    struct inbox *inbox;
    struct log_waiter waiter;
    unsigned delivered;
};

static void deliver(struct ticket *ticket) {
    struct session *session = (struct session *)((char *)ticket - offsetof(struct session, waiter.ticket));
    session->delivered++;
}

static void session_make(struct session *session) {
    memset(session, 0, sizeof *session);
    assert_ok(inbox_create(&session->inbox));
    session->waiter.ticket.inbox = session->inbox;
    session->waiter.ticket.deliver = deliver;
}

static unsigned drain(struct session *session, int millis) {
    struct pollfd fd = {.fd = inbox_fd(session->inbox), .events = POLLIN};

    poll(&fd, 1, millis);
    return inbox_drain(session->inbox);
}

static void test_waiters(void **state) {
    struct log_test t;
    struct session session;
    uint64_t base;

    (void)state;
    log_test_ready(&t, STORE_SYNC_OS);
    session_make(&session);
    base = log_last(t.log);
    log_await(t.log, &session.waiter, base); /* reached already */
    assert_int_equal(drain(&session, 0), 1);
    log_await(t.log, &session.waiter, base + 2);
    log_test_put(&t, 0);
    assert_int_equal(drain(&session, 0), 0);
    log_test_put(&t, 1);
    assert_int_equal(drain(&session, 0), 1);
    log_test_put(&t, 2); /* posted once */
    assert_int_equal(drain(&session, 0), 0);
    log_await(t.log, &session.waiter, base + 9);
    log_await(t.log, &session.waiter, base + 4); /* the smaller one counts ... */
    log_await(t.log, &session.waiter, base + 7); /* ... and stays */
    log_test_put(&t, 3);
    assert_int_equal(drain(&session, 0), 1);
    log_await(t.log, &session.waiter, base + 5);
    log_await_cancel(t.log, &session.waiter);
    log_await_cancel(t.log, &session.waiter);
    log_test_put(&t, 4);
    assert_int_equal(drain(&session, 0), 0);
    inbox_destroy(&session.inbox);
    log_test_remove(&t);
}

static void test_failure_wakes_waiters(void **state) {
    struct log_test t;
    struct session session[2];

    (void)state;
    log_test_ready(&t, STORE_SYNC_ALWAYS);
    session_make(&session[0]);
    session_make(&session[1]);
    assert_ok(faults_set(t.faults, "LOG_SYNC:*:eio"));
    log_test_append(&t, 0);
    log_await(t.log, &session[0].waiter, log_last(t.log));
    assert_int_equal(drain(&session[0], 0), 0);
    log_write(t.log);
    assert_int_equal(drain(&session[0], 10000), 1);
    assert_true(log_mark(t.log) < log_last(t.log));
    log_await(t.log, &session[1].waiter, log_last(t.log)); /* at once when it has failed */
    assert_int_equal(drain(&session[1], 0), 1);
    inbox_destroy(&session[0].inbox);
    inbox_destroy(&session[1].inbox);
    log_test_remove(&t);
}

/* ---- many threads ---- */

enum { THREADS = 4, EACH = 300 };

struct crowd {
    struct log_test *t;
    pthread_t thread;
    unsigned index;
    atomic_uint *working;
    uint64_t lsns[EACH]; /* of its records, all acknowledged */
};

static void await(struct log_test *t, struct session *session, uint64_t lsn) {
    unsigned before = session->delivered;

    log_await(t->log, &session->waiter, lsn);
    while (session->delivered == before)
        drain(session, -1);
}

static void *crowd_work(void *arg) {
    struct crowd *crowd = arg;
    struct session session;

    session_make(&session);
    for (unsigned i = 0; i < EACH; i++) {
        crowd->lsns[i] = log_test_put(crowd->t, crowd->index * EACH + i);
        await(crowd->t, &session, crowd->lsns[i]);
        CHECK(log_mark(crowd->t->log) >= crowd->lsns[i]);
    }
    inbox_destroy(&session.inbox);
    atomic_fetch_sub(crowd->working, 1);
    return NULL;
}

static enum status note_lsn(void *arg, const struct log_record *record) {
    uint64_t *lsns = arg, number = log_test_number(record);

    assert_true(log_test_whole(record));
    assert_true(number < THREADS * EACH && lsns[number] == 0);
    lsns[number] = record->lsn;
    return ST_OK;
}

static void crowd_run(struct log_test *t, struct crowd *crowd, atomic_uint *working) {
    atomic_store(working, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        crowd[i] = (struct crowd){.t = t, .index = i, .working = working};
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, crowd_work, &crowd[i]), 0);
    }
}

static void crowd_end(struct crowd *crowd) {
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
}

static void test_threads_find_everything_again(void **state) {
    static const enum store_sync modes[] = {STORE_SYNC_ALWAYS, STORE_SYNC_INTERVAL, STORE_SYNC_OS};

    (void)state;
    for (size_t mode = 0; mode < 3; mode++) {
        static struct crowd crowd[THREADS];
        static uint64_t lsns[THREADS * EACH];
        struct log_test t, killed;
        atomic_uint working;

        log_test_make(&t, modes[mode]);
        t.config.log_max = 100 * LOG_TEST_SEGMENT;
        log_test_start(&t);
        crowd_run(&t, crowd, &working);
        crowd_end(crowd);
        log_test_copy(&killed, &t);
        log_test_remove(&t);
        memset(lsns, 0, sizeof lsns);
        assert_ok(log_test_open(&killed));
        assert_ok(log_replay(killed.log, 0, note_lsn, lsns));
        for (unsigned i = 0; i < THREADS * EACH; i++)
            assert_int_equal(lsns[i], crowd[i / EACH].lsns[i % EACH]);
        log_test_remove(&killed);
    }
}

/* The same while a tree thread applies and the log goes round through its files. */
static void test_threads_while_segments_are_recycled(void **state) {
    static struct crowd crowd[THREADS];
    struct log_test t;
    atomic_uint working;

    (void)state;
    log_test_ready(&t, STORE_SYNC_INTERVAL);
    crowd_run(&t, crowd, &working);
    while (atomic_load(&working) > 0) {
        struct log_figures figures;
        uint64_t upto = log_last(t.log);

        assert_ok(log_make_durable(t.log, upto));
        log_applied(t.log, upto);
        t.applied = t.m = upto;
        log_figures(t.log, &figures);
        assert_true(figures.bytes <= t.config.log_max);
    }
    crowd_end(crowd);
    log_test_close(&t);
    assert_ok(log_test_open(&t));
    assert_int_equal(t.findings.records, t.findings.records > 0 ? t.findings.last_lsn - t.applied : 0);
    log_test_remove(&t);
}

static void *put_and_await(void *arg) {
    struct crowd *crowd = arg;
    struct session session;

    session_make(&session);
    crowd->lsns[0] = log_test_put(crowd->t, crowd->index);
    await(crowd->t, &session, crowd->lsns[0]);
    inbox_destroy(&session.inbox);
    return NULL;
}

/* While one sync sleeps in the kernel everybody else's records gather: the next sync is for all of them. */
static void test_waiters_share_a_sync(void **state) {
    enum { MANY = 16 };
    static struct crowd crowd[MANY];
    struct log_test t;
    uint64_t first, before;

    (void)state;
    log_test_ready(&t, STORE_SYNC_ALWAYS);
    assert_ok(faults_set(t.faults, "LOG_SYNC:1:sleep=400000"));
    before = log_test_syncs(&t);
    first = log_test_put(&t, MANY);
    WAIT_UNTIL(fault_reached(t.faults, FAULT_LOG_SYNC) == 1);
    for (unsigned i = 0; i < MANY; i++) {
        crowd[i] = (struct crowd){.t = &t, .index = i};
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, put_and_await, &crowd[i]), 0);
    }
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
    assert_true(log_durable(t.log) == first + MANY);
    assert_int_equal(log_test_syncs(&t), before + 2);
    log_test_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiters),
        cmocka_unit_test(test_failure_wakes_waiters),
        cmocka_unit_test(test_threads_find_everything_again),
        cmocka_unit_test(test_threads_while_segments_are_recycled),
        cmocka_unit_test(test_waiters_share_a_sync),
    };
    return cmocka_run_group_tests_name("log_threads", tests, NULL, NULL);
}
