/* SPDX-License-Identifier: BSD-3-Clause */
/* thread: named threads with all signals blocked (the main thread alone receives them). */
#ifndef COFFER_BASE_THREAD_H
#define COFFER_BASE_THREAD_H

#include <pthread.h>

#include "src/base/status.h"

/* name: at most 15 bytes, shown by ps -L and perf. */
enum status thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg) MUST_CHECK;
void thread_join(pthread_t thread);

#endif
