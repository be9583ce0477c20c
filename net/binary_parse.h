/* SPDX-License-Identifier: BSD-3-Clause */
/* binary_parse: the binary protocol's requests.
 *
 * A request comes out when its header, extras and key are there; its value is the connection's to receive.  Lengths
 * that do not fit the opcode end the connection, since where the next packet begins cannot be trusted; an unknown
 * opcode is dropped with its body.
 *
 * Pure; any thread. */
#ifndef COFFER_NET_BINARY_PARSE_H
#define COFFER_NET_BINARY_PARSE_H

#include "net/protocol.h"

enum parse_verdict binary_parse(struct parser *parser, struct slice input, struct parsed *parsed);

/* protocol.h's peek. */
unsigned binary_peek(const struct parser *parser, struct slice input, struct slice *keys, unsigned max);

#endif
