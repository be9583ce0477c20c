/* SPDX-License-Identifier: BSD-3-Clause */
/* support_compose: composes one reply, and compares all of its bytes. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_COMPOSE_H
#define COFFER_TESTS_UNIT_SUPPORT_COMPOSE_H

#include "net/protocol.h"
#include "tests/unit/support_cmocka.h"

enum { COMPOSE_NOW = 1000 };

/* A value of n times 'v', with all bits of the client's flags set. */
struct item *compose_item_of(const char *key, size_t n);

void compose_expect(const struct protocol *protocol, const struct request *request, const struct response *response,
                    const struct reply_form *form, const char *expected, size_t n);

#endif
