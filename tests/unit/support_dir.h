/* SPDX-License-Identifier: BSD-3-Clause */
/* support_dir: a temporary directory for one test. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_DIR_H
#define COFFER_TESTS_UNIT_SUPPORT_DIR_H

#include <stddef.h>

struct test_dir {
    char path[256];
    int fd;
};

/* Under $TMPDIR or /tmp; the test fails when it cannot be made. */
void test_dir_make(struct test_dir *dir);
/* With everything in it. */
void test_dir_remove(struct test_dir *dir);

/* Reads the file into `text`, with a terminator; returns its length, or -1 when it is not there. */
long test_dir_read(const struct test_dir *dir, const char *name, char *text, size_t room);

#endif
