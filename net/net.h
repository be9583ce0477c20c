/* SPDX-License-Identifier: BSD-3-Clause */
/* net: listens, accepts, and runs connections on worker threads.  What server.c sees of net/.
 *
 * Start it when the store can serve.  net_stop drains: listeners close first, requests already received are executed
 * and answered, then connections close and threads end. */
#ifndef COFFER_NET_NET_H
#define COFFER_NET_NET_H

#include "src/base/options.h"
#include "src/base/status.h"
#include "src/cmd/command.h"

struct net;

/* env->host is filled in by net_create, apart from shutdown, set_verbosity and faults, which the caller sets.  The env
 * stays the caller's and must outlive net. */
enum status net_create(struct net **net, struct command_env *env) MUST_CHECK;

/* Opens the listeners (logging each address, or what is wrong with it) and starts the threads. */
enum status net_start(struct net *net) MUST_CHECK;

/* At most `seconds` for clients to take their last replies. */
void net_stop(struct net *net, unsigned seconds);
void net_destroy(struct net **net);

#endif
