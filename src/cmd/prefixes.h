/* SPDX-License-Identifier: BSD-3-Clause */
/* prefixes: counters for each key prefix, `stats detail`.
 *
 * A prefix is what stands before a key's first ':'; keys without one are not counted.  Nothing is counted until
 * prefixes_enable: then each call takes one lock, as memcached does it.  At most PREFIXES_MAX are kept apart, what
 * comes later is summed under one name, so that clients cannot fill the memory.
 *
 * Any thread.  All functions but create accept NULL: nothing is counted. */
#ifndef COFFER_CMD_PREFIXES_H
#define COFFER_CMD_PREFIXES_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/base/slice.h"
#include "src/base/status.h"

enum { PREFIXES_MAX = 4096 };

struct prefixes;

enum status prefixes_create(struct prefixes **prefixes) MUST_CHECK;
void prefixes_destroy(struct prefixes **prefixes);

void prefixes_enable(struct prefixes *prefixes, bool enabled);
bool prefixes_enabled(const struct prefixes *prefixes);
void prefixes_reset(struct prefixes *prefixes);

void prefixes_get(struct prefixes *prefixes, struct slice key, bool hit);
void prefixes_set(struct prefixes *prefixes, struct slice key);
void prefixes_delete(struct prefixes *prefixes, struct slice key);

/* Appends "PREFIX name get n hit n set n del n" and NUL for each prefix in the order of their first use; bytes that are
 * not printable are written as %XX. */
enum status prefixes_dump(struct prefixes *prefixes, struct buffer *lines) MUST_CHECK;

#endif
