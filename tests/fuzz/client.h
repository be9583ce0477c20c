/* SPDX-License-Identifier: BSD-3-Clause */
/* client: what the fuzz targets share: a client's bytes go through the real parser and the real composer, with an
 * invented command layer between them.
 *
 * The bytes are taken twice, in one piece and in pieces; what comes out must be the same, and well formed.  A broken
 * rule aborts. */
#ifndef COFFER_TESTS_FUZZ_CLIENT_H
#define COFFER_TESTS_FUZZ_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "net/protocol.h"

/* The library's entry, which each target defines. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* kept_max: the most that the parser may leave waiting.  check: aborts when the replies are not what the protocol
 * allows. */
void client_run(const struct protocol *protocol, struct slice stream, size_t kept_max,
                void (*check)(struct slice replies));

#endif
