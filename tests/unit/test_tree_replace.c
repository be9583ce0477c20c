/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tree is in force: first starts, switches of generations, and what interrupts them. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/tree.h"
#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_tree.h"

static const struct tree_marks after_flush = {.applied = 500, .m = 500, .birth = 500, .wall = 1234, .flush_at = 99};

/* The files of tree/, sorted; lock files left out. */
static void expect_files(struct tree_test *t, const char *expected) {
    char path[512], text[512] = "";
    struct dirent **names;
    snprintf(path, sizeof path, "%s/tree", t->dir.path);
    int n = scandir(path, &names, NULL, alphasort);
    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.' && strstr(names[i]->d_name, "-lock") == NULL) {
            strcat(text, text[0] != '\0' ? " " : "");
            strcat(text, names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
    assert_string_equal(text, expected);
}

static void expect_flushed(struct tree_test *t, uint64_t generation) {
    struct tree_marks marks;
    tree_get_marks(t->tree, &marks);
    assert_true(marks.applied == 500 && marks.m == 500 && marks.birth == 500 && marks.wall == 1234);
    assert_true(marks.flush_at == 99);
    assert_true(tree_generation(t->tree) == generation && tree_birth(t->tree) == 500);
    assert_true(tree_items(t->tree) == 0);
    tree_test_expect(t, "key", NULL);
}

static void expect_old(struct tree_test *t) {
    struct tree_marks marks;
    tree_get_marks(t->tree, &marks);
    assert_true(marks.birth == 0 && tree_generation(t->tree) == 1 && tree_birth(t->tree) == 0);
    tree_test_expect(t, "key", "value");
}

static void make_with_key(struct tree_test *t) {
    tree_test_make(t);
    tree_test_set(t, "key", "value", 0);
}

/* ---- switching ---- */

static void a_switch_leaves_nothing_of_the_old_tree(void **state) {
    (void)state;
    struct tree_test t;
    make_with_key(&t);
    assert_ok(tree_replace(t.tree, &after_flush));
    expect_flushed(&t, 2);
    expect_files(&t, "00000002.mdb");
    tree_test_reopen(&t);
    expect_flushed(&t, 2);
    tree_test_set(&t, "key", "again", 0);
    for (uint64_t generation = 3; generation < 20; generation++) {
        assert_ok(tree_replace(t.tree, &after_flush));
        expect_flushed(&t, generation);
    }
    expect_files(&t, "00000013.mdb");
    tree_test_remove(&t);
}

static void a_failed_switch_leaves_the_old_tree(void **state) {
    (void)state;
    static const char *const plans[] = {
        "TREE_CREATE:1:eio", "TREE_CREATE:2:eio",    "DIR_SYNC:1:eio",        "MANIFEST_WRITE:1:enospc",
        "MANIFEST_WRITE:1:short", "MANIFEST_RENAME:1:eio", "DIR_SYNC:2:eio",
    };
    struct tree_test t;
    make_with_key(&t);
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        assert_ok(faults_set(t.faults, plans[i]));
        assert_int_not_equal(tree_replace(t.tree, &after_flush), ST_OK);
        assert_ok(faults_set(t.faults, ""));
        expect_old(&t);
        expect_files(&t, "00000001.mdb");
        tree_test_set(&t, "more", "goes on", 0);
        tree_test_reopen(&t);
        expect_old(&t);
        tree_test_expect(&t, "more", "goes on");
    }
    assert_ok(tree_replace(t.tree, &after_flush));
    expect_flushed(&t, tree_generation(t.tree));
    tree_test_remove(&t);
}

/* After the rename it is unknown which manifest a power cut would leave: nothing may be committed until it is known. */
static void nothing_is_committed_while_the_manifest_is_in_doubt(void **state) {
    (void)state;
    struct tree_test t;
    make_with_key(&t);
    assert_ok(faults_set(t.faults, "DIR_SYNC:2+:eio"));
    assert_status(tree_replace(t.tree, &after_flush), ST_IO);
    expect_files(&t, "00000001.mdb 00000002.mdb"); /* either may be named */
    expect_old(&t);
    assert_status(tree_txn_begin(t.tree), ST_IO);
    assert_status(tree_replace(t.tree, &after_flush), ST_IO);
    expect_files(&t, "00000001.mdb 00000002.mdb");
    assert_ok(faults_set(t.faults, ""));
    tree_test_set(&t, "more", "goes on", 0);
    expect_files(&t, "00000001.mdb");
    tree_test_reopen(&t);
    expect_old(&t);
    tree_test_expect(&t, "more", "goes on");
    tree_test_remove(&t);
}

static void an_old_file_that_stays_goes_at_the_next_start(void **state) {
    (void)state;
    struct tree_test t;
    make_with_key(&t);
    assert_ok(faults_set(t.faults, "TREE_UNLINK:1:eio"));
    assert_ok(tree_replace(t.tree, &after_flush));
    expect_flushed(&t, 2);
    expect_files(&t, "00000001.mdb 00000002.mdb");
    tree_test_reopen(&t);
    expect_flushed(&t, 2);
    expect_files(&t, "00000002.mdb");
    tree_test_remove(&t);
}

/* ---- kills ---- */

struct victim {
    struct tree_test *t;
    const char *plan;
};

static void replace_in_child(void *arg) {
    struct victim *victim = arg;
    tree_test_open(victim->t);
    if (faults_set(victim->t->faults, victim->plan) == ST_OK)
        (void)!tree_replace(victim->t->tree, &after_flush);
}

static void a_kill_during_a_switch_leaves_one_of_both(void **state) {
    (void)state;
    static const struct {
        const char *plan;
        bool flushed;
    } kills[] = {
        {"TREE_CREATE:1:kill", false},    {"TREE_CREATE:2:kill", false},     {"DIR_SYNC:1:kill", false},
        {"MANIFEST_WRITE:1:kill", false}, {"MANIFEST_RENAME:1:kill", false}, {"DIR_SYNC:2:kill", true},
        {"TREE_SWITCH:1:kill", true},     {"TREE_UNLINK:1:kill", true},
    };
    for (size_t i = 0; i < sizeof kills / sizeof kills[0]; i++) {
        struct tree_test t;
        struct victim victim = {&t, kills[i].plan};
        char text[4096];
        make_with_key(&t);
        tree_test_close(&t);
        assert_int_equal(child_signal(replace_in_child, &victim, text, sizeof text), SIGKILL);
        tree_test_open(&t);
        if (kills[i].flushed)
            expect_flushed(&t, 2);
        else
            expect_old(&t);
        expect_files(&t, kills[i].flushed ? "00000002.mdb" : "00000001.mdb");
        tree_test_set(&t, "more", "goes on", 0);
        tree_test_remove(&t);
    }
}

static void open_in_child(void *arg) {
    struct victim *victim = arg;
    if (faults_set(victim->t->faults, victim->plan) == ST_OK)
        (void)!tree_test_try_open(victim->t);
}

static void a_kill_during_the_first_start_is_no_damage(void **state) {
    (void)state;
    static const char *const plans[] = {
        "TREE_CREATE:1:kill", "TREE_CREATE:2:kill",     "DIR_SYNC:1:kill",
        "MANIFEST_WRITE:1:kill", "MANIFEST_RENAME:1:kill", "DIR_SYNC:2:kill",
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        struct tree_test t;
        struct victim victim = {&t, plans[i]};
        char text[4096];
        tree_test_make(&t);
        tree_test_close(&t);
        assert_int_equal(unlinkat(t.dir.fd, "MANIFEST", 0), 0);
        assert_int_equal(unlinkat(t.dir.fd, "tree/00000001.mdb", 0), 0);
        assert_int_equal(unlinkat(t.dir.fd, "tree/00000001.mdb-lock", 0), 0);
        assert_int_equal(child_signal(open_in_child, &victim, text, sizeof text), SIGKILL);
        tree_test_open(&t);
        assert_true(tree_generation(t.tree) == 1 && tree_items(t.tree) == 0);
        expect_files(&t, "00000001.mdb");
        tree_test_set(&t, "key", "value", 0);
        tree_test_remove(&t);
    }
}

/* ---- what is refused at a start ---- */

static void write_file(struct tree_test *t, const char *name, const char *text) {
    int fd = openat(t->dir.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void refused(struct tree_test *t) {
    assert_status(tree_test_try_open(t), ST_CORRUPT);
    assert_null(t->tree);
}

static void a_lost_manifest_does_not_start_empty(void **state) {
    (void)state;
    struct tree_test t;
    make_with_key(&t);
    tree_test_close(&t);
    assert_int_equal(renameat(t.dir.fd, "MANIFEST", t.dir.fd, "saved"), 0);
    refused(&t);
    expect_files(&t, "00000001.mdb");
    assert_int_equal(renameat(t.dir.fd, "saved", t.dir.fd, "MANIFEST"), 0);
    tree_test_open(&t);
    expect_old(&t);
    assert_ok(tree_replace(t.tree, &after_flush));
    tree_test_close(&t);
    assert_int_equal(unlinkat(t.dir.fd, "MANIFEST", 0), 0);
    refused(&t); /* empty, but not the first generation */
    expect_files(&t, "00000002.mdb");
    tree_test_remove(&t);
}

static void a_damaged_manifest_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"", "garbage", "coffer manifest 1\ngeneration 1\n",
                                        "coffer manifest 2\ngeneration 1\ntree tree/00000001.mdb\nsum 0\n"};
    struct tree_test t;
    make_with_key(&t);
    tree_test_close(&t);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        write_file(&t, "MANIFEST", texts[i]);
        refused(&t);
    }
    expect_files(&t, "00000001.mdb");
    tree_test_remove(&t);
}

static void a_missing_tree_is_refused_not_created(void **state) {
    (void)state;
    struct tree_test t;
    make_with_key(&t);
    tree_test_close(&t);
    assert_int_equal(renameat(t.dir.fd, "tree/00000001.mdb", t.dir.fd, "saved"), 0);
    refused(&t);
    expect_files(&t, "");
    assert_int_equal(renameat(t.dir.fd, "saved", t.dir.fd, "tree/00000001.mdb"), 0);
    tree_test_open(&t);
    expect_old(&t);
    tree_test_remove(&t);
}

static void a_tree_that_is_none_is_refused(void **state) {
    (void)state;
    struct tree_test t;
    struct stat about;
    make_with_key(&t);
    tree_test_close(&t);
    assert_int_equal(fstatat(t.dir.fd, "tree/00000001.mdb", &about, 0), 0);
    int fd = openat(t.dir.fd, "tree/00000001.mdb", O_RDWR);
    assert_int_equal(ftruncate(fd, 2 * 4096), 0); /* the meta pages alone */
    assert_int_not_equal(tree_test_try_open(&t), ST_OK);
    assert_int_equal(ftruncate(fd, about.st_size), 0); /* zeros */
    assert_int_not_equal(tree_test_try_open(&t), ST_OK);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_not_equal(tree_test_try_open(&t), ST_OK);
    close(fd);
    write_file(&t, "tree/00000001.mdb", "this is no tree at all");
    assert_int_not_equal(tree_test_try_open(&t), ST_OK);
    tree_test_remove(&t);
}

static void another_secret_is_refused(void **state) {
    (void)state;
    struct tree_test t;
    make_with_key(&t);
    tree_test_close(&t);
    t.secret.bytes[3] ^= 1;
    refused(&t);
    tree_test_remove(&t);
}

static void what_the_manifest_does_not_name_is_removed(void **state) {
    (void)state;
    struct tree_test t;
    make_with_key(&t);
    tree_test_close(&t);
    write_file(&t, "tree/00000002.mdb", "left by a switch");
    write_file(&t, "tree/00000002.mdb-lock", "left by a switch");
    write_file(&t, "tree/00000000.mdb", "no generation");
    write_file(&t, "tree/new.mdb", "left by a creation");
    write_file(&t, "tree/notes", "somebody's own");
    tree_test_open(&t);
    expect_old(&t);
    expect_files(&t, "00000000.mdb 00000001.mdb notes");
    assert_int_not_equal(faccessat(t.dir.fd, "tree/00000002.mdb-lock", F_OK, 0), 0);
    tree_test_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_switch_leaves_nothing_of_the_old_tree),
        cmocka_unit_test(a_failed_switch_leaves_the_old_tree),
        cmocka_unit_test(nothing_is_committed_while_the_manifest_is_in_doubt),
        cmocka_unit_test(an_old_file_that_stays_goes_at_the_next_start),
        cmocka_unit_test(a_kill_during_a_switch_leaves_one_of_both),
        cmocka_unit_test(a_kill_during_the_first_start_is_no_damage),
        cmocka_unit_test(a_lost_manifest_does_not_start_empty),
        cmocka_unit_test(a_damaged_manifest_is_refused),
        cmocka_unit_test(a_missing_tree_is_refused_not_created),
        cmocka_unit_test(a_tree_that_is_none_is_refused),
        cmocka_unit_test(another_secret_is_refused),
        cmocka_unit_test(what_the_manifest_does_not_name_is_removed),
    };
    return cmocka_run_group_tests_name("tree_replace", tests, NULL, NULL);
}
