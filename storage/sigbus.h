/* SPDX-License-Identifier: BSD-3-Clause */
/* sigbus: turns a SIGBUS while reading a mapped file (bad sector, truncated file) into a status.
 *
 * The handler is the process's and stays once it is installed.  Outside a guard it gives way to the default action,
 * a core dump.
 *
 * Any thread; guards nest. */
#ifndef COFFER_STORAGE_SIGBUS_H
#define COFFER_STORAGE_SIGBUS_H

#include "src/base/status.h"

void sigbus_install(void); /* any number of times */

/* Calls fn(arg).  ST_OK; ST_IO when a SIGBUS cut it short; ST_CORRUPT when it called sigbus_leave.  fn must be such
 * that it can be left at any read of mapped memory: it takes no lock and owns nothing while it reads. */
enum status sigbus_guard(void (*fn)(void *arg), void *arg) MUST_CHECK;

/* Leaves the innermost guard of this thread, for a library that would abort otherwise.  Returns when there is none. */
void sigbus_leave(void);

#endif
