/* SPDX-License-Identifier: BSD-3-Clause */
/* acceptor: the thread that accepts connections and deals them out to the workers in turn.
 *
 * Over -c connections it answers `ERROR Too many open connections` and closes.  Without a free descriptor it stops
 * accepting, and goes on when a connection has closed; once a second it tries by itself, since descriptors are used
 * by others as well. */
#ifndef COFFER_NET_ACCEPTOR_H
#define COFFER_NET_ACCEPTOR_H

#include <stdbool.h>

#include "net/home.h"
#include "net/listener.h"
#include "net/worker.h"
#include "src/base/counters.h"
#include "src/base/status.h"

struct acceptor;

/* All arguments are borrowed; the listeners stay open as long as the acceptor runs. */
enum status acceptor_create(struct acceptor **acceptor, struct net_shared *shared, const struct listeners *listeners,
                            struct worker **workers, unsigned worker_count) MUST_CHECK;
enum status acceptor_start(struct acceptor *acceptor) MUST_CHECK;
void acceptor_stop(struct acceptor *acceptor); /* the thread has ended then, and the listeners may be closed */
void acceptor_destroy(struct acceptor **acceptor);

/* Any thread. */
void acceptor_descriptor_freed(struct acceptor *acceptor);
bool acceptor_accepting(const struct acceptor *acceptor);
const struct counters *acceptor_counters(const struct acceptor *acceptor);

#endif
