/* SPDX-License-Identifier: BSD-3-Clause */
/* What a start makes of logs that were cut, overwritten, flipped, or killed in the middle of a start.  A copy of the
 * directory of a running log is what kill -9 leaves. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/log_format.h"
#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_log.h"

enum { SECTOR = LOG_SECTOR, GARBAGE = 4096, NAME = 17 };

/* A running log that syncs only when asked; what it has on disk is copied and damaged. */
static void make_source(struct log_test *t, unsigned records) {
    log_test_make(t, STORE_SYNC_OS);
    log_test_start(t);
    for (unsigned i = 0; i < records; i++)
        log_test_put(t, i);
    assert_int_equal(log_written(t->log), log_last(t->log));
}

/* It opens with `count` records from 0 on and takes more; nothing is strange about the log afterwards. */
static void expect_good(struct log_test *t, size_t count, unsigned warnings) {
    assert_ok(log_test_open(t));
    assert_int_equal(t->findings.records, count);
    log_test_expect(t, 0, count);
    assert_ok(log_start(t->log));
    log_test_put(t, count);
    assert_int_equal(log_test_lines(t, " warn "), warnings);
    assert_int_equal(log_test_lines(t, " error "), 0);
    log_test_close(t);
    assert_ok(log_test_open(t));
    assert_true(t->findings.clean);
    assert_int_equal(t->findings.dropped_bytes, 0);
    log_test_expect(t, 0, count + 1);
    assert_int_equal(log_test_lines(t, " warn "), warnings);
}

static void expect_refused(struct log_test *t) {
    char name[NAME];
    struct log_test before;

    log_test_copy(&before, t);
    assert_status(log_test_open(t), ST_CORRUPT);
    assert_null(t->log);
    assert_int_equal(log_test_lines(t, " error "), 1);
    assert_int_equal(log_test_lines(t, "offset "), 1);
    assert_int_equal(log_test_lines(t, t->dir.path), 1);
    assert_int_equal(log_test_newest(t, name), log_test_newest(&before, name)); /* nothing was touched */
    log_test_remove(&before);
}

/* ---- torn tails ---- */

enum damage { CUT, CUT_THEN_ZEROS, CUT_THEN_GARBAGE, ZEROS_INSIDE, GARBAGE_INSIDE, DAMAGES };

static void damage_from(struct log_test *t, const char *name, uint64_t at, enum damage damage) {
    unsigned char bytes[LOG_TEST_SEGMENT];
    uint64_t size = log_test_file_size(t, name);
    int fd;

    memset(bytes, 0, sizeof bytes);
    if (damage == CUT_THEN_GARBAGE || damage == GARBAGE_INSIDE)
        hash_random(bytes, GARBAGE);
    if (damage == ZEROS_INSIDE || damage == GARBAGE_INSIDE) {
        size_t n = damage == ZEROS_INSIDE || size - at < GARBAGE ? (size_t)(size - at) : GARBAGE;
        log_test_write_file(t, name, bytes, n, at);
        return;
    }
    fd = openat(t->dir.fd, name, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)at), 0);
    close(fd);
    if (damage != CUT)
        log_test_write_file(t, name, bytes, GARBAGE, at);
}

/* Zeros up to the next group. */
static bool in_padding(const struct log_test *t, const char *name, uint64_t at) {
    static const unsigned char zeros[SECTOR];
    unsigned char bytes[SECTOR];
    size_t n = (size_t)(log_align(at, SECTOR) - at);

    log_test_read_file(t, name, bytes, n, at);
    return n > 0 && memcmp(bytes, zeros, n) == 0;
}

/* An open log starts, takes a record and is opened again without a new warning. */
static void go_on(struct log_test *t, size_t count) {
    assert_ok(log_start(t->log));
    log_test_put(t, count);
    log_test_close(t);
    assert_ok(log_test_open(t));
    assert_true(t->findings.clean);
    log_test_expect(t, 0, count + 1);
    assert_true(log_test_lines(t, " warn ") <= 1);
}

/* ends[i] is where record i ends, for `count` of them. */
static void cut_everywhere(const struct log_test *source, const char *name, const uint64_t *ends, size_t count,
                           uint64_t from) {
    for (uint64_t at = from; at < ends[count - 1]; at++) {
        enum damage damage = (enum damage)(at % DAMAGES);
        struct log_test t;
        size_t whole = 0;

        while (ends[whole] <= at)
            whole++;
        if (in_padding(source, name, at) && at > ends[whole - 1] + 3)
            continue;
        log_test_copy(&t, source);
        damage_from(&t, name, at, damage);
        assert_ok(log_test_open(&t));
        log_test_expect(&t, 0, whole);
        /* Zeros that begin where a group ends are what an untouched tail looks like; zeros in its padding are. */
        if (damage != ZEROS_INSIDE || t.findings.dropped_bytes > 0)
            assert_int_equal(log_test_lines(&t, " warn "), 1);
        assert_int_equal(log_test_lines(&t, " error "), 0);
        assert_true(t.findings.dropped_bytes <= ends[count - 1] - ends[whole == 0 ? 0 : whole - 1] + GARBAGE);
        if (at % 7 == 0)
            go_on(&t, whole);
        log_test_remove(&t);
    }
}

static void test_cut_at_every_byte_of_the_last_groups(void **state) {
    enum { RECORDS = 12 };
    struct log_test source;
    uint64_t ends[RECORDS];
    char name[NAME];

    (void)state;
    make_source(&source, 0);
    log_test_newest(&source, name);
    for (unsigned i = 0; i < RECORDS; i++) {
        log_test_put(&source, i);
        ends[i] = log_test_end(&source, name);
    }
    cut_everywhere(&source, name, ends, RECORDS, ends[RECORDS - 4]);
    log_test_remove(&source);
}

static void test_cut_at_every_byte_of_the_last_records_of_one_group(void **state) {
    enum { RECORDS = 9 };
    struct log_test source;
    uint64_t ends[RECORDS];
    char name[NAME];

    (void)state;
    make_source(&source, 0);
    log_test_newest(&source, name);
    for (unsigned i = 0; i < RECORDS; i++)
        log_test_append(&source, i);
    log_write(source.log);
    for (unsigned i = RECORDS; i-- > 0;) { /* from the end: each record's length is known */
        char key[32], value[LOG_TEST_RECORD_MAX];
        struct log_record record;

        ends[i] = log_test_end(&source, name);
        if (i + 1 < RECORDS) {
            log_test_record(i + 1, &record, key, value);
            ends[i] = ends[i + 1] - (LOG_RECORD_BYTES + (record.cas != 0 ? LOG_CAS_BYTES : 0) + record.key.n +
                                     record.value.n);
        }
    }
    cut_everywhere(&source, name, ends, RECORDS, ends[RECORDS - 4]);
    log_test_remove(&source);
}

static void test_untouched_after_a_kill(void **state) {
    struct log_test source, t;

    (void)state;
    make_source(&source, 40);
    log_test_copy(&t, &source);
    expect_good(&t, 40, 0);
    assert_int_equal(t.findings.dropped_bytes, 0);
    log_test_remove(&t);
    log_test_remove(&source);
}

/* The OS wrote a later page of the file, but not the one before it. */
static void test_good_groups_behind_a_torn_one(void **state) {
    enum { RECORDS = 16, TORN = 8 }; /* all in one segment */
    struct log_test source, t;
    unsigned char zeros[SECTOR] = {0};
    uint64_t kept = 0;
    char name[NAME];

    (void)state;
    make_source(&source, 0);
    log_test_newest(&source, name);
    for (unsigned i = 0; i < RECORDS; i++) {
        if (i == TORN)
            kept = log_test_end(&source, name);
        log_test_put(&source, i);
    }
    log_test_copy(&t, &source);
    log_test_write_file(&t, name, zeros, sizeof zeros, log_align(kept, SECTOR));
    assert_ok(log_test_open(&t));
    assert_int_equal(t.findings.dropped_bytes, log_test_end(&source, name) - kept); /* up to the last byte */
    log_test_close(&t);
    log_test_forget_lines(&t);
    expect_good(&t, TORN, 1);
    log_test_close(&t);
    for (int i = 0; i < 3; i++) { /* what was cut off stays so, over more starts */
        log_test_start(&t);
        log_test_close(&t);
    }
    log_test_forget_lines(&t);
    assert_ok(log_test_open(&t));
    log_test_expect(&t, 0, TORN + 1);
    assert_int_equal(log_test_lines(&t, " warn "), 0);
    log_test_remove(&t);
    log_test_remove(&source);
}

/* Page and header of the segment in the middle were lost, those of the next one were not. */
static void test_segments_behind_a_torn_one(void **state) {
    struct log_test source, t;
    unsigned char zeros[2 * LOG_PAGE] = {0};
    uint64_t before;
    unsigned i = 0, kept = 0;
    char first[NAME], name[NAME];

    (void)state;
    make_source(&source, 0);
    before = log_test_newest(&source, first);
    while (log_test_newest(&source, name) < before + 3) {
        if (log_test_newest(&source, name) == before)
            kept = i; /* records 0 to i - 1 are in the first segment, perhaps one more */
        log_test_put(&source, i++);
    }
    log_test_copy(&t, &source);
    log_test_newest(&t, name);
    snprintf(name, sizeof name, "%016llx", (unsigned long long)before + 1);
    log_test_write_file(&t, name, zeros, sizeof zeros, 0);
    assert_ok(log_test_open(&t));
    assert_int_equal(t.findings.records, kept);
    assert_true(t.findings.dropped_bytes > LOG_TEST_SEGMENT);
    log_test_close(&t);
    log_test_forget_lines(&t);
    expect_good(&t, kept, 1);
    log_test_remove(&t);
    log_test_remove(&source);
}

/* Finds the group at or behind `at`. */
static bool next_group(const struct log_test *t, const char *name, uint64_t *at) {
    unsigned char bytes[LOG_GROUP_BYTES];
    struct log_group group;
    uint64_t seq;

    seq = strtoull(name, NULL, 16);
    for (*at = log_align(*at, SECTOR); *at < LOG_TEST_SEGMENT; *at += SECTOR) {
        log_test_read_file(t, name, bytes, sizeof bytes, *at);
        if (log_group_decode(bytes, &t->secret, seq, *at, &group))
            return true;
    }
    return false;
}

/* Runs the log through all its files, so that the current one has records of an earlier life behind its end. */
static void make_recycled(struct log_test *source, uint64_t *first) {
    uint64_t number, begun;
    char name[NAME];
    unsigned char page[LOG_PAGE];
    struct log_segment_header header;

    make_source(source, 0);
    begun = log_test_newest(source, name);
    for (number = 0; log_test_newest(source, name) < begun + 3 * LOG_TEST_SEGMENTS; number++) {
        uint64_t lsn = log_test_put(source, number);

        if (number % 16 == 0) {
            assert_ok(log_make_durable(source->log, lsn));
            log_applied(source->log, lsn);
            source->applied = source->m = lsn;
            *first = number + 1;
        }
    }
    log_test_read_file(source, name, page, sizeof page, 0);
    assert_ok(log_header_decode(page, &source->secret, &header));
    assert_true(header.recycled);
    for (unsigned i = 0; i < 5; i++)
        log_test_put(source, number++);
}

static void test_stale_records_behind_the_end(void **state) {
    struct log_test source, t;
    uint64_t first, written;
    size_t count;
    char name[NAME];

    (void)state;
    make_recycled(&source, &first);
    written = log_written(source.log);
    log_test_newest(&source, name);
    log_test_copy(&t, &source);
    assert_true(log_test_end(&t, name) > LOG_TEST_SEGMENT - LOG_TEST_RECORD_MAX); /* stale bytes to the end */
    assert_ok(log_test_open(&t));
    assert_int_equal(t.findings.last_lsn, written);
    assert_int_equal(t.findings.first_lsn, source.applied + 1);
    assert_int_equal(t.findings.dropped_bytes, 0);
    assert_int_equal(log_test_lines(&t, " warn "), 0);
    count = t.findings.records;
    log_test_expect(&t, first, count);
    assert_int_equal(count, written - source.applied);
    log_test_remove(&t);
    log_test_remove(&source);
}

static void test_torn_record_before_stale_ones(void **state) {
    struct log_test source, t;
    uint64_t first, last = 0;
    char name[NAME];

    (void)state;
    make_recycled(&source, &first);
    log_test_newest(&source, name);
    for (uint64_t at = LOG_PAGE; next_group(&source, name, &at); at += SECTOR)
        last = at;
    log_test_copy(&t, &source);
    log_test_flip(&t, name, last + LOG_GROUP_BYTES + 20);
    assert_ok(log_test_open(&t));
    assert_int_equal(t.findings.last_lsn, log_written(source.log) - 1);
    assert_int_equal(log_test_lines(&t, " warn "), 1);
    assert_true(t.findings.dropped_bytes > LOG_GROUP_BYTES);
    assert_true(t.findings.dropped_bytes <= LOG_PAGE + LOG_TEST_RECORD_MAX);
    log_test_expect(&t, first, t.findings.records);
    log_test_remove(&t);
    log_test_remove(&source);
}

/* ---- damage ---- */

/* Flips a bit at each of the positions; each time the log must refuse. */
static void refuse_flips(const struct log_test *source, const char *name, uint64_t from, uint64_t to, uint64_t step) {
    for (uint64_t at = from; at < to; at += step) {
        struct log_test t;

        log_test_copy(&t, source);
        log_test_flip(&t, name, at);
        expect_refused(&t);
        assert_int_equal(log_test_lines(&t, name), 1);
        log_test_remove(&t);
    }
}

static void test_a_flip_below_an_attested_change_refuses(void **state) {
    struct log_test source;
    uint64_t start, end;
    char name[NAME];

    (void)state;
    make_source(&source, 10);
    log_test_newest(&source, name);
    start = log_align(log_test_end(&source, name), SECTOR);
    log_test_put(&source, 10);
    end = log_test_end(&source, name);
    assert_ok(log_make_durable(source.log, log_last(source.log)));
    log_test_put(&source, 11); /* its group says that 10 is synced */
    refuse_flips(&source, name, start, end, 1);
    for (uint64_t at = LOG_PAGE; next_group(&source, name, &at) && at < start; at += SECTOR)
        refuse_flips(&source, name, at + 20, at + 20 + LOG_GROUP_BYTES, 20); /* its header and its record */
    log_test_remove(&source);
}

static void test_a_flip_after_a_clean_stop_refuses(void **state) {
    struct log_test source;
    uint64_t start, end;
    char name[NAME];

    (void)state;
    make_source(&source, 10);
    log_test_newest(&source, name);
    start = log_align(log_test_end(&source, name), SECTOR);
    log_test_put(&source, 10);
    end = log_test_end(&source, name);
    log_test_close(&source);
    refuse_flips(&source, name, start, end, 7);
    log_test_remove(&source);
}

static void test_a_flip_below_what_the_tree_has_refuses(void **state) {
    struct log_test source, t;
    char name[NAME];
    uint64_t end;

    (void)state;
    make_source(&source, 10); /* nothing is attested */
    log_test_newest(&source, name);
    end = log_test_end(&source, name);
    source.applied = log_last(source.log) - 5;
    source.m = log_last(source.log);
    refuse_flips(&source, name, end - 10, end, 3);
    source.m--;
    log_test_copy(&t, &source);
    log_test_flip(&t, name, end - 1);
    assert_ok(log_test_open(&t));
    assert_int_equal(t.findings.records, 4);
    log_test_remove(&t);
    log_test_remove(&source);
}

/* Only what is above `applied` counts. */
static void test_damage_below_applied_does_not_matter(void **state) {
    struct log_test source, t;
    uint64_t last;
    char name[NAME];

    (void)state;
    make_source(&source, 10);
    log_test_newest(&source, name);
    assert_ok(log_make_durable(source.log, log_last(source.log)));
    source.applied = source.m = log_last(source.log);
    last = log_test_put(&source, 10);
    log_test_copy(&t, &source);
    log_test_flip(&t, name, LOG_PAGE + LOG_GROUP_BYTES + 30);
    assert_ok(log_test_open(&t));
    assert_int_equal(t.findings.records, 1);
    assert_int_equal(t.findings.last_lsn, last);
    log_test_remove(&t);
    log_test_remove(&source);
}

/* Three segments, everything synced and all but the last record attested; returns how many records. */
static unsigned make_three(struct log_test *source, char names[3][NAME]) {
    uint64_t before;
    unsigned i = 0;

    make_source(source, 0);
    before = log_test_newest(source, names[0]);
    while (log_test_newest(source, names[2]) < before + 2) {
        log_test_put(source, i++);
        if (log_test_newest(source, names[1]) == before + 1)
            assert_ok(log_make_durable(source->log, log_last(source->log)));
    }
    log_test_put(source, i++);
    assert_ok(log_make_durable(source->log, log_last(source->log)));
    log_test_put(source, i++);
    snprintf(names[1], NAME, "%016llx", (unsigned long long)before + 1);
    return i;
}

static void test_lost_headers(void **state) {
    static const unsigned char zeros[LOG_PAGE];
    struct log_test source, t;
    unsigned count;
    char names[3][NAME];

    (void)state;
    count = make_three(&source, names);
    for (int i = 0; i < 3; i++) {
        log_test_copy(&t, &source);
        log_test_write_file(&t, names[i], zeros, SECTOR, 0); /* the first copy alone */
        assert_ok(log_test_open(&t));
        log_test_expect(&t, 0, count);
        assert_int_equal(log_test_lines(&t, " warn "), 0);
        log_test_remove(&t);
        log_test_copy(&t, &source);
        log_test_write_file(&t, names[i], zeros, sizeof zeros, 0);
        expect_refused(&t);
        log_test_remove(&t);
    }
    log_test_remove(&source);
}

static void test_lost_files(void **state) {
    struct log_test source, t;
    char names[3][NAME];

    (void)state;
    make_three(&source, names);
    for (int i = 0; i < 2; i++) {
        log_test_copy(&t, &source);
        assert_int_equal(unlinkat(t.dir.fd, names[i], 0), 0);
        expect_refused(&t);
        log_test_remove(&t);
    }
    source.applied = source.m = log_durable(source.log); /* then the first two are not needed */
    log_test_copy(&t, &source);
    assert_int_equal(unlinkat(t.dir.fd, names[0], 0), 0);
    assert_int_equal(unlinkat(t.dir.fd, names[1], 0), 0);
    assert_ok(log_test_open(&t));
    assert_int_equal(t.findings.records, 1);
    log_test_remove(&t);
    log_test_remove(&source);
}

static void test_an_empty_directory(void **state) {
    struct log_test t;

    (void)state;
    log_test_make(&t, STORE_SYNC_OS);
    t.applied = 10;
    t.m = 11;
    assert_status(log_test_open(&t), ST_CORRUPT); /* the tree needs 11 from the log */
    t.m = 10;
    log_test_start(&t);
    assert_true(log_last(t.log) > 10);
    log_test_remove(&t);
}

static void test_the_wrong_secret_is_refused(void **state) {
    struct log_test source;

    (void)state;
    make_source(&source, 3);
    log_test_close(&source);
    hash_random(&source.secret, sizeof source.secret);
    assert_status(log_test_open(&source), ST_CORRUPT);
    log_test_remove(&source);
}

static void test_a_file_that_cannot_be_read(void **state) {
    struct log_test source;

    (void)state;
    make_source(&source, 3);
    log_test_close(&source);
    for (int i = 1; i <= 5; i++) {
        char plan[32];

        snprintf(plan, sizeof plan, "LOG_READ:%d:eio", i);
        assert_ok(faults_set(source.faults, plan));
        assert_status(log_test_open(&source), ST_IO);
        assert_true(log_test_lines(&source, " error ") > 0);
        log_test_forget_lines(&source);
    }
    log_test_remove(&source);
}

/* ---- starting again ---- */

static void test_numbers_never_come_again(void **state) {
    struct log_test t, killed;
    uint64_t highest = 0;

    (void)state;
    make_source(&t, 0);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(log_last(t.log) >= highest + (UINT64_C(1) << 32) || i == 0);
        highest = log_test_put(&t, i);
        log_test_copy(&killed, &t);
        log_test_remove(&t);
        t = killed;
        t.config.dir_name = t.dir.path; /* it has moved */
        t.config.secret = &t.secret;
        log_test_start(&t);
    }
    log_test_close(&t);
    assert_ok(log_test_open(&t));
    log_test_expect(&t, 0, 5);
    log_test_remove(&t);
}

static void test_another_segment_size(void **state) {
    struct log_test t;
    unsigned i = 0;

    (void)state;
    make_source(&t, 0);
    for (; i < 60; i++)
        log_test_put(&t, i);
    log_test_close(&t);
    t.config.segment_bytes *= 2;
    t.config.log_max *= 4;
    log_test_start(&t);
    for (; i < 120; i++)
        log_test_put(&t, i);
    log_test_close(&t);
    t.config.segment_bytes /= 2;
    log_test_start(&t);
    for (; i < 150; i++)
        log_test_put(&t, i);
    log_test_close(&t);
    assert_ok(log_test_open(&t));
    log_test_expect(&t, 0, 150);
    log_test_remove(&t);
}

static void start_and_die(void *arg) {
    struct log_test *t = arg;

    if (log_test_open(t) == ST_OK && log_start(t->log) == ST_OK) {
        log_test_put(t, 1000); /* a number of its own: it may have got to disk or not */
        log_test_close(t);
    }
}

/* Killed at the n-th time it reaches the point, for every n that it reaches; then it starts as if nothing had
 * been.  Returns how often that was. */
static unsigned kill_start_at(const struct log_test *source, const char *point, size_t count) {
    for (unsigned n = 1;; n++) {
        struct log_test t;
        char plan[64], text[256];
        uint64_t numbers[200];
        size_t got;
        int signal;

        log_test_copy(&t, source);
        snprintf(plan, sizeof plan, "%s:%u:kill", point, n);
        assert_ok(faults_set(t.faults, plan));
        signal = child_signal(start_and_die, &t, text, sizeof text);
        assert_true(signal == 0 || signal == SIGKILL);
        assert_ok(faults_set(t.faults, ""));
        assert_ok(log_test_open(&t));
        got = log_test_replay(&t, 0, numbers, 200);
        assert_true(got == count || (got == count + 1 && numbers[count] == 1000));
        for (size_t i = 0; i < count; i++)
            assert_int_equal(numbers[i], i);
        assert_int_equal(log_test_lines(&t, " error "), 0);
        assert_ok(log_start(t.log));
        log_test_remove(&t);
        if (signal == 0)
            return n - 1;
    }
}

static void test_killed_while_starting(void **state) {
    static const char *const points[] = {"LOG_OPEN",   "LOG_READ", "LOG_REWRITE", "LOG_HEADER", "LOG_RENAME",
                                         "DIR_SYNC",   "LOG_WRITE", "LOG_WRITTEN", "LOG_SYNC"};
    struct log_test running, source;
    char name[NAME];

    (void)state;
    make_source(&running, 60);
    log_test_copy(&source, &running);
    log_test_remove(&running); /* no thread may run when the children are made */
    log_test_newest(&source, name);
    log_test_flip(&source, name, log_test_end(&source, name) - 1); /* a torn tail as well */
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        assert_true(kill_start_at(&source, points[i], 59) > 0);
    log_test_remove(&source);
}

/* No file is there that could be the next segment. */
static void test_killed_while_making_a_file(void **state) {
    static const char *const points[] = {"LOG_OPEN", "LOG_ZERO", "LOG_HEADER", "LOG_RENAME", "DIR_SYNC"};
    struct log_test source;
    char name[NAME];
    uint64_t newest;

    (void)state;
    make_source(&source, 20);
    log_test_close(&source);
    newest = log_test_newest(&source, name);
    for (uint64_t seq = newest + 1; seq < newest + LOG_TEST_SEGMENTS; seq++) {
        snprintf(name, sizeof name, "%016llx", (unsigned long long)seq);
        unlinkat(source.dir.fd, name, 0);
    }
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        assert_true(kill_start_at(&source, points[i], 20) > 0);
    log_test_remove(&source);
}

/* An error there is told, and the next start works. */
static void test_errors_while_starting(void **state) {
    static const char *const plans[] = {"LOG_OPEN:1:eio",    "LOG_REWRITE:1:eio", "LOG_REWRITE:2:eio",
                                        "LOG_REWRITE:1:enospc", "LOG_HEADER:1:eio",  "LOG_HEADER:2:eio",
                                        "LOG_RENAME:1:eio",  "DIR_SYNC:1:eio",    "LOG_HEADER:1:short"};
    struct log_test source;

    (void)state;
    make_source(&source, 60);
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        struct log_test t;
        enum status status;

        log_test_copy(&t, &source);
        assert_ok(faults_set(t.faults, plans[i]));
        status = log_test_open(&t);
        if (status == ST_OK)
            status = log_start(t.log);
        assert_true(status == ST_IO || status == ST_NO_SPACE);
        assert_true(log_test_lines(&t, " error ") > 0);
        log_test_close(&t);
        log_test_forget_lines(&t);
        assert_ok(faults_set(t.faults, ""));
        expect_good(&t, 60, 0);
        log_test_remove(&t);
    }
    log_test_remove(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_untouched_after_a_kill),
        cmocka_unit_test(test_cut_at_every_byte_of_the_last_groups),
        cmocka_unit_test(test_cut_at_every_byte_of_the_last_records_of_one_group),
        cmocka_unit_test(test_good_groups_behind_a_torn_one),
        cmocka_unit_test(test_segments_behind_a_torn_one),
        cmocka_unit_test(test_stale_records_behind_the_end),
        cmocka_unit_test(test_torn_record_before_stale_ones),
        cmocka_unit_test(test_a_flip_below_an_attested_change_refuses),
        cmocka_unit_test(test_a_flip_after_a_clean_stop_refuses),
        cmocka_unit_test(test_a_flip_below_what_the_tree_has_refuses),
        cmocka_unit_test(test_damage_below_applied_does_not_matter),
        cmocka_unit_test(test_lost_headers),
        cmocka_unit_test(test_lost_files),
        cmocka_unit_test(test_an_empty_directory),
        cmocka_unit_test(test_the_wrong_secret_is_refused),
        cmocka_unit_test(test_a_file_that_cannot_be_read),
        cmocka_unit_test(test_numbers_never_come_again),
        cmocka_unit_test(test_another_segment_size),
        cmocka_unit_test(test_killed_while_starting),
        cmocka_unit_test(test_killed_while_making_a_file),
        cmocka_unit_test(test_errors_while_starting),
    };
    return cmocka_run_group_tests_name("log_recover", tests, NULL, NULL);
}
