/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/protocol.h"

#include "net/text_compose.h"
#include "net/text_parse.h"

enum { BINARY_REQUEST = 0x80 };

static const struct protocol text = {
    .name = "text",
    .parse = text_parse,
    .peek = text_peek,
    .compose = text_compose,
    .refuse = text_refuse,
    .lost = text_lost,
    .bad_body = "CLIENT_ERROR bad data chunk\r\n",
    .no_memory = "SERVER_ERROR out of memory\r\n",
    .line_end = 2,
};

const struct protocol *protocol_choose(char first_byte) {
    return (unsigned char)first_byte == BINARY_REQUEST ? NULL : &text;
}
