/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/index.h"

#include <stdlib.h>

#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"

static struct item *hashed(unsigned number, uint32_t hash_high) {
    char text[KEY_TEXT_BYTES];
    struct item *item = make_item(number_key(text, number), 0, number);

    item->hash_high = hash_high;
    return item;
}

static struct item *find(const struct index *index, unsigned number, uint32_t hash_high) {
    char text[KEY_TEXT_BYTES];

    return index_find(index, hash_high, number_key(text, number));
}

static void unref(void *arg, struct item *item) {
    unsigned *count = arg;

    (*count)++;
    item_unref(&item);
}

static void end(struct index *index, unsigned expected) {
    unsigned count = 0;

    index_each(index, unref, &count);
    assert_int_equal(count, expected);
    index_free(index);
}

static void what_is_added_is_found_until_it_is_removed(void **state) {
    (void)state;
    struct index index;

    assert_ok(index_init(&index));
    assert_null(find(&index, 1, 0));
    struct item *zero = hashed(1, 0); /* the hash, and so its tag, may be 0 */
    struct item *ones = hashed(2, UINT32_MAX);
    index_add(&index, zero);
    index_add(&index, ones);
    assert_ptr_equal(find(&index, 1, 0), zero);
    assert_ptr_equal(find(&index, 2, UINT32_MAX), ones);
    assert_null(find(&index, 3, 0));           /* the hash of another key */
    assert_null(find(&index, 1, 0x80000000u)); /* its tag differs */
    assert_null(find(&index, 1, 0x100u));      /* the tag is the same, the hash differs */
    index_remove(&index, zero);
    assert_null(find(&index, 1, 0));
    assert_ptr_equal(find(&index, 2, UINT32_MAX), ones);
    item_unref(&zero);
    end(&index, 1);
}

/* All in one bucket and with one hash: words first, then a chain. */
static void keys_with_one_hash_are_told_apart(void **state) {
    (void)state;
    enum { COUNT = 3 * INDEX_WAYS, HASH = 0x12345678 };
    struct index index;
    struct item *items[COUNT];

    for (unsigned removed = 0; removed < COUNT; removed++) {
        assert_ok(index_init(&index));
        for (unsigned i = 0; i < COUNT; i++) {
            items[i] = hashed(i, HASH);
            index_add(&index, items[i]);
        }
        assert_int_equal(index.mask, 1); /* nothing asked for room */
        index_remove(&index, items[removed]);
        for (unsigned i = 0; i < COUNT; i++)
            assert_ptr_equal(find(&index, i, HASH), i == removed ? NULL : items[i]);
        index_add(&index, items[removed]);
        for (unsigned i = 0; i < COUNT; i++)
            assert_ptr_equal(find(&index, i, HASH), items[i]);
        end(&index, COUNT);
    }
}

static void a_chain_is_empty_while_words_are_free(void **state) {
    (void)state;
    enum { COUNT = 2 * INDEX_WAYS };
    struct index index;
    struct item *items[COUNT];

    assert_ok(index_init(&index));
    for (unsigned i = 0; i < COUNT; i++) {
        items[i] = hashed(i, i << 8);
        index_add(&index, items[i]);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        index_remove(&index, items[i]);
        item_unref(&items[i]);
        assert_true((index.buckets[0].more != NULL) == (COUNT - i - 1 > INDEX_WAYS));
    }
    end(&index, 0);
}

static void a_new_version_takes_the_old_ones_place(void **state) {
    (void)state;
    enum { COUNT = 2 * INDEX_WAYS };
    struct index index;

    assert_ok(index_init(&index));
    for (unsigned i = 0; i < COUNT; i++)
        index_add(&index, hashed(i, i << 8));
    for (unsigned i = 0; i < COUNT; i++) {
        struct item *old = find(&index, i, i << 8);
        struct item *fresh = hashed(i, i << 8);
        index_replace(&index, old, fresh);
        item_unref(&old);
        assert_ptr_equal(find(&index, i, i << 8), fresh);
    }
    end(&index, COUNT);
}

static void buckets_double_at_six_items(void **state) {
    (void)state;
    struct index index;

    assert_ok(index_init(&index));
    assert_int_equal(index_bytes(&index), 2 * 64);
    index_make_room(&index, 12);
    assert_int_equal(index_bytes(&index), 2 * 64);
    index_make_room(&index, 13);
    assert_int_equal(index_bytes(&index), 4 * 64);
    end(&index, 0);
}

/* What is in the index by number: added, replaced and removed at random, with few hashes, while the buckets grow. */
static void random_changes_are_remembered(void **state) {
    (void)state;
    enum { COUNT = 3000, STEPS = 200000 };
    static struct item *held[COUNT];
    uint64_t random = random_seed("index");
    unsigned count = 0;
    struct index index;

    assert_ok(index_init(&index));
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned number = random_below(&random, i < STEPS / 2 ? COUNT / 10 : COUNT);
        uint32_t hash = number % 500 * 0x00810081u; /* several numbers each */
        struct item *item = find(&index, number, hash);
        assert_ptr_equal(item, held[number]);
        if (item == NULL) {
            held[number] = hashed(number, hash);
            index_make_room(&index, ++count);
            index_add(&index, held[number]);
        } else if (random_below(&random, 2) == 0) {
            held[number] = hashed(number, hash);
            index_replace(&index, item, held[number]);
            item_unref(&item);
        } else {
            held[number] = NULL;
            index_remove(&index, item);
            item_unref(&item);
            count--;
        }
    }
    assert_true(index.mask > 127);
    memset(held, 0, sizeof held);
    end(&index, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_found_until_it_is_removed),
        cmocka_unit_test(keys_with_one_hash_are_told_apart),
        cmocka_unit_test(a_chain_is_empty_while_words_are_free),
        cmocka_unit_test(a_new_version_takes_the_old_ones_place),
        cmocka_unit_test(buckets_double_at_six_items),
        cmocka_unit_test(random_changes_are_remembered),
    };

    return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
