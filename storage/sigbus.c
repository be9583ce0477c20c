/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/sigbus.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/base/check.h"

enum { CAME_BACK = 0, CAME_BY_SIGNAL = 1, CAME_BY_LEAVING = 2 };

static _Thread_local sigjmp_buf *volatile landing; /* of the innermost guard */
static _Thread_local bool unblocked;

static void on_sigbus(int number, siginfo_t *info, void *context) {
    (void)context;
    if (landing != NULL && info->si_code > 0)
        siglongjmp(*landing, CAME_BY_SIGNAL);
    /* Not ours: returning repeats the access, now with the default action.  What was sent has to be sent again. */
    signal(number, SIG_DFL);
    if (info->si_code <= 0)
        raise(number);
}

void sigbus_install(void) {
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};
    /* SA_NODEFER and an empty mask: the handler changes no mask, so the jump out of it has none to restore. */
    sigemptyset(&action.sa_mask);
    CHECK(sigaction(SIGBUS, &action, NULL) == 0);
}

/* Our threads start with all signals blocked, and a blocked SIGBUS kills without asking the handler. */
static void unblock(void) {
    sigset_t set;

    if (unblocked)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
    unblocked = true;
}

enum status sigbus_guard(void (*fn)(void *arg), void *arg) {
    sigjmp_buf here;
    sigjmp_buf *volatile outer = landing;

    unblock();
    int came = sigsetjmp(here, 0);
    if (came == CAME_BACK) {
        landing = &here;
        fn(arg);
    }
    landing = outer;
    if (came == CAME_BY_LEAVING)
        return ST_CORRUPT;
    return came == CAME_BY_SIGNAL ? ST_IO : ST_OK;
}

void sigbus_leave(void) {
    if (landing != NULL)
        siglongjmp(*landing, CAME_BY_LEAVING);
}
