/* SPDX-License-Identifier: BSD-3-Clause */
/* ballast: disk space held back in a file, given up when the disk is full.
 *
 * What frees space needs some first: a start needs a log segment, a checkpoint of deletes needs pages of the tree, a
 * flush_all a new tree file, dropping what has expired some pages, too.  So a file of BALLAST bytes is kept while there
 * is plenty of room, and emptied when one of these fails for lack of it; it is filled again when there is plenty.
 * Other writes get an error instead: they would use it up, and the next start would find nothing.
 *
 * Used by whoever opens the store, then by the tree thread. */
#ifndef COFFER_STORAGE_BALLAST_H
#define COFFER_STORAGE_BALLAST_H

#include <stdbool.h>
#include <stdint.h>

struct store;

/* Notes whether it is there; once, at start. */
void ballast_look(struct store *store);

/* Allocates the ballast if it is missing and the filesystem has more than three times its size free. */
void ballast_fill(struct store *store);

/* True if there was ballast and its space is free now: what failed is worth another try. */
bool ballast_release(struct store *store);

#endif
