/* SPDX-License-Identifier: BSD-3-Clause */
/* sigbus: turns a SIGBUS while reading a mapped file (bad sector, truncated file) into a status.
 *
 * LMDB follows a null pointer when a damaged leaf claims to hold duplicates, so a SIGSEGV in the first pages ends a
 * guard too.  (Not in builds with the address sanitizer, whose own handler has more to say about every other SIGSEGV.)
 *
 * The handlers are the process's and stay once they are installed.  Outside a guard they give way to the default
 * action, a core dump.
 *
 * Any thread; guards nest. */
#ifndef COFFER_STORAGE_SIGBUS_H
#define COFFER_STORAGE_SIGBUS_H

#include "src/base/status.h"

void sigbus_install(void); /* any number of times */

/* Calls fn(arg).  ST_OK; ST_IO when a SIGBUS cut it short; ST_CORRUPT after a null pointer or sigbus_leave.  fn must
 * be such that it can be left at any read of mapped memory: it takes no lock and owns nothing while it reads. */
enum status sigbus_guard(void (*fn)(void *arg), void *arg) MUST_CHECK;

/* Leaves the innermost guard of this thread, for a library that would abort otherwise.  Returns when there is none. */
void sigbus_leave(void);

#endif
