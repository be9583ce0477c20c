/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_dir.h"

struct fixture {
    struct test_dir dir;
    struct faults *faults;
    int fd; /* an open file, "data" */
};

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    test_dir_make(&fixture->dir);
    assert_ok(faults_create(&fixture->faults, NULL));
    assert_ok(io_open(fixture->faults, FAULT_LOG_OPEN, fixture->dir.fd, "data", O_RDWR | O_CREAT, 0600,
                      &fixture->fd));
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    io_close(&fixture->fd);
    faults_destroy(&fixture->faults);
    test_dir_remove(&fixture->dir);
    free(fixture);
    return 0;
}

static void plan(struct fixture *fixture, const char *text) {
    assert_ok(faults_set(fixture->faults, text));
}

static void assert_file(struct fixture *fixture, const char *name, const char *expected) {
    char text[4096];
    assert_int_equal(test_dir_read(&fixture->dir, name, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
}

static bool exists(struct fixture *fixture, const char *name) {
    return faccessat(fixture->dir.fd, name, F_OK, 0) == 0;
}

static void what_is_written_is_read(void **state) {
    struct fixture *fixture = *state;
    char bytes[16];
    size_t got;
    assert_ok(io_pwrite(fixture->faults, FAULT_LOG_WRITE, fixture->fd, "hello", 5, 0));
    assert_ok(io_pwrite(fixture->faults, FAULT_LOG_WRITE, fixture->fd, "world", 5, 7));
    assert_ok(io_pwrite(NULL, FAULT_LOG_WRITE, fixture->fd, NULL, 0, 3));
    assert_ok(io_datasync(fixture->faults, FAULT_LOG_SYNC, fixture->fd));
    assert_ok(io_pread(fixture->faults, FAULT_LOG_READ, fixture->fd, bytes, 12, 0, &got));
    assert_int_equal(got, 12);
    assert_memory_equal(bytes, "hello\0\0world", 12);
    assert_ok(io_pread(fixture->faults, FAULT_LOG_READ, fixture->fd, bytes, sizeof bytes, 8, &got));
    assert_int_equal(got, 4);
    assert_memory_equal(bytes, "orld", 4);
    assert_ok(io_pread(fixture->faults, FAULT_LOG_READ, fixture->fd, bytes, sizeof bytes, 100, &got));
    assert_int_equal(got, 0);
}

static void opening_says_what_is_missing(void **state) {
    struct fixture *fixture = *state;
    int fd = 77;
    assert_status(io_open(NULL, FAULT_LOG_OPEN, fixture->dir.fd, "absent", O_RDONLY, 0, &fd), ST_NOT_FOUND);
    assert_int_equal(fd, -1);
    assert_status(io_open(NULL, FAULT_LOG_OPEN, fixture->dir.fd, "data", O_RDWR | O_CREAT | O_EXCL, 0600, &fd),
                  ST_IO);
    assert_int_equal(fd, -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(fcntl(fixture->fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    io_close(&fd);
    assert_int_equal(fd, -1);
}

/* A data file behind descriptor 2 would receive what libraries print. */
static void open_with_standard_files_closed(void *arg) {
    struct fixture *fixture = arg;
    int fd, dir;
    close(STDIN_FILENO);
    close(STDERR_FILENO);
    if (io_open(NULL, FAULT_LOG_OPEN, fixture->dir.fd, "data", O_RDWR, 0, &fd) != ST_OK || fd < 3 ||
        io_opendir(fixture->dir.path, &dir) != ST_OK || dir < 3 ||
        io_replace(NULL, FAULT_MANIFEST_WRITE, FAULT_MANIFEST_RENAME, dir, "m", "x", 1) != ST_OK) {
        abort();
    }
}

static void standard_descriptors_are_never_used(void **state) {
    struct fixture *fixture = *state;
    char text[64];
    assert_int_equal(child_signal(open_with_standard_files_closed, fixture, text, sizeof text), 0);
}

static void every_call_fails_at_its_point(void **state) {
    struct fixture *fixture = *state;
    struct faults *faults = fixture->faults;
    char bytes[4];
    size_t got;
    int fd;
    plan(fixture, "LOG_OPEN:1:eio,LOG_WRITE:1:enospc,LOG_READ:1:eio,LOG_SYNC:1:eio,DIR_SYNC:1:eio,"
                  "LOG_RENAME:1:eio,LOG_UNLINK:1:eio");
    assert_status(io_open(faults, FAULT_LOG_OPEN, fixture->dir.fd, "new", O_RDWR | O_CREAT, 0600, &fd), ST_IO);
    assert_int_equal(fd, -1);
    assert_int_equal(errno, EIO);
    assert_false(exists(fixture, "new"));
    assert_status(io_pwrite(faults, FAULT_LOG_WRITE, fixture->fd, "abcd", 4, 0), ST_NO_SPACE);
    assert_int_equal(errno, ENOSPC);
    assert_file(fixture, "data", "");
    assert_status(io_pread(faults, FAULT_LOG_READ, fixture->fd, bytes, 4, 0, &got), ST_IO);
    assert_int_equal(got, 0);
    assert_status(io_datasync(faults, FAULT_LOG_SYNC, fixture->fd), ST_IO);
    assert_status(io_dirsync(faults, fixture->dir.fd), ST_IO);
    assert_status(io_rename(faults, FAULT_LOG_RENAME, fixture->dir.fd, "data", "moved"), ST_IO);
    assert_true(exists(fixture, "data"));
    assert_status(io_unlink(faults, FAULT_LOG_UNLINK, fixture->dir.fd, "data"), ST_IO);
    assert_true(exists(fixture, "data"));

    /* Each only once: the second try of every call works. */
    assert_ok(io_dirsync(faults, fixture->dir.fd));
    assert_ok(io_rename(faults, FAULT_LOG_RENAME, fixture->dir.fd, "data", "moved"));
    assert_false(exists(fixture, "data"));
    assert_ok(io_unlink(faults, FAULT_LOG_UNLINK, fixture->dir.fd, "moved"));
    assert_status(io_unlink(faults, FAULT_LOG_UNLINK, fixture->dir.fd, "moved"), ST_NOT_FOUND);
}

static void a_short_write_leaves_half(void **state) {
    struct fixture *fixture = *state;
    plan(fixture, "LOG_WRITE:1:short,LOG_SYNC:1:short");
    assert_status(io_pwrite(fixture->faults, FAULT_LOG_WRITE, fixture->fd, "abcdefgh", 8, 0), ST_NO_SPACE);
    assert_int_equal(errno, ENOSPC);
    assert_file(fixture, "data", "abcd");
    assert_status(io_datasync(fixture->faults, FAULT_LOG_SYNC, fixture->fd), ST_IO);
}

static void system_errors_are_statuses(void **state) {
    struct fixture *fixture = *state;
    size_t got;
    char byte;
    int closed = fixture->dir.fd + 1000;
    assert_status(io_pwrite(NULL, FAULT_LOG_WRITE, closed, "a", 1, 0), ST_IO);
    assert_int_equal(errno, EBADF);
    assert_status(io_pread(NULL, FAULT_LOG_READ, closed, &byte, 1, 0, &got), ST_IO);
    assert_status(io_datasync(NULL, FAULT_LOG_SYNC, closed), ST_IO);
    assert_status(io_dirsync(NULL, closed), ST_IO);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    assert_status(io_pwrite(NULL, FAULT_LOG_WRITE, full, "a", 1, 0), ST_NO_SPACE);
    close(full);
}

static void a_directory_is_made_private_and_once(void **state) {
    struct fixture *fixture = *state;
    char path[512];
    struct stat about;
    int fd;
    snprintf(path, sizeof path, "%s/store", fixture->dir.path);
    for (int time = 0; time < 2; time++) {
        assert_ok(io_opendir(path, &fd));
        assert_int_equal(fstat(fd, &about), 0);
        assert_true(S_ISDIR(about.st_mode));
        assert_int_equal(about.st_mode & 0777, 0700);
        io_close(&fd);
    }
    snprintf(path, sizeof path, "%s/absent/store", fixture->dir.path);
    assert_status(io_opendir(path, &fd), ST_IO);
    assert_int_equal(fd, -1);
    snprintf(path, sizeof path, "%s/data", fixture->dir.path);
    assert_status(io_opendir(path, &fd), ST_IO);
    assert_int_equal(errno, ENOTDIR);
}

static enum status replace(struct fixture *fixture, const char *text) {
    return io_replace(fixture->faults, FAULT_MANIFEST_WRITE, FAULT_MANIFEST_RENAME, fixture->dir.fd, "manifest",
                      text, strlen(text));
}

static void replacing_is_all_or_nothing(void **state) {
    struct fixture *fixture = *state;
    assert_ok(replace(fixture, "one"));
    assert_file(fixture, "manifest", "one");
    static const char *const failures[] = {"MANIFEST_WRITE:1:enospc", "MANIFEST_WRITE:1:short",
                                           "MANIFEST_RENAME:1:eio"};
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        plan(fixture, failures[i]);
        assert_status(replace(fixture, "two two"), i < 2 ? ST_NO_SPACE : ST_IO);
        assert_int_equal(errno, i < 2 ? ENOSPC : EIO);
        assert_file(fixture, "manifest", "one");
        assert_false(exists(fixture, "manifest.tmp"));
    }
    /* The name is switched, but nobody may rely on it. */
    plan(fixture, "DIR_SYNC:1:eio");
    assert_status(replace(fixture, "three"), ST_IO);
    plan(fixture, "");
    assert_ok(replace(fixture, "four"));
    assert_file(fixture, "manifest", "four");
}

static void replace_with_two(void *arg) {
    (void)replace(arg, "two");
}

static void replacing_survives_a_kill_anywhere(void **state) {
    struct fixture *fixture = *state;
    static const struct {
        const char *plan;
        const char *left;
    } rows[] = {
        {"MANIFEST_WRITE:1:kill", "one"}, {"MANIFEST_RENAME:1:kill", "one"}, {"DIR_SYNC:1:kill", "two"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        plan(fixture, "");
        assert_ok(replace(fixture, "one"));
        plan(fixture, rows[i].plan);
        assert_int_equal(child_signal(replace_with_two, fixture, text, sizeof text), SIGKILL);
        assert_file(fixture, "manifest", rows[i].left);
        plan(fixture, "");
        assert_ok(replace(fixture, "three"));
        assert_file(fixture, "manifest", "three");
        assert_false(exists(fixture, "manifest.tmp"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(opening_says_what_is_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(standard_descriptors_are_never_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_call_fails_at_its_point, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_short_write_leaves_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(system_errors_are_statuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_directory_is_made_private_and_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replacing_is_all_or_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replacing_survives_a_kill_anywhere, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
