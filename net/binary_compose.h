/* SPDX-License-Identifier: BSD-3-Clause */
/* binary_compose: the binary protocol's replies.  Pure; see protocol.h. */
#ifndef COFFER_NET_BINARY_COMPOSE_H
#define COFFER_NET_BINARY_COMPOSE_H

#include "net/protocol.h"

void binary_compose(struct output *output, const struct request *request, const struct response *response,
                    const struct reply_form *form, int64_t now);
void binary_refuse(struct output *output, uint64_t tag, const char *reply);
output_lost binary_lost;

#endif
