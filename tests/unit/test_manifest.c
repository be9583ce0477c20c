/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/manifest.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_dir.h"

enum { TEXT_ROOM = 512 };

struct fixture {
    struct test_dir dir;
    struct hash_secret secret;
};

static void begin(struct fixture *f) {
    test_dir_make(&f->dir);
    hash_random(&f->secret, sizeof f->secret);
}

static enum status read_generation(const struct fixture *f, uint64_t *generation) {
    struct manifest manifest = {0};
    enum status status = manifest_read(f->dir.fd, &f->secret, &manifest);
    *generation = manifest.generation;
    return status;
}

static void put_text(const struct fixture *f, const char *text, size_t n) {
    int fd = openat(f->dir.fd, MANIFEST_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    close(fd);
}

static void what_was_written_is_read(void **state) {
    (void)state;
    static const uint64_t generations[] = {1, 2, 9, 10, 0x123456789, UINT64_MAX};
    struct fixture f;
    uint64_t generation;
    begin(&f);
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++) {
        const struct manifest manifest = {generations[i]};
        assert_ok(manifest_write(f.dir.fd, &f.secret, NULL, &manifest));
        assert_ok(read_generation(&f, &generation));
        assert_true(generation == generations[i]);
    }
    test_dir_remove(&f.dir);
}

static void it_can_be_read_by_people(void **state) {
    (void)state;
    const struct manifest manifest = {26};
    struct fixture f;
    char text[TEXT_ROOM];
    begin(&f);
    assert_ok(manifest_write(f.dir.fd, &f.secret, NULL, &manifest));
    assert_true(test_dir_read(&f.dir, MANIFEST_NAME, text, sizeof text) > 0);
    const char *expected = "coffer manifest 1\ngeneration 26\ntree tree/0000001a.mdb\nsum ";
    assert_memory_equal(text, expected, strlen(expected));
    test_dir_remove(&f.dir);
}

static void a_missing_one_is_no_damage(void **state) {
    (void)state;
    struct fixture f;
    uint64_t generation;
    begin(&f);
    assert_status(read_generation(&f, &generation), ST_NOT_FOUND);
    test_dir_remove(&f.dir);
}

static void a_cut_one_is_damage(void **state) {
    (void)state;
    const struct manifest manifest = {7};
    struct fixture f;
    char text[TEXT_ROOM];
    uint64_t generation;
    begin(&f);
    assert_ok(manifest_write(f.dir.fd, &f.secret, NULL, &manifest));
    long n = test_dir_read(&f.dir, MANIFEST_NAME, text, sizeof text);
    for (long cut = 0; cut < n; cut++) {
        put_text(&f, text, (size_t)cut);
        assert_status(read_generation(&f, &generation), ST_CORRUPT);
    }
    test_dir_remove(&f.dir);
}

static void a_changed_one_is_damage(void **state) {
    (void)state;
    const struct manifest manifest = {7};
    struct fixture f;
    char text[TEXT_ROOM];
    uint64_t generation;
    begin(&f);
    assert_ok(manifest_write(f.dir.fd, &f.secret, NULL, &manifest));
    size_t n = (size_t)test_dir_read(&f.dir, MANIFEST_NAME, text, sizeof text);
    for (size_t i = 0; i < n; i++) {
        text[i] ^= 1;
        put_text(&f, text, n);
        assert_status(read_generation(&f, &generation), ST_CORRUPT);
        text[i] ^= 1;
    }
    text[n] = '\n';
    put_text(&f, text, n + 1);
    assert_status(read_generation(&f, &generation), ST_CORRUPT);
    memset(text, 'x', sizeof text);
    put_text(&f, text, sizeof text);
    assert_status(read_generation(&f, &generation), ST_CORRUPT);
    test_dir_remove(&f.dir);
}

static void one_of_another_secret_is_refused(void **state) {
    (void)state;
    const struct manifest manifest = {7};
    struct fixture f;
    uint64_t generation;
    begin(&f);
    assert_ok(manifest_write(f.dir.fd, &f.secret, NULL, &manifest));
    f.secret.bytes[0] ^= 1;
    assert_status(read_generation(&f, &generation), ST_CORRUPT);
    test_dir_remove(&f.dir);
}

static void a_failed_write_leaves_the_old_one(void **state) {
    (void)state;
    static const struct {
        const char *plan;
        enum status status;
    } failures[] = {
        {"MANIFEST_WRITE:1:eio", ST_IO},
        {"MANIFEST_WRITE:1:enospc", ST_NO_SPACE},
        {"MANIFEST_WRITE:1:short", ST_NO_SPACE},
        {"MANIFEST_RENAME:1:eio", ST_IO},
    };
    const struct manifest old = {1}, next = {2};
    struct fixture f;
    struct faults *faults;
    uint64_t generation;
    begin(&f);
    assert_ok(faults_create(&faults, NULL));
    assert_ok(manifest_write(f.dir.fd, &f.secret, faults, &old));
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        assert_ok(faults_set(faults, failures[i].plan));
        assert_status(manifest_write(f.dir.fd, &f.secret, faults, &next), failures[i].status);
        assert_ok(read_generation(&f, &generation));
        assert_true(generation == 1);
    }
    assert_ok(manifest_write(f.dir.fd, &f.secret, faults, &next));
    assert_ok(read_generation(&f, &generation));
    assert_true(generation == 2);
    faults_destroy(&faults);
    test_dir_remove(&f.dir);
}

static void tree_names_sort_like_generations(void **state) {
    (void)state;
    char name[MANIFEST_TREE_NAME];
    manifest_tree_name(1, name);
    assert_string_equal(name, "00000001.mdb");
    manifest_tree_name(0xabcdef, name);
    assert_string_equal(name, "00abcdef.mdb");
    manifest_tree_name(UINT64_MAX, name);
    assert_string_equal(name, "ffffffffffffffff.mdb");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(it_can_be_read_by_people),
        cmocka_unit_test(a_missing_one_is_no_damage),
        cmocka_unit_test(a_cut_one_is_damage),
        cmocka_unit_test(a_changed_one_is_damage),
        cmocka_unit_test(one_of_another_secret_is_refused),
        cmocka_unit_test(a_failed_write_leaves_the_old_one),
        cmocka_unit_test(tree_names_sort_like_generations),
    };
    return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
