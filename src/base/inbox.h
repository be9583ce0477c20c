/* SPDX-License-Identifier: BSD-3-Clause */
/* inbox: how other threads hand finished work back to the thread that owns it.
 *
 * A ticket is embedded in the work.  inbox_post queues it and writes the eventfd only when the inbox was empty, so
 * a batch costs one wake.  The owner polls inbox_fd and calls inbox_drain, which runs each ticket's function on
 * the owner's thread in the order of posting.  A ticket is in at most one inbox at a time. */
#ifndef COFFER_BASE_INBOX_H
#define COFFER_BASE_INBOX_H

#include <stdbool.h>

#include "src/base/status.h"

struct inbox;

struct ticket {
    struct ticket *next;
    struct inbox *inbox;               /* where it is delivered; set by the owner before handing it out */
    void (*deliver)(struct ticket *t); /* runs on the owner's thread */
};

enum status inbox_create(struct inbox **inbox) MUST_CHECK;
void inbox_destroy(struct inbox **inbox); /* must be empty */

int inbox_fd(const struct inbox *inbox);

/* Any thread. */
void inbox_post(struct ticket *ticket);

/* Owner only: delivers everything queued; returns how many.  Does not block. */
unsigned inbox_drain(struct inbox *inbox);

#endif
