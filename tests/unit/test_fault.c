/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/fault.h"

#include <errno.h>
#include <signal.h>

#include "src/base/clock.h"
#include "src/base/thread.h"
#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"

enum { SHORT = -1, THREADS = 4, HITS = 5000 };

static struct faults *planned(const char *plan) {
    struct faults *faults;
    assert_ok(faults_create(&faults, plan));
    assert_non_null(faults);
    return faults;
}

static void without_a_plan_nothing_fails(void **state) {
    (void)state;
    static const char *const none[] = {NULL, ""};
    for (size_t i = 0; i < 2; i++) {
        struct faults *faults = planned(none[i]);
        assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), 0);
        assert_int_equal(fault_reached(faults, FAULT_LOG_WRITE), 0);
        faults_destroy(&faults);
        assert_null(faults);
        faults_destroy(&faults);
    }
    assert_int_equal(fault_hit(NULL, FAULT_LOG_WRITE), 0);
}

static void a_number_means_that_time_only(void **state) {
    (void)state;
    struct faults *faults = planned("LOG_WRITE:2:eio");
    assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), 0);
    assert_int_equal(fault_hit(faults, FAULT_LOG_SYNC), 0);
    assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), EIO);
    assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), 0);
    assert_int_equal(fault_reached(faults, FAULT_LOG_WRITE), 3);
    assert_int_equal(fault_reached(faults, FAULT_LOG_SYNC), 1);
    faults_destroy(&faults);
}

static void plus_means_from_then_on_and_star_always(void **state) {
    (void)state;
    struct faults *faults = planned("LOG_WRITE:3+:enospc,LOG_SYNC:*:eio,TREE_COMMIT:1:short");
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), i >= 3 ? ENOSPC : 0);
        assert_int_equal(fault_hit(faults, FAULT_LOG_SYNC), EIO);
        assert_int_equal(fault_hit(faults, FAULT_TREE_COMMIT), i == 1 ? SHORT : 0);
    }
    faults_destroy(&faults);
}

static void a_new_plan_counts_from_now(void **state) {
    (void)state;
    struct faults *faults = planned("LOG_WRITE:1:eio");
    assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), EIO);
    assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), 0);
    assert_ok(faults_set(faults, "LOG_WRITE:2:enospc"));
    assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), 0);
    assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), ENOSPC);
    assert_ok(faults_set(faults, ""));
    assert_int_equal(fault_hit(faults, FAULT_LOG_WRITE), 0);
    assert_int_equal(fault_reached(faults, FAULT_LOG_WRITE), 4);
    faults_destroy(&faults);
}

static void a_bad_plan_changes_nothing(void **state) {
    (void)state;
    static const char *const bad[] = {
        "LOG_WRITE",          "LOG_WRITE:1",       "LOG_WRITE:1:",     "LOG_WRITE:0:eio", "LOG_WRITE:-1:eio",
        "LOG_WRITE:x:eio",    "LOG_WRITE::eio",    "LOG_WRITE:+:eio",  "NOWHERE:1:eio",   "log_write:1:eio",
        "LOG_WRITE:1:EIO",    "LOG_WRITE:1:sleep", "LOG_WRITE:1:sleep=", "LOG_WRITE:1:sleep=x",
        "LOG_WRITE:1:eio:",   ":1:eio",            ",",                "LOG_WRITE:1:eio,,LOG_SYNC:1:eio",
        "LOG_WRITE:1:eio LOG_SYNC:1:eio",
    };
    struct faults *faults = planned("LOG_SYNC:*:eio");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_status(faults_set(faults, bad[i]), ST_INVALID);
        assert_int_equal(fault_hit(faults, FAULT_LOG_SYNC), EIO);
        struct faults *none;
        assert_status(faults_create(&none, bad[i]), ST_INVALID);
        assert_null(none);
    }
    faults_destroy(&faults);
}

static void sleeping_takes_its_time_and_goes_on(void **state) {
    (void)state;
    struct faults *faults = planned("LOG_SYNC:1:sleep=3000,LOG_SYNC:1:eio");
    uint64_t before = clock_micros();
    assert_int_equal(fault_hit(faults, FAULT_LOG_SYNC), EIO);
    assert_true(clock_micros() - before >= 3000);
    faults_destroy(&faults);
}

static void reach_the_second_time(void *arg) {
    struct faults *faults = arg;
    (void)fault_hit(faults, FAULT_CHECKPOINT_END);
    (void)fault_hit(faults, FAULT_CHECKPOINT_END);
}

static void killing_leaves_no_time_to_say_goodbye(void **state) {
    (void)state;
    char text[256];
    struct faults *faults = planned("CHECKPOINT_END:2:kill");
    assert_int_equal(child_signal(reach_the_second_time, faults, text, sizeof text), SIGKILL);
    assert_string_equal(text, "");
    assert_ok(faults_set(faults, "CHECKPOINT_END:3:kill"));
    assert_int_equal(child_signal(reach_the_second_time, faults, text, sizeof text), 0);
    faults_destroy(&faults);
}

static void *hit_many(void *arg) {
    uintptr_t failures = 0;
    for (int i = 0; i < HITS; i++) {
        failures += fault_hit(arg, FAULT_LOG_WRITE) == EIO;
    }
    return (void *)failures;
}

static void exactly_one_thread_meets_the_fault(void **state) {
    (void)state;
    struct faults *faults = planned("LOG_WRITE:9999:eio");
    pthread_t threads[THREADS];
    uintptr_t failures = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_ok(thread_start(&threads[i], "hitter", hit_many, faults));
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        failures += (uintptr_t)result;
    }
    assert_int_equal(failures, 1);
    assert_int_equal(fault_reached(faults, FAULT_LOG_WRITE), THREADS * HITS);
    faults_destroy(&faults);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_plan_nothing_fails),
        cmocka_unit_test(a_number_means_that_time_only),
        cmocka_unit_test(plus_means_from_then_on_and_star_always),
        cmocka_unit_test(a_new_plan_counts_from_now),
        cmocka_unit_test(a_bad_plan_changes_nothing),
        cmocka_unit_test(sleeping_takes_its_time_and_goes_on),
        cmocka_unit_test(killing_leaves_no_time_to_say_goodbye),
        cmocka_unit_test(exactly_one_thread_meets_the_fault),
    };
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
