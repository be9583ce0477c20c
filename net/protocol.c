/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/protocol.h"

#include "net/text_compose.h"
#include "net/text_parse.h"

enum { BINARY_REQUEST = 0x80 };

const struct protocol protocol_text = {
    .name = "text",
    .parse = text_parse,
    .peek = text_peek,
    .compose = text_compose,
    .bad_body = "CLIENT_ERROR bad data chunk\r\n",
    .write_failed = "SERVER_ERROR write failed: the store is read-only\r\n",
};

const struct protocol *protocol_choose(char first_byte) {
    return (unsigned char)first_byte == BINARY_REQUEST ? NULL : &protocol_text;
}
