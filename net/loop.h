/* SPDX-License-Identifier: BSD-3-Clause */
/* loop: waits for descriptors; the only file that knows the event library.
 *
 * Events are level-triggered and stay registered, so a served descriptor costs no system call.  A pass waits once and
 * calls `ready` for every descriptor that is; these functions should only take note, and the owner does the work
 * after the pass, with everything that is ready in sight.
 *
 * One thread; others wake it through a descriptor (an inbox). */
#ifndef COFFER_NET_LOOP_H
#define COFFER_NET_LOOP_H

#include "src/base/status.h"

struct loop;
struct watch; /* one descriptor's registration; may be used for another descriptor later */

enum { WATCH_READ = 1, WATCH_WRITE = 2 };

enum status loop_create(struct loop **loop) MUST_CHECK;
void loop_destroy(struct loop **loop); /* its watches must be gone */

/* millis: how long to wait at most; 0 = not at all, negative = for ever.  A descriptor that has hung up or failed
 * counts as ready for everything that is watched. */
void loop_pass(struct loop *loop, int millis);

enum status watch_create(struct watch **watch, struct loop *loop, void (*ready)(void *arg, unsigned what),
                         void *arg) MUST_CHECK;
void watch_destroy(struct watch **watch);

/* Watches fd for `what` from now on; 0 ends it, which must be done before fd is closed.  Costs a system call only
 * when something changes; ending never fails. */
enum status watch_set(struct watch *watch, int fd, unsigned what) MUST_CHECK;
void watch_stop(struct watch *watch);

#endif
