/* SPDX-License-Identifier: BSD-3-Clause */
/* Debug builds keep for each thread the locks that it holds, and refuse what could be half of a deadlock. */
#include "src/base/lock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/check.h"

static void mutex_init(struct lock *lock) {
    CHECK(pthread_mutex_init(&lock->mutex, NULL) == 0);
}

#ifdef COFFER_DEBUG

enum { HELD_MAX = 16384 + 64 }; /* every stripe at once (flush_all) and some more */

/* Ascending by class and address, so that only the last one need be looked at before a lock is taken. */
static _Thread_local struct {
    size_t count;
    struct lock *locks[HELD_MAX];
} held;

static const char *class_name(enum lock_class lock_class) {
    static const char *const names[] = {
#define X(name, text) [LOCK_##name] = #name,
        LOCK_TABLE(X)
#undef X
    };
    return names[lock_class];
}

static _Noreturn void refuse(const char *what, const struct lock *lock, const struct lock *other) {
    fprintf(stderr, "lock: %s: %s %p", what, class_name(lock->lock_class), (const void *)lock);
    if (other != NULL) {
        fprintf(stderr, " while holding %s %p", class_name(other->lock_class), (const void *)other);
    }
    fprintf(stderr, "\n");
    abort();
}

static bool stands_before(const struct lock *a, const struct lock *b) {
    return a->lock_class != b->lock_class ? a->lock_class < b->lock_class : (uintptr_t)a < (uintptr_t)b;
}

/* The place of the first lock that does not stand before this one: where it is, or where it belongs. */
static size_t find_place(const struct lock *lock) {
    size_t low = 0;
    size_t high = held.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stands_before(held.locks[middle], lock)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void check_order(const struct lock *lock) {
    const struct lock *last = held.count > 0 ? held.locks[held.count - 1] : NULL;
    if (lock_held(lock)) {
        refuse("taken twice", lock, NULL);
    }
    if (last != NULL && stands_before(lock, last)) {
        refuse(last->lock_class == lock->lock_class ? "taken against the order of addresses in its class"
                                                    : "taken against the order of src/tbl/locks.h",
               lock, last);
    }
}

static void push_held(struct lock *lock) {
    CHECK(held.count < HELD_MAX);
    size_t place = find_place(lock);
    for (size_t i = held.count; i > place; i--) {
        held.locks[i] = held.locks[i - 1];
    }
    held.locks[place] = lock;
    held.count++;
}

static void pop_held(struct lock *lock) {
    if (!lock_held(lock)) {
        refuse("dropped or waited on by a thread that does not hold it", lock, NULL);
    }
    size_t place = find_place(lock);
    held.count--;
    memmove(&held.locks[place], &held.locks[place + 1], (held.count - place) * sizeof held.locks[0]);
}

void lock_init(struct lock *lock, enum lock_class lock_class) {
    mutex_init(lock);
    lock->lock_class = lock_class;
}

void lock_take(struct lock *lock) {
    check_order(lock);
    CHECK(pthread_mutex_lock(&lock->mutex) == 0);
    push_held(lock);
}

/* A try cannot deadlock, so it is free of the order; taking on top of it is not. */
bool lock_try(struct lock *lock) {
    if (lock_held(lock)) {
        refuse("tried by its own holder", lock, NULL);
    }
    int error = pthread_mutex_trylock(&lock->mutex);
    CHECK(error == 0 || error == EBUSY);
    if (error == 0) {
        push_held(lock);
    }
    return error == 0;
}

void lock_drop(struct lock *lock) {
    pop_held(lock);
    CHECK(pthread_mutex_unlock(&lock->mutex) == 0);
}

bool lock_held(const struct lock *lock) {
    size_t place = find_place(lock);
    return place < held.count && held.locks[place] == lock;
}

#else

void lock_init(struct lock *lock, enum lock_class lock_class) {
    mutex_init(lock);
    (void)lock_class;
}

static void push_held(struct lock *lock) {
    (void)lock;
}

static void pop_held(struct lock *lock) {
    (void)lock;
}

#endif

void lock_destroy(struct lock *lock) {
    CHECK(pthread_mutex_destroy(&lock->mutex) == 0);
}

void cond_init(struct cond *cond) {
    pthread_condattr_t attributes;
    CHECK(pthread_condattr_init(&attributes) == 0);
    CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&cond->cond, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
}

void cond_destroy(struct cond *cond) {
    CHECK(pthread_cond_destroy(&cond->cond) == 0);
}

void cond_signal(struct cond *cond) {
    pthread_cond_signal(&cond->cond);
}

void cond_broadcast(struct cond *cond) {
    pthread_cond_broadcast(&cond->cond);
}

void cond_wait(struct cond *cond, struct lock *lock) {
    pop_held(lock);
    CHECK(pthread_cond_wait(&cond->cond, &lock->mutex) == 0);
    push_held(lock);
}

bool cond_wait_for(struct cond *cond, struct lock *lock, uint64_t micros) {
    enum { MICROS = 1000000 };
    /* Some thirty years: a longer wait must not overflow the sum. */
    const uint64_t longest = UINT64_C(1000000000) * MICROS;
    struct timespec until;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    uint64_t sum = (uint64_t)until.tv_nsec / 1000 + (micros < longest ? micros : longest);
    until.tv_sec += (time_t)(sum / MICROS);
    until.tv_nsec = (long)(sum % MICROS) * 1000;
    pop_held(lock);
    int error = pthread_cond_timedwait(&cond->cond, &lock->mutex, &until);
    push_held(lock);
    CHECK(error == 0 || error == ETIMEDOUT);
    return error == 0;
}
