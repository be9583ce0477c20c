/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/status.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/support_cmocka.h"

static void every_status_has_its_own_text(void **state) {
    (void)state;
    static const enum status all[] = {
#define X(name, text) ST_##name,
        STATUS_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_true(strlen(status_text(all[i])) > 0);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(status_text(all[i]), status_text(all[j]));
        }
    }
    assert_string_equal(status_text(ST_OK), "ok");
    assert_string_equal(status_text((enum status)1000), "unknown status");
}

static void errno_becomes_what_the_caller_can_act_on(void **state) {
    (void)state;
    assert_status(status_from_errno(ENOSPC), ST_NO_SPACE);
    assert_status(status_from_errno(EDQUOT), ST_NO_SPACE);
    assert_status(status_from_errno(ENOMEM), ST_NO_MEMORY);
    assert_status(status_from_errno(EWOULDBLOCK), ST_AGAIN);
    assert_status(status_from_errno(EIO), ST_IO);
    assert_status(status_from_errno(EROFS), ST_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_own_text),
        cmocka_unit_test(errno_becomes_what_the_caller_can_act_on),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
