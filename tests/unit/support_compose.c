/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_compose.h"

#include <stdlib.h>

#include "src/base/buffer.h"

struct item *compose_item_of(const char *key, size_t n) {
    struct item *item;
    assert_ok(item_create(&item, slice_str(key), n));
    memset(item_body(item), 'v', n);
    item_set(item, UINT32_MAX, 0, 0);
    return item;
}

void compose_expect(const struct protocol *protocol, const struct request *request, const struct response *response,
                    const struct reply_form *form, const char *expected, size_t n) {
    struct output_pools pools;
    struct output output;
    struct iovec parts[64];
    struct buffer text;
    output_pools_init(&pools);
    output_init(&output, &pools);
    buffer_init(&text);
    protocol->compose(&output, request, response, form, COMPOSE_NOW);
    assert_false(output.failed);
    int count = output_gather(&output, SIZE_MAX, parts, 64);
    for (int i = 0; i < count; i++) {
        assert_ok(buffer_append(&text, parts[i].iov_base, parts[i].iov_len));
    }
    assert_int_equal(output_unsent(&output), buffer_length(&text));
    if (buffer_length(&text) != n || (n > 0 && memcmp(buffer_head(&text), expected, n) != 0)) {
        fail_msg("composed %zu bytes: %.*s--- expected %zu bytes: %.*s", buffer_length(&text),
                 (int)buffer_length(&text), buffer_head(&text), n, (int)n, expected);
    }
    output_clear(&output);
    output_pools_free(&pools);
    buffer_free(&text);
}
