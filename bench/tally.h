/* SPDX-License-Identifier: BSD-3-Clause */
/* tally: what was counted and timed, per operation.
 *
 * One a thread, written by it alone; merged into one when the threads have ended. */
#ifndef COFFER_BENCH_TALLY_H
#define COFFER_BENCH_TALLY_H

#include "bench/histogram.h"
#include "bench/protocol.h"

enum { TALLY_TEXT = 160 };

struct tally_row {
    uint64_t requests; /* answered, errors among them */
    uint64_t keys;     /* asked for by them */
    uint64_t hits, misses;
    uint64_t refused; /* a condition did not hold */
    uint64_t failed;  /* error replies */
    uint64_t wrong;   /* values that are not their key's */
    struct histogram *latency;
};

struct tally {
    struct tally_row row[OP_COUNT];
    uint64_t unsent;        /* were due by the rate but not sent before the end */
    char first[TALLY_TEXT]; /* the first error reply or wrong value, for people; "" when there was none */
};

enum status tally_create(struct tally **tally) MUST_CHECK;
void tally_destroy(struct tally **tally);
void tally_clear(struct tally *tally);
void tally_merge(struct tally *into, const struct tally *from);

/* All operations in one row, whose latency the caller brings. */
void tally_total(const struct tally *tally, struct tally_row *total, struct histogram *latency);

/* Keeps the text if it is the first; bytes that would disturb a terminal become '.'. */
void tally_note(struct tally *tally, const char *what, struct slice text);

#endif
