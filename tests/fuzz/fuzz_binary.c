/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/binary_format.h"
#include "src/base/check.h"
#include "tests/fuzz/client.h"

/* The most that may be missing of a packet when it cannot be judged. */
enum { KEPT_MAX = BINARY_HEADER + 20 + STORE_KEY_MAX };

/* Packets, one behind the other, whose lengths add up. */
static void check_packets(struct slice replies) {
    while (replies.n > 0) {
        CHECK(replies.n >= BINARY_HEADER);
        const char *header = replies.p;
        uint64_t extras = binary_read(header + BINARY_AT_EXTRAS, 1);
        uint64_t key = binary_read(header + BINARY_AT_KEY, 2);
        uint64_t body = binary_read(header + BINARY_AT_BODY, 4);
        CHECK(binary_read(header + BINARY_AT_MAGIC, 1) == BINARY_RESPONSE);
        CHECK(binary_read(header + BINARY_AT_TYPE, 1) == 0);
        CHECK(extras == 0 || extras == 4);
        CHECK(key <= STORE_KEY_MAX && extras + key <= body);
        CHECK(BINARY_HEADER + body <= replies.n);
        if (binary_read(header + BINARY_AT_STATUS, 2) != BINARY_OK) {
            CHECK(extras == 0 && body > 0 && binary_read(header + BINARY_AT_CAS, 8) == 0);
        }
        replies = slice_of(replies.p + BINARY_HEADER + body, replies.n - BINARY_HEADER - (size_t)body);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    client_run(protocol_choose('\x80'), slice_of((const char *)data, n), KEPT_MAX, check_packets);
    return 0;
}
