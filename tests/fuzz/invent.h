/* SPDX-License-Identifier: BSD-3-Clause */
/* invent: a command layer that answers any request with something that it might be answered with.
 *
 * The same request and number give the same response. */
#ifndef COFFER_TESTS_FUZZ_INVENT_H
#define COFFER_TESTS_FUZZ_INVENT_H

#include <stdint.h>

#include "src/cmd/request.h"

enum { INVENT_NOW = 1000000 };

/* A number that looks random. */
uint64_t invent_number(uint64_t seed, uint64_t n);

void invent_response(const struct request *request, uint64_t number, struct response *response);
void invent_free(struct response *response);

#endif
