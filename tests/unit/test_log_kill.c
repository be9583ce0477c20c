/* SPDX-License-Identifier: BSD-3-Clause */
/* kill -9 at every point that a running log has: what was acknowledged is there when it is opened again. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_log.h"

struct victim {
    struct log_test *t;
    _Atomic uint64_t *promised; /* shared with the parent: numbers below were acknowledged */
};

/* Goes round through the files, so that every point is reached. */
static void work_and_die(void *arg) {
    struct victim *victim = arg;
    struct log_test *t = victim->t;

    if (log_test_open(t) != ST_OK || log_start(t->log) != ST_OK)
        return;
    for (uint64_t number = 0; number < 150; number++) {
        uint64_t lsn = log_test_put(t, number);

        if (t->config.sync == STORE_SYNC_ALWAYS && log_make_durable(t->log, lsn) != ST_OK)
            return;
        if (log_mark(t->log) < lsn)
            return;
        atomic_store(victim->promised, number + 1);
    }
    log_test_close(t);
}

static void kill_at(const char *point, unsigned n, enum store_sync sync, _Atomic uint64_t *promised, bool *killed) {
    struct log_test t;
    struct victim victim = {&t, promised};
    char plan[64], text[256];
    uint64_t numbers[200];
    size_t got;
    int signal;

    log_test_make(&t, sync);
    t.config.log_max = 16 * LOG_TEST_SEGMENT;
    snprintf(plan, sizeof plan, "%s:%u:kill", point, n);
    assert_ok(faults_set(t.faults, plan));
    atomic_store(promised, 0);
    signal = child_signal(work_and_die, &victim, text, sizeof text);
    assert_true(signal == 0 || signal == SIGKILL);
    *killed = signal == SIGKILL;
    assert_ok(faults_set(t.faults, ""));
    assert_ok(log_test_open(&t));
    got = log_test_replay(&t, 0, numbers, 200);
    assert_true(got >= atomic_load(promised));
    assert_true(got <= atomic_load(promised) + 1);
    for (size_t i = 0; i < got; i++)
        assert_int_equal(numbers[i], i);
    assert_int_equal(log_test_lines(&t, " error "), 0);
    assert_ok(log_start(t.log));
    log_test_put(&t, got);
    log_test_close(&t);
    assert_ok(log_test_open(&t));
    log_test_expect(&t, 0, got + 1);
    log_test_remove(&t);
}

static void test_killed_anywhere(void **state) {
    static const char *const points[] = {"LOG_OPEN",  "LOG_ZERO",    "LOG_RENAME", "LOG_HEADER",
                                         "LOG_WRITE", "LOG_WRITTEN", "LOG_SYNC",   "DIR_SYNC"};
    static const unsigned times[] = {1, 2, 3, 7, 20, 100};
    _Atomic uint64_t *promised = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(promised != MAP_FAILED);
    for (size_t p = 0; p < sizeof points / sizeof points[0]; p++) {
        for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
            bool killed;

            kill_at(points[p], times[i], i % 2 == 0 ? STORE_SYNC_ALWAYS : STORE_SYNC_INTERVAL, promised, &killed);
            assert_true(killed || i > 0);
            if (!killed)
                break;
        }
    }
    munmap(promised, 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_anywhere),
    };
    return cmocka_run_group_tests_name("log_kill", tests, NULL, NULL);
}
