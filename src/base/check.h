/* SPDX-License-Identifier: BSD-3-Clause */
/* check: assertions that stay on in release builds.
 *
 * A store that goes on after a broken invariant writes the breakage to disk, so CHECK aborts in every
 * build.  Never use it for what a client, a file or the system may do: that is an error return.
 * COSTLY_CHECK is for what is too dear on a hot path; it is compiled only with COFFER_DEBUG.
 *
 * Any thread. */
#ifndef COFFER_BASE_CHECK_H
#define COFFER_BASE_CHECK_H

#include <stdint.h>

/* Prints file, line and expression to standard error, then aborts. */
_Noreturn void check_failed(const char *file, int line, const char *expression);

#define CHECK(cond) (__builtin_expect(!!(cond), 1) ? (void)0 : check_failed(__FILE__, __LINE__, #cond))

/* Every object that crosses a void * carries a magic number as its first member, named `magic`. */
#define CHECK_OBJ(ptr, MAGIC) CHECK((ptr) != NULL && (ptr)->magic == (MAGIC))

#ifdef COFFER_DEBUG
#define COSTLY_CHECK(cond) CHECK(cond)
#else
#define COSTLY_CHECK(cond) ((void)sizeof(!!(cond)))
#endif

#endif
