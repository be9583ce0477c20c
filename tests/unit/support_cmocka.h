/* SPDX-License-Identifier: BSD-3-Clause */
/* support_cmocka: cmocka with the headers that it wants in front of it. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_CMOCKA_H
#define COFFER_TESTS_UNIT_SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/base/status.h"

#define assert_ok(call) assert_string_equal(status_text(call), status_text(ST_OK))
#define assert_status(call, expected) assert_string_equal(status_text(call), status_text(expected))

#endif
