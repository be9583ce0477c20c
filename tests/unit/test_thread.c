/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/thread.h"

#include <signal.h>

#include "tests/unit/support_cmocka.h"

struct seen {
    sigset_t blocked;
};

static void *look(void *arg) {
    struct seen *seen = arg;
    pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
    return NULL;
}

static void signals_stay_with_the_starter(void **state) {
    (void)state;
    struct seen seen;
    sigset_t before, after;
    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_ok(thread_start(&thread, "looker", look, &seen));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    thread_join(thread);
    static const int asked[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        assert_int_equal(sigismember(&seen.blocked, asked[i]), 1);
        assert_int_equal(sigismember(&after, asked[i]), sigismember(&before, asked[i]));
    }
}

static void *wait_at_barriers(void *arg) {
    pthread_barrier_t *barriers = arg;
    pthread_barrier_wait(&barriers[0]);
    pthread_barrier_wait(&barriers[1]);
    return NULL;
}

static void threads_have_names(void **state) {
    (void)state;
    pthread_barrier_t barriers[2];
    char name[16];
    pthread_t thread;
    pthread_barrier_init(&barriers[0], NULL, 2);
    pthread_barrier_init(&barriers[1], NULL, 2);
    assert_ok(thread_start(&thread, "fifteen-letters", wait_at_barriers, barriers));
    pthread_barrier_wait(&barriers[0]);
    assert_int_equal(pthread_getname_np(thread, name, sizeof name), 0);
    assert_string_equal(name, "fifteen-letters");
    pthread_barrier_wait(&barriers[1]);
    thread_join(thread);
    pthread_barrier_destroy(&barriers[0]);
    pthread_barrier_destroy(&barriers[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_stay_with_the_starter),
        cmocka_unit_test(threads_have_names),
    };
    return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
