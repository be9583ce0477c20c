/* SPDX-License-Identifier: BSD-3-Clause */
/* home: what the connections of one worker share, and what all workers share.
 *
 * A home is used by its worker's thread, but for the list of connections, which `stats conns` reads under `lock`. */
#ifndef COFFER_NET_HOME_H
#define COFFER_NET_HOME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/input.h"
#include "net/list.h"
#include "net/loop.h"
#include "net/output.h"
#include "net/pool.h"
#include "src/base/lock.h"
#include "src/cmd/command.h"

enum {
    /* What one connection may have waiting before reading from it pauses. */
    HOME_UNSENT_MAX = 256 * 1024, /* bytes of replies */
    HOME_HELD_MAX = 4096,         /* replies held for durability */
    HOME_SLOTS_MAX = 256,         /* requests parked, or done behind a parked one */

    /* A pass gives a connection -R times HOME_REQUEST_COST; a key of a multi-get costs 1. */
    HOME_REQUEST_COST = 16,
    HOME_BODY_READ = 256 * 1024, /* of a large value in one read */
};

/* One for all workers. */
struct net_shared {
    const struct command_env *env;      /* constant */
    uint64_t body_limit;                /* constant: bytes of values being received, over all connections */
    _Atomic uint64_t body_bytes;
    _Atomic unsigned connections;       /* open, or handed to a worker */
    _Atomic unsigned structures;        /* memory of connections, open or waiting for another use */
    void (*descriptor_freed)(void *arg); /* a connection was closed; any worker's thread */
    void *arg;
};

struct home {
    struct net_shared *shared;
    struct loop *loop;
    struct command_worker command;
    int budget; /* of one connection and pass */
    uint64_t mark; /* store_mark when the pass began */

    struct input_home input;
    struct output_pools output;
    struct pool slots;

    /* A connection is in each of these at most once. */
    struct list ready;  /* to be run in this pass */
    struct list again;  /* to be run in the next pass, whatever the loop says */
    struct list unsent; /* have replies to send at the end of the pass */
    struct list held;   /* have replies that wait for the store's mark */
    uint64_t held_stamp; /* not above any stamp that those wait for; 0 = none */
    struct list idle;   /* closed: memory for the next ones */

    struct lock lock; /* guards `open` and the descriptors of the connections in it */
    struct list open;
    unsigned open_count; /* the worker's own */
};

#endif
