/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "src/base/check.h"

enum { NAME_MAX_BYTES = 15 }; /* the kernel's limit, TASK_COMM_LEN - 1 */

enum status thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg) {
    sigset_t all, before;
    CHECK(strlen(name) <= NAME_MAX_BYTES);
    sigfillset(&all);
    /* A new thread inherits the mask, so it never runs with a signal open. */
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    int error = pthread_create(thread, NULL, run, arg);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    if (error != 0) {
        errno = error;
        return error == EAGAIN ? ST_NO_MEMORY : status_from_errno(error);
    }
    pthread_setname_np(*thread, name); /* only for people: a failure changes nothing */
    return ST_OK;
}

void thread_join(pthread_t thread) {
    CHECK(pthread_join(thread, NULL) == 0);
}
