/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/base64.h"

#include <stdint.h>

enum { NO_DIGIT = 64 };

size_t base64_encode(char *out, struct slice bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = (const unsigned char *)bytes.p;
    char *to = out;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t n = bytes.n - i < 3 ? bytes.n - i : 3;
        uint32_t group = (uint32_t)from[i] << 16;
        group |= n > 1 ? (uint32_t)from[i + 1] << 8 : 0;
        group |= n > 2 ? (uint32_t)from[i + 2] : 0;
        *to++ = digits[group >> 18];
        *to++ = digits[group >> 12 & 63];
        *to++ = n > 1 ? digits[group >> 6 & 63] : '=';
        *to++ = n > 2 ? digits[group & 63] : '=';
    }
    return (size_t)(to - out);
}

static unsigned digit_value(char digit) {
    if (digit >= 'A' && digit <= 'Z') {
        return (unsigned)(digit - 'A');
    }
    if (digit >= 'a' && digit <= 'z') {
        return (unsigned)(digit - 'a') + 26;
    }
    if (digit >= '0' && digit <= '9') {
        return (unsigned)(digit - '0') + 52;
    }
    return digit == '+' ? 62 : digit == '/' ? 63 : NO_DIGIT;
}

/* Four characters, of which the last `padding` are not digits. */
static bool decode_group(const char *text, unsigned padding, uint32_t *group) {
    *group = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned value = i < 4 - padding ? digit_value(text[i]) : 0;
        if (value == NO_DIGIT) {
            return false;
        }
        *group = *group << 6 | value;
    }
    return true;
}

bool base64_decode(char *out, size_t room, struct slice text, size_t *length) {
    if (text.n == 0 || text.n % 4 != 0) {
        return false;
    }
    unsigned padding = text.p[text.n - 1] != '=' ? 0 : text.p[text.n - 2] != '=' ? 1 : 2;
    size_t n = text.n / 4 * 3 - padding;
    if (n > room) {
        return false;
    }
    for (size_t i = 0, at = 0; i < text.n; i += 4) {
        uint32_t group;
        if (!decode_group(text.p + i, i + 4 == text.n ? padding : 0, &group)) {
            return false;
        }
        for (int shift = 16; shift >= 0 && at < n; shift -= 8) {
            out[at++] = (char)(group >> shift);
        }
    }
    *length = n;
    return true;
}
