/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_dir.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/support_cmocka.h"

void test_dir_make(struct test_dir *dir) {
    const char *base = getenv("TMPDIR");
    int n = snprintf(dir->path, sizeof dir->path, "%s/coffer-unit-XXXXXX", base != NULL ? base : "/tmp");
    assert_true(n > 0 && (size_t)n < sizeof dir->path);
    assert_non_null(mkdtemp(dir->path));
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir->fd >= 0);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void test_dir_remove(struct test_dir *dir) {
    enum { OPEN_FILES = 16 };
    close(dir->fd);
    dir->fd = -1;
    assert_int_equal(nftw(dir->path, remove_one, OPEN_FILES, FTW_DEPTH | FTW_PHYS), 0);
}

long test_dir_read(const struct test_dir *dir, const char *name, char *text, size_t room) {
    int fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    size_t length = 0;
    ssize_t n;
    while (length + 1 < room && (n = read(fd, text + length, room - 1 - length)) > 0) {
        length += (size_t)n;
    }
    close(fd);
    text[length] = '\0';
    return (long)length;
}
