/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/tree.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"
#include "tests/unit/support_tree.h"

enum { ROOM = 4096 };

struct page {
    struct item *items[ROOM];
    uint64_t sizes[ROOM];
    unsigned count;
    bool more;
    uint64_t number, birth;
};

static void scan(struct tree_test *t, struct slice after, struct slice prefix, unsigned limit, bool values,
                 struct page *page) {
    memset(page, 0, sizeof *page);
    assert_ok(tree_scan(t->reader, after, prefix, limit, values, page->items, page->sizes, &page->count, &page->more,
                        &page->number, &page->birth));
    assert_in_range(page->count, 0, limit);
    assert_true(page->number == tree_number(t->tree) && page->birth == tree_birth(t->tree));
}

static void drop(struct page *page) {
    while (page->count > 0)
        item_unref(&page->items[--page->count]);
}

/* The keys of one page, separated by blanks. */
static void expect(struct tree_test *t, const char *after, const char *prefix, unsigned limit, const char *keys,
                   bool more) {
    struct page page;
    char text[ROOM] = "";
    size_t n = 0;
    scan(t, slice_str(after), slice_str(prefix), limit, false, &page);
    for (unsigned i = 0; i < page.count; i++) {
        struct slice key = item_key(page.items[i]);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s", i ? " " : "", (int)key.n, key.p);
    }
    assert_string_equal(text, keys);
    assert_int_equal(page.more, more);
    drop(&page);
}

static void pages_follow_each_other(void **state) {
    (void)state;
    static const char *const keys[] = {"b", "a", "ba", "bab", "bb", "c", "\xff"};
    struct tree_test t;
    tree_test_make(&t);
    expect(&t, "", "", 10, "", false);
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++)
        tree_test_set(&t, keys[i], "value", 0);
    expect(&t, "", "", 10, "a b ba bab bb c \xff", false);
    expect(&t, "", "", 3, "a b ba", true);
    expect(&t, "ba", "", 3, "bab bb c", true);
    expect(&t, "c", "", 3, "\xff", false);
    expect(&t, "\xff", "", 3, "", false);
    expect(&t, "az", "", 2, "b ba", true); /* the last key may be gone meanwhile */
    expect(&t, "", "b", 10, "b ba bab bb", false);
    expect(&t, "", "b", 2, "b ba", true);
    expect(&t, "ba", "b", 10, "bab bb", false);
    expect(&t, "bb", "b", 10, "", false);
    expect(&t, "c", "b", 10, "", false);
    expect(&t, "a", "b", 1, "b", true); /* a position before the prefix */
    expect(&t, "", "ba", 10, "ba bab", false);
    expect(&t, "", "bz", 10, "", false);
    expect(&t, "", "\xff\xff", 10, "", false);
    tree_test_remove(&t);
}

static void a_row_has_all_of_its_record(void **state) {
    (void)state;
    struct tree_test t;
    struct page page;
    struct item_view view;
    tree_test_make(&t);
    struct item *item = make_item(slice_str("key"), 5000, 77);
    item_set(item, 1, 2, ITEM_WON);
    assert_ok(item_set_cas(&item, 3));
    assert_ok(tree_txn_begin(t.tree));
    tree_test_apply(&t, item, 0);
    assert_ok(tree_test_commit(&t));
    for (unsigned values = 0; values < 2; values++) {
        scan(&t, slice_str(""), slice_str(""), 10, values, &page);
        assert_int_equal(page.count, 1);
        assert_true(page.sizes[0] == 5000);
        item_look(page.items[0], &view);
        assert_true(view.flags == 1 && view.exptime == 2 && view.cas == 3 && view.lsn == 77 && view.marks == ITEM_WON);
        assert_int_equal(view.value.n, values ? 5000 : 0);
        assert_true(item_is_whole(page.items[0]) || !values);
        drop(&page);
    }
    tree_test_remove(&t);
}

static void large_values_make_short_pages(void **state) {
    (void)state;
    enum { COUNT = 12, VALUE = 5 << 20 };
    struct tree_test t;
    struct page page;
    char text[KEY_TEXT_BYTES], after[KEY_TEXT_BYTES] = "";
    unsigned seen = 0, pages = 0;
    tree_test_make(&t);
    assert_ok(tree_txn_begin(t.tree));
    for (unsigned i = 0; i < COUNT; i++)
        tree_test_apply(&t, make_item(number_key(text, i), VALUE, ++t.lsn), 0);
    assert_ok(tree_test_commit(&t));
    do {
        scan(&t, slice_str(after), slice_str("key"), ROOM, true, &page);
        assert_in_range(page.count, 0, 4);
        assert_true(page.count > 0 || !page.more);
        if (page.count > 0)
            memcpy(after, item_key(page.items[page.count - 1]).p, item_key(page.items[0]).n);
        seen += page.count;
        pages++;
        drop(&page);
    } while (page.more);
    assert_int_equal(seen, COUNT);
    assert_in_range(pages, 3, 5);
    scan(&t, slice_str(""), slice_str(""), ROOM, false, &page);
    assert_int_equal(page.count, COUNT);
    drop(&page);
    tree_test_remove(&t);
}

/* Walks all pages and compares with what lookups say. */
static void walk(struct tree_test *t, unsigned keys, unsigned limit, bool values) {
    struct page page;
    char after[KEY_TEXT_BYTES] = "", text[KEY_TEXT_BYTES];
    unsigned next = 0;
    do {
        scan(t, slice_str(after), slice_str(""), limit, values, &page);
        for (unsigned i = 0; i < page.count; i++, next++) {
            struct item *found = NULL;
            for (; found == NULL && next < keys; next += found == NULL)
                found = tree_test_get(t, number_key(text, next));
            assert_non_null(found);
            assert_true(slice_equal(item_key(found), item_key(page.items[i])));
            assert_true(page.sizes[i] == found->value_bytes && page.items[i]->lsn == found->lsn);
            assert_true(!values || slice_equal(item_value(found), item_value(page.items[i])));
            memcpy(after, text, sizeof text);
            item_unref(&found);
        }
        drop(&page);
    } while (page.more);
    for (; next < keys; next++)
        assert_null(tree_test_get(t, number_key(text, next)));
}

static void a_walk_meets_every_record_once(void **state) {
    (void)state;
    enum { KEYS = 2000 };
    static const unsigned limits[] = {1, 7, 1000, ROOM};
    struct tree_test t;
    char text[KEY_TEXT_BYTES];
    uint64_t random = random_seed("tree_scan");
    tree_test_make(&t);
    assert_ok(tree_txn_begin(t.tree));
    for (unsigned k = 0; k < KEYS; k++)
        if (random_below(&random, 2))
            tree_test_apply(&t, make_item(number_key(text, k), random_below(&random, 4000), ++t.lsn), 0);
    assert_ok(tree_test_commit(&t));
    for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++)
        walk(&t, KEYS, limits[i], i % 2);
    tree_test_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_follow_each_other),
        cmocka_unit_test(a_row_has_all_of_its_record),
        cmocka_unit_test(large_values_make_short_pages),
        cmocka_unit_test(a_walk_meets_every_record_once),
    };
    return cmocka_run_group_tests_name("tree_scan", tests, NULL, NULL);
}
