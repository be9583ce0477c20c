/* SPDX-License-Identifier: BSD-3-Clause */
/* slots: requests of one connection that have been executed, or begun, and whose replies cannot be composed yet.
 *
 * Slots stand in the order of the requests and leave in that order; they finish in any.  A request that is done at
 * once and finds the queue empty never enters it.  Whether a request may be executed behind the ones that are parked:
 * a plain read may pass parked plain reads of other keys; nothing else passes anything.
 *
 * Used by the worker's thread. */
#ifndef COFFER_NET_SLOTS_H
#define COFFER_NET_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/pool.h"
#include "net/protocol.h"
#include "src/cmd/command.h"

enum slot_state {
    SLOT_NEW,
    SLOT_PARKED, /* its ticket comes back through the inbox */
    SLOT_MORE,   /* has a page to compose, and more behind it */
    SLOT_DONE,   /* executed, or a constant reply */
};

struct connection;

struct slot {
    struct slot *next;
    struct connection *connection;
    enum slot_state state;
    bool plain_read;
    uint64_t key_sum; /* of a parked plain read, so that the search for an equal key touches one line a slot */
    struct reply_form form;
    const char *constant; /* the whole reply, instead of a command */
    char *words;          /* bytes of request.words, when there are any */
    struct command command;
    char key[STORE_KEY_MAX]; /* of command.request; not cleared between uses */
};

struct slots {
    struct slot *first, *last;
    unsigned count;
    unsigned parked, parked_reads; /* parked_reads: plain ones */
};

/* A cleared slot; NULL when there is no memory. */
struct slot *slot_take(struct pool *pool, struct connection *connection);
/* Releases what the slot's command holds; it may not be PARKED. */
void slot_give(struct pool *pool, struct slot *slot);

/* Copies what request points to in the input into the slot, so that it outlives the input. */
enum status slot_keep_bytes(struct slot *slot) MUST_CHECK;

void slots_add(struct slots *slots, struct slot *slot); /* its state is set */
struct slot *slots_pop(struct slots *slots);            /* the first one, which is not PARKED */
/* One of them takes another state. */
void slots_set(struct slots *slots, struct slot *slot, enum slot_state state);

bool slots_admit(const struct slots *slots, const struct slot *slot);

#endif
