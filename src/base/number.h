/* SPDX-License-Identifier: BSD-3-Clause */
/* number: decimal text to integers and back, strictly.
 *
 * What is parsed comes from clients and from the command line: the whole slice must be the number (no blanks, no
 * plus sign, at least one digit; leading zeros are allowed) and it must fit.  On false the result is untouched.
 *
 * Any thread. */
#ifndef COFFER_BASE_NUMBER_H
#define COFFER_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/slice.h"
#include "src/base/status.h"

bool number_u64(struct slice text, uint64_t *value) MUST_CHECK;
bool number_u32(struct slice text, uint32_t *value) MUST_CHECK;
/* With an optional minus sign. */
bool number_i64(struct slice text, int64_t *value) MUST_CHECK;
/* Bytes, with an optional k, m, g or t (either case) for powers of 1024: "64m". */
bool number_size(struct slice text, uint64_t *bytes) MUST_CHECK;

enum { NUMBER_DIGITS = 20 }; /* of UINT64_MAX */

/* Writes the digits, without a terminator; returns how many. */
size_t number_print(char out[NUMBER_DIGITS], uint64_t value);

#endif
