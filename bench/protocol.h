/* SPDX-License-Identifier: BSD-3-Clause */
/* protocol: how requests are written and replies read, in each protocol that the generator speaks.
 *
 * Composers write one request and return its end.  Parsers are incremental and pure: each call looks at the
 * bytes given, says in `reply` what is there, and returns how many bytes that took.  Call it until
 * REPLY_MORE, also when no bytes are left; what was not taken must then be given again, with more behind it.
 * Values are handed on in place and in pieces, so that they need no memory of their own, however large they
 * are.
 *
 * The reply to a get is any number of REPLY_VALUE, each followed by REPLY_PIECE until one is `last`, and of
 * REPLY_ABSENT where the protocol mentions misses, then REPLY_DONE.  To anything else: one REPLY_DONE. */
#ifndef COFFER_BENCH_PROTOCOL_H
#define COFFER_BENCH_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/dataset.h"
#include "src/base/slice.h"

#define OPERATION_TABLE(X) X(SET, "set") X(GET, "get") X(DELETE, "delete")

enum operation {
#define X(name, text) OP_##name,
    OPERATION_TABLE(X)
#undef X
        OP_COUNT
};

enum reply_kind {
    REPLY_MORE,   /* the bytes end before the next thing does */
    REPLY_VALUE,  /* a value of `size` bytes begins; `text` is its key if the protocol repeats it */
    REPLY_PIECE,  /* `text` is the next part of the value, the final one if `last` */
    REPLY_ABSENT, /* the next key asked for is missing */
    REPLY_DONE,   /* the request is answered: `result` */
    REPLY_BROKEN, /* no reply to this request in this protocol */
};

enum reply_result {
    RESULT_OK,      /* stored, deleted, or the end of a get, whether it hit or missed */
    RESULT_REFUSED, /* a condition did not hold: delete of a missing key */
    RESULT_FAILED,  /* an error; `text` says which */
};

struct reply {
    enum reply_kind kind;
    enum reply_result result;
    struct slice text;
    size_t size;
    bool last;
};

/* What a parser remembers between calls.  The caller sets operation and keys before each reply, and zeroes it
 * all when a connection begins. */
struct parser {
    enum operation operation;
    unsigned keys;   /* asked for at once */
    int state;       /* the protocol's own; 0 between replies */
    size_t left;     /* bytes of the value still to come */
    unsigned values; /* array elements still to come (resp) */
};

struct protocol {
    const char *name;
    unsigned port; /* where servers of this protocol usually listen */
    size_t key_max;
    char *(*set)(const struct dataset *dataset, uint64_t id, uint32_t expire, char *out);
    char *(*get)(const struct dataset *dataset, const uint64_t *ids, unsigned n, char *out);
    char *(*delete)(const struct dataset *dataset, uint64_t id, char *out);
    size_t (*next)(struct parser *parser, struct slice in, struct reply *reply);
};

extern const struct protocol protocol_text;   /* memcached's text commands */
extern const struct protocol protocol_meta;   /* memcached's meta commands */
extern const struct protocol protocol_binary; /* memcached's binary protocol */
extern const struct protocol protocol_resp;   /* Redis */

enum { PROTOCOL_LINE_MAX = 2048 }; /* longer lines in replies are REPLY_BROKEN */

/* NULL when there is none of that name. */
const struct protocol *protocol_find(const char *name);
/* "text, meta, ..." */
const char *protocol_names(void);

const char *operation_text(enum operation operation);

/* The most bytes that one request for n keys takes. */
size_t protocol_request_max(const struct dataset *dataset, unsigned n);

#endif
