/* SPDX-License-Identifier: BSD-3-Clause */
/* text_parse: the classic text protocol's requests.
 *
 * Feed it what has arrived; wherever the input is cut, the same requests come out.  A command line is looked at when it
 * is whole.  Lines are at most TEXT_LINE_MAX bytes long; only get, gets, gat and gats may be longer: their keys are
 * handed out one by one as they arrive, so a line of any length is read in bounded memory.  Words are separated by
 * spaces, a line ends with \n or \r\n, keys may hold any other byte.
 *
 * Pure; any thread. */
#ifndef COFFER_NET_TEXT_PARSE_H
#define COFFER_NET_TEXT_PARSE_H

#include "net/protocol.h"

enum {
    TEXT_LINE_MAX = 2048,
    TEXT_BODY_MAX = 2147483647 - 2, /* the longest data block there is: with its line end it fits an int */
};

enum parse_verdict text_parse(struct parser *parser, struct slice input, struct parsed *parsed);

/* protocol.h's peek, in text_peek.c. */
unsigned text_peek(const struct parser *parser, struct slice input, struct slice *keys, unsigned max);
/* Is the parser in the middle of a line of keys? */
bool text_parse_in_keys(const struct parser *parser);

#endif
