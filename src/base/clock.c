/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/clock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "src/base/check.h"

enum { CLOCK_MAGIC = 0x636c6f63, NANOS = 1000000000 };

struct clock {
    unsigned magic;
    int64_t zero; /* wall minus boot time at creation, nanoseconds; constant */
    _Atomic int64_t offset;
};

static int64_t nanos_of(clockid_t id) {
    struct timespec now;
    CHECK(clock_gettime(id, &now) == 0);
    return (int64_t)now.tv_sec * NANOS + now.tv_nsec;
}

static int64_t seconds_of(int64_t nanos) {
    return nanos >= 0 ? nanos / NANOS : -((-nanos + NANOS - 1) / NANOS);
}

struct clock *clock_create(void) {
    struct clock *clock = calloc(1, sizeof *clock);
    if (clock != NULL) {
        clock->magic = CLOCK_MAGIC;
        clock->zero = nanos_of(CLOCK_REALTIME) - nanos_of(CLOCK_BOOTTIME);
    }
    return clock;
}

void clock_destroy(struct clock **clock) {
    if (*clock != NULL) {
        CHECK_OBJ(*clock, CLOCK_MAGIC);
        (*clock)->magic = 0;
        free(*clock);
        *clock = NULL;
    }
}

int64_t clock_wall(const struct clock *clock) {
    CHECK_OBJ(clock, CLOCK_MAGIC);
    return seconds_of(clock->zero + nanos_of(CLOCK_BOOTTIME)) +
           atomic_load_explicit(&clock->offset, memory_order_relaxed);
}

int64_t clock_drift(const struct clock *clock) {
    CHECK_OBJ(clock, CLOCK_MAGIC);
    /* Half a second is added so that the two clocks' phase does not show up as a second. */
    return seconds_of(nanos_of(CLOCK_REALTIME) - nanos_of(CLOCK_BOOTTIME) - clock->zero + NANOS / 2);
}

void clock_advance(struct clock *clock, int64_t seconds) {
    CHECK_OBJ(clock, CLOCK_MAGIC);
    atomic_fetch_add_explicit(&clock->offset, seconds, memory_order_relaxed);
}

uint64_t clock_micros(void) {
    return (uint64_t)nanos_of(CLOCK_MONOTONIC) / 1000;
}
