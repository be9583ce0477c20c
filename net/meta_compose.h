/* SPDX-License-Identifier: BSD-3-Clause */
/* meta_compose: replies to meta commands.  Pure; see protocol.h. */
#ifndef COFFER_NET_META_COMPOSE_H
#define COFFER_NET_META_COMPOSE_H

#include "net/protocol.h"

/* For a form whose meta.verb is set.  False, and nothing is appended: meta has no words of its own for this result, the
 * classic protocol's serve. */
bool meta_compose(struct output *output, const struct request *request, const struct response *response,
                  const struct reply_form *form, int64_t now);

#endif
