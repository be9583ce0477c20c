/* SPDX-License-Identifier: BSD-3-Clause */
/* connection: one client: its descriptor, what it has sent, what it waits for, what it is owed.
 *
 * Only the owning worker touches a connection, apart from the fields that `stats conns` reads.  The worker runs a
 * connection (connection_run) when it is ready, and at the end of the pass lets its replies go (connection_flush).
 * steps.c says what running means.
 *
 * A connection that is done with but has parked requests lives until the last of them has come back. */
#ifndef COFFER_NET_CONNECTION_H
#define COFFER_NET_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/home.h"
#include "net/input.h"
#include "net/list.h"
#include "net/loop.h"
#include "net/output.h"
#include "net/protocol.h"
#include "net/slots.h"
#include "net/transport.h"

/* X(name, the word of `stats conns`) */
#define CONNECTION_STEPS(X)                                                                            \
    X(READ, "conn_read")         /* has no input */                                                    \
    X(PARSE, "conn_parse_cmd")                                                                         \
    X(BODY, "conn_nread")        /* receives the value of `current` */                                 \
    X(SWALLOW, "conn_swallow")   /* drops `skip` bytes, then goes on with `current` */                 \
    X(EXECUTE, "conn_parse_cmd") /* `current` is whole, and may have to wait for parked ones */        \
    X(PARKED, "conn_waiting")    /* too many slots: nothing is parsed until some are free */           \
    X(WRITE, "conn_mwrite")      /* too much unsent: nothing is parsed until it has drained */         \
    X(CLOSE, "conn_closing")     /* answers what it has, then closes */

enum step {
#define X(name, word) STEP_##name,
    CONNECTION_STEPS(X)
#undef X
        STEP_COUNT
};

struct connection {
    unsigned magic;
    struct home *home;
    struct transport transport;
    struct watch *watch;
    const struct protocol *protocol; /* NULL until the first byte has come */
    struct parser parser;

    enum step step;
    bool readable;      /* the loop said so, and no read has found the end of it since */
    bool eof;           /* nothing more will be read */
    bool mute;          /* nothing more can be sent: replies are dropped, requests still executed */
    bool full;          /* the socket took less than it was offered: wait until it is writable */
    bool draining;      /* the server stops: once the socket has been read dry, that counts as its end */
    bool watches_input; /* the loop tells when it is readable */
    bool waits;         /* the last run ended without wanting input: a readable socket is no reason to run */
    bool cut;           /* a write without reply was lost: no reply may follow */
    bool part_failed;   /* parts of reply `failed_line` are dropped */
    uint32_t failed_line;

    struct input input;
    struct slot *current; /* the request that is being received or waits for parked ones */
    size_t body_got, body_total; /* of its data block, with the line end */
    size_t body_reserved; /* of the budget of bodies in flight */
    uint64_t skip;
    int budget;
    unsigned expected; /* keys of the input whose lookups have been prepared */

    struct slots slots;
    struct output output;
    unsigned fences_counted; /* in replies_held */

    struct link ready_link;  /* home->ready or home->again */
    struct link unsent_link; /* home->unsent */
    struct link held_link;   /* home->held */
    struct link open_link;   /* home->open or home->idle */

    /* read by others, relaxed */
    _Atomic unsigned char shown_step;
    _Atomic int64_t last_run; /* wall seconds */
};

/* Takes over the descriptor in every outcome.  The connection is watched from now on. */
enum status connection_open(struct home *home, int fd) MUST_CHECK;

/* Runs it until it waits for something; may close and free it. */
void connection_run(struct connection *connection);

/* Sends what may leave at this mark; may close and free it. */
void connection_flush(struct connection *connection, uint64_t mark);

/* The log has failed for good: replies above the mark become errors. */
void connection_fail_held(struct connection *connection, uint64_t mark);

/* The server stops. */
void connection_drain(struct connection *connection);
/* No more time: drops what has not been sent. */
void connection_abandon(struct connection *connection);

/* Frees closed connections' memory; the home's worker has ended. */
void connection_free_idle(struct home *home);

/* ---- for steps.c ---- */

/* Executes the slot's command (again); returns its new state.  A page of a dump goes to the output here. */
enum slot_state connection_execute(struct connection *connection, struct slot *slot);
/* Gives the finished slot's reply to the output, and the slot back. */
void connection_answer(struct connection *connection, struct slot *slot);
/* Answers the slots at the front that are finished. */
void connection_advance(struct connection *connection);
/* Slots' tickets come here. */
void connection_deliver(struct ticket *ticket);
/* Runs it in this pass, or the next one when this one has run already. */
void connection_wake(struct connection *connection);
static inline bool connection_is_full(const struct connection *c) {
    return output_unsent(&c->output) >= HOME_UNSENT_MAX || c->output.fences >= HOME_HELD_MAX;
}
static inline bool connection_has_drained(const struct connection *c) {
    return output_unsent(&c->output) <= HOME_UNSENT_MAX / 2 && c->output.fences <= HOME_HELD_MAX / 2;
}

#endif
