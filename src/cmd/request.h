/* SPDX-License-Identifier: BSD-3-Clause */
/* request and response: what a client asks and what it is told, without a byte of any protocol.
 *
 * Text, meta and binary parsers fill the same request; their composers read the same response.  What only a composer
 * needs (opaque, return flags, noreply forms) stays in net/ beside the request. */
#ifndef COFFER_CMD_REQUEST_H
#define COFFER_CMD_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/slice.h"
#include "src/tbl/commands.h"
#include "src/tbl/results.h"
#include "storage/store.h"

enum command_code {
#define X(name, writes) CMD_##name,
    COMMAND_TABLE(X)
#undef X
        CMD_COUNT
};

enum request_mode { MODE_SET, MODE_ADD, MODE_REPLACE, MODE_APPEND, MODE_PREPEND };

enum request_refusal { REFUSE_NOTHING, REFUSE_TOO_LARGE, REFUSE_NO_MEMORY };

enum { REQUEST_WORDS = 8 };

/* All zero is a valid start.  Times are as clients give them (memcached's rules: 0 never, negative already expired,
 * up to 30 days relative, else absolute seconds); the command layer converts. */
struct request {
    enum command_code command;
    enum request_mode mode;  /* STORE */
    struct slice key;        /* valid until the command is DONE */
    struct item *item;       /* STORE: key and value; the command takes over the reference */
    enum request_refusal refusal; /* STORE: the body was swallowed, `item` is NULL: answer the error and, for MODE_SET
                                     remove the old value (an outdated one must not survive a refused update) */
    uint32_t flags;
    int64_t exptime;         /* STORE, TOUCH; ARITH: of a created item; FLUSH: delay in seconds */
    bool compare_cas;        /* the operation happens only if the cas is `cas` */
    uint64_t cas;
    bool count_as_cas;       /* the classic `cas` command: counts cas_hits, cas_misses, cas_badval */

    uint64_t delta;          /* ARITH */
    bool decrement;
    bool create;             /* ARITH: make it with `initial` and `exptime` when missing */
    uint64_t initial;

    bool touch;              /* GET: update the expiry to touch_ttl (gat, mg T); ARITH too (ma T) */
    int64_t touch_ttl;

    /* meta */
    bool meta;               /* counts cmd_meta */
    bool set_cas;            /* E: explicit_cas becomes the item's cas */
    uint64_t explicit_cas;
    bool vivify;             /* mg N, ms N in append/prepend mode: create on a miss with vivify_ttl */
    int64_t vivify_ttl;
    bool recache;            /* mg R: win when the remaining time is below recache_ttl */
    int64_t recache_ttl;
    bool invalidate;         /* md I: mark stale; ms I: store as stale when the given cas is older */
    bool drop_value;         /* md x */
    bool no_bump;            /* mg without access bookkeeping */

    /* admin commands: the words after the command's name */
    struct slice words[REQUEST_WORDS];
    unsigned word_count;
};

enum result {
#define X(name, error) RESULT_##name,
    RESULT_TABLE(X)
#undef X
        RESULT_COUNT
};

struct response {
    enum result result;
    struct item *item;      /* HIT, and STORED when asked: a reference; released by command_finish */
    uint64_t cas;           /* 0 when there is none */
    uint64_t number;
    bool won, stale, win_taken; /* meta's W, X, Z */
    bool was_fetched;       /* mg h */
    uint32_t idle;          /* mg l */
    struct buffer text;     /* STATS, BAD_ARGUMENT */
    const struct store_row *rows;
    unsigned row_count;
    bool more;
    uint64_t stamp;         /* the reply may leave when store_mark() has reached it */
};

#endif
