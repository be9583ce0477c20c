/* SPDX-License-Identifier: BSD-3-Clause */
/* support_feed: a connection that is nothing but a parser and a transcript of what came out of it, a line each:
 *
 *     GET a touch=10 with-cas          a request and what it asks
 *     STORE a set flags=1 exp=2 [abc]  with its value; `bad` when the line end behind it is none
 *     GET a mg s k O=1 v quiet         a meta request: its verb, then what it wants shown
 *     > ERROR                          a reply of the parser's own */
#ifndef COFFER_TESTS_UNIT_SUPPORT_FEED_H
#define COFFER_TESTS_UNIT_SUPPORT_FEED_H

#include "net/protocol.h"
#include "tests/unit/support_cmocka.h"

/* Feeds the input whole, byte by byte, and cut in two at every position (of a long one, every few): the transcript must
 * be the same.  The parser may leave no more than `kept_max` bytes waiting. */
void feed_expect(const struct protocol *protocol, size_t kept_max, const char *input, size_t n, const char *expected);

#endif
