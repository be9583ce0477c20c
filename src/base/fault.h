/* SPDX-License-Identifier: BSD-3-Clause */
/* fault: named places (src/tbl/faults.h) where tests kill the process, fail a call, or slow it.
 *
 * A plan is text: "POINT:N:ACTION[,...]", the N-th time (1 = next) POINT is reached; N "*" = every time, "N+" = from
 * the N-th on.  ACTION: kill (SIGKILL to itself), eio, enospc, short (a write that stops half way), sleep=MICROS.
 * Without a plan a point costs one load and one branch.
 *
 * Any thread. */
#ifndef COFFER_BASE_FAULT_H
#define COFFER_BASE_FAULT_H

#include <stdint.h>

#include "src/base/status.h"
#include "src/tbl/faults.h"

enum fault_point {
#define X(name, text) FAULT_##name,
    FAULT_TABLE(X)
#undef X
        FAULT_COUNT
};

struct faults;

/* plan NULL or "": nothing ever fails.  ST_INVALID when it cannot be parsed. */
enum status faults_create(struct faults **faults, const char *plan) MUST_CHECK;
void faults_destroy(struct faults **faults);
/* Replaces the plan while running (the `debug fault` command); "" ends all faults. */
enum status faults_set(struct faults *faults, const char *plan) MUST_CHECK;

/* Marks the point as reached and acts: may not return (kill), may sleep.  Returns 0, or the errno that the call at
 * this point must fail with; -1 asks a write to be short.  faults may be NULL. */
int fault_hit(struct faults *faults, enum fault_point point);

/* How often the point was reached since creation; counted only while a plan is set. */
uint64_t fault_reached(const struct faults *faults, enum fault_point point);

#endif
