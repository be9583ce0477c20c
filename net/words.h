/* SPDX-License-Identifier: BSD-3-Clause */
/* words: how a command line is taken apart: by spaces, any number of them.
 *
 * Pure; any thread. */
#ifndef COFFER_NET_WORDS_H
#define COFFER_NET_WORDS_H

#include "src/base/slice.h"

/* Takes the next word from the front; an empty one when there is no more. */
static inline struct slice next_word(struct slice *rest) {
    const char *p = rest->p;
    const char *end = rest->p + rest->n;
    while (p < end && *p == ' ') {
        p++;
    }
    const char *start = p;
    while (p < end && *p != ' ') {
        p++;
    }
    *rest = slice_of(p, (size_t)(end - p));
    return slice_of(start, (size_t)(p - start));
}

#endif
