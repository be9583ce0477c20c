/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/meta_compose.h"

#include <stdlib.h>

#include "src/base/buffer.h"
#include "tests/unit/support_compose.h"

static void expect_n(const struct request *request, const struct response *response, const struct reply_form *form,
                     const char *expected, size_t n) {
    compose_expect(protocol_choose('m'), request, response, form, expected, n);
}

/* The reply about key "k" to a verb with these flags shown; a 'q' among them makes it quiet, a 'v' wants the value, a
 * 'b' says that the key came in base64. */
static void expect(char verb, const char *flags, const struct response *response, const char *expected) {
    struct request request = {.key = slice_str("k")};
    struct reply_form form = {.meta.verb = verb};
    size_t shown = 0;
    for (const char *flag = flags; *flag != '\0'; flag++) {
        form.quiet = form.quiet || *flag == 'q';
        form.meta.value = form.meta.value || *flag == 'v';
        form.meta.base64 = form.meta.base64 || *flag == 'b';
        if (strchr("qvb", *flag) == NULL) {
            form.meta.shown[shown++] = *flag;
        }
    }
    memcpy(form.meta.opaque, "op", 2);
    form.meta.opaque_length = 2;
    expect_n(&request, response, &form, expected, strlen(expected));
}

static void expect_result(char verb, const char *flags, enum result result, const char *expected) {
    struct response response = {.result = result};
    expect(verb, flags, &response, expected);
}

static void test_hit(void **state) {
    (void)state;
    struct item *item = compose_item_of("k", 3);
    struct response hit = {.result = RESULT_HIT, .item = item, .cas = 77, .idle = 9};
    expect('g', "", &hit, "HD\r\n");
    expect('g', "v", &hit, "VA 3\r\nvvv\r\n");
    expect('g', "vq", &hit, "VA 3\r\nvvv\r\n");
    expect('g', "stcflhOk", &hit, "HD s3 t-1 c77 f4294967295 l9 h0 Oop kk\r\n");
    expect('g', "kOhlfctsv", &hit, "VA 3 kk Oop h0 l9 f4294967295 c77 t-1 s3\r\nvvv\r\n");
    hit.was_fetched = true;
    expect('g', "h", &hit, "HD h1\r\n");
    expect('g', "kb", &hit, "HD kaw== b\r\n");
    item_unref(&item);
}

static void test_remaining_time(void **state) {
    (void)state;
    struct item *item = compose_item_of("k", 0);
    struct response hit = {.result = RESULT_HIT, .item = item};
    item_set(item, 0, COMPOSE_NOW + 30, 0);
    expect('g', "t", &hit, "HD t30\r\n");
    item_set(item, 0, COMPOSE_NOW - 1, 0); /* touched into the past by the same command */
    expect('g', "t", &hit, "HD t0\r\n");
    item_unref(&item);
}

static void test_marks(void **state) {
    (void)state;
    struct item *item = compose_item_of("k", 1);
    struct response hit = {.result = RESULT_HIT, .item = item, .won = true};
    expect('g', "s", &hit, "HD s1 W\r\n");
    hit.stale = true;
    expect('g', "v", &hit, "VA 1 X W\r\nv\r\n");
    hit.won = false;
    hit.win_taken = true;
    expect('g', "v", &hit, "VA 1 Z X\r\nv\r\n");
    hit.stale = false;
    expect('g', "", &hit, "HD Z\r\n");
    item_unref(&item);
}

static void test_value_only_when_the_cas_differs(void **state) {
    (void)state;
    struct item *item = compose_item_of("k", 1);
    struct response hit = {.result = RESULT_HIT, .item = item, .cas = 77};
    struct request request = {.key = slice_str("k"), .compare_cas = true, .cas = 77};
    struct reply_form form = {.meta = {.verb = 'g', .value = true, .shown = "c"}};
    expect_n(&request, &hit, &form, "HD c77\r\n", 8);
    request.cas = 76;
    expect_n(&request, &hit, &form, "VA 1 c77\r\nv\r\n", 13);
    item_unref(&item);
}

static void test_miss(void **state) {
    (void)state;
    expect_result('g', "stcflhOk", RESULT_MISS, "EN Oop kk\r\n");
    expect_result('g', "vkb", RESULT_MISS, "EN kaw== b\r\n");
    expect_result('g', "vkq", RESULT_MISS, "");
    expect_result('s', "kcsO", RESULT_MISS, "NF kk c0 s0 Oop\r\n");
    expect_result('d', "Ok", RESULT_MISS, "NF Oop kk\r\n");
    expect_result('a', "tcO", RESULT_MISS, "NF Oop\r\n");
    expect_result('e', "", RESULT_MISS, "EN\r\n");
}

static void test_store(void **state) {
    (void)state;
    struct item *item = compose_item_of("k", 12);
    struct response stored = {.result = RESULT_STORED, .item = item, .cas = 5};
    expect('s', "", &stored, "HD\r\n");
    expect('s', "cskOb", &stored, "HD c5 s12 kaw== b Oop\r\n");
    expect('s', "cq", &stored, "");
    expect_result('s', "ckO", RESULT_NOT_STORED, "NS c0 kk Oop\r\n");
    expect_result('s', "", RESULT_EXISTS, "EX\r\n");
    item_unref(&item);
}

static void test_delete(void **state) {
    (void)state;
    struct response deleted = {.result = RESULT_DELETED, .cas = 5};
    expect('d', "", &deleted, "HD\r\n");
    expect('d', "kO", &deleted, "HD kk Oop\r\n");
    expect('d', "q", &deleted, "");
    expect_result('d', "k", RESULT_EXISTS, "EX kk\r\n");
}

static void test_arithmetic(void **state) {
    (void)state;
    struct item *item = compose_item_of("k", 2);
    struct response number = {.result = RESULT_NUMBER, .item = item, .cas = 5, .number = 42};
    expect('a', "", &number, "HD\r\n");
    expect('a', "v", &number, "VA 2\r\n42\r\n");
    expect('a', "tckOv", &number, "VA 2 t-1 c5 kk Oop\r\n42\r\n");
    expect('a', "tc", &number, "HD t-1 c5\r\n");
    expect('a', "vq", &number, "");
    number.number = UINT64_MAX;
    expect('a', "v", &number, "VA 20\r\n18446744073709551615\r\n");
    expect_result('a', "tcO", RESULT_NOT_STORED, "NS Oop\r\n");
    expect_result('a', "tcO", RESULT_EXISTS, "EX Oop\r\n");
    item_unref(&item);
}

/* q hides what was to be expected, and nothing else. */
static void test_quiet(void **state) {
    (void)state;
    static const struct {
        char verb;
        enum result result;
        const char *expected;
    } rows[] = {
        {'g', RESULT_MISS, ""},
        {'s', RESULT_STORED, ""},
        {'s', RESULT_NOT_STORED, "NS\r\n"},
        {'s', RESULT_EXISTS, "EX\r\n"},
        {'s', RESULT_MISS, "NF\r\n"},
        {'d', RESULT_DELETED, ""},
        {'d', RESULT_MISS, "NF\r\n"},
        {'d', RESULT_EXISTS, "EX\r\n"},
        {'a', RESULT_NUMBER, ""},
        {'a', RESULT_MISS, "NF\r\n"},
        {'a', RESULT_NOT_NUMERIC, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
        {'g', RESULT_DAMAGED, "SERVER_ERROR read failed: damaged data\r\n"},
        {'s', RESULT_READ_ONLY, "SERVER_ERROR write failed: the store is read-only\r\n"},
        {'s', RESULT_DISK_FULL, "SERVER_ERROR out of disk space\r\n"},
        {'s', RESULT_TOO_LARGE, "SERVER_ERROR object too large for cache\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_result(rows[i].verb, "q", rows[i].result, rows[i].expected);
    }
}

static void test_noop(void **state) {
    (void)state;
    expect_result('n', "", RESULT_OK, "MN\r\n");
}

static void test_debug(void **state) {
    (void)state;
    struct item *item = compose_item_of("k", 10);
    struct response hit = {.result = RESULT_HIT, .item = item, .cas = 77, .idle = 9};
    expect('e', "", &hit, "ME k exp=-1 la=9 cas=77 fetch=no cls=1 size=59\r\n");
    item_set(item, 0, COMPOSE_NOW + 100, 0);
    hit.was_fetched = true;
    expect('e', "b", &hit, "ME aw== exp=100 la=9 cas=77 fetch=yes cls=1 size=59\r\n");
    item_unref(&item);
}

/* The longest line there can be: it has to fit the room that is asked for it. */
static void test_longest_line(void **state) {
    (void)state;
    char key[STORE_KEY_MAX];
    char base64[336];
    struct buffer expected;
    memset(key, 0xff, sizeof key);
    memset(base64, '/', sizeof base64);
    memcpy(base64 + 332, "/w==", 4);
    struct item *item;
    assert_ok(item_create(&item, slice_of(key, sizeof key), 5000));
    memset(item_body(item), 'x', 5000);
    item_set(item, UINT32_MAX, INT64_MAX, 0);
    struct request request = {.key = slice_of(key, sizeof key)};
    struct response hit = {.result = RESULT_HIT, .item = item, .cas = UINT64_MAX, .idle = UINT32_MAX, .won = true,
                           .stale = true, .win_taken = true};
    struct reply_form form = {.meta = {.verb = 'g', .value = true, .base64 = true, .opaque_length = META_OPAQUE_MAX}};
    memcpy(form.meta.shown, "stcflhOk", META_SHOWN_MAX);
    memset(form.meta.opaque, 'o', META_OPAQUE_MAX);
    buffer_init(&expected);
    assert_ok(buffer_printf(&expected,
                            "VA 5000 s5000 t9223372036854774807 c18446744073709551615 f4294967295 l4294967295 h0"
                            " Ooooooooooooooooooooooooooooooooo k%.336s b Z X W\r\n%.*s\r\n",
                            base64, 5000, item_body(item)));
    expect_n(&request, &hit, &form, buffer_head(&expected), buffer_length(&expected));
    buffer_free(&expected);
    item_unref(&item);
}

static void test_dump(void **state) {
    (void)state;
    struct item *items[] = {compose_item_of("plain\xe4", 0), compose_item_of("a b", 0), compose_item_of("\x7f", 0)};
    struct store_row rows[] = {{.item = items[0]}, {.item = items[1]}, {.item = items[2]}};
    struct response page = {.result = RESULT_ROWS, .rows = rows, .row_count = 3, .more = true};
    expect(META_DUMP, "", &page, "mg plain\xe4\r\nmg YSBi b\r\nmg fw== b\r\n");
    page.row_count = 0;
    page.more = false;
    expect(META_DUMP, "", &page, "EN\r\n");
    for (size_t i = 0; i < 3; i++) {
        item_unref(&items[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hit),
        cmocka_unit_test(test_remaining_time),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_value_only_when_the_cas_differs),
        cmocka_unit_test(test_miss),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_noop),
        cmocka_unit_test(test_debug),
        cmocka_unit_test(test_longest_line),
        cmocka_unit_test(test_dump),
    };
    return cmocka_run_group_tests_name("meta_compose", tests, NULL, NULL);
}
