/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/cmd/token.h"

enum { ESCAPED_BYTES = 3 };

enum status token_append(struct buffer *text, struct slice bytes) {
    static const char hex[] = "0123456789ABCDEF";
    if (bytes.n == 0) {
        bytes = slice_str("NULL");
    }
    enum status status = buffer_reserve(text, bytes.n * ESCAPED_BYTES);
    if (status != ST_OK) {
        return status;
    }
    char *out = buffer_tail(text);
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char byte = (unsigned char)bytes.p[i];
        if (byte > ' ' && byte < 0x7f && byte != '%') {
            *out++ = (char)byte;
        } else {
            *out++ = '%';
            *out++ = hex[byte >> 4];
            *out++ = hex[byte & 15];
        }
    }
    text->end = (size_t)(out - text->data);
    return ST_OK;
}
