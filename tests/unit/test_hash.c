/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/hash.h"

#include <string.h>

#include "tests/unit/support_cmocka.h"

enum { BYTES = 1500 }; /* XXH3 changes its method at 16, 128, 240 and 1024 */

struct sample {
    struct hash_secret secret;
    unsigned char bytes[BYTES];
};

static void fill(struct sample *sample) {
    for (size_t i = 0; i < sizeof sample->bytes; i++) {
        sample->bytes[i] = (unsigned char)(i * 7 + i / 256);
    }
    for (size_t i = 0; i < HASH_SECRET_SIZE; i++) {
        sample->secret.bytes[i] = (unsigned char)(i * 11 + 3);
    }
}

static void keys_hash_by_bytes_and_seed(void **state) {
    (void)state;
    assert_true(hash_key("key", 3, 1) == hash_key("keyring", 3, 1));
    assert_true(hash_key("key", 3, 1) != hash_key("kez", 3, 1));
    assert_true(hash_key("key", 3, 1) != hash_key("key", 3, 2));
    assert_true(hash_key("key", 3, 1) != hash_key("key\0", 4, 1));
    /* XXH3 of no bytes with seed 0, from the algorithm's specification: no private variant is in use. */
    assert_true(hash_key("", 0, 0) == UINT64_C(0x2d06800538d394c2));
}

static void a_sum_depends_on_every_byte_and_on_the_secret(void **state) {
    (void)state;
    struct sample sample;
    fill(&sample);
    static const size_t sizes[] = {1, 3, 8, 16, 17, 100, 128, 200, 240, 241, 1024, BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t n = sizes[i];
        uint64_t whole = hash_sum(&sample.secret, sample.bytes, n);
        for (size_t at = 0; at < n; at += 1 + n / 50) {
            sample.bytes[at] ^= 0x10;
            assert_true(hash_sum(&sample.secret, sample.bytes, n) != whole);
            sample.bytes[at] ^= 0x10;
        }
        assert_true(hash_sum(&sample.secret, sample.bytes, n) == whole);
    }
    uint64_t before = hash_sum(&sample.secret, sample.bytes, BYTES);
    sample.secret.bytes[0] ^= 1;
    assert_true(hash_sum(&sample.secret, sample.bytes, BYTES) != before);
}

/* On disk a record may be summed in one piece by the reader and in two by the writer. */
static void two_ranges_sum_like_their_concatenation(void **state) {
    (void)state;
    struct sample sample;
    fill(&sample);
    for (size_t n = 0; n <= BYTES; n += n < 300 ? 1 : 97) {
        uint64_t whole = hash_sum(&sample.secret, sample.bytes, n);
        for (size_t first = 0; first <= n; first += 1 + n / 13) {
            assert_true(hash_sum2(&sample.secret, sample.bytes, first, sample.bytes + first, n - first) == whole);
        }
        assert_true(hash_sum2(&sample.secret, sample.bytes, n, NULL, 0) == whole);
        assert_true(hash_sum2(&sample.secret, NULL, 0, sample.bytes, n) == whole);
    }
}

static void random_bytes_fill_the_whole_range(void **state) {
    (void)state;
    unsigned char a[1000];
    unsigned char b[sizeof a];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    hash_random(a, sizeof a - 1);
    hash_random(b, sizeof b - 1);
    assert_memory_not_equal(a, b, 16);
    assert_memory_not_equal(a + sizeof a - 17, b + sizeof b - 17, 16);
    assert_int_equal(a[sizeof a - 1], 0);
    hash_random(a, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_hash_by_bytes_and_seed),
        cmocka_unit_test(a_sum_depends_on_every_byte_and_on_the_secret),
        cmocka_unit_test(two_ranges_sum_like_their_concatenation),
        cmocka_unit_test(random_bytes_fill_the_whole_range),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
