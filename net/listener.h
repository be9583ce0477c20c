/* SPDX-License-Identifier: BSD-3-Clause */
/* listener: the sockets that a server listens on.
 *
 * Opened together from the options: -s a unix socket, which then is the only one; else every -l address with -p or
 * its own port.  Each is logged, and what is wrong is logged with the address it is wrong with.
 *
 * Opened and closed by the thread that starts the server; between, any thread may read. */
#ifndef COFFER_NET_LISTENER_H
#define COFFER_NET_LISTENER_H

#include "src/base/logger.h"
#include "src/base/options.h"
#include "src/base/status.h"

enum { LISTENERS_MAX = 64 };

struct listeners {
    int fd[LISTENERS_MAX];
    unsigned count;
    const char *path; /* of the unix socket that is to be removed at the end; the options' memory */
};

/* ST_BUSY: somebody listens there; ST_INVALID: no such address.  Nothing is left open after an error. */
enum status listeners_open(struct listeners *listeners, const struct options *options,
                           struct logger *logger) MUST_CHECK;
void listeners_close(struct listeners *listeners);

#endif
