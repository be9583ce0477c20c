/* SPDX-License-Identifier: BSD-3-Clause */
/* support_tree: a tree in a temporary directory, and short ways to change and ask it. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_TREE_H
#define COFFER_TESTS_UNIT_SUPPORT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/item.h"
#include "storage/tree.h"
#include "tests/unit/support_dir.h"

enum { TREE_TEST_READERS = 8 };

struct tree_test {
    struct test_dir dir;
    struct hash_secret secret;
    struct faults *faults;
    struct tree *tree;
    struct tree_reader *reader;
    uint64_t lsn; /* the last one given out */
};

/* An open tree in a fresh directory. */
void tree_test_make(struct tree_test *t);
/* Closed if it is open, and removed. */
void tree_test_remove(struct tree_test *t);

enum status tree_test_try_open(struct tree_test *t);
void tree_test_open(struct tree_test *t);
void tree_test_close(struct tree_test *t);
void tree_test_reopen(struct tree_test *t);

/* Applies the item in the running transaction and drops the reference. */
void tree_test_apply(struct tree_test *t, struct item *item, int64_t now);
/* Commits with the last commit's marks. */
enum status tree_test_commit(struct tree_test *t);

/* Each in a transaction of its own, with the next LSN. */
void tree_test_set(struct tree_test *t, const char *key, const char *value, int64_t exptime);
void tree_test_delete(struct tree_test *t, const char *key);

/* The record as an item, or NULL; the lookup must succeed. */
struct item *tree_test_get(struct tree_test *t, struct slice key);
enum status tree_test_look(struct tree_test *t, const char *key);
/* Is the value what it should be?  NULL: there must be no record. */
void tree_test_expect(struct tree_test *t, const char *key, const char *value);

/* How many entries the expiry index has. */
unsigned tree_test_index_entries(struct tree_test *t);

/* Makes the file's next write of a meta page fail, after which LMDB gives the environment up. */
void tree_test_break_meta(struct tree_test *t);

#endif
