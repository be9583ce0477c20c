/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/check_text.h"

#include "net/words.h"
#include "src/base/check.h"
#include "src/base/number.h"
#include "storage/store.h"

enum { LINE_MAX = STORE_KEY_MAX * 3 + 200 };

static struct slice take_line(struct slice *rest) {
    const char *end = memchr(rest->p, '\n', rest->n);
    CHECK(end != NULL);
    struct slice line = slice_of(rest->p, (size_t)(end - rest->p));
    CHECK(line.n > 0 && line.n <= LINE_MAX && line.p[line.n - 1] == '\r');
    *rest = slice_of(end + 1, rest->n - line.n - 1);
    line.n--;
    return line;
}

/* VALUE key flags length [cas]; VA length flags */
static bool announces_value(struct slice line, uint64_t *length) {
    struct slice first = next_word(&line);
    if (slice_equal(first, slice_str("VALUE"))) {
        (void)next_word(&line);
        (void)next_word(&line);
    } else if (!slice_equal(first, slice_str("VA"))) {
        return false;
    }
    CHECK(number_u64(next_word(&line), length));
    return true;
}

void check_text(struct slice replies) {
    while (replies.n > 0) {
        uint64_t length;
        if (announces_value(take_line(&replies), &length)) {
            CHECK(length + 2 <= replies.n);
            CHECK(memcmp(replies.p + length, "\r\n", 2) == 0);
            replies = slice_of(replies.p + length + 2, replies.n - (size_t)length - 2);
        }
    }
}
