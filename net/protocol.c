/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/protocol.h"

#include "net/binary_compose.h"
#include "net/binary_format.h"
#include "net/binary_parse.h"
#include "net/text_compose.h"
#include "net/text_parse.h"

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

static const struct protocol binary = {
    .name = "binary",
    .parse = binary_parse,
    .peek = binary_peek,
    .compose = binary_compose,
    .refuse = binary_refuse,
    .lost = binary_lost,
    .no_memory = "Out of memory",
};

const struct protocol *protocol_choose(char first_byte) {
    return (unsigned char)first_byte == BINARY_REQUEST ? &binary : &text;
}
