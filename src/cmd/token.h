/* SPDX-License-Identifier: BSD-3-Clause */
/* token: bytes of any value as one word of a text reply.
 *
 * Monitoring tools split lines at blanks and fail on what they do not expect, so blanks, control bytes, '%' and what is
 * not ASCII are written as %XX, as memcached writes keys in a metadump. */
#ifndef COFFER_CMD_TOKEN_H
#define COFFER_CMD_TOKEN_H

#include "src/base/buffer.h"
#include "src/base/slice.h"
#include "src/base/status.h"

/* Appends the bytes; an empty slice becomes "NULL", since a reader expects something. */
enum status token_append(struct buffer *text, struct slice bytes) MUST_CHECK;

#endif
