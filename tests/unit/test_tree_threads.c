/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers at full speed while the tree thread commits, switches trees and opens a failed file again. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "src/base/thread.h"
#include "storage/tree.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"
#include "tests/unit/support_tree.h"

enum { THREADS = 4, KEYS = 200, PAGE = 50 };

struct hammer {
    struct tree_test *t;
    pthread_t thread;
    uint64_t random;
    uint64_t number; /* of its last snapshot */
    atomic_bool *stop;
    _Atomic uint64_t reads;
    /* what went wrong; looked at when the thread has ended */
    unsigned errors, torn, dead, backwards;
};

static void check_item(struct hammer *h, struct item **item, uint64_t birth) {
    if (*item != NULL) {
        h->torn += !item_is_whole(*item);
        h->dead += (*item)->lsn <= birth; /* from the tree before the flush */
    }
    item_unref(item);
}

static void check_number(struct hammer *h, uint64_t number) {
    h->backwards += number < h->number;
    h->number = number;
}

static void get_one(struct hammer *h, struct tree_reader *reader) {
    struct item *item;
    uint64_t number, birth;
    char text[KEY_TEXT_BYTES];
    if (tree_get(reader, number_key(text, random_below(&h->random, KEYS)), &item, &number, &birth) == ST_OK) {
        check_number(h, number);
        check_item(h, &item, birth);
    } else {
        h->errors++;
    }
}

static void scan_page(struct hammer *h, struct tree_reader *reader) {
    struct item *items[PAGE];
    uint64_t sizes[PAGE], number, birth;
    unsigned count;
    bool more;
    char text[KEY_TEXT_BYTES];
    struct slice after = number_key(text, random_below(&h->random, KEYS));
    if (tree_scan(reader, after, slice_str("key"), PAGE, true, items, sizes, &count, &more, &number, &birth) == ST_OK) {
        check_number(h, number);
        while (count > 0)
            check_item(h, &items[--count], birth);
    } else {
        h->errors++;
    }
}

static void *hammer(void *arg) {
    struct hammer *h = arg;
    struct tree_reader *reader = NULL;
    while (!atomic_load(h->stop)) {
        if (reader == NULL && tree_reader_open(&reader, h->t->tree) != ST_OK) {
            h->errors++;
            break;
        }
        if (random_below(&h->random, 20) == 0)
            scan_page(h, reader);
        else
            get_one(h, reader);
        if (random_below(&h->random, 500) == 0)
            tree_reader_close(&reader);
        atomic_fetch_add(&h->reads, 1);
    }
    tree_reader_close(&reader);
    return NULL;
}

/* Every thread has read at least `more` times again. */
static void await_reads(struct hammer *hammers, uint64_t more) {
    for (unsigned i = 0; i < THREADS; i++) {
        uint64_t until = atomic_load(&hammers[i].reads) + more;
        while (atomic_load(&hammers[i].reads) < until)
            sched_yield();
    }
}

static void commit_some(struct tree_test *t, uint64_t *random) {
    char text[KEY_TEXT_BYTES];
    assert_ok(tree_txn_begin(t->tree));
    for (unsigned i = 0; i < KEYS / 2; i++) {
        struct slice key = number_key(text, random_below(random, KEYS));
        struct item *item = random_below(random, 4) == 0 ? make_tombstone(key, ++t->lsn)
                                                         : make_item(key, random_below(random, 5000), ++t->lsn);
        tree_test_apply(t, item, 0);
    }
    assert_ok(tree_test_commit(t));
}

static void break_commit(struct tree_test *t) {
    tree_test_break_meta(t);
    assert_ok(tree_txn_begin(t->tree));
    tree_test_apply(t, make_item(slice_str("key-lost"), 1, ++t->lsn), 0);
    assert_int_not_equal(tree_test_commit(t), ST_OK);
}

static void readers_go_on_whatever_the_tree_thread_does(void **state) {
    (void)state;
    enum { ROUNDS = 40, READS = 100 };
    struct tree_test t;
    struct hammer hammers[THREADS];
    atomic_bool stop = false;
    uint64_t random = random_seed("tree_threads");
    tree_test_make(&t);
    for (unsigned i = 0; i < THREADS; i++) {
        hammers[i] = (struct hammer){.t = &t, .random = random_next(&random) | 1, .stop = &stop};
        assert_ok(thread_start(&hammers[i].thread, "hammer", hammer, &hammers[i]));
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t number = tree_number(t.tree);
        commit_some(&t, &random);
        assert_true(tree_number(t.tree) > number);
        number = tree_number(t.tree);
        if (round % 5 == 2) {
            const struct tree_marks marks = {.applied = t.lsn, .m = t.lsn, .birth = t.lsn};
            assert_ok(tree_replace(t.tree, &marks));
            assert_true(tree_number(t.tree) > number);
        } else if (round % 5 == 4) {
            break_commit(&t);
        }
        await_reads(hammers, READS);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < THREADS; i++) {
        thread_join(hammers[i].thread);
        assert_int_equal(hammers[i].errors, 0);
        assert_int_equal(hammers[i].torn, 0);
        assert_int_equal(hammers[i].dead, 0);
        assert_int_equal(hammers[i].backwards, 0);
    }
    tree_test_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_go_on_whatever_the_tree_thread_does),
    };
    return cmocka_run_group_tests_name("tree_threads", tests, NULL, NULL);
}
