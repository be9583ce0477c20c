/* SPDX-License-Identifier: BSD-3-Clause */
/* lock: mutexes that know their class (src/tbl/locks.h) and, in debug builds, their owner.
 *
 * With COFFER_DEBUG a thread that takes locks against the table's order, or drops one that it does not hold, aborts. */
#ifndef COFFER_BASE_LOCK_H
#define COFFER_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/tbl/locks.h"

enum lock_class {
#define X(name, text) LOCK_##name,
    LOCK_TABLE(X)
#undef X
};

struct lock {
    pthread_mutex_t mutex;
#ifdef COFFER_DEBUG
    enum lock_class lock_class; /* who holds it is kept by each thread itself */
#endif
};

struct cond {
    pthread_cond_t cond; /* on CLOCK_MONOTONIC */
};

void lock_init(struct lock *lock, enum lock_class lock_class);
void lock_destroy(struct lock *lock);

#ifdef COFFER_DEBUG
void lock_take(struct lock *lock);
bool lock_try(struct lock *lock);
void lock_drop(struct lock *lock);
bool lock_held(const struct lock *lock); /* by the calling thread */
#else
static inline void lock_take(struct lock *lock) {
    pthread_mutex_lock(&lock->mutex);
}
static inline bool lock_try(struct lock *lock) {
    return pthread_mutex_trylock(&lock->mutex) == 0;
}
static inline void lock_drop(struct lock *lock) {
    pthread_mutex_unlock(&lock->mutex);
}
#endif

void cond_init(struct cond *cond);
void cond_destroy(struct cond *cond);
void cond_signal(struct cond *cond);
void cond_broadcast(struct cond *cond);
void cond_wait(struct cond *cond, struct lock *lock);
/* False when `micros` went by without a signal. */
bool cond_wait_for(struct cond *cond, struct lock *lock, uint64_t micros);

#endif
