/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/item.h"

#include <malloc.h>
#include <stdlib.h>

#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"

static struct item *create(const char *key, size_t value_length) {
    struct item *item;

    assert_ok(item_create(&item, slice_str(key), value_length));
    return item;
}

static void assert_text(struct slice slice, const char *text) {
    assert_int_equal(slice.n, strlen(text));
    assert_memory_equal(slice.p, text, slice.n);
}

static void a_new_item_has_key_line_end_and_nothing_else(void **state) {
    (void)state;
    struct item *item = create("apple", 3);
    struct item_view view;

    memcpy(item_body(item), "red", 3);
    item_look(item, &view);
    assert_text(view.key, "apple");
    assert_text(view.value, "red");
    assert_memory_equal(view.value.p, "red\r\n", 5);
    assert_int_equal(view.flags, 0);
    assert_int_equal(view.exptime, 0);
    assert_int_equal(view.cas, 0);
    assert_int_equal(view.lsn, 0);
    assert_int_equal(view.marks, 0);
    assert_int_equal(item->kind, ITEM_VALUE);
    assert_int_equal(item->queue, ITEM_NOWHERE);
    item_unref(&item);
    assert_null(item);
    item_unref(&item);
}

static void what_is_set_is_seen(void **state) {
    (void)state;
    struct item *item = create("k", 0);
    struct item_view view;

    item_set(item, UINT32_MAX, INT64_C(1) << 40, ITEM_STALE | ITEM_WON);
    item->lsn = 77;
    item_look(item, &view);
    assert_int_equal(view.flags, UINT32_MAX);
    assert_true(view.exptime == INT64_C(1) << 40);
    assert_int_equal(view.marks, ITEM_STALE | ITEM_WON);
    assert_int_equal(view.lsn, 77);
    assert_int_equal(view.cas, 77);
    item_set(item, 0, 0, ITEM_WON);
    item_look(item, &view);
    assert_int_equal(view.marks, ITEM_WON);
    item_unref(&item);
}

static void key_length_is_1_to_250(void **state) {
    (void)state;
    char key[STORE_KEY_MAX + 1];
    struct item *item;

    memset(key, 0xff, sizeof key);
    assert_status(item_create(&item, slice_of(key, 0), 1), ST_INVALID);
    assert_null(item);
    assert_status(item_create(&item, slice_of(key, STORE_KEY_MAX + 1), 1), ST_INVALID);
    assert_null(item);
    assert_ok(item_create(&item, slice_of(key, STORE_KEY_MAX), 1));
    assert_int_equal(item_key(item).n, STORE_KEY_MAX);
    item_unref(&item);
    key[0] = '\0';
    assert_ok(item_create(&item, slice_of(key, 1), 1));
    assert_true(slice_equal(item_key(item), slice_of("", 1)));
    item_unref(&item);
}

static void a_value_of_4_gb_is_refused(void **state) {
    (void)state;
    struct item *item;

    assert_status(item_create(&item, slice_str("k"), (size_t)UINT32_MAX + 1), ST_LIMIT);
    assert_null(item);
}

static void an_explicit_cas_may_come_before_or_after_the_value(void **state) {
    (void)state;
    for (int value_first = 0; value_first < 2; value_first++) {
        struct item *item = create("key", 5);
        struct item_view view;

        if (value_first)
            memcpy(item_body(item), "value", 5);
        assert_ok(item_set_cas(&item, 555));
        if (!value_first)
            memcpy(item_body(item), "value", 5);
        item->lsn = 7;
        item_look(item, &view);
        assert_text(view.key, "key");
        assert_memory_equal(view.value.p, "value\r\n", 7);
        assert_int_equal(view.cas, 555);
        assert_int_equal(view.lsn, 7);

        assert_ok(item_set_cas(&item, UINT64_MAX));
        assert_true(item_cas(item) == UINT64_MAX);
        assert_ok(item_set_cas(&item, 0));
        item_look(item, &view);
        assert_text(view.key, "key");
        assert_memory_equal(view.value.p, "value\r\n", 7);
        assert_int_equal(view.cas, 7);
        item_unref(&item);
    }
}

static void shortening_keeps_the_line_end(void **state) {
    (void)state;
    struct item *item = create("n", 6);

    memcpy(item_body(item), "114514", 6);
    item_shorten(item, 6);
    assert_memory_equal(item_value(item).p, "114514\r\n", 8);
    item_shorten(item, 5);
    assert_text(item_value(item), "11451");
    assert_memory_equal(item_value(item).p, "11451\r\n", 7);
    item_shorten(item, 0);
    assert_memory_equal(item_value(item).p, "\r\n", 2);
    item_unref(&item);
}

static void a_tombstone_has_a_key_only(void **state) {
    (void)state;
    struct item *item;

    assert_ok(item_create_tombstone(&item, slice_str("gone")));
    assert_int_equal(item->kind, ITEM_TOMBSTONE);
    assert_text(item_key(item), "gone");
    assert_int_equal(item_value(item).n, 0);
    item_unref(&item);
    assert_status(item_create_tombstone(&item, slice_str("")), ST_INVALID);
    assert_null(item);
}

static void a_16_byte_key_and_100_bytes_take_192(void **state) {
    (void)state;
    struct item *item = create("0123456789abcdef", 100);

    assert_int_equal(item_footprint(item), 192);
    item_unref(&item);
}

/* Other allocators, such as the sanitizers', have other chunks. */
static bool malloc_is_glibcs(void) {
    void *volatile small = malloc(1);
    void *volatile larger = malloc(100);
    bool is = malloc_usable_size(small) == 24 && malloc_usable_size(larger) == 104;

    free(small);
    free(larger);
    return is;
}

static void the_footprint_is_what_malloc_takes(void **state) {
    (void)state;
    if (!malloc_is_glibcs())
        skip();
    for (size_t n = 0; n < 3000; n++) {
        struct item *item = create("some key", n);
        assert_int_equal(item_footprint(item), malloc_usable_size(item) + 8);
        item_unref(&item);
    }
}

static void a_reference_outlives_its_giver(void **state) {
    (void)state;
    struct item *mine = make_item(slice_str("k"), 10, 3);
    struct item *yours = mine;

    item_ref(yours);
    item_unref(&mine);
    assert_true(item_is_whole(yours));
    item_unref(&yours);
}

static void expiry_is_reached_at_its_second_and_0_is_never(void **state) {
    (void)state;
    struct item *item = create("k", 0);

    item_set(item, 0, 1000, 0);
    assert_false(item_expired(item, 999));
    assert_true(item_expired(item, 1000));
    item_set(item, 0, 0, 0);
    assert_false(item_expired(item, INT64_MAX));
    item_set(item, 0, INT64_C(2147483648), 0);
    assert_false(item_expired(item, 1000));
    item_unref(&item);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_item_has_key_line_end_and_nothing_else),
        cmocka_unit_test(what_is_set_is_seen),
        cmocka_unit_test(key_length_is_1_to_250),
        cmocka_unit_test(a_value_of_4_gb_is_refused),
        cmocka_unit_test(an_explicit_cas_may_come_before_or_after_the_value),
        cmocka_unit_test(shortening_keeps_the_line_end),
        cmocka_unit_test(a_tombstone_has_a_key_only),
        cmocka_unit_test(a_16_byte_key_and_100_bytes_take_192),
        cmocka_unit_test(the_footprint_is_what_malloc_takes),
        cmocka_unit_test(a_reference_outlives_its_giver),
        cmocka_unit_test(expiry_is_reached_at_its_second_and_0_is_never),
    };

    return cmocka_run_group_tests_name("item", tests, NULL, NULL);
}
