/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/tree.h"
#include "storage/tree_internal.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"
#include "tests/unit/support_tree.h"

enum { NOW = 1000000, STEP = TREE_BUCKET_SECONDS };

static bool skip_none(void *arg, struct slice key) {
    (void)arg;
    (void)key;
    return false;
}

static bool skip_this(void *arg, struct slice key) {
    return slice_equal(key, slice_str(arg));
}

struct swept {
    unsigned examined, freed;
};

/* One call in a transaction of its own. */
static struct swept sweep_some(struct tree_test *t, int64_t now, unsigned limit, const char *skipped) {
    struct swept swept;
    assert_ok(tree_txn_begin(t->tree));
    assert_ok(tree_txn_expire(t->tree, now, limit, skipped != NULL ? skip_this : skip_none, (void *)skipped,
                              &swept.examined, &swept.freed));
    assert_ok(tree_test_commit(t));
    return swept;
}

static void assert_sweep(struct tree_test *t, int64_t now, unsigned examined, unsigned freed) {
    struct swept swept = sweep_some(t, now, 1000, NULL);
    assert_int_equal(swept.examined, examined);
    assert_int_equal(swept.freed, freed);
}

static void due_records_are_deleted(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "past", "1", NOW - 5 * STEP);
    tree_test_set(&t, "just", "2", NOW - 1);
    tree_test_set(&t, "next", "3", NOW + 5 * STEP);
    tree_test_set(&t, "far", "4", INT64_C(1) << 40);
    tree_test_set(&t, "never", "5", 0);
    assert_int_equal(tree_test_index_entries(&t), 4);
    assert_sweep(&t, NOW + STEP, 2, 2);
    tree_test_expect(&t, "past", NULL);
    tree_test_expect(&t, "just", NULL);
    tree_test_expect(&t, "next", "3");
    assert_true(tree_items(t.tree) == 3);
    assert_sweep(&t, NOW + STEP, 0, 0);
    assert_sweep(&t, NOW + 7 * STEP, 1, 1);
    assert_sweep(&t, (INT64_C(1) << 40) + STEP, 1, 1);
    tree_test_expect(&t, "never", "5");
    assert_true(tree_items(t.tree) == 1);
    assert_int_equal(tree_test_index_entries(&t), 0);
    tree_test_remove(&t);
}

static void nothing_goes_before_its_time(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "key", "value", NOW);
    for (int64_t now = NOW - 2 * STEP; now <= NOW; now++)
        assert_sweep(&t, now, 0, 0);
    tree_test_expect(&t, "key", "value");
    assert_sweep(&t, NOW + STEP, 1, 1);
    tree_test_remove(&t);
}

static uint64_t bucket_of(struct tree_test *t, const char *key) {
    struct tree_found found;
    assert_ok(tree_txn_begin(t->tree));
    assert_ok(tree_txn_find(t->tree, slice_str(key), &found));
    tree_txn_abort(t->tree);
    assert_true(found.exists && found.sound);
    return found.record.bucket;
}

static void a_refresh_leaves_the_index_alone(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "session", "1", NOW);
    uint64_t first = bucket_of(&t, "session");
    for (int i = 1; i < 50; i++) {
        tree_test_set(&t, "session", "2", NOW + i * STEP);
        assert_true(bucket_of(&t, "session") == first);
        assert_int_equal(tree_test_index_entries(&t), 1);
    }
    /* The old bucket comes due: the record moves to where it belongs. */
    assert_sweep(&t, NOW + 10 * STEP, 1, 0);
    assert_true(bucket_of(&t, "session") == record_bucket_of(NOW + 49 * STEP));
    assert_int_equal(tree_test_index_entries(&t), 1);
    tree_test_expect(&t, "session", "2");
    assert_sweep(&t, NOW + 49 * STEP, 0, 0);
    assert_sweep(&t, NOW + 50 * STEP, 1, 1);
    tree_test_expect(&t, "session", NULL);
    tree_test_remove(&t);
}

static void an_earlier_expiry_moves_the_entry_at_once(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "key", "1", NOW + 100 * STEP);
    tree_test_set(&t, "key", "2", NOW);
    assert_true(bucket_of(&t, "key") == record_bucket_of(NOW));
    assert_int_equal(tree_test_index_entries(&t), 1);
    assert_sweep(&t, NOW + STEP, 1, 1);
    tree_test_remove(&t);
}

static void what_lives_for_ever_leaves_the_index_when_due(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "key", "1", NOW);
    tree_test_set(&t, "key", "for ever", 0);
    assert_int_equal(tree_test_index_entries(&t), 1);
    assert_sweep(&t, NOW + STEP, 1, 0);
    tree_test_expect(&t, "key", "for ever");
    assert_int_equal(tree_test_index_entries(&t), 0);
    assert_true(bucket_of(&t, "key") == RECORD_NO_BUCKET);
    assert_sweep(&t, INT64_MAX, 0, 0);
    /* And comes back when it is to expire again. */
    tree_test_set(&t, "key", "2", NOW + 20 * STEP);
    assert_int_equal(tree_test_index_entries(&t), 1);
    assert_sweep(&t, NOW + 30 * STEP, 1, 1);
    tree_test_remove(&t);
}

static void a_delete_takes_the_entry_along(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "a", "1", NOW);
    tree_test_set(&t, "b", "1", NOW);
    tree_test_delete(&t, "a");
    assert_int_equal(tree_test_index_entries(&t), 1);
    assert_sweep(&t, NOW + STEP, 1, 1);
    tree_test_remove(&t);
}

static void a_skipped_entry_stays(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "a", "1", NOW);
    tree_test_set(&t, "b", "2", NOW);
    tree_test_set(&t, "c", "3", NOW);
    struct swept swept = sweep_some(&t, NOW + STEP, 1000, "b");
    assert_int_equal(swept.examined, 3);
    assert_int_equal(swept.freed, 2);
    tree_test_expect(&t, "b", "2");
    assert_sweep(&t, NOW + STEP, 1, 1);
    tree_test_remove(&t);
}

static void skipped_entries_in_front_do_not_stop_a_round(void **state) {
    (void)state;
    enum { COUNT = 10 };
    struct tree_test t;
    char key[KEY_TEXT_BYTES] = {0};
    unsigned calls = 0, freed = 0;
    struct swept swept;
    tree_test_make(&t);
    tree_test_set(&t, "a", "1", NOW - 100 * STEP);
    for (unsigned i = 0; i < COUNT; i++) {
        number_key(key, i);
        tree_test_set(&t, key, "x", NOW);
    }
    /* With one entry a call, "a" fills the first one; the others must still come. */
    do {
        swept = sweep_some(&t, NOW + STEP, 1, "a");
        freed += swept.freed;
        calls++;
    } while (swept.examined == 1);
    assert_int_equal(freed, COUNT);
    assert_int_equal(calls, COUNT + 2);
    tree_test_expect(&t, "a", "1");
    assert_sweep(&t, NOW + STEP, 1, 1); /* a new round begins in front */
    tree_test_remove(&t);
}

static void an_aborted_round_begins_again(void **state) {
    (void)state;
    struct tree_test t;
    unsigned examined, freed;
    tree_test_make(&t);
    tree_test_set(&t, "a", "1", NOW);
    tree_test_set(&t, "b", "2", NOW);
    assert_ok(tree_txn_begin(t.tree));
    assert_ok(tree_txn_expire(t.tree, NOW + STEP, 1, skip_none, NULL, &examined, &freed));
    assert_int_equal(freed, 1);
    tree_txn_abort(t.tree);
    assert_ok(faults_set(t.faults, "TREE_COMMIT:1:eio"));
    assert_ok(tree_txn_begin(t.tree));
    assert_ok(tree_txn_expire(t.tree, NOW + STEP, 1, skip_none, NULL, &examined, &freed));
    assert_status(tree_test_commit(&t), ST_IO);
    tree_test_expect(&t, "a", "1");
    assert_sweep(&t, NOW + STEP, 2, 2);
    tree_test_remove(&t);
}

static void a_moved_record_keeps_everything(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 10, 1900, 3000, 100000};
    struct tree_test t;
    char key[KEY_TEXT_BYTES] = {0};
    struct item_view before, after;
    tree_test_make(&t);
    for (unsigned i = 0; i < 5; i++) {
        number_key(key, i);
        tree_test_set(&t, key, "first", NOW);
        struct item *item = make_item(slice_str(key), sizes[i], ++t.lsn);
        item_set(item, 77, i % 2 ? 0 : NOW + 50 * STEP, ITEM_STALE);
        assert_ok(item_set_cas(&item, 12345));
        item_look(item, &before);
        assert_ok(tree_txn_begin(t.tree));
        assert_ok(tree_txn_apply(t.tree, item, 0));
        assert_ok(tree_test_commit(&t));
        uint64_t bytes = tree_bytes(t.tree);
        assert_sweep(&t, NOW + STEP, 1, 0);
        assert_true(tree_bytes(t.tree) <= bytes + 4096);
        struct item *found = tree_test_get(&t, slice_str(key));
        item_look(found, &after);
        assert_true(slice_equal(before.value, after.value) && before.lsn == after.lsn && before.cas == after.cas);
        assert_true(before.flags == after.flags && before.exptime == after.exptime && before.marks == after.marks);
        item_unref(&found);
        item_unref(&item);
    }
    tree_test_remove(&t);
}

/* Sets, touches, deletes and sweeps at random: the index has exactly one entry for each record with a bucket, nothing
 * dies early, and what is due dies. */
static void random_lives_end_when_they_should(void **state) {
    (void)state;
    enum { KEYS = 300, STEPS = 400, BATCH = 40 };
    struct tree_test t;
    int64_t expiry[KEYS];
    int64_t now = NOW;
    char text[KEY_TEXT_BYTES];
    uint64_t random = random_seed("tree_expiry");
    tree_test_make(&t);
    for (unsigned k = 0; k < KEYS; k++)
        expiry[k] = -1; /* no record */
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned freed, examined, wanted = 0, alive = 0;
        assert_ok(tree_txn_begin(t.tree));
        for (unsigned i = 0; i < BATCH; i++) {
            unsigned k = random_below(&random, KEYS);
            bool gone = random_below(&random, 8) == 0;
            struct item *item = gone ? make_tombstone(number_key(text, k), ++t.lsn)
                                     : make_item(number_key(text, k), random_below(&random, 3000), ++t.lsn);
            int64_t exptime = random_below(&random, 10) == 0 ? 0 : now + (int64_t)random_below(&random, 40 * STEP);
            if (!gone)
                item_set(item, 0, exptime, 0);
            tree_test_apply(&t, item, now);
            expiry[k] = gone || (exptime != 0 && exptime <= now) ? -1 : exptime;
        }
        now += random_below(&random, 4 * STEP);
        assert_ok(tree_txn_expire(t.tree, now, UINT32_MAX, skip_none, NULL, &examined, &freed));
        assert_ok(tree_test_commit(&t));
        for (unsigned k = 0; k < KEYS; k++) {
            struct item *item = tree_test_get(&t, number_key(text, k));
            bool due = expiry[k] > 0 && record_bucket_due(record_bucket_of(expiry[k]), now);
            assert_true(item == NULL || expiry[k] >= 0);
            assert_true(item != NULL || expiry[k] < 0 || (expiry[k] != 0 && expiry[k] <= now));
            assert_true(!due || item == NULL);
            if (item == NULL)
                expiry[k] = -1;
            alive += item != NULL;
            wanted += item != NULL && item->exptime != 0;
            item_unref(&item);
        }
        assert_true(tree_items(t.tree) == alive);
        /* Records that live for ever may still have an old bucket. */
        assert_in_range(tree_test_index_entries(&t), wanted, alive);
    }
    tree_test_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(due_records_are_deleted),
        cmocka_unit_test(nothing_goes_before_its_time),
        cmocka_unit_test(a_refresh_leaves_the_index_alone),
        cmocka_unit_test(an_earlier_expiry_moves_the_entry_at_once),
        cmocka_unit_test(what_lives_for_ever_leaves_the_index_when_due),
        cmocka_unit_test(a_delete_takes_the_entry_along),
        cmocka_unit_test(a_skipped_entry_stays),
        cmocka_unit_test(skipped_entries_in_front_do_not_stop_a_round),
        cmocka_unit_test(an_aborted_round_begins_again),
        cmocka_unit_test(a_moved_record_keeps_everything),
        cmocka_unit_test(random_lives_end_when_they_should),
    };
    return cmocka_run_group_tests_name("tree_expiry", tests, NULL, NULL);
}
