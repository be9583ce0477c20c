/* SPDX-License-Identifier: BSD-3-Clause */
/* protocol: what a connection needs to know of a wire protocol: how bytes become requests, and responses bytes.
 *
 * Both directions are pure: no descriptors, no clock, no store.  A protocol is chosen by a connection's first byte. */
#ifndef COFFER_NET_PROTOCOL_H
#define COFFER_NET_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/output.h"
#include "src/base/slice.h"
#include "src/cmd/request.h"

/* What a parser remembers between calls; all zero for a new connection. */
struct parser {
    unsigned char state; /* the protocol's own; 0 between requests */
    bool with_cas, touch; /* of the multi-key request that is being taken apart */
    bool keys_seen;
    int64_t touch_ttl;
    uint32_t line; /* counts multi-key requests */
};

enum { META_SHOWN_MAX = 8, META_OPAQUE_MAX = 32, META_DUMP = '*' };

/* What the reply to a meta command shows. */
struct meta_form {
    char verb;                  /* its word's second letter, or META_DUMP for mgdump; 0: none of the meta protocol */
    bool value;                 /* v */
    bool base64;                /* b: the key is given, and shown, in base64 */
    unsigned char opaque_length;
    char shown[META_SHOWN_MAX]; /* flags to answer, in the order of the request; shorter ones end with a NUL */
    char opaque[META_OPAQUE_MAX];
};

/* How a request wants to be answered: what the command layer need not know. */
struct reply_form {
    bool noreply;  /* nothing is told, be it an error */
    bool quiet;    /* the outcome that the protocol says is not told; errors are */
    bool closes;   /* the connection ends behind the reply */
    bool with_cas;
    bool part;     /* the reply is made of several parts, each with a request of its own (a key, the final END) */
    bool last;     /* the part that ends it */
    uint32_t line; /* the same in all parts of a reply */
    uint64_t tag;  /* what the protocol needs to know in order to refuse the request */
    struct meta_form meta;
};

enum parse_verdict {
    PARSE_MORE,    /* the rest of the input is the start of something: wait for more */
    PARSE_REQUEST, /* `request` is whole */
    PARSE_BODY,    /* `request` is whole but for its item: `body` value bytes and the protocol's line end follow */
    PARSE_REPLY,   /* no request: drop `skip` bytes behind the consumed ones, then answer `reply` */
};

struct parsed {
    struct request *request; /* given by the caller, zeroed; its slices point into the input, or to key_room */
    char *key_room;          /* the caller's, STORE_KEY_MAX bytes: for a key that the input has in another form */
    struct reply_form form;
    size_t consumed; /* bytes of the input that are done with; meaningful with every verdict */
    uint64_t body;
    uint64_t skip;
    const char *reply; /* a constant */
    bool refused;      /* it tells of an error */
};

struct protocol {
    const char *name;
    enum parse_verdict (*parse)(struct parser *parser, struct slice input, struct parsed *parsed);
    /* The keys that the requests at the front of the input will ask for, in their order, at most `max`; for fetching
     * ahead, so it may be wrong.  May be NULL. */
    unsigned (*peek)(const struct parser *parser, struct slice input, struct slice *keys, unsigned max);
    /* Appends the reply, or nothing when the form says so.  `now` is wall time in seconds. */
    void (*compose)(struct output *output, const struct request *request, const struct response *response,
                    const struct reply_form *form, int64_t now);
    /* Appends a reply that the parser, or one of the texts below, has given. */
    void (*refuse)(struct output *output, uint64_t tag, const char *reply);
    output_lost *lost;     /* appends what a reply becomes whose write could not be made durable */
    const char *bad_body;  /* the answer to a body without its line end */
    const char *no_memory;
    unsigned line_end;     /* bytes behind a body: 2 for "\r\n", or 0 */
};

const struct protocol *protocol_choose(char first_byte);

#endif
