/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/histogram.h"

#include <math.h>

#include "bench/random.h"
#include "tests/unit/support_cmocka.h"

static struct histogram *made(void) {
    struct histogram *histogram;
    assert_ok(histogram_create(&histogram));
    return histogram;
}

static void nothing_recorded_is_zero(void **state) {
    (void)state;
    struct histogram *histogram = made();
    assert_int_equal(histogram_percentile(histogram, 50), 0);
    assert_int_equal(histogram_percentile(histogram, 100), 0);
    assert_true(histogram_mean(histogram) == 0);
    histogram_destroy(&histogram);
    assert_null(histogram);
}

static void one_value_is_every_percentile(void **state) {
    (void)state;
    static const uint64_t values[] = {0, 1, 127, 128, 255, 256, 257, 1000003, HISTOGRAM_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct histogram *histogram = made();
        histogram_record(histogram, values[i]);
        assert_int_equal(histogram_percentile(histogram, 100), values[i]);
        double error = fabs((double)histogram_percentile(histogram, 0) - (double)values[i]);
        assert_true(error <= (double)values[i] / 256);
        assert_true(histogram_mean(histogram) == (double)values[i]);
        histogram_destroy(&histogram);
    }
}

static void indexes_rise_without_gaps(void **state) {
    (void)state;
    unsigned before = 0;
    for (uint64_t value = 1; value < 1 << 20; value++) {
        unsigned index = histogram_index(value);
        assert_true(index == before || index == before + 1);
        before = index;
    }
    assert_int_equal(histogram_index(HISTOGRAM_MAX), HISTOGRAM_BUCKETS - 1);
}

static void values_over_the_range_are_kept_as_the_largest(void **state) {
    (void)state;
    struct histogram *histogram = made();
    histogram_record(histogram, UINT64_MAX / 2);
    histogram_record(histogram, 5);
    assert_true(histogram_percentile(histogram, 100) == UINT64_MAX / 2);
    assert_int_equal(histogram_percentile(histogram, 50), 5);
    histogram_destroy(&histogram);
}

static void percentiles_of_a_known_distribution(void **state) {
    (void)state;
    struct histogram *histogram = made();
    for (uint64_t value = 1; value <= 1000000; value++) {
        histogram_record(histogram, value);
    }
    static const double percents[] = {1, 25, 50, 95, 99, 99.9, 99.99};
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        double exact = percents[i] * 10000;
        double found = (double)histogram_percentile(histogram, percents[i]);
        assert_true(fabs(found - exact) <= exact * 0.008);
    }
    assert_true(fabs(histogram_mean(histogram) - 500000.5) < 0.01);
    histogram_destroy(&histogram);
}

static void merged_halves_equal_the_whole(void **state) {
    (void)state;
    struct histogram *whole = made(), *odd = made(), *even = made();
    struct random random;
    random_seed(&random, 1);
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t value = random_next(&random) >> (24 + i % 30);
        histogram_record(whole, value);
        histogram_record(i % 2 ? odd : even, value);
    }
    histogram_merge(odd, even);
    assert_memory_equal(odd, whole, sizeof *whole);
    histogram_clear(odd);
    assert_int_equal(histogram_percentile(odd, 100), 0);
    histogram_destroy(&whole);
    histogram_destroy(&odd);
    histogram_destroy(&even);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_recorded_is_zero),
        cmocka_unit_test(one_value_is_every_percentile),
        cmocka_unit_test(indexes_rise_without_gaps),
        cmocka_unit_test(values_over_the_range_are_kept_as_the_largest),
        cmocka_unit_test(percentiles_of_a_known_distribution),
        cmocka_unit_test(merged_halves_equal_the_whole),
    };
    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
