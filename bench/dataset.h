/* SPDX-License-Identifier: BSD-3-Clause */
/* dataset: keys and values, both computed from a key's number, so that any value read can be checked.
 *
 * A key is the prefix and its number, filled with zeros up to the key size, or a hash of it.  A value is 8
 * bytes that only this key has, then a slice of one shared pattern at an offset that the key decides; its
 * length follows from the key too. The pattern is random bytes, of which a given part can be made
 * compressible.
 *
 * Constant after dataset_create: any thread. */
#ifndef COFFER_BENCH_DATASET_H
#define COFFER_BENCH_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/slice.h"
#include "src/base/status.h"

enum { DATASET_KEY_MAX = 1024 };

struct dataset_config {
    const char *prefix;
    size_t key_size; /* 0: no zeros in front of the number */
    bool hashed;     /* keys are the prefix and 32 hexadecimal digits; key_size does not matter */
    size_t value_min, value_max;
    unsigned compressible; /* percent */
    uint64_t keys;
    uint64_t seed; /* another seed, other values */
};

struct dataset;

/* ST_LIMIT when key_size has no room for the largest number, or exceeds DATASET_KEY_MAX. */
enum status dataset_create(struct dataset **dataset, const struct dataset_config *config) MUST_CHECK;
void dataset_destroy(struct dataset **dataset);

size_t dataset_key_max(const struct dataset *dataset);
size_t dataset_value_max(const struct dataset *dataset);

/* Each writes at `out`, which must have room, and returns the end of what was written. */
char *dataset_key(const struct dataset *dataset, uint64_t id, char *out);
char *dataset_value(const struct dataset *dataset, uint64_t id, char *out);

size_t dataset_key_size(const struct dataset *dataset, uint64_t id);
size_t dataset_value_size(const struct dataset *dataset, uint64_t id);

bool dataset_is_key(const struct dataset *dataset, uint64_t id, struct slice key);
/* Whether `part` is what the value has at `offset`. */
bool dataset_is_value(const struct dataset *dataset, uint64_t id, size_t offset, struct slice part);

#endif
