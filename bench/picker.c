/* SPDX-License-Identifier: BSD-3-Clause */
/* Zipf numbers by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
 * monotone discrete distributions", 1996): no table, no start-up cost for many keys, about 1.1 tries a
 * number. */
#include "bench/picker.h"

#include <math.h>
#include <string.h>

/* A prime near 2^32 / golden ratio: it has no factor in common with any other number of keys, so ranks stay
 * distinct. */
static const uint64_t STREW = 2654435761u;

/* (exp(x) - 1) / x and log(1 + x) / x, also where x is near 0. */
static double expm1_over(double x) {
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static double log1p_over(double x) {
    return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

/* x^-theta, its integral, and the inverse of that. */
static double density(const struct picker *picker, double x) {
    return exp(-picker->theta * log(x));
}

static double integral(const struct picker *picker, double x) {
    double logarithm = log(x);
    return expm1_over((1 - picker->theta) * logarithm) * logarithm;
}

static double inverse(const struct picker *picker, double y) {
    double scaled = y * (1 - picker->theta);
    return exp(log1p_over(scaled < -1 ? -1 : scaled) * y);
}

void picker_init(struct picker *picker, enum picker_kind kind, uint64_t keys, double theta, uint64_t seed) {
    memset(picker, 0, sizeof *picker);
    picker->kind = kind;
    picker->keys = keys;
    picker->step = 1;
    picker->theta = theta;
    picker->low = integral(picker, 1.5) - 1;
    picker->high = integral(picker, (double)keys + 0.5);
    picker->squeeze = 2 - inverse(picker, integral(picker, 2.5) - density(picker, 2));
    random_seed(&picker->random, seed);
}

void picker_share(struct picker *picker, uint64_t first, uint64_t step) {
    picker->first = first % picker->keys;
    picker->step = step;
    picker->next = picker->first;
}

uint64_t picker_zipf_rank(struct picker *picker) {
    for (;;) {
        double u = picker->high + random_unit(&picker->random) * (picker->low - picker->high);
        double x = inverse(picker, u);
        double k = floor(x + 0.5);
        k = k < 1 ? 1 : k > (double)picker->keys ? (double)picker->keys : k;
        if (k - x <= picker->squeeze || u >= integral(picker, k + 0.5) - density(picker, k)) {
            return (uint64_t)k;
        }
    }
}

static uint64_t sequential(struct picker *picker) {
    uint64_t key = picker->next;
    picker->next = key + picker->step < picker->keys ? key + picker->step : picker->first;
    return key;
}

uint64_t picker_next(struct picker *picker) {
    switch (picker->kind) {
    case PICKER_ZIPF:
        return (picker_zipf_rank(picker) - 1) * STREW % picker->keys;
    case PICKER_SEQUENTIAL:
        return sequential(picker);
    case PICKER_UNIFORM:
    default:
        return random_scale(random_next(&picker->random), picker->keys);
    }
}
