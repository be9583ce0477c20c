/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors, background, limits and the pid file, each in a child process of its own where it must be. */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/process.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_dir.h"

enum { GOOD = 42 };

/* Runs body in a child; returns its exit status. */
static int in_child(int (*body)(const struct test_dir *dir), const struct test_dir *dir) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(body(dir));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int close_and_open(const struct test_dir *dir) {
    for (int fd = 0; fd < 3; fd++) {
        close(fd);
    }
    process_open_standard();
    return openat(dir->fd, "first", O_WRONLY | O_CREAT, 0600) > 2 && fcntl(0, F_GETFD) == 0 ? GOOD : 1;
}

static void test_no_file_gets_the_standard_descriptors(void **state) {
    struct test_dir dir;
    (void)state;
    test_dir_make(&dir);
    assert_int_equal(in_child(close_and_open, &dir), GOOD);
    test_dir_remove(&dir);
}

/* The background process writes its parent's absence and a line on standard error. */
static int daemonize_well(const struct test_dir *dir) {
    int report;
    char path[300];
    snprintf(path, sizeof path, "%s/log", dir->path);
    if (process_daemonize(&report) != ST_OK) {
        return 1;
    }
    process_redirect(path);
    fprintf(stderr, "from the background\n");
    fflush(stderr);
    process_report(&report, GOOD);
    _exit(report == -1 ? 0 : 1);
}

static int daemonize_and_die(const struct test_dir *dir) {
    int report;
    (void)dir;
    if (process_daemonize(&report) != ST_OK) {
        return GOOD;
    }
    abort();
}

static void test_starter_waits_for_the_report(void **state) {
    struct test_dir dir;
    char text[100];
    (void)state;
    test_dir_make(&dir);
    assert_int_equal(in_child(daemonize_well, &dir), GOOD);
    assert_true(test_dir_read(&dir, "log", text, sizeof text) > 0);
    assert_string_equal(text, "from the background\n");
    test_dir_remove(&dir);
}

static void test_starter_fails_when_the_other_dies(void **state) {
    struct test_dir dir;
    struct rlimit none = {0, 0};
    struct rlimit old;
    (void)state;
    test_dir_make(&dir);
    assert_int_equal(getrlimit(RLIMIT_CORE, &old), 0);
    none.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_CORE, &none), 0);
    assert_int_equal(in_child(daemonize_and_die, &dir), 1);
    assert_int_equal(setrlimit(RLIMIT_CORE, &old), 0);
    test_dir_remove(&dir);
}

static int raise_limit(const struct test_dir *dir) {
    struct rlimit limit;
    (void)dir;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < 64) {
        return 1;
    }
    limit.rlim_cur = 32;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 2;
    }
    return process_raise_descriptors(64) == 64 && process_raise_descriptors(10) == 64 ? GOOD : 3;
}

static int forbid_core(const struct test_dir *dir) {
    struct rlimit limit;
    (void)dir;
    process_forbid_core();
    return getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0 && limit.rlim_max == 0 ? GOOD : 1;
}

static void test_limits(void **state) {
    (void)state;
    assert_int_equal(in_child(raise_limit, NULL), GOOD);
    assert_int_equal(in_child(forbid_core, NULL), GOOD);
}

static void test_pid_file_is_whole_and_removed(void **state) {
    struct test_dir dir;
    struct buffer message;
    char path[300];
    char text[100];
    (void)state;
    test_dir_make(&dir);
    buffer_init(&message);
    snprintf(path, sizeof path, "%s/pid", dir.path);
    assert_ok(process_write_pid(path, &message));
    assert_true(test_dir_read(&dir, "pid", text, sizeof text) > 0);
    assert_int_equal(atol(text), getpid());
    process_remove_pid(path);
    assert_int_equal(test_dir_read(&dir, "pid", text, sizeof text), -1);
    process_remove_pid(path);
    test_dir_remove(&dir);
}

static void test_foreign_pid_file_stays(void **state) {
    struct test_dir dir;
    char path[300];
    char text[100];
    (void)state;
    test_dir_make(&dir);
    int fd = openat(dir.fd, "pid", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "1\n", 2), 2);
    close(fd);
    snprintf(path, sizeof path, "%s/pid", dir.path);
    process_remove_pid(path);
    assert_int_equal(test_dir_read(&dir, "pid", text, sizeof text), 2);
    test_dir_remove(&dir);
}

static void test_pid_file_in_no_directory(void **state) {
    struct buffer message;
    (void)state;
    buffer_init(&message);
    assert_status(process_write_pid("/nonexistent/pid", &message), ST_IO);
    assert_ok(buffer_append(&message, "", 1));
    assert_string_equal(buffer_head(&message), "cannot write the pid file /nonexistent/pid: No such file or directory");
    buffer_free(&message);
}

static int become_nobody(const struct test_dir *dir) {
    struct buffer message;
    struct stat data;
    struct stat log;
    char data_path[300];
    char log_path[300];
    const struct passwd *nobody = getpwnam("nobody");
    buffer_init(&message);
    snprintf(data_path, sizeof data_path, "%s/data", dir->path);
    snprintf(log_path, sizeof log_path, "%s/lines", dir->path);
    if (nobody == NULL || process_become("nobody", data_path, log_path, &message) != ST_OK) {
        return 1;
    }
    bool given = fstatat(dir->fd, "data", &data, 0) == 0 && data.st_uid == nobody->pw_uid &&
                 fstatat(dir->fd, "lines", &log, 0) == 0 && log.st_uid == nobody->pw_uid;
    return given && geteuid() == nobody->pw_uid && setuid(0) != 0 ? GOOD : 2;
}

static void test_root_becomes_the_user(void **state) {
    struct test_dir dir;
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    test_dir_make(&dir);
    assert_int_equal(chmod(dir.path, 0755), 0);
    assert_int_equal(in_child(become_nobody, &dir), GOOD);
    test_dir_remove(&dir);
}

static void test_unknown_user(void **state) {
    struct buffer message;
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    buffer_init(&message);
    assert_status(process_become("no such user", "/nonexistent", "", &message), ST_IO);
    assert_true(buffer_length(&message) > 0);
    buffer_free(&message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_file_gets_the_standard_descriptors),
        cmocka_unit_test(test_starter_waits_for_the_report),
        cmocka_unit_test(test_starter_fails_when_the_other_dies),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_pid_file_is_whole_and_removed),
        cmocka_unit_test(test_foreign_pid_file_stays),
        cmocka_unit_test(test_pid_file_in_no_directory),
        cmocka_unit_test(test_root_becomes_the_user),
        cmocka_unit_test(test_unknown_user),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
