/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/sigbus.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "src/base/check.h"

enum { CAME_BACK = 0, CAME_BY_BUS = 1, CAME_BY_DAMAGE = 2, NULL_PAGES = 65536 };

#ifdef __SANITIZE_ADDRESS__
enum { CATCH_NULL = 0 };
#else
enum { CATCH_NULL = 1 };
#endif

static _Thread_local sigjmp_buf *volatile landing; /* of the innermost guard */
static _Thread_local bool unblocked;

/* Not ours: returning repeats the access, now with the default action.  What was sent has to be sent again. */
static void give_way(int number, const siginfo_t *info) {
    signal(number, SIG_DFL);
    if (info->si_code <= 0)
        raise(number); /* delivered when the handler has returned */
}

/* The mask is put back here, where it costs only who needs it, and not by sigsetjmp in every guard. */
static _Noreturn void land(const ucontext_t *context, int how) {
    (void)pthread_sigmask(SIG_SETMASK, &context->uc_sigmask, NULL);
    siglongjmp(*landing, how);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    bool inside = landing != NULL && info->si_code > 0;

    if (inside && number == SIGBUS)
        land(context, CAME_BY_BUS);
    if (inside && (uintptr_t)info->si_addr < NULL_PAGES)
        land(context, CAME_BY_DAMAGE);
    give_way(number, info);
}

void sigbus_install(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    CHECK(sigaction(SIGBUS, &action, NULL) == 0);
    if (CATCH_NULL)
        CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
}

/* Our threads start with all signals blocked, and such a signal kills without asking the handler when it is blocked. */
static void unblock(void) {
    sigset_t set;

    if (unblocked)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    sigaddset(&set, SIGSEGV);
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
    if (came == CAME_BY_DAMAGE)
        return ST_CORRUPT;
    return came == CAME_BY_BUS ? ST_IO : ST_OK;
}

void sigbus_leave(void) {
    if (landing != NULL)
        siglongjmp(*landing, CAME_BY_DAMAGE);
}
