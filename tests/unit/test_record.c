/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/record.h"

#include <stdlib.h>

#include "storage/store.h"
#include "tests/unit/support_cmocka.h"

enum { BYTES_ROOM = RECORD_HEADER_MAX + 1024 };

/* A fixed secret, so that the bytes of a record can be compared with constants. */
static struct hash_secret secret_of(unsigned char seed) {
    struct hash_secret secret;
    for (size_t i = 0; i < sizeof secret.bytes; i++)
        secret.bytes[i] = (unsigned char)(i * 7 + seed);
    return secret;
}

static size_t encode(const struct record *record, const struct hash_secret *secret, char *bytes, uint64_t *sum) {
    size_t n = record_header(record, secret, (unsigned char *)bytes, sum);
    assert_in_range(n, RECORD_HEADER_MIN, RECORD_HEADER_MAX);
    memcpy(bytes + n, record->value.p, record->value.n);
    return n + record->value.n;
}

static void assert_same(const struct record *a, const struct record *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->marks, b->marks);
    assert_int_equal(a->flags, b->flags);
    assert_true(a->lsn == b->lsn);
    assert_true(a->exptime == b->exptime);
    assert_true(a->bucket == b->bucket);
    assert_true(a->cas == b->cas);
    assert_true(a->value_sum == b->value_sum);
    assert_true(slice_equal(a->value, b->value));
}

static void check_round_trip(struct record record) {
    struct hash_secret secret = secret_of(1);
    char bytes[BYTES_ROOM];
    struct record read;
    uint64_t sum, read_sum;
    record.value_sum = record_value_sum(&secret, slice_str("a key"), record.value);
    size_t n = encode(&record, &secret, bytes, &sum);
    assert_ok(record_decode(&read, &secret, slice_of(bytes, n), &read_sum));
    assert_true(sum == read_sum);
    assert_same(&record, &read);
}

static void every_combination_of_fields_comes_back(void **state) {
    (void)state;
    static const uint64_t lsns[] = {0, 1, UINT64_C(1) << 40, RECORD_LSN_MAX};
    static const uint32_t flags[] = {0, 1, UINT32_MAX};
    static const int64_t exptimes[] = {0, 1, 7, 8, INT64_C(5000000000), INT64_MAX, -1};
    static const uint64_t casses[] = {0, 77, UINT64_MAX};
    static const char *const values[] = {"", "v", "a somewhat longer value"};
    for (unsigned i = 0; i < 4 * 3 * 7 * 3 * 3 * 4 * 2; i++) {
        unsigned at = i;
        struct record record = {.kind = RECORD_INLINE};
        record.lsn = lsns[at % 4], at /= 4;
        record.flags = flags[at % 3], at /= 3;
        record.exptime = exptimes[at % 7], at /= 7;
        record.cas = casses[at % 3], at /= 3;
        record.value = slice_str(values[at % 3]), at /= 3;
        record.marks = at % 4, at /= 4;
        record.bucket = at % 2 ? record_bucket_of(record.exptime) : 5; /* its own (or none), or an older one */
        check_round_trip(record);
    }
}

static void a_pointer_is_told_from_a_value(void **state) {
    (void)state;
    struct record record = {.kind = RECORD_POINTER, .lsn = 9, .bucket = RECORD_NO_BUCKET, .value = slice_str("where")};
    check_round_trip(record);
}

static void a_cas_that_is_the_lsn_takes_no_room(void **state) {
    (void)state;
    struct hash_secret secret = secret_of(1);
    struct record record = {.lsn = 9, .bucket = RECORD_NO_BUCKET, .cas = 9, .value = slice_str("")};
    char bytes[BYTES_ROOM];
    uint64_t sum;
    assert_int_equal(encode(&record, &secret, bytes, &sum), RECORD_HEADER_MIN);
    record.cas = 10;
    assert_int_equal(encode(&record, &secret, bytes, &sum), RECORD_HEADER_MIN + 8);
}

/* These bytes are on disks: a change of this test is a change of the format. */
static void the_format_does_not_change(void **state) {
    (void)state;
    static const unsigned char expected[] = {
        0x7c, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* form: all fields, marks 1; lsn */
        0xd4, 0xc3, 0xb2, 0xa1,                         /* flags */
        0x00, 0xf2, 0x05, 0x2a, 0x01, 0x00, 0x00, 0x00, /* exptime 5000000000 */
        0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* bucket 64 */
        0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, /* cas */
    };
    struct hash_secret secret = secret_of(1);
    struct record record = {.marks = 1, .flags = 0xa1b2c3d4, .lsn = UINT64_C(0x01020304050607),
                            .exptime = INT64_C(5000000000), .bucket = 64, .cas = UINT64_C(0x800000000000002a),
                            .value = slice_str("value")};
    char bytes[BYTES_ROOM];
    uint64_t sum, value_sum;
    uint32_t check;
    record.value_sum = record_value_sum(&secret, slice_str("key"), record.value);
    assert_int_equal(encode(&record, &secret, bytes, &sum), sizeof expected + 12 + 5);
    assert_memory_equal(bytes, expected, sizeof expected);
    memcpy(&value_sum, bytes + sizeof expected, 8);
    memcpy(&check, bytes + sizeof expected + 8, 4);
    assert_true(value_sum == record.value_sum);
    assert_true(value_sum == hash_sum(&secret, "keyvalue", 8));
    assert_true(sum == hash_sum(&secret, bytes, sizeof expected + 8));
    assert_true(check == (uint32_t)sum);
    assert_memory_equal(bytes + sizeof expected + 12, "value", 5);
}

static void every_flipped_bit_of_the_header_is_damage(void **state) {
    (void)state;
    struct hash_secret secret = secret_of(1);
    struct record record = {.marks = 2, .flags = 5, .lsn = 1000, .exptime = 9999, .bucket = 3, .cas = 12,
                            .value = slice_str("0123456789012345678901234567890123456789")};
    struct record read;
    char bytes[BYTES_ROOM];
    uint64_t sum;
    size_t n = encode(&record, &secret, bytes, &sum);
    for (size_t bit = 0; bit < (n - record.value.n) * 8; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        assert_status(record_decode(&read, &secret, slice_of(bytes, n), &sum), ST_CORRUPT);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    assert_ok(record_decode(&read, &secret, slice_of(bytes, n), &sum));
}

static void a_cut_header_is_damage(void **state) {
    (void)state;
    struct hash_secret secret = secret_of(1);
    struct record record = {.flags = 5, .lsn = 1000, .exptime = 9999, .bucket = 3, .cas = 12, .value = slice_str("")};
    struct record read;
    char bytes[BYTES_ROOM];
    uint64_t sum;
    size_t n = encode(&record, &secret, bytes, &sum);
    for (size_t cut = 0; cut < n; cut++) {
        /* On the heap, so that a read behind the end is seen. */
        char *exact = malloc(cut + 1);
        memcpy(exact + 1, bytes, cut);
        assert_status(record_decode(&read, &secret, slice_of(exact + 1, cut), &sum), ST_CORRUPT);
        free(exact);
    }
}

static void another_secret_reads_nothing(void **state) {
    (void)state;
    struct hash_secret ours = secret_of(1), theirs = secret_of(2);
    struct record record = {.lsn = 1, .bucket = RECORD_NO_BUCKET, .value = slice_str("v")};
    struct record read;
    char bytes[BYTES_ROOM];
    uint64_t sum;
    size_t n = encode(&record, &ours, bytes, &sum);
    assert_status(record_decode(&read, &theirs, slice_of(bytes, n), &sum), ST_CORRUPT);
}

static void a_value_belongs_to_its_key(void **state) {
    (void)state;
    struct hash_secret secret = secret_of(1);
    static const char together[] = "keyvalue";
    uint64_t sum = record_value_sum(&secret, slice_of(together, 3), slice_of(together + 3, 5));
    /* Beside each other or apart, it is the same sum. */
    assert_true(sum == record_value_sum(&secret, slice_str("key"), slice_str("value")));
    assert_true(sum != record_value_sum(&secret, slice_str("kex"), slice_str("value")));
    assert_true(sum != record_value_sum(&secret, slice_str("key"), slice_str("valuf")));
}

static void buckets_come_due_when_they_are_past(void **state) {
    (void)state;
    assert_true(record_bucket_of(0) == RECORD_NO_BUCKET);
    assert_true(record_bucket_of(-5) == 0);
    assert_true(record_bucket_of(80) == 10);
    assert_true(record_bucket_of(87) == 10);
    assert_false(record_bucket_due(10, 80));
    assert_false(record_bucket_due(10, 87));
    assert_true(record_bucket_due(10, 88));
    assert_false(record_bucket_due(0, 0));
    assert_false(record_bucket_due(0, -1));
    assert_true(record_bucket_due(record_bucket_of(INT64_C(5000000000)), INT64_C(5000000008)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_of_fields_comes_back),
        cmocka_unit_test(a_pointer_is_told_from_a_value),
        cmocka_unit_test(a_cas_that_is_the_lsn_takes_no_room),
        cmocka_unit_test(the_format_does_not_change),
        cmocka_unit_test(every_flipped_bit_of_the_header_is_damage),
        cmocka_unit_test(a_cut_header_is_damage),
        cmocka_unit_test(another_secret_reads_nothing),
        cmocka_unit_test(a_value_belongs_to_its_key),
        cmocka_unit_test(buckets_come_due_when_they_are_past),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
