/* SPDX-License-Identifier: BSD-3-Clause */
/* clock: wall time that never steps while the process runs.
 *
 * Wall time is read once at creation and advanced by CLOCK_BOOTTIME from then on, so a jump of the system's
 * clock moves no relative expiry.  clock_advance moves it for tests (the `debug clock` command).
 *
 * Any thread; reads are one vDSO call.  Workers read it once a pass. */
#ifndef COFFER_BASE_CLOCK_H
#define COFFER_BASE_CLOCK_H

#include <stdint.h>

struct clock;

struct clock *clock_create(void);
void clock_destroy(struct clock **clock);

/* Seconds since 1970, with the offset of clock_advance. */
int64_t clock_wall(const struct clock *clock);

/* How far the system's wall clock is ahead of ours now, in seconds, leaving out clock_advance: for warnings
 * about jumps. */
int64_t clock_drift(const struct clock *clock);

/* Adds seconds (may be negative) to what clock_wall returns from now on. */
void clock_advance(struct clock *clock, int64_t seconds);

/* Monotonic microseconds since some fixed moment; not moved by clock_advance. */
uint64_t clock_micros(void);

#endif
