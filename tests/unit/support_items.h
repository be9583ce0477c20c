/* SPDX-License-Identifier: BSD-3-Clause */
/* Items for tests of what is below the store: the versions that the store would make. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_ITEMS_H
#define COFFER_TESTS_UNIT_SUPPORT_ITEMS_H

#include <stdint.h>

#include "storage/item.h"

/* Value bytes are all (char)lsn, so that a reader can tell a torn or foreign value. */
struct item *make_item(struct slice key, size_t value_length, uint64_t lsn);
struct item *make_tombstone(struct slice key, uint64_t lsn);
/* Does the value hold what make_item wrote? */
bool item_is_whole(const struct item *item);

/* "key000000042" in `text`, which has room for KEY_TEXT_BYTES. */
enum { KEY_TEXT_BYTES = 16 };
struct slice number_key(char *text, unsigned number);

/* xorshift64*; the state is never 0. */
uint64_t random_next(uint64_t *state);
unsigned random_below(uint64_t *state, unsigned limit);
/* From the environment's TEST_SEED, else from the kernel; printed, so that a failure can be repeated. */
uint64_t random_seed(const char *test);

#endif
