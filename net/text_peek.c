/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking ahead in text input, without judging it: what looks like a command has its key in the second word, get and
 * gets have keys in all further words, and the storage commands are followed by as many bytes as the fifth word says,
 * of ms the third.  A wrong guess costs a useless fetch. */
#include <string.h>

#include "net/text_parse.h"
#include "src/base/number.h"

struct look {
    struct slice rest;
    struct slice *keys;
    unsigned count, max;
};

/* The next word before the line's end; empty at the end. */
static struct slice word(struct slice *line) {
    const char *p = line->p, *end = line->p + line->n;

    while (p < end && *p == ' ') {
        p++;
    }
    const char *start = p;
    while (p < end && *p != ' ' && *p != '\r') {
        p++;
    }
    *line = slice_of(p, (size_t)(end - p));
    return slice_of(start, (size_t)(p - start));
}

static void add_key(struct look *look, struct slice key) {
    if (key.n > 0 && key.n <= STORE_KEY_MAX) {
        look->keys[look->count++] = key;
    }
}

static void add_keys(struct look *look, struct slice line) {
    for (struct slice key = word(&line); key.n > 0 && look->count < look->max; key = word(&line)) {
        add_key(look, key);
    }
}

/* The line without its end goes from `rest` to the result; without an end all of it does. */
static struct slice next_line(struct look *look) {
    const char *newline = memchr(look->rest.p, '\n', look->rest.n);
    size_t n = newline != NULL ? (size_t)(newline - look->rest.p) : look->rest.n;
    struct slice line = slice_of(look->rest.p, n);
    size_t taken = newline != NULL ? n + 1 : n;
    look->rest = slice_of(look->rest.p + taken, look->rest.n - taken);
    return line;
}

/* line: from the word with the body's length on. */
static void skip_body(struct look *look, struct slice line) {
    uint64_t body = 0;
    if (!number_u64(word(&line), &body) || body > look->rest.n || look->rest.n - body < 2) {
        look->rest.n = 0;
    } else {
        look->rest = slice_of(look->rest.p + body + 2, look->rest.n - body - 2);
    }
}

static bool has_body(struct slice verb) {
    static const char *const verbs[] = {"set", "add", "cas", "replace", "append", "prepend"};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (slice_equal(verb, slice_str(verbs[i]))) {
            return true;
        }
    }
    return false;
}

static void look_at_line(struct look *look) {
    struct slice line = next_line(look);
    struct slice verb = word(&line);
    if (slice_equal(verb, slice_str("get")) || slice_equal(verb, slice_str("gets"))) {
        add_keys(look, line);
        return;
    }
    add_key(look, word(&line));
    if (has_body(verb)) {
        (void)word(&line); /* flags */
        (void)word(&line); /* exptime */
        skip_body(look, line);
    } else if (slice_equal(verb, slice_str("ms"))) {
        skip_body(look, line);
    }
}

unsigned text_peek(const struct parser *parser, struct slice input, struct slice *keys, unsigned max) {
    struct look look = {input, keys, 0, max};
    if (text_parse_in_keys(parser)) {
        add_keys(&look, next_line(&look));
    }
    while (look.rest.n > 0 && look.count < max) {
        look_at_line(&look);
    }
    return look.count;
}
