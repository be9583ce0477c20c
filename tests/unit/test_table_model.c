/* SPDX-License-Identifier: BSD-3-Clause */
/* The table against a model: one thread does at random what workers, tree thread and readers do side by side.
 *
 * The model knows the newest version of each key (truth), plays the tree (its records, its commits and their numbers,
 * a new generation after a flush) and reads that were begun and are used much later.  It asserts what the store
 * relies on: DIRTY versions are found, nothing dead or old is, a tree result that the floor admits is the truth, and
 * tree records plus delta are the live keys whenever no checkpoint is half marked. */
#include "storage/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/check.h"
#include "storage/item.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"

enum { KEYS = 300, READS = 20, CHUNK = 25, ROUNDS = 300000, GENERATION = 1 << 20 };

struct version {
    uint64_t lsn; /* 0 = none */
    bool value;   /* else a tombstone */
};

struct read {
    bool begun;
    unsigned key;
    uint64_t number;
    struct version result;
};

enum phase { IDLE, APPLYING, MARKING };

struct model {
    struct table *table;
    uint64_t random;
    uint64_t lsn;   /* the last one given */
    uint64_t flush; /* its LSN */
    uint64_t birth; /* of the tree */
    uint64_t number;
    struct version truth[KEYS];
    struct version tree[KEYS]; /* values only */
    uint64_t dirty[KEYS];      /* LSN of the DIRTY version, dead ones too; 0 = none */
    size_t dirty_bytes[KEYS];
    struct read reads[READS];
    /* the running checkpoint */
    enum phase phase;
    struct item **items;
    size_t count, next;
    unsigned long found, missed, refused, filled, checkpoints, flushes;
};

static struct slice model_key(char *text, unsigned key) {
    return number_key(text, key);
}

static bool alive(const struct model *model, struct version version) {
    return version.value && version.lsn >= model->flush;
}

/* ---- workers ---- */

static void model_publish(struct model *model, unsigned key) {
    char text[KEY_TEXT_BYTES];
    struct slice name = model_key(text, key);
    uint64_t hash = table_hash(model->table, name);
    bool value = random_below(&model->random, 4) != 0;
    struct item *fresh = value ? make_item(name, random_below(&model->random, 400), ++model->lsn)
                               : make_tombstone(name, ++model->lsn);
    size_t bytes = item_footprint(fresh);
    struct stripe *stripe = table_lock(model->table, hash);

    stripe_publish(stripe, hash, fresh, alive(model, model->tree[key]));
    assert_ptr_equal(stripe_find(stripe, hash, name), fresh);
    table_unlock(stripe);
    model->truth[key] = (struct version){model->lsn, value};
    model->dirty[key] = model->lsn;
    model->dirty_bytes[key] = bytes;
}

/* What is found must be the truth; a live DIRTY version must be found. */
static void check_found(struct model *model, unsigned key, const struct item *item) {
    struct version truth = model->truth[key];

    if (item == NULL) {
        assert_false(model->dirty[key] != 0 && model->dirty[key] >= model->flush);
        model->missed++;
        return;
    }
    assert_int_equal(item->lsn, truth.lsn);
    assert_int_equal(item->kind == ITEM_VALUE, truth.value);
    assert_true(item->lsn >= model->flush);
    assert_true(item_is_whole(item));
    if (item->queue == ITEM_DIRTY)
        assert_int_equal(model->dirty[key], item->lsn);
    else
        assert_int_equal(model->dirty[key], 0);
    model->found++;
}

static void model_find(struct model *model, unsigned key) {
    char text[KEY_TEXT_BYTES];
    struct slice name = model_key(text, key);
    uint64_t hash = table_hash(model->table, name);
    struct stripe *stripe = table_lock(model->table, hash);
    struct item *item = stripe_find(stripe, hash, name);

    check_found(model, key, item);
    if (item != NULL && random_below(&model->random, 2) == 0)
        stripe_hit(stripe, item, 1);
    else if (item != NULL && item->queue != ITEM_DIRTY && random_below(&model->random, 4) == 0)
        stripe_drop(stripe, item);
    table_unlock(stripe);
}

/* ---- reads of the tree ---- */

static void model_read_begin(struct model *model, unsigned key) {
    struct read *read = &model->reads[random_below(&model->random, READS)];

    if (!read->begun)
        *read = (struct read){true, key, model->number, model->tree[key]};
}

/* The result is looked at much later: the floor says whether it still holds. */
static void model_read_end(struct model *model) {
    struct read *read = &model->reads[random_below(&model->random, READS)];
    char text[KEY_TEXT_BYTES];
    struct slice name = model_key(text, read->key);
    uint64_t hash = table_hash(model->table, name);
    struct stripe *stripe;
    struct item *item;

    if (!read->begun)
        return;
    read->begun = false;
    stripe = table_lock(model->table, hash);
    item = stripe_find(stripe, hash, name);
    check_found(model, read->key, item);
    if (item == NULL && read->number < stripe_floor(stripe)) {
        model->refused++;
    } else if (item == NULL) {
        assert_int_equal(alive(model, read->result), alive(model, model->truth[read->key]));
        if (alive(model, read->result)) {
            assert_int_equal(read->result.lsn, model->truth[read->key].lsn);
            stripe_fill(stripe, hash,
                        make_item(name, random_below(&model->random, 400), read->result.lsn));
            model->dirty[read->key] = 0; /* a dead one, if any */
            model->filled++;
        }
    }
    table_unlock(stripe);
}

/* ---- flush and the tree thread ---- */

static void model_flush(struct model *model) {
    table_lock_all(model->table);
    table_flush(model->table, ++model->lsn);
    table_unlock_all(model->table);
    model->flush = model->lsn;
    model->flushes++;
}

static void replace_tree(struct model *model) {
    memset(model->tree, 0, sizeof model->tree);
    model->birth = model->flush;
    model->number = (model->number / GENERATION + 1) * GENERATION;
    table_lock_all(model->table);
    table_raise_floors(model->table, model->number);
    table_unlock_all(model->table);
}

static void checkpoint_begin(struct model *model) {
    size_t expected = 0;

    if (model->birth < model->flush)
        replace_tree(model);
    assert_ok(table_collect_dirty(model->table, &model->items, &model->count));
    for (unsigned i = 0; i < KEYS; i++)
        expected += model->dirty[i] != 0;
    assert_int_equal(model->count, expected);
    model->next = 0;
    model->phase = APPLYING;
}

static unsigned key_of(const struct item *item) {
    char text[KEY_TEXT_BYTES] = {0};

    memcpy(text, item_key(item).p, item_key(item).n); /* no end of string stands behind a key */
    return (unsigned)strtoul(text + strlen("key"), NULL, 10);
}

static void checkpoint_apply(struct model *model) {
    for (int i = 0; i < CHUNK && model->next < model->count; i++) {
        const struct item *item = model->items[model->next++];
        unsigned key = key_of(item);
        if (item->lsn < model->flush)
            continue;
        assert_true(item->lsn > model->tree[key].lsn);
        model->tree[key] = item->kind == ITEM_VALUE ? (struct version){item->lsn, true} : (struct version){0};
    }
    model->number++;
    if (model->next == model->count) {
        model->next = 0;
        model->phase = MARKING;
    }
}

static void check_delta(struct model *model) {
    struct table_figures figures;
    int64_t live = 0;
    int64_t records = 0;
    uint64_t dirty = 0;
    uint64_t dirty_bytes = 0;

    table_figures(model->table, &figures);
    for (unsigned i = 0; i < KEYS; i++) {
        live += alive(model, model->truth[i]);
        records += alive(model, model->tree[i]);
        dirty += model->dirty[i] != 0;
        dirty_bytes += model->dirty[i] != 0 ? model->dirty_bytes[i] : 0;
    }
    assert_int_equal(records + figures.delta, live);
    assert_int_equal(figures.items_dirty, dirty);
    assert_int_equal(figures.bytes_dirty, dirty_bytes);
    assert_true(figures.bytes >= dirty_bytes);
    assert_true(figures.items >= dirty);
}

static void checkpoint_mark(struct model *model) {
    for (int i = 0; i < CHUNK && model->next < model->count; i++) {
        struct item **item = &model->items[model->next++];
        unsigned key = key_of(*item);
        if (model->dirty[key] == (*item)->lsn)
            model->dirty[key] = 0;
        table_mark_clean(model->table, *item, model->number);
        item_unref(item);
    }
    if (model->next == model->count) {
        free(model->items);
        model->phase = IDLE;
        model->checkpoints++;
        check_delta(model);
    }
}

static void checkpoint_step(struct model *model) {
    switch (model->phase) {
    case IDLE:
        check_delta(model);
        checkpoint_begin(model);
        break;
    case APPLYING:
        checkpoint_apply(model);
        break;
    case MARKING:
        checkpoint_mark(model);
        break;
    }
}

/* ---- all together ---- */

static void model_memory(struct model *model) {
    struct table_figures figures;

    table_figures(model->table, &figures);
    table_set_budget(model->table, figures.buckets_bytes + 20000 + random_below(&model->random, 80000));
    table_reclaim(model->table);
}

static void model_step(struct model *model) {
    unsigned key = random_below(&model->random, KEYS);
    unsigned dice = random_below(&model->random, 1000);

    if (dice < 80)
        model_publish(model, key);
    else if (dice < 340)
        model_find(model, key);
    else if (dice < 650)
        model_read_begin(model, key);
    else if (dice < 960)
        model_read_end(model);
    else if (dice < 995)
        checkpoint_step(model);
    else if (dice < 999)
        model_memory(model);
    else if (random_below(&model->random, 10) == 0)
        model_flush(model);
}

static void the_table_agrees_with_the_model(void **state) {
    (void)state;
    static const unsigned stripes[] = {1, 2, 8};

    for (size_t i = 0; i < sizeof stripes / sizeof *stripes; i++) {
        struct model *model = calloc(1, sizeof *model);
        assert_non_null(model);
        model->random = random_seed("model");
        model->number = GENERATION;
        assert_ok(table_create(&model->table,
                               &(struct table_config){.budget = 100000, .stripes = stripes[i]}));
        for (unsigned n = 0; n < ROUNDS; n++)
            model_step(model);
        while (model->phase != IDLE)
            checkpoint_step(model);
        printf("stripes %u: found %lu missed %lu refused %lu filled %lu checkpoints %lu flushes %lu\n",
               stripes[i], model->found, model->missed, model->refused, model->filled, model->checkpoints,
               model->flushes);
        assert_true(model->found > ROUNDS / 20 && model->missed > ROUNDS / 20 && model->refused > ROUNDS / 100 &&
                    model->filled > ROUNDS / 100 && model->flushes > 0);
        table_destroy(&model->table);
        free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_agrees_with_the_model),
    };

    return cmocka_run_group_tests_name("table_model", tests, NULL, NULL);
}
