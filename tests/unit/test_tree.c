/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/tree_internal.h"
#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"
#include "tests/unit/support_tree.h"

/* Sanitizers need the address space that one test takes away. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CAN_LIMIT_MEMORY = 0 };
#else
enum { CAN_LIMIT_MEMORY = 1 };
#endif

static void a_fresh_directory_gets_the_first_generation(void **state) {
    (void)state;
    struct tree_test t;
    struct tree_marks marks;
    struct stat about;
    char text[256];
    tree_test_make(&t);
    assert_true(tree_generation(t.tree) == 1);
    assert_true(tree_items(t.tree) == 0);
    assert_true(tree_birth(t.tree) == 0);
    tree_get_marks(t.tree, &marks);
    assert_true(marks.applied == 0 && marks.m == 0 && marks.birth == 0 && marks.wall == 0 && marks.flush_at == 0);
    tree_test_expect(&t, "key", NULL);
    assert_true(test_dir_read(&t.dir, "MANIFEST", text, sizeof text) > 0);
    assert_int_equal(fstatat(t.dir.fd, "tree/00000001.mdb", &about, 0), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    tree_test_remove(&t);
}

static void check_comes_back(struct tree_test *t, struct item *item) {
    struct item_view put, got;
    item_look(item, &put);
    assert_ok(tree_txn_begin(t->tree));
    assert_ok(tree_txn_apply(t->tree, item, 0));
    assert_ok(tree_test_commit(t));
    struct item *found = tree_test_get(t, put.key);
    assert_non_null(found);
    item_look(found, &got);
    assert_true(slice_equal(put.key, got.key) && slice_equal(put.value, got.value));
    assert_memory_equal(got.value.p + got.value.n, "\r\n", 2);
    assert_int_equal(put.flags, got.flags);
    assert_true(put.exptime == got.exptime && put.lsn == got.lsn && put.cas == got.cas);
    assert_int_equal(put.marks, got.marks);
    item_unref(&found);
    item_unref(&item);
}

static void what_was_put_comes_back(void **state) {
    (void)state;
    static const size_t values[] = {0, 1, 100, 1990, 2040, 4096, 5000, 1 << 20, 64 << 20};
    static const int64_t exptimes[] = {0, 1, INT64_C(5000000000), INT64_MAX};
    struct tree_test t;
    char key[STORE_KEY_MAX];
    tree_test_make(&t);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        memset(key, 'a', sizeof key);
        key[0] = (char)i;
        struct item *item = make_item(slice_of(key, i % 2 ? STORE_KEY_MAX : 1), values[i], ++t.lsn);
        item_set(item, i % 3 ? UINT32_MAX - (uint32_t)i : 0, exptimes[i % 4], (unsigned)i % 4);
        if (i % 2)
            assert_ok(item_set_cas(&item, UINT64_MAX - i));
        check_comes_back(&t, item);
    }
    tree_test_remove(&t);
}

static void any_byte_may_stand_in_a_key(void **state) {
    (void)state;
    struct tree_test t;
    char key[3] = {0, 0, 0};
    tree_test_make(&t);
    for (unsigned c = 0; c < 256; c++) {
        key[0] = key[2] = (char)c;
        check_comes_back(&t, make_item(slice_of(key, 1), c, ++t.lsn));
        check_comes_back(&t, make_item(slice_of(key, 3), c + 1, ++t.lsn));
    }
    assert_true(tree_items(t.tree) == 512);
    tree_test_remove(&t);
}

static void an_older_version_never_replaces_a_newer(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    t.lsn = 10;
    tree_test_set(&t, "key", "new", 0);
    t.lsn = 8;
    tree_test_set(&t, "key", "old", 0);
    tree_test_expect(&t, "key", "new");
    tree_test_delete(&t, "key"); /* LSN 10 */
    tree_test_expect(&t, "key", "new");
    tree_test_delete(&t, "key"); /* LSN 11 is the record's own */
    tree_test_expect(&t, "key", "new");
    tree_test_delete(&t, "key");
    tree_test_expect(&t, "key", NULL);
    assert_true(tree_items(t.tree) == 0);
    tree_test_remove(&t);
}

static void a_tombstone_for_nothing_is_nothing(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_delete(&t, "key");
    assert_true(tree_items(t.tree) == 0);
    tree_test_remove(&t);
}

static void what_has_expired_is_deleted_not_put(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "key", "first", 0);
    assert_ok(tree_txn_begin(t.tree));
    struct item *item = make_item(slice_str("key"), 1, ++t.lsn);
    item_set(item, 0, 1000, 0);
    tree_test_apply(&t, item, 1000);
    item = make_item(slice_str("live"), 1, ++t.lsn);
    item_set(item, 0, 1001, 0);
    tree_test_apply(&t, item, 1000);
    item = make_item(slice_str("unasked"), 1, ++t.lsn);
    item_set(item, 0, 1000, 0);
    tree_test_apply(&t, item, 0);
    assert_ok(tree_test_commit(&t));
    assert_true(tree_items(t.tree) == 2);
    tree_test_expect(&t, "key", NULL);
    assert_int_equal(tree_test_index_entries(&t), 2);
    tree_test_remove(&t);
}

static void marks_are_committed_with_the_data(void **state) {
    (void)state;
    const struct tree_marks marks = {.applied = UINT64_C(1) << 50, .m = 7, .birth = 0, .wall = INT64_C(1) << 40,
                                     .flush_at = -3};
    struct tree_marks read;
    struct tree_test t;
    tree_test_make(&t);
    assert_ok(tree_txn_begin(t.tree));
    tree_test_apply(&t, make_item(slice_str("a"), 5, 1), 0);
    assert_ok(tree_txn_commit(t.tree, &marks));
    assert_ok(tree_txn_begin(t.tree));
    tree_test_apply(&t, make_item(slice_str("b"), 5, 2), 0);
    tree_txn_abort(t.tree);
    tree_test_reopen(&t);
    tree_get_marks(t.tree, &read);
    assert_true(read.applied == marks.applied && read.m == marks.m && read.birth == marks.birth);
    assert_true(read.wall == marks.wall && read.flush_at == marks.flush_at);
    assert_true(tree_items(t.tree) == 1);
    tree_test_expect(&t, "b", NULL);
    assert_true(tree_bytes(t.tree) >= 2 * 4096);
    tree_test_remove(&t);
}

static void a_snapshot_is_named_by_the_commit_it_sees(void **state) {
    (void)state;
    struct tree_test t;
    struct item *item;
    uint64_t last = 0, number, birth;
    tree_test_make(&t);
    for (unsigned i = 0; i < 20; i++) {
        tree_test_set(&t, "key", "value", 0);
        assert_true(tree_number(t.tree) > last);
        last = tree_number(t.tree);
        assert_ok(tree_get(t.reader, slice_str("key"), &item, &number, &birth));
        assert_true(number == last && item->lsn == t.lsn && birth == 0);
        item_unref(&item);
        if (i % 8 == 5)
            tree_test_reopen(&t);
        assert_true(tree_number(t.tree) == last);
    }
    assert_ok(tree_replace(t.tree, &(struct tree_marks){.applied = 20, .m = 20, .birth = 20}));
    assert_true(tree_number(t.tree) > last);
    assert_ok(tree_get(t.reader, slice_str("key"), &item, &number, &birth));
    assert_null(item);
    assert_true(number == tree_number(t.tree) && birth == 20 && number >> 40 == 2);
    tree_test_remove(&t);
}

static void readers_do_not_see_what_is_not_committed(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    assert_ok(tree_txn_begin(t.tree));
    tree_test_apply(&t, make_item(slice_str("key"), 5, 1), 0);
    tree_test_expect(&t, "key", NULL);
    assert_ok(tree_test_commit(&t));
    assert_ok(tree_test_look(&t, "key"));
    tree_test_remove(&t);
}

static void there_are_as_many_readers_as_configured(void **state) {
    (void)state;
    struct tree_test t;
    struct tree_reader *readers[TREE_TEST_READERS];
    tree_test_make(&t);
    for (unsigned i = 1; i < TREE_TEST_READERS; i++)
        assert_ok(tree_reader_open(&readers[i], t.tree));
    assert_status(tree_reader_open(&readers[0], t.tree), ST_LIMIT);
    tree_reader_close(&readers[3]);
    assert_ok(tree_reader_open(&readers[3], t.tree));
    for (unsigned i = 1; i < TREE_TEST_READERS; i++)
        tree_reader_close(&readers[i]);
    tree_test_remove(&t);
}

static void dirty_bytes_are_roughly_known(void **state) {
    (void)state;
    enum { COUNT = 2000, VALUE = 1000 };
    struct tree_test t;
    char text[KEY_TEXT_BYTES];
    tree_test_make(&t);
    for (unsigned round = 0; round < 2; round++) { /* inserting, then replacing */
        assert_ok(tree_txn_begin(t.tree));
        assert_true(tree_txn_bytes(t.tree) == 0);
        for (unsigned i = 0; i < COUNT; i++)
            tree_test_apply(&t, make_item(number_key(text, i), VALUE, ++t.lsn), 0);
        uint64_t estimate = tree_txn_bytes(t.tree);
        assert_ok(tree_test_commit(&t)); /* of every page */
        assert_in_range(estimate, tree_bytes(t.tree) / 3, tree_bytes(t.tree) * 3);
    }
    assert_ok(tree_txn_begin(t.tree));
    tree_test_apply(&t, make_item(slice_str("large"), 10 << 20, ++t.lsn), 0);
    assert_in_range(tree_txn_bytes(t.tree), 10 << 20, 11 << 20);
    tree_txn_abort(t.tree);
    tree_test_remove(&t);
}

/* ---- against a model ---- */

enum { MODEL_KEYS = 700, MODEL_STEPS = 6000 };

struct model {
    struct item *items[MODEL_KEYS]; /* NULL: no record */
    uint64_t deleted[MODEL_KEYS];   /* the LSN up to which it is gone */
};

static void model_apply(struct tree_test *t, struct model *model, uint64_t *random, unsigned k) {
    char text[KEY_TEXT_BYTES];
    struct slice key = number_key(text, k);
    uint64_t lsn = ++t->lsn - (random_below(random, 20) == 0 ? 500 : 0); /* now and then an old one */
    struct item *item = random_below(random, 3) == 0
                            ? make_tombstone(key, lsn)
                            : make_item(key, random_below(random, random_below(random, 50) ? 300 : 30000), lsn);
    struct item *old = model->items[k];
    bool newer = old != NULL && old->lsn >= lsn;
    /* Nothing remembers the LSN of a deletion: checkpoints apply each key's last version, in order. */
    if (old == NULL && model->deleted[k] >= lsn) {
        item_unref(&item);
        return;
    }
    assert_ok(tree_txn_apply(t->tree, item, 0));
    if (newer) {
        item_unref(&item);
        return;
    }
    item_unref(&model->items[k]);
    if (item->kind == ITEM_TOMBSTONE) {
        model->deleted[k] = lsn;
        item_unref(&item);
    }
    model->items[k] = item;
}

static void model_compare(struct tree_test *t, const struct model *model) {
    char text[KEY_TEXT_BYTES];
    unsigned count = 0;
    for (unsigned k = 0; k < MODEL_KEYS; k++) {
        struct item *found = tree_test_get(t, number_key(text, k));
        const struct item *wanted = model->items[k];
        assert_int_equal(found != NULL, wanted != NULL);
        if (found != NULL) {
            assert_true(found->lsn == wanted->lsn);
            assert_true(slice_equal(item_value(found), item_value(wanted)));
            count++;
        }
        item_unref(&found);
    }
    assert_true(tree_items(t->tree) == count);
}

/* The same records put into another tree by another way have the same sum. */
static void model_compare_sum(struct tree_test *t, const struct model *model) {
    struct tree_test other;
    tree_test_make(&other);
    tree_test_close(&other);
    other.secret = t->secret;
    assert_int_equal(unlinkat(other.dir.fd, "MANIFEST", 0), 0);
    assert_int_equal(unlinkat(other.dir.fd, "tree/00000001.mdb", 0), 0);
    tree_test_open(&other);
    assert_ok(tree_txn_begin(other.tree));
    for (unsigned k = MODEL_KEYS; k-- > 0;)
        if (model->items[k] != NULL)
            assert_ok(tree_txn_apply(other.tree, model->items[k], 0));
    assert_ok(tree_test_commit(&other));
    assert_true(other.tree->state.sum == t->tree->state.sum);
    assert_true(other.tree->state.items == t->tree->state.items);
    assert_true(t->tree->state.unsound == 0);
    tree_test_remove(&other);
}

static void random_changes_match_a_model(void **state) {
    (void)state;
    struct tree_test t;
    struct model *model = calloc(1, sizeof *model);
    uint64_t random = random_seed("tree");
    tree_test_make(&t);
    t.lsn = 1000;
    for (unsigned step = 0; step < MODEL_STEPS;) {
        struct model before = *model;
        unsigned batch = 1 + random_below(&random, 600);
        for (unsigned k = 0; k < MODEL_KEYS; k++)
            if (before.items[k] != NULL)
                item_ref(before.items[k]);
        assert_ok(tree_txn_begin(t.tree));
        for (unsigned i = 0; i < batch; i++, step++)
            model_apply(&t, model, &random, random_below(&random, MODEL_KEYS));
        bool abort = random_below(&random, 5) == 0;
        struct model *dropped = abort ? model : &before;
        if (abort)
            tree_txn_abort(t.tree);
        else
            assert_ok(tree_test_commit(&t));
        for (unsigned k = 0; k < MODEL_KEYS; k++)
            item_unref(&dropped->items[k]);
        if (abort)
            *model = before;
        if (random_below(&random, 3) == 0)
            tree_test_reopen(&t);
        model_compare(&t, model);
    }
    model_compare_sum(&t, model);
    for (unsigned k = 0; k < MODEL_KEYS; k++)
        item_unref(&model->items[k]);
    free(model);
    tree_test_remove(&t);
}

static void an_emptied_tree_sums_to_nothing(void **state) {
    (void)state;
    enum { COUNT = 500 };
    struct tree_test t;
    char text[KEY_TEXT_BYTES];
    tree_test_make(&t);
    for (unsigned round = 0; round < 3; round++) {
        assert_ok(tree_txn_begin(t.tree));
        for (unsigned i = 0; i < COUNT; i++) {
            struct item *item = make_item(number_key(text, i), i, ++t.lsn);
            item_set(item, i, 1000 + i * round, 0);
            tree_test_apply(&t, item, 0);
        }
        assert_ok(tree_test_commit(&t));
        assert_true(t.tree->state.sum != 0);
    }
    assert_ok(tree_txn_begin(t.tree));
    for (unsigned i = 0; i < COUNT; i++)
        tree_test_apply(&t, make_tombstone(number_key(text, i), ++t.lsn), 0);
    assert_ok(tree_test_commit(&t));
    assert_true(t.tree->state.sum == 0 && t.tree->state.items == 0);
    assert_int_equal(tree_test_index_entries(&t), 0);
    tree_test_remove(&t);
}

/* ---- address space ---- */

/* Runs in a child: with 2 GiB of address space the map is smaller, and the tree works. */
static void use_little_address_space(void *arg) {
    struct tree_test *t = arg;
    const struct rlimit limit = {UINT64_C(2) << 30, UINT64_C(2) << 30};
    struct item *item;
    uint64_t number, birth;
    tree_test_close(t);
    if (setrlimit(RLIMIT_AS, &limit) != 0 || tree_test_try_open(t) != ST_OK)
        abort();
    if (tree_reader_open(&t->reader, t->tree) != ST_OK || t->tree->env->map_bytes > limit.rlim_cur)
        abort();
    if (tree_replace(t->tree, &(struct tree_marks){.applied = 1, .m = 1, .birth = 1}) != ST_OK)
        abort();
    if (tree_get(t->reader, slice_str("key"), &item, &number, &birth) != ST_OK || item != NULL)
        abort();
    tree_test_close(t);
}

static void little_address_space_means_a_smaller_map(void **state) {
    (void)state;
    struct tree_test t;
    char text[1024];
    if (!CAN_LIMIT_MEMORY)
        skip();
    tree_test_make(&t);
    assert_true(t.tree->env->map_bytes == TREE_MAP_BYTES);
    tree_test_set(&t, "key", "value", 0);
    assert_int_equal(child_signal(use_little_address_space, &t, text, sizeof text), 0);
    tree_test_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_directory_gets_the_first_generation),
        cmocka_unit_test(what_was_put_comes_back),
        cmocka_unit_test(any_byte_may_stand_in_a_key),
        cmocka_unit_test(an_older_version_never_replaces_a_newer),
        cmocka_unit_test(a_tombstone_for_nothing_is_nothing),
        cmocka_unit_test(what_has_expired_is_deleted_not_put),
        cmocka_unit_test(marks_are_committed_with_the_data),
        cmocka_unit_test(a_snapshot_is_named_by_the_commit_it_sees),
        cmocka_unit_test(readers_do_not_see_what_is_not_committed),
        cmocka_unit_test(there_are_as_many_readers_as_configured),
        cmocka_unit_test(dirty_bytes_are_roughly_known),
        cmocka_unit_test(random_changes_match_a_model),
        cmocka_unit_test(an_emptied_tree_sums_to_nothing),
        cmocka_unit_test(little_address_space_means_a_smaller_map),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
