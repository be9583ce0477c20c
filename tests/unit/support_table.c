/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_table.h"

#include <stdlib.h>

#include "src/base/check.h"
#include "tests/unit/support_items.h"

struct table *make_table(uint64_t budget, unsigned stripes) {
    struct table *table;

    CHECK(table_create(&table, &(struct table_config){.budget = budget, .stripes = stripes}) == ST_OK);
    return table;
}

struct table_figures figures_of(struct table *table) {
    struct table_figures figures;

    table_figures(table, &figures);
    return figures;
}

void step_publish(struct table *table, struct item *fresh, bool in_tree) {
    uint64_t hash = table_hash(table, item_key(fresh));
    struct stripe *stripe = table_lock(table, hash);

    stripe_publish(stripe, hash, fresh, in_tree);
    table_unlock(stripe);
}

void step_publish_value(struct table *table, const char *key, uint64_t lsn, bool in_tree) {
    step_publish(table, make_item(slice_str(key), TABLE_VALUE, lsn), in_tree);
}

void step_publish_tombstone(struct table *table, const char *key, uint64_t lsn, bool in_tree) {
    step_publish(table, make_tombstone(slice_str(key), lsn), in_tree);
}

struct item *step_get(struct table *table, const char *key) {
    uint64_t hash = table_hash(table, slice_str(key));
    struct stripe *stripe = table_lock(table, hash);
    struct item *item = stripe_find(stripe, hash, slice_str(key));

    if (item != NULL)
        item_ref(item);
    table_unlock(stripe);
    return item;
}

uint64_t step_found(struct table *table, const char *key) {
    struct item *item = step_get(table, key);
    uint64_t lsn = item != NULL ? item->lsn : 0;

    item_unref(&item);
    return lsn;
}

void step_hit(struct table *table, const char *key, int64_t now) {
    uint64_t hash = table_hash(table, slice_str(key));
    struct stripe *stripe = table_lock(table, hash);
    struct item *item = stripe_find(stripe, hash, slice_str(key));

    CHECK(item != NULL);
    stripe_hit(stripe, item, now);
    table_unlock(stripe);
}

void step_fill(struct table *table, const char *key, uint64_t lsn) {
    uint64_t hash = table_hash(table, slice_str(key));
    struct stripe *stripe = table_lock(table, hash);

    stripe_fill(stripe, hash, make_item(slice_str(key), TABLE_VALUE, lsn));
    table_unlock(stripe);
}

void step_drop(struct table *table, const char *key) {
    uint64_t hash = table_hash(table, slice_str(key));
    struct stripe *stripe = table_lock(table, hash);
    struct item *item = stripe_find(stripe, hash, slice_str(key));

    CHECK(item != NULL);
    stripe_drop(stripe, item);
    table_unlock(stripe);
}

uint64_t floor_of(struct table *table, const char *key) {
    struct stripe *stripe = table_lock(table, table_hash(table, slice_str(key)));
    uint64_t floor = stripe_floor(stripe);

    table_unlock(stripe);
    return floor;
}

void step_mark(struct table *table, const char *key, uint64_t number) {
    struct item *item = step_get(table, key);

    CHECK(item != NULL);
    table_mark_clean(table, item, number);
    item_unref(&item);
}

void step_flush(struct table *table, uint64_t lsn) {
    table_lock_all(table);
    table_flush(table, lsn);
    table_unlock_all(table);
}

size_t step_checkpoint(struct table *table, uint64_t number) {
    struct item **items;
    size_t count;

    CHECK(table_collect_dirty(table, &items, &count) == ST_OK);
    for (size_t i = 0; i < count; i++) {
        table_mark_clean(table, items[i], number);
        item_unref(&items[i]);
    }
    free(items);
    return count;
}
