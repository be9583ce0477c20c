/* SPDX-License-Identifier: BSD-3-Clause */
/* support_packet: packets of the binary protocol, for tests to send and to expect. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_PACKET_H
#define COFFER_TESTS_UNIT_SUPPORT_PACKET_H

#include "net/binary_format.h"
#include "src/base/buffer.h"
#include "tests/unit/support_cmocka.h"

enum { PACKET_OPAQUE = 0x0a0b0c0d };

struct packet_of {
    unsigned char opcode;
    unsigned status;
    const char *key;        /* NULL: none */
    const char *extras;     /* in hexadecimal; NULL: none */
    const char *value;      /* NULL: none */
    size_t value_n;         /* 0: as long as the string */
    uint64_t cas;
    unsigned char magic;    /* 0: a request's */
    unsigned key_n, extras_n, body_n; /* what the header says instead of the truth; 0: the truth */
};

void packet_append(struct buffer *to, const struct packet_of *packet);

/* Over a socket; an expected packet is a response. */
void send_packets(int fd, const struct packet_of *packets, size_t count);
void expect_packets(int fd, const struct packet_of *packets, size_t count);

#endif
