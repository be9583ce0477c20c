/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/support_cmocka.h"

void tree_test_make(struct tree_test *t) {
    memset(t, 0, sizeof *t);
    test_dir_make(&t->dir);
    hash_random(&t->secret, sizeof t->secret);
    assert_ok(faults_create(&t->faults, NULL));
    tree_test_open(t);
}

void tree_test_remove(struct tree_test *t) {
    tree_test_close(t);
    faults_destroy(&t->faults);
    test_dir_remove(&t->dir);
}

enum status tree_test_try_open(struct tree_test *t) {
    struct tree_config config = {
        .dir = t->dir.fd,
        .dir_name = t->dir.path,
        .secret = &t->secret,
        .readers = TREE_TEST_READERS,
        .faults = t->faults,
    };
    return tree_open(&t->tree, &config);
}

void tree_test_open(struct tree_test *t) {
    assert_ok(tree_test_try_open(t));
    assert_ok(tree_reader_open(&t->reader, t->tree));
}

void tree_test_close(struct tree_test *t) {
    tree_reader_close(&t->reader);
    tree_close(&t->tree);
}

void tree_test_reopen(struct tree_test *t) {
    tree_test_close(t);
    tree_test_open(t);
}

void tree_test_apply(struct tree_test *t, struct item *item, int64_t now) {
    assert_ok(tree_txn_apply(t->tree, item, now));
    item_unref(&item);
}

enum status tree_test_commit(struct tree_test *t) {
    struct tree_marks marks;
    tree_get_marks(t->tree, &marks);
    return tree_txn_commit(t->tree, &marks);
}

void tree_test_set(struct tree_test *t, const char *key, const char *value, int64_t exptime) {
    struct item *item;
    assert_ok(item_create(&item, slice_str(key), strlen(value)));
    memcpy(item_body(item), value, strlen(value));
    item_set(item, 0, exptime, 0);
    item->lsn = ++t->lsn;
    assert_ok(tree_txn_begin(t->tree));
    tree_test_apply(t, item, 0);
    assert_ok(tree_test_commit(t));
}

void tree_test_delete(struct tree_test *t, const char *key) {
    struct item *item;
    assert_ok(item_create_tombstone(&item, slice_str(key)));
    item->lsn = ++t->lsn;
    assert_ok(tree_txn_begin(t->tree));
    tree_test_apply(t, item, 0);
    assert_ok(tree_test_commit(t));
}

struct item *tree_test_get(struct tree_test *t, struct slice key) {
    struct item *item;
    uint64_t number, birth;
    assert_ok(tree_get(t->reader, key, &item, &number, &birth));
    return item;
}

enum status tree_test_look(struct tree_test *t, const char *key) {
    struct item *item;
    uint64_t number, birth;
    enum status status = tree_get(t->reader, slice_str(key), &item, &number, &birth);
    assert_true(status == ST_OK || item == NULL);
    item_unref(&item);
    return status;
}

void tree_test_expect(struct tree_test *t, const char *key, const char *value) {
    struct item *item = tree_test_get(t, slice_str(key));
    assert_int_equal(item != NULL, value != NULL);
    if (item != NULL)
        assert_true(slice_equal(item_value(item), slice_str(value)));
    item_unref(&item);
}

static bool skip_all(void *arg, struct slice key) {
    (void)arg;
    (void)key;
    return true;
}

unsigned tree_test_index_entries(struct tree_test *t) {
    unsigned examined, freed;
    assert_ok(tree_txn_begin(t->tree));
    assert_ok(tree_txn_expire(t->tree, INT64_MAX, UINT32_MAX, skip_all, NULL, &examined, &freed));
    tree_txn_abort(t->tree);
    return examined;
}

/* LMDB writes meta pages through a descriptor of its own, the one that is O_DSYNC. */
void tree_test_break_meta(struct tree_test *t) {
    DIR *listing = opendir("/proc/self/fd");
    struct dirent *entry;
    char tree_name[512];
    int found = -1;

    assert_non_null(listing);
    snprintf(tree_name, sizeof tree_name, "%s/tree/%08llx.mdb", t->dir.path,
             (unsigned long long)tree_generation(t->tree));
    while ((entry = readdir(listing)) != NULL) {
        char target[512];
        ssize_t n = readlinkat(dirfd(listing), entry->d_name, target, sizeof target - 1);
        if (n < 0)
            continue;
        target[n] = '\0';
        int fd = atoi(entry->d_name);
        if (strcmp(target, tree_name) == 0 && (fcntl(fd, F_GETFL) & O_DSYNC) != 0)
            found = fd;
    }
    closedir(listing);
    assert_true(found >= 0);
    int read_only = open(tree_name, O_RDONLY | O_CLOEXEC);
    assert_true(read_only >= 0);
    assert_int_equal(dup2(read_only, found), found);
    close(read_only);
}
