/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps that tests of the table are made of: each takes the key's lock, makes one call and drops the lock. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_TABLE_H
#define COFFER_TESTS_UNIT_SUPPORT_TABLE_H

#include "storage/item.h"
#include "storage/table.h"

enum { TABLE_PLENTY = 1 << 28, TABLE_VALUE = 100 /* bytes of the values made here */ };

struct table *make_table(uint64_t budget, unsigned stripes);
struct table_figures figures_of(struct table *table);

void step_publish(struct table *table, struct item *fresh, bool in_tree);
void step_publish_value(struct table *table, const char *key, uint64_t lsn, bool in_tree);
void step_publish_tombstone(struct table *table, const char *key, uint64_t lsn, bool in_tree);
struct item *step_get(struct table *table, const char *key); /* a reference to what is found, or NULL */
uint64_t step_found(struct table *table, const char *key);   /* its LSN; 0 = nothing */
void step_hit(struct table *table, const char *key, int64_t now);
void step_fill(struct table *table, const char *key, uint64_t lsn);
void step_drop(struct table *table, const char *key);
uint64_t floor_of(struct table *table, const char *key);
void step_mark(struct table *table, const char *key, uint64_t number);
void step_flush(struct table *table, uint64_t lsn);
/* All DIRTY items, dead ones too, are applied by the commit `number`; returns how many. */
size_t step_checkpoint(struct table *table, uint64_t number);

#endif
