/* SPDX-License-Identifier: BSD-3-Clause */
/* worker: a thread with its connections, its session of the store and its counters.
 *
 * A pass: wait for descriptors; take in what other threads sent (new connections, parked requests); run every ready
 * connection once; hand the log to the system (session_commit); let replies go whose stamp the store's mark has
 * reached.  So the writes of all connections of a pass share one log write, and each connection one send. */
#ifndef COFFER_NET_WORKER_H
#define COFFER_NET_WORKER_H

#include <stdint.h>

#include "net/home.h"
#include "src/base/buffer.h"
#include "src/base/counters.h"
#include "src/base/status.h"

struct worker;

enum status worker_create(struct worker **worker, struct net_shared *shared) MUST_CHECK;
enum status worker_start(struct worker *worker, unsigned number) MUST_CHECK;

/* Answers what has been received, for as long as there is time, and ends the thread. */
void worker_stop(struct worker *worker, uint64_t deadline_micros);
void worker_join(struct worker *worker);
void worker_destroy(struct worker **worker); /* its thread has ended or was never started */

/* Any thread: a new connection, already counted in shared->connections.  Takes over fd in every outcome. */
void worker_adopt(struct worker *worker, int fd);

/* Any thread. */
const struct counters *worker_counters(const struct worker *worker);
/* Appends the lines of `stats conns`: name NUL value NUL. */
enum status worker_list(struct worker *worker, int64_t now, struct buffer *text) MUST_CHECK;

#endif
