/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/number.h"

#include <string.h>

bool number_u64(struct slice text, uint64_t *value) {
    uint64_t sum = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned digit = (unsigned)(unsigned char)text.p[i] - '0';
        if (digit > 9 || sum > UINT64_MAX / 10 || sum * 10 > UINT64_MAX - digit) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    if (text.n == 0) {
        return false;
    }
    *value = sum;
    return true;
}

bool number_u32(struct slice text, uint32_t *value) {
    uint64_t wide;
    if (!number_u64(text, &wide) || wide > UINT32_MAX) {
        return false;
    }
    *value = (uint32_t)wide;
    return true;
}

bool number_i64(struct slice text, int64_t *value) {
    uint64_t magnitude;
    bool negative = text.n > 0 && text.p[0] == '-';
    if (negative) {
        text = slice_of(text.p + 1, text.n - 1);
    }
    if (!number_u64(text, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    /* Through unsigned arithmetic, since -INT64_MIN does not fit. */
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

/* 0, 10, 20, ... for the units, or -1. */
static int unit_shift(char unit) {
    switch (unit) {
    case 'k':
    case 'K':
        return 10;
    case 'm':
    case 'M':
        return 20;
    case 'g':
    case 'G':
        return 30;
    case 't':
    case 'T':
        return 40;
    default:
        return -1;
    }
}

bool number_size(struct slice text, uint64_t *bytes) {
    uint64_t count;
    int shift = text.n > 0 ? unit_shift(text.p[text.n - 1]) : -1;
    if (shift < 0) {
        return number_u64(text, bytes);
    }
    text.n--;
    if (!number_u64(text, &count) || count > UINT64_MAX >> shift) {
        return false;
    }
    *bytes = count << shift;
    return true;
}

size_t number_print(char out[NUMBER_DIGITS], uint64_t value) {
    char reversed[NUMBER_DIGITS];
    size_t n = 0;
    do {
        reversed[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < n; i++) {
        out[i] = reversed[n - 1 - i];
    }
    return n;
}
