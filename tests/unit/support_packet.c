/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_packet.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PATIENCE_MILLIS = 10000 };

static size_t append_hex(struct buffer *to, const char *hex) {
    size_t n = hex != NULL ? strlen(hex) / 2 : 0;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        char c = (char)byte;
        assert_ok(buffer_append(to, &c, 1));
    }
    return n;
}

void packet_append(struct buffer *to, const struct packet_of *packet) {
    char header[BINARY_HEADER] = {0};
    size_t at = buffer_length(to);
    assert_ok(buffer_append(to, header, sizeof header));
    size_t extras_n = append_hex(to, packet->extras);
    size_t key_n = packet->key != NULL ? strlen(packet->key) : 0;
    size_t value_n = packet->value_n > 0 ? packet->value_n : packet->value != NULL ? strlen(packet->value) : 0;
    assert_ok(buffer_append(to, packet->key != NULL ? packet->key : "", key_n));
    assert_ok(buffer_append(to, packet->value != NULL ? packet->value : "", value_n));
    char *head = buffer_head(to) + at;
    head[BINARY_AT_MAGIC] = (char)(packet->magic != 0 ? packet->magic : BINARY_REQUEST);
    head[BINARY_AT_OPCODE] = (char)packet->opcode;
    head[BINARY_AT_EXTRAS] = (char)(packet->extras_n > 0 ? packet->extras_n : extras_n);
    binary_write(head + BINARY_AT_KEY, packet->key_n > 0 ? packet->key_n : key_n, 2);
    binary_write(head + BINARY_AT_STATUS, packet->status, 2);
    binary_write(head + BINARY_AT_BODY, packet->body_n > 0 ? packet->body_n : extras_n + key_n + value_n, 4);
    binary_write(head + BINARY_AT_OPAQUE, PACKET_OPAQUE, 4);
    binary_write(head + BINARY_AT_CAS, packet->cas, 8);
}

void send_packets(int fd, const struct packet_of *packets, size_t count) {
    struct buffer bytes;
    buffer_init(&bytes);
    for (size_t i = 0; i < count; i++) {
        packet_append(&bytes, &packets[i]);
    }
    while (buffer_length(&bytes) > 0) {
        ssize_t sent = send(fd, buffer_head(&bytes), buffer_length(&bytes), MSG_NOSIGNAL);
        assert_true(sent > 0);
        buffer_consume(&bytes, (size_t)sent);
    }
    buffer_free(&bytes);
}

static void expect_packet(int fd, struct packet_of packet) {
    struct buffer expected;
    struct buffer got;
    buffer_init(&expected);
    buffer_init(&got);
    packet.magic = BINARY_RESPONSE;
    packet_append(&expected, &packet);
    size_t n = buffer_length(&expected);
    assert_ok(buffer_reserve(&got, n));
    while (buffer_length(&got) < n) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&wait, 1, PATIENCE_MILLIS), 1);
        ssize_t some = recv(fd, buffer_tail(&got), n - buffer_length(&got), 0);
        assert_true(some > 0);
        got.end += (size_t)some;
    }
    assert_memory_equal(buffer_head(&got), buffer_head(&expected), n);
    buffer_free(&expected);
    buffer_free(&got);
}

void expect_packets(int fd, const struct packet_of *packets, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_packet(fd, packets[i]);
    }
}
