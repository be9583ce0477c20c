/* SPDX-License-Identifier: BSD-3-Clause */
/* server: the composition root: store, command layer and net, put together and taken apart.
 *
 * Nothing else sees both storage and net.  One thread at a time calls these functions. */
#ifndef COFFER_SERVER_H
#define COFFER_SERVER_H

#include "src/base/logger.h"
#include "src/base/options.h"
#include "src/base/status.h"

struct server;

/* Recovers the store, which may take long; the process may die meanwhile, and nothing is lost.  options and logger stay
 * the caller's and must outlive the server; max_connections is lowered when the system's limit of descriptors asks for
 * it.  What is wrong has been logged.  ST_BUSY: another process has the directory; ST_CORRUPT: damaged data. */
enum status server_open(struct server **server, struct options *options, struct logger *logger) MUST_CHECK;

/* Listens, and returns: clients are served from then on.  ST_BUSY: another process has an address.  After an error
 * only server_stop is left. */
enum status server_serve(struct server *server) MUST_CHECK;

/* Answers what was received, applies what it can to the tree, all within 10 seconds. */
void server_stop(struct server **server);

#endif
