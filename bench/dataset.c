/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "bench/random.h"
#include "src/base/check.h"
#include "src/base/number.h"

enum {
    DATASET_MAGIC = 0x64617461,
    STAMP = 8,         /* bytes of a value that only its key has */
    OFFSETS = 1 << 15, /* where in the pattern a value can begin */
    BLOCK = 128,       /* compressible and random bytes alternate within each */
    FILLER = 'c',
    HASHED = 32, /* digits of a hashed key */
};

struct dataset {
    unsigned magic;
    size_t prefix_size;
    size_t digits; /* at least so many */
    bool hashed;
    size_t key_max;
    size_t value_min, value_max;
    uint64_t seed;
    char prefix[DATASET_KEY_MAX];
    char pattern[]; /* OFFSETS + value_max bytes */
};

static size_t digits_of(uint64_t number) {
    char text[NUMBER_DIGITS];
    return number_print(text, number);
}

static void fill_pattern(struct dataset *dataset, unsigned compressible) {
    struct random random;
    size_t size = OFFSETS + dataset->value_max;
    random_seed(&random, dataset->seed);
    for (size_t i = 0; i < size; i++) {
        bool plain = i % BLOCK < BLOCK * compressible / 100;
        dataset->pattern[i] = plain ? FILLER : (char)(random_next(&random) >> 56);
    }
}

enum status dataset_create(struct dataset **dataset, const struct dataset_config *config) {
    size_t prefix = strlen(config->prefix);
    size_t digits = digits_of(config->keys - 1);
    *dataset = NULL;
    if (config->hashed) {
        digits = HASHED;
    } else if (config->key_size != 0) {
        if (config->key_size < prefix + digits) {
            return ST_LIMIT;
        }
        digits = config->key_size - prefix;
    }
    if (prefix + digits > DATASET_KEY_MAX) {
        return ST_LIMIT;
    }
    struct dataset *made = malloc(sizeof *made + OFFSETS + config->value_max);
    if (made == NULL) {
        return ST_NO_MEMORY;
    }
    made->magic = DATASET_MAGIC;
    made->prefix_size = prefix;
    made->digits = config->key_size == 0 && !config->hashed ? 1 : digits;
    made->hashed = config->hashed;
    made->key_max = prefix + digits;
    made->value_min = config->value_min;
    made->value_max = config->value_max;
    made->seed = config->seed;
    memcpy(made->prefix, config->prefix, prefix);
    fill_pattern(made, config->compressible);
    *dataset = made;
    return ST_OK;
}

void dataset_destroy(struct dataset **dataset) {
    if (*dataset != NULL) {
        CHECK_OBJ(*dataset, DATASET_MAGIC);
        (*dataset)->magic = 0;
        free(*dataset);
        *dataset = NULL;
    }
}

size_t dataset_key_max(const struct dataset *dataset) {
    return dataset->key_max;
}

size_t dataset_value_max(const struct dataset *dataset) {
    return dataset->value_max;
}

size_t dataset_key_size(const struct dataset *dataset, uint64_t id) {
    size_t digits = digits_of(id);
    return dataset->prefix_size + (digits > dataset->digits ? digits : dataset->digits);
}

/* Bijections of the number, so that keys differ; the second half only looks random. */
static char *hashed_digits(uint64_t id, char *out) {
    static const char hexadecimal[] = "0123456789abcdef";
    uint64_t halves[] = {random_mix(id), random_mix(~id)};
    for (unsigned i = 0; i < HASHED; i++) {
        *out++ = hexadecimal[halves[i / 16] >> 4 * (i % 16) & 15];
    }
    return out;
}

char *dataset_key(const struct dataset *dataset, uint64_t id, char *out) {
    char digits[NUMBER_DIGITS];
    memcpy(out, dataset->prefix, dataset->prefix_size);
    out += dataset->prefix_size;
    if (dataset->hashed) {
        return hashed_digits(id, out);
    }
    size_t n = number_print(digits, id);
    if (n < dataset->digits) {
        memset(out, '0', dataset->digits - n);
        out += dataset->digits - n;
    }
    memcpy(out, digits, n);
    return out + n;
}

/* The random number that decides all about a key's value. */
static uint64_t fate(const struct dataset *dataset, uint64_t id) {
    return random_mix(id ^ dataset->seed << 40);
}

size_t dataset_value_size(const struct dataset *dataset, uint64_t id) {
    size_t span = dataset->value_max - dataset->value_min;
    return dataset->value_min + (span == 0 ? 0 : random_scale(fate(dataset, id), span + 1));
}

char *dataset_value(const struct dataset *dataset, uint64_t id, char *out) {
    uint64_t stamp = fate(dataset, id);
    size_t size = dataset_value_size(dataset, id);
    if (size <= STAMP) {
        memcpy(out, &stamp, size);
    } else {
        memcpy(out, &stamp, STAMP);
        memcpy(out + STAMP, dataset->pattern + stamp % OFFSETS, size - STAMP);
    }
    return out + size;
}

bool dataset_is_key(const struct dataset *dataset, uint64_t id, struct slice key) {
    char expected[DATASET_KEY_MAX + NUMBER_DIGITS];
    size_t n = dataset_key(dataset, id, expected) - expected;
    return slice_equal(key, slice_of(expected, n));
}

bool dataset_is_value(const struct dataset *dataset, uint64_t id, size_t offset, struct slice part) {
    uint64_t stamp = fate(dataset, id);
    if (offset + part.n > dataset_value_size(dataset, id)) {
        return false;
    }
    if (offset < STAMP) {
        size_t n = part.n < STAMP - offset ? part.n : STAMP - offset;
        if (memcmp((const char *)&stamp + offset, part.p, n) != 0) {
            return false;
        }
        part = slice_of(part.p + n, part.n - n);
        offset += n;
    }
    return part.n == 0 || memcmp(dataset->pattern + stamp % OFFSETS + offset - STAMP, part.p, part.n) == 0;
}
