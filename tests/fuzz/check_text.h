/* SPDX-License-Identifier: BSD-3-Clause */
/* check_text: whether bytes are replies of the text protocol, those to meta commands included; aborts when not.
 *
 * Every line ends with CRLF and is no longer than one with the longest key; a value is as long as its line says, and
 * ends with CRLF. */
#ifndef COFFER_TESTS_FUZZ_CHECK_TEXT_H
#define COFFER_TESTS_FUZZ_CHECK_TEXT_H

#include "src/base/slice.h"

void check_text(struct slice replies);

#endif
