/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/check.h"

#include <signal.h>
#include <string.h>

#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"

#ifdef COFFER_DEBUG
enum { COSTLY_SIGNAL = SIGABRT };
#else
enum { COSTLY_SIGNAL = 0 };
#endif

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

static void fail_plain(void *arg) {
    (void)arg;
    CHECK(1 + 1 == 3);
}

static void fail_magic(void *arg) {
    (void)arg;
    struct thing thing = {THING_MAGIC + 1};
    CHECK_OBJ(&thing, THING_MAGIC);
}

static void fail_null(void *arg) {
    (void)arg;
    struct thing *volatile thing = NULL;
    CHECK_OBJ(thing, THING_MAGIC);
}

static void fail_costly(void *arg) {
    (void)arg;
    COSTLY_CHECK(1 + 1 == 3);
}

static void failing_checks_abort_and_say_where(void **state) {
    (void)state;
    char text[4096];
    assert_int_equal(child_signal(fail_plain, NULL, text, sizeof text), SIGABRT);
    assert_non_null(strstr(text, "tests/unit/test_check.c:"));
    assert_non_null(strstr(text, "check failed: 1 + 1 == 3"));
    assert_int_equal(child_signal(fail_magic, NULL, text, sizeof text), SIGABRT);
    assert_non_null(strstr(text, "check failed"));
    assert_int_equal(child_signal(fail_null, NULL, text, sizeof text), SIGABRT);
    assert_non_null(strstr(text, "check failed"));
}

static void costly_checks_cost_nothing_in_release(void **state) {
    (void)state;
    char text[4096];
    assert_int_equal(child_signal(fail_costly, NULL, text, sizeof text), COSTLY_SIGNAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passing_checks_go_on),
        cmocka_unit_test(failing_checks_abort_and_say_where),
        cmocka_unit_test(costly_checks_cost_nothing_in_release),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
