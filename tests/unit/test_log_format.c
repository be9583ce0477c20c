/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/log_format.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_cmocka.h"

enum { SEQ = 7, OFFSET = 12345 };

struct fixture {
    struct hash_secret secret;
};

static int setup(void **state) {
    static struct fixture fixture;

    hash_random(&fixture.secret, sizeof fixture.secret);
    *state = &fixture;
    return 0;
}

/* ---- records ---- */

static unsigned char *write_record(const struct hash_secret *secret, struct log_record record, uint64_t lsn,
                                   size_t *n) {
    struct log_encoded encoded;
    unsigned char *bytes;

    record.value_sum = hash_sum(secret, record.value.p, record.value.n);
    log_record_encode(&encoded, secret, &record);
    log_record_seal(&encoded, secret, lsn, SEQ, OFFSET);
    *n = encoded.record_bytes;
    bytes = malloc(*n);
    assert_non_null(bytes);
    memcpy(bytes, encoded.bytes, encoded.head_bytes);
    if (record.value.n > 0)
        memcpy(bytes + encoded.head_bytes, record.value.p, record.value.n);
    return bytes;
}

static void check_round_trip(const struct hash_secret *secret, struct log_record record, uint64_t lsn) {
    size_t n;
    unsigned char *bytes = write_record(secret, record, lsn, &n);
    struct log_record read;
    uint64_t length;

    assert_true(log_record_length(bytes, &length));
    assert_int_equal(length, n);
    assert_true(n <= log_record_room(record.key.n, record.value.n) / 2 - LOG_GROUP_BYTES);
    assert_true(log_record_decode(bytes, n, secret, SEQ, OFFSET, &read));
    assert_int_equal(read.lsn, lsn);
    assert_int_equal(read.op, record.op);
    assert_int_equal(read.kind, record.kind);
    assert_int_equal(read.marks, record.marks);
    assert_int_equal(read.flags, record.flags);
    assert_int_equal(read.exptime, record.exptime);
    assert_int_equal(read.cas, record.cas);
    assert_true(slice_equal(read.key, record.key));
    assert_true(slice_equal(read.value, record.value));
    assert_int_equal(read.value_sum, hash_sum(secret, record.value.p, record.value.n));
    free(bytes);
}

static void test_records_round_trip(void **state) {
    const struct fixture *f = *state;
    static char key[250], value[70000];

    memset(key, 0xff, sizeof key);
    memset(value, 0, sizeof value);
    check_round_trip(&f->secret, (struct log_record){.op = LOG_FLUSH}, 1);
    check_round_trip(&f->secret, (struct log_record){.op = LOG_FLUSH_AT, .exptime = INT64_MAX}, 2);
    check_round_trip(&f->secret, (struct log_record){.op = LOG_FLUSH_AT, .exptime = INT64_MIN}, 3);
    check_round_trip(&f->secret, (struct log_record){.op = LOG_DELETE, .key = slice_str("k")}, UINT64_C(1) << 53);
    check_round_trip(&f->secret, (struct log_record){.op = LOG_SET, .key = slice_of(key, 1), .value = slice_str("")},
                     UINT64_MAX);
    for (size_t n = 1; n <= sizeof value; n = n * 3 + 1) {
        struct log_record record = {
            .op = LOG_SET,
            .kind = n % 2 ? LOG_POINTER : LOG_INLINE,
            .marks = 255,
            .flags = UINT32_MAX,
            .exptime = -1,
            .cas = n % 2 ? UINT64_MAX : 0,
            .key = slice_of(key, n % sizeof key + 1),
            .value = slice_of(value, n),
        };
        check_round_trip(&f->secret, record, n);
    }
}

static void test_a_flipped_bit_is_found(void **state) {
    const struct fixture *f = *state;
    struct log_record record = {
        .op = LOG_SET, .flags = 3, .cas = 9, .key = slice_str("key"), .value = slice_str("value")};
    size_t n;
    unsigned char *bytes = write_record(&f->secret, record, 5, &n);

    for (size_t bit = 0; bit < 8 * n; bit++) {
        struct log_record read;
        uint64_t length;

        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (log_record_length(bytes, &length) && length <= n)
            assert_false(log_record_decode(bytes, (size_t)length, &f->secret, SEQ, OFFSET, &read));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(bytes);
}

static void test_a_record_is_good_in_its_place_only(void **state) {
    const struct fixture *f = *state;
    struct log_record record = {.op = LOG_SET, .key = slice_str("key"), .value = slice_str("value")}, read;
    struct hash_secret other;
    size_t n;
    unsigned char *bytes = write_record(&f->secret, record, 5, &n);

    hash_random(&other, sizeof other);
    assert_true(log_record_decode(bytes, n, &f->secret, SEQ, OFFSET, &read));
    assert_false(log_record_decode(bytes, n, &f->secret, SEQ + 1, OFFSET, &read));
    assert_false(log_record_decode(bytes, n, &f->secret, SEQ, OFFSET + 1, &read));
    assert_false(log_record_decode(bytes, n, &other, SEQ, OFFSET, &read));
    free(bytes);
}

static void test_lengths_that_cannot_be(void **state) {
    const struct fixture *f = *state;
    struct log_record record = {.op = LOG_DELETE, .cas = 1, .key = slice_str("key")};
    static const unsigned char zeros[LOG_RECORD_BYTES];
    uint64_t length;
    size_t n;
    unsigned char *bytes = write_record(&f->secret, record, 5, &n);

    assert_false(log_record_length(zeros, &length));
    assert_true(log_record_length(bytes, &length));
    bytes[16]--; /* shorter than head and key */
    assert_false(log_record_length(bytes, &length));
    bytes[16]++;
    bytes[20] = 0; /* no such operation */
    assert_false(log_record_length(bytes, &length));
    bytes[20] = LOG_FLUSH_AT + 1;
    assert_false(log_record_length(bytes, &length));
    free(bytes);
}

/* ---- groups and headers ---- */

static void test_groups_round_trip(void **state) {
    const struct fixture *f = *state;
    const struct log_group group = {.count = UINT32_MAX, .length = UINT64_MAX, .first = 1, .attested = UINT64_MAX - 1};
    unsigned char bytes[LOG_GROUP_BYTES];
    struct log_group read;

    log_group_encode(bytes, &f->secret, SEQ, 512, &group);
    assert_true(log_group_decode(bytes, &f->secret, SEQ, 512, &read));
    assert_int_equal(read.count, group.count);
    assert_int_equal(read.length, group.length);
    assert_int_equal(read.first, group.first);
    assert_int_equal(read.attested, group.attested);
    assert_false(log_group_decode(bytes, &f->secret, SEQ + 1, 512, &read));
    assert_false(log_group_decode(bytes, &f->secret, SEQ, 1024, &read));
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_false(log_group_decode(bytes, &f->secret, SEQ, 512, &read));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static const struct log_segment_header sample_header = {
    .seq = SEQ,
    .incarnation = 2,
    .segment_bytes = UINT64_C(1) << 40,
    .prev_seq = SEQ - 1,
    .prev_end = 4242,
    .prev_lsn = 99,
    .base = UINT64_C(99) << 32,
    .attested = 98,
    .recycled = true,
};

static void expect_sample(const struct log_segment_header *read) {
    assert_int_equal(read->seq, sample_header.seq);
    assert_int_equal(read->incarnation, sample_header.incarnation);
    assert_int_equal(read->segment_bytes, sample_header.segment_bytes);
    assert_int_equal(read->prev_seq, sample_header.prev_seq);
    assert_int_equal(read->prev_end, sample_header.prev_end);
    assert_int_equal(read->prev_lsn, sample_header.prev_lsn);
    assert_int_equal(read->base, sample_header.base);
    assert_int_equal(read->attested, sample_header.attested);
    assert_int_equal(read->recycled, sample_header.recycled);
}

static void test_one_good_copy_of_a_header_is_enough(void **state) {
    const struct fixture *f = *state;
    unsigned char page[LOG_PAGE];
    struct log_segment_header read;

    log_header_encode(page, &f->secret, &sample_header);
    assert_ok(log_header_decode(page, &f->secret, &read));
    expect_sample(&read);
    memset(page, 0, LOG_SECTOR);
    memset(&read, 0, sizeof read);
    assert_ok(log_header_decode(page, &f->secret, &read));
    expect_sample(&read);
    page[LOG_HEADER_COPY + 20] ^= 1;
    assert_status(log_header_decode(page, &f->secret, &read), ST_CORRUPT);
    log_header_encode(page, &f->secret, &sample_header);
    memset(page + LOG_HEADER_COPY, 0xff, LOG_SECTOR);
    assert_ok(log_header_decode(page, &f->secret, &read));
    page[17] ^= 1;
    assert_status(log_header_decode(page, &f->secret, &read), ST_CORRUPT);
}

static void test_a_later_version_is_told_from_damage(void **state) {
    const struct fixture *f = *state;
    unsigned char page[LOG_PAGE];
    struct log_segment_header read;
    uint64_t sum;

    log_header_encode(page, &f->secret, &sample_header);
    page[8]++;
    assert_ok(log_header_decode(page, &f->secret, &read)); /* that copy alone is damaged */
    sum = hash_sum(&f->secret, page, 80);
    for (int i = 0; i < 8; i++)
        page[80 + i] = (unsigned char)(sum >> (8 * i));
    assert_status(log_header_decode(page, &f->secret, &read), ST_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_round_trip),
        cmocka_unit_test(test_a_flipped_bit_is_found),
        cmocka_unit_test(test_a_record_is_good_in_its_place_only),
        cmocka_unit_test(test_lengths_that_cannot_be),
        cmocka_unit_test(test_groups_round_trip),
        cmocka_unit_test(test_one_good_copy_of_a_header_is_enough),
        cmocka_unit_test(test_a_later_version_is_told_from_damage),
    };
    return cmocka_run_group_tests_name("log_format", tests, setup, NULL);
}
