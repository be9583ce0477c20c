/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/cgroup.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_dir.h"

static void write_file(const struct test_dir *dir, const char *name, const char *text) {
    int fd = openat(dir->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void make_dir(const struct test_dir *dir, const char *name) {
    assert_int_equal(mkdirat(dir->fd, name, 0700), 0);
}

static uint64_t limit(const struct test_dir *dir, const char *membership) {
    char path[300];
    snprintf(path, sizeof path, "%s/membership", dir->path);
    write_file(dir, "membership", membership);
    return cgroup_memory_limit(path, dir->path);
}

static void test_version_2_takes_the_smallest_up_to_the_root(void **state) {
    struct test_dir dir;
    (void)state;
    test_dir_make(&dir);
    make_dir(&dir, "a");
    make_dir(&dir, "a/b");
    write_file(&dir, "a/memory.max", "1048576\n");
    write_file(&dir, "a/b/memory.max", "max\n");
    assert_int_equal(limit(&dir, "0::/a/b\n"), 1048576);
    write_file(&dir, "a/b/memory.max", "4096\n");
    assert_int_equal(limit(&dir, "0::/a/b\n"), 4096);
    /* In a container the path may be one that is not there, and the root is its own group. */
    write_file(&dir, "memory.max", "777\n");
    assert_int_equal(limit(&dir, "0::/elsewhere/deep\n"), 777);
    assert_int_equal(limit(&dir, "0::/\n"), 777);
    test_dir_remove(&dir);
}

static void test_version_1_looks_for_the_memory_controller(void **state) {
    struct test_dir dir;
    (void)state;
    test_dir_make(&dir);
    make_dir(&dir, "memory");
    make_dir(&dir, "memory/x");
    write_file(&dir, "memory/x/memory.limit_in_bytes", "8192\n");
    assert_int_equal(limit(&dir, "3:cpu,cpuacct:/x\n2:memory:/x\n"), 8192);
    assert_int_equal(limit(&dir, "2:blkio,memory:/x\n"), 8192);
    assert_int_equal(limit(&dir, "2:memoryless,cpu:/x\n"), UINT64_MAX);
    test_dir_remove(&dir);
}

static void test_no_limit_is_the_largest_number(void **state) {
    struct test_dir dir;
    (void)state;
    test_dir_make(&dir);
    assert_int_equal(limit(&dir, "0::/\n"), UINT64_MAX);
    assert_int_equal(limit(&dir, "nonsense\n:\n::\n"), UINT64_MAX);
    assert_int_equal(limit(&dir, ""), UINT64_MAX);
    assert_int_equal(cgroup_memory_limit("/nonexistent", "/nonexistent"), UINT64_MAX);
    test_dir_remove(&dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2_takes_the_smallest_up_to_the_root),
        cmocka_unit_test(test_version_1_looks_for_the_memory_controller),
        cmocka_unit_test(test_no_limit_is_the_largest_number),
    };
    return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
