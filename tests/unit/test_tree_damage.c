/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed commits, and files that were cut or changed behind the tree's back. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/sigbus.h"
#include "storage/tree.h"
#include "storage/tree_internal.h"
#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"
#include "tests/unit/support_tree.h"

/* The guard leaves null pointers to the address sanitizer. */
#ifdef __SANITIZE_ADDRESS__
enum { NULL_IS_CAUGHT = 0 };
#else
enum { NULL_IS_CAUGHT = 1 };
#endif

#define TREE_FILE "tree/00000001.mdb"

/* ---- commits that fail ---- */

static void begin_with_item(struct tree_test *t, const char *key) {
    assert_ok(tree_txn_begin(t->tree));
    tree_test_apply(t, make_item(slice_str(key), 100, ++t->lsn), 0);
}

static void a_failed_commit_leaves_nothing_and_can_be_repeated(void **state) {
    (void)state;
    static const struct {
        const char *plan;
        enum status status;
    } failures[] = {
        {"TREE_COMMIT:1:eio", ST_IO},
        {"TREE_COMMIT:1:enospc", ST_NO_SPACE},
        {"TREE_COMMIT:1:short", ST_IO},
    };
    struct tree_test t;
    tree_test_make(&t);
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        uint64_t number = tree_number(t.tree), sum = t.tree->state.sum;
        assert_ok(faults_set(t.faults, failures[i].plan));
        begin_with_item(&t, "key");
        assert_status(tree_test_commit(&t), failures[i].status);
        assert_true(tree_number(t.tree) == number && t.tree->state.sum == sum && tree_items(t.tree) == 0);
        tree_test_expect(&t, "key", NULL);
    }
    begin_with_item(&t, "key");
    assert_ok(tree_test_commit(&t));
    assert_ok(tree_test_look(&t, "key"));
    assert_true(tree_items(t.tree) == 1);
    tree_test_remove(&t);
}

static void a_failed_meta_write_opens_the_file_again(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    for (unsigned round = 0; round < 3; round++) {
        uint64_t number;
        tree_test_set(&t, "kept", "value", 0);
        number = tree_number(t.tree);
        tree_test_break_meta(&t);
        begin_with_item(&t, "lost");
        assert_status(tree_test_commit(&t), ST_IO);
        assert_true(tree_number(t.tree) == number);
        tree_test_expect(&t, "kept", "value"); /* reads go on */
        tree_test_expect(&t, "lost", NULL);
        begin_with_item(&t, "more");
        assert_ok(tree_test_commit(&t));
        assert_ok(tree_test_look(&t, "more"));
        assert_true(tree_number(t.tree) > number);
        tree_test_delete(&t, "more");
    }
    tree_test_reopen(&t);
    tree_test_expect(&t, "kept", "value");
    tree_test_remove(&t);
}

static void a_file_that_cannot_be_opened_again_is_tried_again(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "kept", "value", 0);
    tree_test_break_meta(&t);
    assert_int_equal(renameat(t.dir.fd, TREE_FILE, t.dir.fd, "away"), 0);
    begin_with_item(&t, "lost");
    assert_status(tree_test_commit(&t), ST_CORRUPT);
    assert_status(tree_test_look(&t, "kept"), ST_IO);
    assert_status(tree_txn_begin(t.tree), ST_CORRUPT);
    assert_true(tree_items(t.tree) == 1);
    assert_int_equal(renameat(t.dir.fd, "away", t.dir.fd, TREE_FILE), 0);
    assert_status(tree_test_look(&t, "kept"), ST_IO);
    begin_with_item(&t, "more");
    tree_test_expect(&t, "kept", "value");
    assert_ok(tree_test_commit(&t));
    assert_ok(tree_test_look(&t, "more"));
    tree_test_remove(&t);
}

static void a_map_that_is_full_is_an_error(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "kept", "value", 0);
    assert_ok(tree_txn_begin(t.tree));
    assert_true(tree_txn_failed(t.tree, -30792) == ST_NO_SPACE); /* MDB_MAP_FULL */
    struct item *item = make_item(slice_str("other"), 10, ++t.lsn);
    assert_status(tree_txn_apply(t.tree, item, 0), ST_NO_SPACE);
    assert_status(tree_test_commit(&t), ST_NO_SPACE);
    tree_test_expect(&t, "other", NULL);
    assert_ok(tree_txn_begin(t.tree)); /* with the file opened again */
    tree_test_apply(&t, item, 0);
    assert_ok(tree_test_commit(&t));
    assert_ok(tree_test_look(&t, "other"));
    tree_test_expect(&t, "kept", "value");
    tree_test_remove(&t);
}

/* ---- damage ---- */

/* Flips a bit of every place in the file where the pattern stands, at `offset` from its start. */
static void damage(struct tree_test *t, const char *pattern, long offset) {
    int fd = openat(t->dir.fd, TREE_FILE, O_RDWR | O_CLOEXEC);
    struct stat about;
    unsigned found = 0;
    size_t n = strlen(pattern);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &about), 0);
    char *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(bytes != MAP_FAILED);
    char *end = bytes + about.st_size;
    for (char *at = bytes; (at = memmem(at, (size_t)(end - at), pattern, n)) != NULL; at += n) {
        at[offset] ^= 4;
        found++;
    }
    assert_true(found > 0);
    assert_int_equal(munmap(bytes, (size_t)about.st_size), 0);
    close(fd);
}

static void scan_all(struct tree_test *t, bool values, unsigned *count) {
    enum { ROOM = 16 };
    struct item *items[ROOM];
    uint64_t sizes[ROOM], number, birth;
    bool more;
    assert_ok(tree_scan(t->reader, slice_str(""), slice_str(""), ROOM, values, items, sizes, count, &more, &number,
                        &birth));
    assert_false(more);
    for (unsigned i = 0; i < *count; i++)
        item_unref(&items[i]);
}

static void a_damaged_value_is_not_served(void **state) {
    (void)state;
    struct tree_test t;
    unsigned count;
    tree_test_make(&t);
    tree_test_set(&t, "good", "sound", 0);
    tree_test_set(&t, "key", "a value with a pattern to look for", 0);
    assert_ok(tree_test_look(&t, "key"));
    damage(&t, "pattern to look", 3);
    assert_status(tree_test_look(&t, "key"), ST_CORRUPT);
    tree_test_expect(&t, "good", "sound");
    scan_all(&t, true, &count);
    assert_int_equal(count, 1);
    scan_all(&t, false, &count); /* the value is not looked at */
    assert_int_equal(count, 2);
    /* The header still knows what the record was, so writing it again heals. */
    tree_test_set(&t, "key", "healed", 0);
    tree_test_expect(&t, "key", "healed");
    assert_true(t.tree->state.unsound == 0);
    tree_test_remove(&t);
}

static void a_damaged_large_value_is_not_served(void **state) {
    (void)state;
    struct tree_test t;
    char value[100001];
    tree_test_make(&t);
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    memcpy(value + 77777, "far away pattern", 16);
    tree_test_set(&t, "key", value, 0);
    damage(&t, "far away pattern", 0);
    assert_status(tree_test_look(&t, "key"), ST_CORRUPT);
    tree_test_remove(&t);
}

static void a_damaged_header_is_replaced_and_remembered(void **state) {
    (void)state;
    struct tree_test t;
    unsigned count;
    tree_test_make(&t);
    tree_test_set(&t, "good", "sound", 0);
    tree_test_set(&t, "key", "PATTERN", 5000);
    damage(&t, "PATTERN", -20); /* in the header before the value */
    assert_status(tree_test_look(&t, "key"), ST_CORRUPT);
    scan_all(&t, false, &count);
    assert_int_equal(count, 1);
    tree_test_set(&t, "key", "new", 0);
    tree_test_expect(&t, "key", "new");
    assert_true(tree_items(t.tree) == 2);
    assert_true(t.tree->state.unsound == 1);
    tree_test_reopen(&t);
    assert_true(t.tree->state.unsound == 1);
    tree_test_remove(&t);
}

static void a_key_that_was_changed_is_not_taken_for_another(void **state) {
    (void)state;
    struct tree_test t;
    tree_test_make(&t);
    tree_test_set(&t, "keyA", "value", 0);
    damage(&t, "keyA", 3); /* 'A' becomes 'E' */
    tree_test_expect(&t, "keyA", NULL);
    assert_status(tree_test_look(&t, "keyE"), ST_CORRUPT);
    tree_test_remove(&t);
}

static void fill(struct tree_test *t, unsigned count) {
    char text[KEY_TEXT_BYTES];
    assert_ok(tree_txn_begin(t->tree));
    for (unsigned i = 0; i < count; i++)
        tree_test_apply(t, make_item(number_key(text, i), 1000, ++t->lsn), 0);
    assert_ok(tree_test_commit(t));
}

static void a_cut_file_is_an_error_not_a_crash(void **state) {
    (void)state;
    enum { COUNT = 5000, PAGE = 4096 };
    static const off_t lengths[] = {700 * PAGE, 3 * PAGE, 0};
    struct tree_test t;
    char text[KEY_TEXT_BYTES];
    struct item *items[COUNT];
    uint64_t sizes[COUNT], number, birth;
    unsigned count, failed = 0;
    bool more;
    tree_test_make(&t);
    fill(&t, COUNT);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        int fd = openat(t.dir.fd, TREE_FILE, O_RDWR | O_CLOEXEC);
        assert_int_equal(ftruncate(fd, lengths[i]), 0);
        close(fd);
        failed = 0;
        for (unsigned k = 0; k < COUNT; k++) {
            enum status status = tree_test_look(&t, (number_key(text, k), text));
            assert_true(status == ST_OK || status == ST_IO);
            failed += status == ST_IO;
        }
        assert_true(failed > 0);
        assert_status(tree_scan(t.reader, slice_str(""), slice_str(""), COUNT, true, items, sizes, &count, &more,
                                &number, &birth),
                      ST_IO);
        assert_int_equal(count, 0);
        assert_false(more);
    }
    assert_int_equal(failed, COUNT);
    tree_test_close(&t);
    tree_test_remove(&t);
}

static void a_cut_file_fails_a_transaction(void **state) {
    (void)state;
    enum { COUNT = 5000, PAGE = 4096 };
    struct tree_test t;
    char text[KEY_TEXT_BYTES];
    tree_test_make(&t);
    fill(&t, COUNT);
    assert_ok(tree_txn_begin(t.tree));
    int fd = openat(t.dir.fd, TREE_FILE, O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
    close(fd);
    struct item *item = make_item(number_key(text, COUNT / 2), 1000, ++t.lsn);
    assert_status(tree_txn_apply(t.tree, item, 0), ST_IO);
    item_unref(&item);
    assert_status(tree_test_commit(&t), ST_IO);
    tree_test_remove(&t);
}

/* One lookup of every key and a scan: whatever was found is what was put. */
static void read_everything(struct tree_test *t, unsigned count) {
    enum { ROOM = 1000 };
    struct item *items[ROOM], *item;
    uint64_t sizes[ROOM], number, birth;
    char text[KEY_TEXT_BYTES];
    unsigned found;
    bool more;
    for (unsigned k = 0; k < count; k++) {
        enum status status = tree_get(t->reader, number_key(text, k), &item, &number, &birth);
        assert_true(status == ST_OK || status == ST_CORRUPT || status == ST_IO);
        assert_true(item == NULL || (item->lsn == k + 1 && item_is_whole(item)));
        item_unref(&item);
    }
    enum status status = tree_scan(t->reader, slice_str(""), slice_str(""), ROOM, true, items, sizes, &found, &more,
                                   &number, &birth);
    assert_true(status == ST_OK || status == ST_CORRUPT || status == ST_IO);
    while (found-- > 0) {
        assert_true(item_is_whole(items[found]));
        item_unref(&items[found]);
    }
}

static void flipped_bits_make_no_wrong_value_and_no_crash(void **state) {
    (void)state;
    enum { COUNT = 600, ROUNDS = 300, FLIPS = 30, META_BYTES = 2 * 4096 };
    struct tree_test t;
    struct stat about;
    uint64_t random = random_seed("tree_damage");
    if (!NULL_IS_CAUGHT)
        skip();
    tree_test_make(&t);
    fill(&t, COUNT);
    int fd = openat(t.dir.fd, TREE_FILE, O_RDWR | O_CLOEXEC);
    assert_int_equal(fstat(fd, &about), 0);
    size_t n = (size_t)about.st_size - META_BYTES;
    char *good = malloc(n), *bad = malloc(n);
    assert_int_equal(pread(fd, good, n, META_BYTES), n);
    for (unsigned round = 0; round < ROUNDS; round++) {
        memcpy(bad, good, n);
        for (unsigned i = 0; i < FLIPS; i++) {
            /* Mostly in the first bytes of a page, where its structure is. */
            size_t at = random_below(&random, (unsigned)n);
            at = random_below(&random, 4) ? at - at % 4096 + random_below(&random, 64) : at;
            if (at < n)
                bad[at] = (char)(bad[at] ^ 1 << random_below(&random, 8));
        }
        assert_int_equal(pwrite(fd, bad, n, META_BYTES), n);
        read_everything(&t, COUNT);
    }
    assert_int_equal(pwrite(fd, good, n, META_BYTES), n);
    read_everything(&t, COUNT);
    free(good);
    free(bad);
    close(fd);
    tree_test_remove(&t);
}

/* ---- the guard itself ---- */

static void touch(void *arg) {
    *(volatile char *)arg;
}

static char *hole(void) {
    char name[] = "/tmp/coffer-unit-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0); /* of an empty file */
    assert_true(map != MAP_FAILED);
    close(fd);
    return map;
}

static void touch_in_a_guard(void *arg) {
    assert_status(sigbus_guard(touch, arg), ST_IO);
}

static void leave(void *arg) {
    (void)arg;
    sigbus_leave();
}

static void a_guard_ends_at_a_bad_page(void **state) {
    (void)state;
    char *bad = hole();
    char good = 1;
    sigbus_install();
    for (unsigned i = 0; i < 3; i++) {
        assert_status(sigbus_guard(touch, bad), ST_IO);
        assert_status(sigbus_guard(touch, &good), ST_OK);
        assert_status(sigbus_guard(touch_in_a_guard, bad), ST_OK); /* the inner one ends */
        assert_status(sigbus_guard(leave, NULL), ST_CORRUPT);
    }
    sigbus_leave(); /* outside nothing happens */
    munmap(bad, 4096);
}

static void a_null_pointer_ends_a_guard(void **state) {
    (void)state;
    char *volatile nowhere = NULL;
    char text[1024];
    if (!NULL_IS_CAUGHT)
        skip();
    sigbus_install();
    assert_status(sigbus_guard(touch, nowhere + 0x188), ST_CORRUPT);
    assert_int_equal(child_signal(touch, nowhere + 0x188, text, sizeof text), SIGSEGV);
}

static void touch_unguarded(void *arg) {
    assert_status(sigbus_guard(touch, arg), ST_IO);
    touch(arg);
}

static void send_to_itself(void *arg) {
    (void)arg;
    raise(SIGBUS);
}

static void outside_a_guard_the_process_dies(void **state) {
    (void)state;
    char *bad = hole();
    char text[1024];
    sigbus_install();
    assert_int_equal(child_signal(touch_unguarded, bad, text, sizeof text), SIGBUS);
    assert_int_equal(child_signal(send_to_itself, NULL, text, sizeof text), SIGBUS);
    munmap(bad, 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guard_ends_at_a_bad_page),
        cmocka_unit_test(a_null_pointer_ends_a_guard),
        cmocka_unit_test(outside_a_guard_the_process_dies),
        cmocka_unit_test(a_failed_commit_leaves_nothing_and_can_be_repeated),
        cmocka_unit_test(a_failed_meta_write_opens_the_file_again),
        cmocka_unit_test(a_file_that_cannot_be_opened_again_is_tried_again),
        cmocka_unit_test(a_map_that_is_full_is_an_error),
        cmocka_unit_test(a_damaged_value_is_not_served),
        cmocka_unit_test(a_damaged_large_value_is_not_served),
        cmocka_unit_test(a_damaged_header_is_replaced_and_remembered),
        cmocka_unit_test(a_key_that_was_changed_is_not_taken_for_another),
        cmocka_unit_test(a_cut_file_is_an_error_not_a_crash),
        cmocka_unit_test(a_cut_file_fails_a_transaction),
        cmocka_unit_test(flipped_bits_make_no_wrong_value_and_no_crash),
    };
    return cmocka_run_group_tests_name("tree_damage", tests, NULL, NULL);
}
