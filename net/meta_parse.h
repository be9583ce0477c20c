/* SPDX-License-Identifier: BSD-3-Clause */
/* meta_parse: the meta commands' lines, as of memcached 1.6.45: mg ms md ma me mn.
 *
 * They come on text connections, so text_parse finds the line; here its words become a request and a meta_form.
 *
 * Pure; any thread. */
#ifndef COFFER_NET_META_PARSE_H
#define COFFER_NET_META_PARSE_H

#include "net/protocol.h"

/* Is this the name of a meta command? */
bool meta_owns(struct slice word);

/* verb: the name's second letter; rest: the line behind the name, without its end.  parsed->consumed is the
 * caller's. */
enum parse_verdict meta_parse(char verb, struct slice rest, struct parsed *parsed);

#endif
