/* SPDX-License-Identifier: BSD-3-Clause */
/* command: what a request means, once for all protocols.
 *
 * The connection layer embeds a struct command in each response slot, fills its request, calls command_execute, and
 * composes from its response.  PARKED: the ticket is delivered to the worker's inbox later; then call
 * command_execute again.  MORE (a dump): compose what is in the response, and when that has been sent call
 * command_execute again.  DONE: compose, then command_finish.
 *
 * Used by the worker that owns it; command_env is shared and constant. */
#ifndef COFFER_CMD_COMMAND_H
#define COFFER_CMD_COMMAND_H

#include <stdbool.h>

#include "src/base/clock.h"
#include "src/base/counters.h"
#include "src/base/inbox.h"
#include "src/base/logger.h"
#include "src/base/options.h"
#include "src/cmd/request.h"
#include "storage/store.h"

/* The version memcached clients parse; ours is in `stats persist` and -V. */
#define COMMAND_MEMCACHED_VERSION "1.6.45"
#define COFFER_VERSION "0.1.0"

/* What the command layer asks of whoever runs the connections.  Any worker's thread. */
struct command_host {
    void *arg;
    /* Sums one counter over all workers. */
    uint64_t (*counter)(void *arg, enum counter which);
    void (*reset_counters)(void *arg);
    struct command_connections {
        uint64_t current, structures;
        bool accepting;
    } (*connections)(void *arg);
    /* Appends one "name NUL value NUL" a line of `stats conns`. */
    enum status (*list_connections)(void *arg, struct buffer *text);
    void (*shutdown)(void *arg, bool graceful);
    struct faults *faults; /* for debug fault */
};

struct prefixes;

struct command_env {
    struct store *store;
    const struct options *options;
    struct clock *clock;
    struct logger *logger;
    struct prefixes *prefixes; /* of `stats detail`; NULL: it counts nothing */
    struct command_host host;
    int64_t started; /* wall seconds */
};

/* One worker's part. */
struct command_worker {
    const struct command_env *env;
    struct session *session;
    struct inbox *inbox; /* the session's: long jobs of the command layer itself come back through it */
    struct counters *counters;
    int64_t now; /* wall seconds, set at each pass from session_tick */
};

enum command_progress { COMMAND_DONE, COMMAND_PARKED, COMMAND_MORE };

struct command {
    struct store_op op;        /* op.ticket.deliver is set by the connection layer before the first execute */
    struct request request;
    struct response response;
    bool unwanted; /* set by the connection layer before any execute: nobody will read the answer, so don't walk on */

    /* The command layer's own. */
    struct command_worker *worker;
    struct command_state *state; /* of dumps and other long commands */
    struct command_note {        /* what the last run of op.decide found */
        enum result result;
        unsigned marks; /* enum item_mark of the version found */
        bool found, won;
        bool begun;
        uint64_t number;
    } note;
};

/* command must be zeroed, with request and op.ticket.deliver filled. */
enum command_progress command_execute(struct command_worker *worker, struct command *command) MUST_CHECK;

/* Releases what the command holds (item, text, state); it may not be PARKED.  Also for a dump that is given up. */
void command_finish(struct command *command);

/* The level of log lines that -v or the verbosity command asks for. */
enum logger_level command_log_level(uint64_t verbosity);

/* May it write to the log (so that it must not pass earlier parked requests of its connection)? */
bool command_may_write(const struct request *request);

/* memcached's time rules, as absolute seconds (0 never; a time in the past for `already expired`). */
int64_t command_absolute_time(int64_t now, int64_t exptime);

#endif
