/* SPDX-License-Identifier: BSD-3-Clause */
/* steps: what a connection does next.
 *
 * Each step does a bounded piece of work, chooses the next step, and says how to go on.  Used by connection.c only. */
#ifndef COFFER_NET_STEPS_H
#define COFFER_NET_STEPS_H

#include "net/connection.h"

enum outcome {
    OUTCOME_MORE,       /* take the next step at once */
    OUTCOME_WANT_READ,  /* wait for input */
    OUTCOME_WANT_WRITE, /* wait until replies have left */
    OUTCOME_PARKED,     /* wait for a parked request, or for the next pass */
    OUTCOME_CLOSE
};

enum outcome step_take(struct connection *connection);

/* Gives back what the connection has begun to receive; it will execute nothing more. */
void step_abandon(struct connection *connection);

#endif
