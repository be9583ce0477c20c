/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/lock.h"

#include <signal.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/thread.h"
#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"

enum { THREADS = 4, ADDS = 20000, PAIRS = 2000 };

struct counter {
    struct lock lock;
    unsigned long value;
};

static void *add_many(void *arg) {
    struct counter *counter = arg;
    for (int i = 0; i < ADDS; i++) {
        lock_take(&counter->lock);
        counter->value++;
        lock_drop(&counter->lock);
    }
    return NULL;
}

static void excludes_other_threads(void **state) {
    (void)state;
    struct counter counter = {.value = 0};
    pthread_t threads[THREADS];
    lock_init(&counter.lock, LOCK_LEAF);
    for (int i = 0; i < THREADS; i++) {
        assert_ok(thread_start(&threads[i], "adder", add_many, &counter));
    }
    for (int i = 0; i < THREADS; i++) {
        thread_join(threads[i]);
    }
    assert_int_equal(counter.value, THREADS * ADDS);
    lock_destroy(&counter.lock);
}

static void *try_it(void *arg) {
    return lock_try(arg) ? arg : NULL;
}

static void a_try_does_not_wait(void **state) {
    (void)state;
    struct lock lock;
    pthread_t thread;
    void *got;
    lock_init(&lock, LOCK_LEAF);
    lock_take(&lock);
    assert_ok(thread_start(&thread, "trier", try_it, &lock));
    assert_int_equal(pthread_join(thread, &got), 0);
    assert_null(got);
    lock_drop(&lock);
    assert_true(lock_try(&lock));
    lock_drop(&lock);
    lock_destroy(&lock);
}

/* Two threads that take turns. */
struct turns {
    struct lock lock;
    struct cond cond;
    unsigned turn;
};

static void *take_odd_turns(void *arg) {
    struct turns *turns = arg;
    lock_take(&turns->lock);
    while (turns->turn < PAIRS) {
        if (turns->turn % 2 == 1) {
            turns->turn++;
            cond_signal(&turns->cond);
        } else {
            cond_wait(&turns->cond, &turns->lock);
        }
    }
    lock_drop(&turns->lock);
    return NULL;
}

static void conditions_hand_over(void **state) {
    (void)state;
    struct turns turns = {.turn = 0};
    pthread_t thread;
    lock_init(&turns.lock, LOCK_LEAF);
    cond_init(&turns.cond);
    assert_ok(thread_start(&thread, "odd", take_odd_turns, &turns));
    lock_take(&turns.lock);
    while (turns.turn < PAIRS) {
        if (turns.turn % 2 == 0) {
            turns.turn++;
            cond_broadcast(&turns.cond);
        } else {
            cond_wait(&turns.cond, &turns.lock);
        }
    }
    lock_drop(&turns.lock);
    cond_broadcast(&turns.cond);
    thread_join(thread);
    assert_int_equal(turns.turn, PAIRS);
    cond_destroy(&turns.cond);
    lock_destroy(&turns.lock);
}

static void a_timed_wait_ends_by_itself(void **state) {
    (void)state;
    struct lock lock;
    struct cond cond;
    lock_init(&lock, LOCK_LEAF);
    cond_init(&cond);
    lock_take(&lock);
    uint64_t before = clock_micros();
    bool signalled = true;
    while (signalled) { /* a wake without a signal is allowed, and rare */
        signalled = cond_wait_for(&cond, &lock, 3000);
    }
    assert_true(clock_micros() - before >= 3000);
    assert_false(cond_wait_for(&cond, &lock, 0));
    lock_drop(&lock);
    cond_destroy(&cond);
    lock_destroy(&lock);
}

static void *signal_once(void *arg) {
    struct turns *turns = arg;
    lock_take(&turns->lock);
    turns->turn = 1;
    cond_signal(&turns->cond);
    lock_drop(&turns->lock);
    return NULL;
}

static void a_timed_wait_without_end_is_woken(void **state) {
    (void)state;
    struct turns turns = {.turn = 0};
    pthread_t thread;
    lock_init(&turns.lock, LOCK_LEAF);
    cond_init(&turns.cond);
    lock_take(&turns.lock);
    assert_ok(thread_start(&thread, "signaller", signal_once, &turns));
    while (turns.turn == 0) {
        assert_true(cond_wait_for(&turns.cond, &turns.lock, UINT64_MAX));
    }
    lock_drop(&turns.lock);
    thread_join(thread);
    cond_destroy(&turns.cond);
    lock_destroy(&turns.lock);
}

static void any_order_of_dropping_is_fine(void **state) {
    (void)state;
    enum { COUNT = 200 };
    static struct lock locks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        lock_init(&locks[i], LOCK_STRIPE);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            lock_take(&locks[i]);
        }
        for (int i = 0; i < COUNT; i++) {
            lock_drop(&locks[(i * 7 + round) % COUNT]); /* 7 and 200 have no common divisor */
        }
    }
    for (int i = 0; i < COUNT; i++) {
        lock_destroy(&locks[i]);
    }
}

/* Broken uses, each run in a child. */

static void take_against_the_table(void *arg) {
    struct lock first, second;
    (void)arg;
    lock_init(&first, LOCK_LOG_APPEND);
    lock_init(&second, LOCK_STRIPE);
    lock_take(&first);
    lock_take(&second);
}

static void take_down_the_addresses(void *arg) {
    struct lock locks[2];
    (void)arg;
    lock_init(&locks[0], LOCK_STRIPE);
    lock_init(&locks[1], LOCK_STRIPE);
    lock_take(&locks[1]);
    lock_take(&locks[0]);
}

#ifdef COFFER_DEBUG

static void take_below_a_tried_lock(void *arg) {
    struct lock stripe, leaf, append;
    (void)arg;
    lock_init(&stripe, LOCK_STRIPE);
    lock_init(&append, LOCK_LOG_APPEND);
    lock_init(&leaf, LOCK_LEAF);
    lock_take(&append);
    if (lock_try(&stripe)) { /* allowed: a try never waits */
        lock_take(&leaf);    /* allowed: below both */
        lock_drop(&leaf);
        lock_drop(&append);
        lock_take(&append);
        lock_drop(&stripe);
        lock_take(&stripe); /* refused: above the one that is held */
    }
}

static void drop_what_is_not_held(void *arg) {
    struct lock lock;
    (void)arg;
    lock_init(&lock, LOCK_LEAF);
    lock_drop(&lock);
}

static void *take_it(void *arg) {
    lock_take(arg);
    return NULL;
}

static void drop_what_another_thread_holds(void *arg) {
    struct lock lock;
    pthread_t thread;
    (void)arg;
    lock_init(&lock, LOCK_LEAF);
    if (thread_start(&thread, "taker", take_it, &lock) == ST_OK) {
        thread_join(thread);
        lock_drop(&lock);
    }
}

static void wait_without_the_lock(void *arg) {
    struct lock lock;
    struct cond cond;
    (void)arg;
    lock_init(&lock, LOCK_LEAF);
    cond_init(&cond);
    (void)cond_wait_for(&cond, &lock, 1);
}

static void take_twice(void *arg) {
    struct lock lock;
    (void)arg;
    lock_init(&lock, LOCK_LEAF);
    lock_take(&lock);
    lock_take(&lock);
}

static void misuse_aborts_and_says_which_lock(void **state) {
    (void)state;
    static const struct {
        void (*body)(void *);
        const char *text;
    } rows[] = {
        {take_against_the_table, "taken against the order of src/tbl/locks.h: STRIPE"},
        {take_down_the_addresses, "taken against the order of addresses in its class: STRIPE"},
        {take_below_a_tried_lock, "taken against the order of src/tbl/locks.h: STRIPE"},
        {drop_what_is_not_held, "does not hold it: LEAF"},
        {drop_what_another_thread_holds, "does not hold it: LEAF"},
        {wait_without_the_lock, "does not hold it: LEAF"},
        {take_twice, "taken twice: LEAF"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[4096];
        assert_int_equal(child_signal(rows[i].body, NULL, text, sizeof text), SIGABRT);
        if (strstr(text, rows[i].text) == NULL) {
            fail_msg("instead of \"%s\": %s", rows[i].text, text);
        }
    }
}

static void holders_are_known(void **state) {
    (void)state;
    struct lock lock;
    lock_init(&lock, LOCK_LEAF);
    assert_false(lock_held(&lock));
    lock_take(&lock);
    assert_true(lock_held(&lock));
    lock_drop(&lock);
    assert_false(lock_held(&lock));
    lock_destroy(&lock);
}

#define VARIANT_TESTS cmocka_unit_test(misuse_aborts_and_says_which_lock), cmocka_unit_test(holders_are_known)

#else

/* Without the checks these two merely work. */
static void release_builds_do_not_look(void **state) {
    (void)state;
    char text[4096];
    assert_int_equal(child_signal(take_against_the_table, NULL, text, sizeof text), 0);
    assert_int_equal(child_signal(take_down_the_addresses, NULL, text, sizeof text), 0);
}

static void release_locks_are_plain_mutexes(void **state) {
    (void)state;
    assert_int_equal(sizeof(struct lock), sizeof(pthread_mutex_t));
}

#define VARIANT_TESTS                                                                                          \
    cmocka_unit_test(release_builds_do_not_look), cmocka_unit_test(release_locks_are_plain_mutexes)

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(excludes_other_threads),
        cmocka_unit_test(a_try_does_not_wait),
        cmocka_unit_test(conditions_hand_over),
        cmocka_unit_test(a_timed_wait_ends_by_itself),
        cmocka_unit_test(a_timed_wait_without_end_is_woken),
        cmocka_unit_test(any_order_of_dropping_is_fine),
        VARIANT_TESTS,
    };
    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
