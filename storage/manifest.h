/* SPDX-License-Identifier: BSD-3-Clause */
/* manifest: the file MANIFEST in the store's directory, which names the tree in use.
 *
 * Replacing it is the commit point of a switch to a new tree.  It is four lines of text, the last one a checksum
 * keyed with the store's secret, so a manifest beside the wrong secret is refused too:
 *
 *     coffer manifest 1
 *     generation 7
 *     tree tree/00000007.mdb
 *     sum 0123456789abcdef
 *
 * One thread at a time. */
#ifndef COFFER_STORAGE_MANIFEST_H
#define COFFER_STORAGE_MANIFEST_H

#include <stdint.h>

#include "src/base/fault.h"
#include "src/base/hash.h"
#include "src/base/status.h"

#define MANIFEST_NAME "MANIFEST"

struct manifest {
    uint64_t generation; /* of the tree; 1 is the first */
};

enum { MANIFEST_TREE_NAME = 32 };

/* The file of a generation, relative to the tree's directory. */
void manifest_tree_name(uint64_t generation, char name[MANIFEST_TREE_NAME]);

/* ST_NOT_FOUND: there is none; ST_CORRUPT: it is damaged, of a later format, or belongs to another secret. */
enum status manifest_read(int dir, const struct hash_secret *secret, struct manifest *manifest) MUST_CHECK;

/* Durable after ST_OK.  After an error either the old or the new one may be in force. */
enum status manifest_write(int dir, const struct hash_secret *secret, struct faults *faults,
                           const struct manifest *manifest) MUST_CHECK;

#endif
