/* SPDX-License-Identifier: BSD-3-Clause */
/* support_child: runs code that must kill its process in a child of the test. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_CHILD_H
#define COFFER_TESTS_UNIT_SUPPORT_CHILD_H

#include <stddef.h>

/* Calls body(arg) in a child process.  Returns the signal that ended it, 0 when body returned, -1 when the child
 * exited by itself.  What it wrote to standard error is left in `text`, with a terminator. */
int child_signal(void (*body)(void *), void *arg, char *text, size_t room);

#endif
