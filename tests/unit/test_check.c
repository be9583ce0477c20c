/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/check.h"

enum { THING_MAGIC = 0x7468696e };

struct thing {
    unsigned magic;
};

static void passing_checks_go_on(void **state) {
    (void)state;
    struct thing thing = {THING_MAGIC};
    CHECK(1 + 1 == 2);
    CHECK_OBJ(&thing, THING_MAGIC);
    COSTLY_CHECK(thing.magic == THING_MAGIC);
}

static void fail_plain(void) {
    CHECK(1 + 1 == 3);
}

static void fail_magic(void) {
    struct thing thing = {THING_MAGIC + 1};
    CHECK_OBJ(&thing, THING_MAGIC);
}

static void fail_null(void) {
    struct thing *volatile thing = NULL;
    CHECK_OBJ(thing, THING_MAGIC);
}

/* Runs `body` in a child that must abort; what it wrote to standard error is left in `text`. */
static void expect_abort(void (*body)(void), char *text, size_t room) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t n;
    while (length + 1 < room && (n = read(ends[0], text + length, room - 1 - length)) > 0) {
        length += (size_t)n;
    }
    text[length] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void failing_checks_abort_and_say_where(void **state) {
    (void)state;
    char text[4096];
    expect_abort(fail_plain, text, sizeof text);
    assert_non_null(strstr(text, "tests/unit/test_check.c:"));
    assert_non_null(strstr(text, "check failed: 1 + 1 == 3"));
    expect_abort(fail_magic, text, sizeof text);
    assert_non_null(strstr(text, "check failed"));
    expect_abort(fail_null, text, sizeof text);
    assert_non_null(strstr(text, "check failed"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passing_checks_go_on),
        cmocka_unit_test(failing_checks_abort_and_say_where),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
