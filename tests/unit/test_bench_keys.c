/* SPDX-License-Identifier: BSD-3-Clause */
/* What coffer-bench asks for and when: keys, values, their choice, and the schedule of a rate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/dataset.h"
#include "bench/pace.h"
#include "bench/picker.h"
#include "tests/unit/support_cmocka.h"

static struct dataset *dataset_of(size_t key_size, size_t least, size_t most, uint64_t seed) {
    struct dataset *dataset;
    struct dataset_config config = {.prefix = "k:",
                                    .key_size = key_size,
                                    .value_min = least,
                                    .value_max = most,
                                    .keys = 1000,
                                    .seed = seed};
    assert_ok(dataset_create(&dataset, &config));
    return dataset;
}

static void keys_are_prefix_and_number(void **state) {
    (void)state;
    char key[DATASET_KEY_MAX];
    struct dataset *padded = dataset_of(8, 1, 1, 1), *natural = dataset_of(0, 1, 1, 1);
    assert_memory_equal(key, "k:000042", dataset_key(padded, 42, key) - key);
    assert_int_equal(dataset_key_size(padded, 42), 8);
    assert_true(dataset_is_key(padded, 42, slice_str("k:000042")));
    assert_false(dataset_is_key(padded, 42, slice_str("k:000043")));
    assert_memory_equal(key, "k:42", dataset_key(natural, 42, key) - key);
    assert_int_equal(dataset_key_size(natural, 42), 4);
    assert_int_equal(dataset_key_max(natural), 5);
    dataset_destroy(&padded);
    dataset_destroy(&natural);
}

static void hashed_keys_are_hexadecimal_and_differ(void **state) {
    (void)state;
    char one[DATASET_KEY_MAX + 1], other[DATASET_KEY_MAX];
    struct dataset *dataset;
    struct dataset_config config = {.prefix = "h:", .key_size = 3, .hashed = true, .keys = 1000};
    assert_ok(dataset_create(&dataset, &config));
    assert_int_equal(dataset_key_max(dataset), 34);
    for (uint64_t id = 0; id < 1000; id++) {
        size_t n = dataset_key(dataset, id, one) - one;
        assert_int_equal(n, 34);
        assert_int_equal(dataset_key_size(dataset, id), n);
        one[n] = '\0';
        assert_int_equal(strspn(one + 2, "0123456789abcdef"), 32);
        assert_ptr_equal(dataset_key(dataset, id + 1, other), other + n);
        assert_memory_not_equal(one, other, n);
    }
    dataset_destroy(&dataset);
}

static void keys_that_do_not_fit_are_refused(void **state) {
    (void)state;
    struct dataset *dataset;
    struct dataset_config config = {.prefix = "abc", .key_size = 5, .keys = 1000};
    assert_status(dataset_create(&dataset, &config), ST_LIMIT);
    config.key_size = DATASET_KEY_MAX + 1;
    assert_status(dataset_create(&dataset, &config), ST_LIMIT);
    assert_null(dataset);
}

static void values_are_known_at_every_cut(void **state) {
    (void)state;
    struct dataset *dataset = dataset_of(8, 0, 40, 1);
    char value[40];
    for (uint64_t id = 0; id < 200; id++) {
        size_t n = dataset_value(dataset, id, value) - value;
        assert_int_equal(n, dataset_value_size(dataset, id));
        for (size_t from = 0; from <= n; from++) {
            for (size_t to = from; to <= n; to++) {
                assert_true(dataset_is_value(dataset, id, from, slice_of(value + from, to - from)));
            }
        }
        for (size_t at = 0; at < n; at++) {
            value[at] ^= 1;
            assert_false(dataset_is_value(dataset, id, 0, slice_of(value, n)));
            value[at] ^= 1;
        }
    }
    dataset_destroy(&dataset);
}

static void values_belong_to_key_and_seed(void **state) {
    (void)state;
    char value[100];
    struct dataset *one = dataset_of(8, 100, 100, 1), *two = dataset_of(8, 100, 100, 2);
    struct slice all = {value, (size_t)(dataset_value(one, 7, value) - value)};
    assert_int_equal(all.n, 100);
    assert_true(dataset_is_value(one, 7, 0, all));
    assert_false(dataset_is_value(one, 8, 0, all));
    assert_false(dataset_is_value(two, 7, 0, all));
    assert_false(dataset_is_value(one, 7, 1, all));
    dataset_destroy(&one);
    dataset_destroy(&two);
}

static void sequential_shares_cover_all_keys_once(void **state) {
    (void)state;
    enum { KEYS = 1003, THREADS = 3 };
    unsigned seen[KEYS] = {0};
    for (unsigned thread = 0; thread < THREADS; thread++) {
        struct picker picker;
        picker_init(&picker, PICKER_SEQUENTIAL, KEYS, 0, 1);
        picker_share(&picker, thread, THREADS);
        for (unsigned i = thread; i < KEYS; i += THREADS) {
            seen[picker_next(&picker)]++;
        }
        assert_int_equal(picker_next(&picker), thread);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        assert_int_equal(seen[i], 1);
    }
}

static void uniform_keys_are_evenly_spread(void **state) {
    (void)state;
    enum { KEYS = 100, DRAWS = 1000000 };
    unsigned seen[KEYS] = {0};
    struct picker picker;
    picker_init(&picker, PICKER_UNIFORM, KEYS, 0, 1);
    for (unsigned i = 0; i < DRAWS; i++) {
        seen[picker_next(&picker)]++;
    }
    for (unsigned i = 0; i < KEYS; i++) {
        assert_true(abs((int)seen[i] - DRAWS / KEYS) < 600); /* six standard deviations */
    }
}

/* The frequency of each rank against 1 / k^theta over the sum of all. */
static void zipf_ranks_have_their_probability(void **state) {
    (void)state;
    enum { KEYS = 1000, DRAWS = 1000000, LOOKED_AT = 5 };
    static const double thetas[] = {0, 0.5, 0.99, 1, 1.5};
    for (size_t t = 0; t < sizeof thetas / sizeof thetas[0]; t++) {
        unsigned seen[KEYS + 1] = {0};
        double sum = 0;
        struct picker picker;
        picker_init(&picker, PICKER_ZIPF, KEYS, thetas[t], 1);
        for (unsigned k = 1; k <= KEYS; k++) {
            sum += pow(k, -thetas[t]);
        }
        for (unsigned i = 0; i < DRAWS; i++) {
            uint64_t rank = picker_zipf_rank(&picker);
            assert_in_range(rank, 1, KEYS);
            seen[rank]++;
        }
        for (unsigned k = 1; k <= LOOKED_AT; k++) {
            double expected = pow(k, -thetas[t]) / sum * DRAWS;
            assert_true(fabs(seen[k] - expected) < 6 * sqrt(expected));
        }
    }
}

static void zipf_keys_are_strewn_but_distinct(void **state) {
    (void)state;
    enum { KEYS = 1000, DRAWS = 200000 };
    bool seen[KEYS] = {false};
    unsigned distinct = 0;
    struct picker picker;
    picker_init(&picker, PICKER_ZIPF, KEYS, 0.5, 1);
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t key = picker_next(&picker);
        assert_in_range(key, 0, KEYS - 1);
        distinct += !seen[key];
        seen[key] = true;
    }
    assert_int_equal(distinct, KEYS);
}

static void late_requests_keep_the_moment_they_were_due(void **state) {
    (void)state;
    struct pace pace;
    pace_init(&pace, 1000, 1e6); /* one a microsecond */
    assert_int_equal(pace_due(&pace, 999), 0);
    assert_int_equal(pace_due(&pace, 1000), 1);
    assert_int_equal(pace_take(&pace), 1000);
    assert_int_equal(pace_due(&pace, 1999), 0);
    assert_int_equal(pace_next(&pace), 2000);
    /* The server stalls: what was due meanwhile is all there, each with its own moment. */
    assert_int_equal(pace_due(&pace, 11500), 10);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(pace_take(&pace), 2000 + 1000 * i);
    }
    assert_int_equal(pace_due(&pace, 11500), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_prefix_and_number),
        cmocka_unit_test(hashed_keys_are_hexadecimal_and_differ),
        cmocka_unit_test(keys_that_do_not_fit_are_refused),
        cmocka_unit_test(values_are_known_at_every_cut),
        cmocka_unit_test(values_belong_to_key_and_seed),
        cmocka_unit_test(sequential_shares_cover_all_keys_once),
        cmocka_unit_test(uniform_keys_are_evenly_spread),
        cmocka_unit_test(zipf_ranks_have_their_probability),
        cmocka_unit_test(zipf_keys_are_strewn_but_distinct),
        cmocka_unit_test(late_requests_keep_the_moment_they_were_due),
    };
    return cmocka_run_group_tests_name("bench_keys", tests, NULL, NULL);
}
