/* SPDX-License-Identifier: BSD-3-Clause */
/* slice: a view of bytes that somebody else owns. */
#ifndef COFFER_BASE_SLICE_H
#define COFFER_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
    const char *p;
    size_t n;
};

static inline struct slice slice_of(const char *p, size_t n) {
    return (struct slice){p, n};
}

static inline struct slice slice_str(const char *text) {
    return (struct slice){text, strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Byte order, shorter first: the order of the tree's keys. */
static inline int slice_compare(struct slice a, struct slice b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

#endif
