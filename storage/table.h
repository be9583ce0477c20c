/* SPDX-License-Identifier: BSD-3-Clause */
/* table: the RAM table, a hash table cut into stripes, with S3-FIFO eviction inside each stripe.
 *
 * It keeps DIRTY items (not yet in the tree; never dropped) and CLEAN ones (copies of what the tree holds; may be
 * dropped at any time), tombstones among both.  One global budget of memory; each stripe evicts from itself first.
 *
 * S3-FIFO: Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023: a small queue of 10 % of the
 * clean bytes, a main queue, a ghost queue of fingerprints as many as main has items; items leave small for main
 * when they were hit since, main gives another round to items with a counter above 0.
 *
 * The floor (DESIGN section 5): `clean` is the number of the last tree commit that made items of this stripe CLEAN;
 * dropping an item or tombstone that was written (not filled) sets floor = clean.  A result read from the tree is
 * valid only if its number >= floor, tested under the stripe lock.
 *
 * Flush: items with an LSN below the flush LSN are dead: stripe_find never returns them, and drops them once CLEAN.
 *
 * Any thread.  Functions named stripe_* need the stripe's lock, which table_lock takes.  Nothing in here blocks. */
#ifndef COFFER_STORAGE_TABLE_H
#define COFFER_STORAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/slice.h"
#include "src/base/status.h"

struct item;
struct table;
struct stripe;

struct table_config {
    uint64_t budget;  /* bytes, by item_footprint plus the table's own stripes, indexes and ghosts */
    unsigned stripes; /* a power of two; 0 = chosen from the budget (one for 256 KB, 64 to 16,384) */
};

enum status table_create(struct table **table, const struct table_config *config) MUST_CHECK;
void table_destroy(struct table **table); /* drops all items; nobody else may use the table */

/* The hash of a key in this table (seeded per table). */
uint64_t table_hash(const struct table *table, struct slice key);

/* Brings what lookups of these keys touch first into the processor's caches, side by side: a lookup alone waits for two
 * or three cache lines one after the other.  Changes nothing else. */
enum { TABLE_FETCH_MAX = 16 };
void table_fetch(struct table *table, const struct slice *keys, unsigned count);

struct stripe *table_lock(struct table *table, uint64_t hash);
void table_unlock(struct stripe *stripe);
void table_lock_all(struct table *table);
void table_unlock_all(struct table *table);

/* The newest version in RAM, tombstones and expired ones included, dead ones (flush) excluded; borrowed until
 * table_unlock, even if the item leaves the table before. */
struct item *stripe_find(struct stripe *stripe, uint64_t hash, struct slice key);

/* A read has hit the item: counts for S3-FIFO, sets fetched and access. */
void stripe_hit(struct stripe *stripe, struct item *item, int64_t now);

/* Makes `fresh` (lsn set, in no queue) the key's version as DIRTY and takes over the caller's reference.  An older
 * version in RAM leaves the table, handing on its S3-FIFO counter and in_tree.  in_tree: the tree is known to hold
 * the key, looked at only when no older live version is in RAM.  `access` and `fetched` are the caller's to set.
 * Evicts CLEAN items of this stripe when over budget.  May need memory for the stripe's index; without it lookups
 * only get slower.  Never fails. */
void stripe_publish(struct stripe *stripe, uint64_t hash, struct item *fresh, bool in_tree);

/* Adds a CLEAN copy read from the tree; the key must not be in RAM (as stripe_find sees it) and the floor must
 * have been checked.  Takes over the reference.  It may be evicted at once. */
void stripe_fill(struct stripe *stripe, uint64_t hash, struct item *item);

/* Drops a CLEAN item from RAM. */
void stripe_drop(struct stripe *stripe, struct item *item);

uint64_t stripe_floor(const struct stripe *stripe);

/* The tree holds this version now (commit `number`): if `item` is still the key's version it becomes CLEAN (a
 * tombstone, or an item below the flush LSN, is dropped); sets the stripe's clean first in any case. */
void table_mark_clean(struct table *table, struct item *item, uint64_t number);

/* Takes a reference to every DIRTY item, dead ones too (table_mark_clean drops them), a stripe at a time.  *items is
 * malloced, in no order; the caller unrefs each and frees the array.  On ST_NO_MEMORY nothing is held. */
enum status table_collect_dirty(struct table *table, struct item ***items, size_t *count) MUST_CHECK;

/* Calls fn(arg, item) for every DIRTY item, dead ones too, under its stripe lock, a stripe at a time; fn must be
 * short. */
void table_each_dirty(struct table *table, void (*fn)(void *arg, struct item *item), void *arg);

/* All stripe locks are held: everything with an LSN below `lsn` is dead, the deltas of curr_items start at 0. */
void table_flush(struct table *table, uint64_t lsn);
uint64_t table_flush_lsn(const struct table *table); /* atomic read */

/* Raises every stripe's floor (after a switch of trees): all locks must be held. */
void table_raise_floors(struct table *table, uint64_t number);

/* Evicts from other stripes, one lock at a time, while over budget; bounded work per call.  No lock may be held. */
void table_reclaim(struct table *table);
void table_set_budget(struct table *table, uint64_t bytes);

/* Relaxed sums, exact when nothing runs. */
struct table_figures {
    uint64_t items, items_dirty, bytes, bytes_dirty; /* tombstones and not yet dropped dead ones included */
    uint64_t evictions, evictions_unfetched;
    int64_t delta; /* over DIRTY live items and tombstones: (value ? 1 : 0) - in_tree */
    uint64_t buckets_bytes; /* stripes, indexes, ghosts */
};
void table_figures(const struct table *table, struct table_figures *figures);
/* One atomic load: for admission of writers. */
uint64_t table_bytes_dirty(const struct table *table);

#endif
