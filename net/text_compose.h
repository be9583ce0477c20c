/* SPDX-License-Identifier: BSD-3-Clause */
/* text_compose: the classic text protocol's replies.  Pure; see protocol.h. */
#ifndef COFFER_NET_TEXT_COMPOSE_H
#define COFFER_NET_TEXT_COMPOSE_H

#include "net/protocol.h"

void text_compose(struct output *output, const struct request *request, const struct response *response,
                  const struct reply_form *form, int64_t now);
void text_refuse(struct output *output, uint64_t tag, const char *reply);
output_lost text_lost;

#endif
