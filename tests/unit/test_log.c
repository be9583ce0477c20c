/* SPDX-License-Identifier: BSD-3-Clause */
/* A running log: room, groups, marks, and what it does when the disk fails.
 * Nothing here measures time; where something happens in the background its effect is waited for. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/check.h"
#include "storage/log_format.h"
#include "storage/log_internal.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_log.h"

/* ---- what comes back ---- */

static enum status compare_record(void *arg, const struct log_record *record) {
    const struct log_record **next = arg, *want = (*next)++;

    assert_int_equal(record->lsn, want->lsn);
    assert_int_equal(record->op, want->op);
    assert_int_equal(record->kind, want->kind);
    assert_int_equal(record->marks, want->marks);
    assert_int_equal(record->flags, want->flags);
    assert_int_equal(record->exptime, want->exptime);
    assert_int_equal(record->cas, want->cas);
    assert_true(slice_equal(record->key, want->key));
    assert_true(slice_equal(record->value, want->value));
    return ST_OK;
}

static void test_round_trip_of_extremes(void **state) {
    static char key[250], value[LOG_TEST_RECORD_MAX - 250];
    struct log_record records[] = {
        {.op = LOG_SET, .key = slice_of("\0", 1), .value = slice_of("", 0)},
        {.op = LOG_SET, .key = slice_of(key, 250), .value = slice_of(value, sizeof value), .cas = UINT64_MAX},
        {.op = LOG_SET, .kind = LOG_POINTER, .key = slice_str("p"), .value = slice_str("where"), .flags = UINT32_MAX},
        {.op = LOG_SET, .key = slice_str("t"), .value = slice_str("\r\n"), .exptime = INT64_MAX, .marks = 3},
        {.op = LOG_SET, .key = slice_str("t"), .value = slice_str("\r\n"), .exptime = INT64_MIN, .cas = 1},
        {.op = LOG_DELETE, .key = slice_of(key, 250)},
        {.op = LOG_FLUSH},
        {.op = LOG_FLUSH_AT, .exptime = INT64_C(1) << 40},
        {.op = LOG_FLUSH_AT},
    };
    const struct log_record *next = records;
    struct log_test t;

    (void)state;
    memset(key, 0xfe, sizeof key);
    hash_random(value, sizeof value);
    log_test_ready(&t, STORE_SYNC_INTERVAL);
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        log_test_reserve(&t, log_record_room(records[i].key.n, records[i].value.n));
        records[i].value_sum = log_value_sum(t.log, records[i].value);
        log_append(t.log, &records[i]);
        assert_int_equal(records[i].lsn, log_last(t.log));
    }
    log_test_close(&t);
    assert_ok(log_test_open(&t));
    assert_ok(log_replay(t.log, 0, compare_record, &next));
    assert_ptr_equal(next, records + sizeof records / sizeof records[0]);
    next = records + 7;
    assert_ok(log_replay(t.log, records[6].lsn, compare_record, &next));
    log_test_remove(&t);
}

static enum status stop_at_third(void *arg, const struct log_record *record) {
    (void)record;
    return ++*(unsigned *)arg == 3 ? ST_LIMIT : ST_OK;
}

static void test_replay_ends_where_the_caller_wants(void **state) {
    struct log_test t;
    unsigned seen = 0;

    (void)state;
    log_test_ready(&t, STORE_SYNC_OS);
    for (unsigned i = 0; i < 10; i++)
        log_test_put(&t, i);
    log_test_close(&t);
    assert_ok(log_test_open(&t));
    assert_status(log_replay(t.log, 0, stop_at_third, &seen), ST_LIMIT);
    assert_int_equal(seen, 3);
    log_test_remove(&t);
}

static void test_findings(void **state) {
    struct log_test t;
    uint64_t first;

    (void)state;
    log_test_ready(&t, STORE_SYNC_OS);
    log_test_restart(&t);
    assert_int_equal(t.findings.records, 0);
    assert_int_equal(t.findings.first_lsn, 0);
    assert_int_equal(t.findings.last_lsn, 0);
    first = log_test_put(&t, 0);
    for (unsigned i = 1; i < 50; i++)
        log_test_put(&t, i);
    log_test_restart(&t);
    assert_int_equal(t.findings.records, 50);
    assert_int_equal(t.findings.first_lsn, first);
    assert_int_equal(t.findings.last_lsn, first + 49);
    assert_true(t.findings.clean);
    assert_int_equal(t.findings.dropped_bytes, 0);
    t.applied = t.m = first + 29;
    log_test_restart(&t);
    assert_int_equal(t.findings.records, 20);
    assert_int_equal(t.findings.first_lsn, first + 30);
    log_test_remove(&t);
}

/* ---- room ---- */

static void on_room(void *arg) {
    atomic_fetch_add((atomic_uint *)arg, 1);
}

static void start_with_room_call(struct log_test *t, atomic_uint *calls) {
    log_test_make(t, STORE_SYNC_OS);
    assert_ok(log_test_open(t));
    log_on_room(t->log, on_room, calls);
    assert_ok(log_start(t->log));
    WAIT_UNTIL(log_test_segments(t) == 3);
}

/* Like log_test_put, but only when there is room now. */
static enum status try_put(struct log_test *t, uint64_t number) {
    char key[32], value[LOG_TEST_RECORD_MAX];
    struct log_record record;
    enum status status;

    log_test_record(number, &record, key, value);
    status = log_reserve(t->log, log_record_room(record.key.n, record.value.n));
    if (status == ST_OK) {
        record.value_sum = log_value_sum(t->log, record.value);
        log_append(t->log, &record);
        log_write(t->log);
    }
    return status;
}

/* Appends until log_max refuses more; returns the next number. */
static uint64_t fill_up(struct log_test *t, uint64_t number) {
    for (;;) {
        bool all = log_test_segments(t) == LOG_TEST_SEGMENTS;
        enum status status = try_put(t, number);

        if (status == ST_AGAIN && all)
            return number;
        if (status == ST_AGAIN)
            usleep(STEP_MICROS);
        else
            assert_ok(status);
        number += status == ST_OK;
    }
}

static void test_full_log_waits_for_the_tree(void **state) {
    struct log_test t;
    atomic_uint calls = 0;
    uint64_t number = 0;
    struct log_figures figures;

    (void)state;
    start_with_room_call(&t, &calls);
    for (int round = 0; round < 4; round++) {
        unsigned before;

        number = fill_up(&t, number);
        log_figures(t.log, &figures);
        assert_int_equal(figures.segments, LOG_TEST_SEGMENTS);
        assert_int_equal(figures.bytes, LOG_TEST_SEGMENTS * LOG_TEST_SEGMENT);
        /* all but what is left of the current one, and the last spare, which is the next start's */
        assert_true(figures.since_applied > (LOG_TEST_SEGMENTS - 3) * LOG_TEST_SEGMENT);
        assert_true(figures.since_applied <= (LOG_TEST_SEGMENTS - 1) * LOG_TEST_SEGMENT);
        before = atomic_load(&calls);
        assert_ok(log_make_durable(t.log, log_last(t.log)));
        assert_status(log_reserve(t.log, LOG_TEST_SEGMENT), ST_AGAIN);
        log_applied(t.log, log_last(t.log));
        assert_int_equal(log_backlog(t.log), 0);
        WAIT_UNTIL(atomic_load(&calls) > before);
        assert_ok(log_reserve(t.log, LOG_TEST_SEGMENT));
        log_unreserve(t.log, LOG_TEST_SEGMENT);
    }
    t.applied = t.m = log_last(t.log);
    log_test_close(&t);
    assert_ok(log_test_open(&t));
    assert_int_equal(t.findings.records, 0);
    log_test_remove(&t);
}

/* Also the log that was filled until nothing more went in: killed there, with no room for another file, it starts. */
static void test_full_log_starts_on_a_full_disk(void **state) {
    struct log_test t, killed;
    atomic_uint calls = 0;
    uint64_t number;

    (void)state;
    start_with_room_call(&t, &calls);
    number = fill_up(&t, 0);
    log_test_copy(&killed, &t);
    assert_ok(faults_set(killed.faults, "LOG_ZERO:*:enospc"));
    assert_ok(log_test_open(&killed));
    log_test_expect(&killed, 0, number);
    assert_ok(log_start(killed.log));
    log_test_put(&killed, number); /* a delete, say */
    log_test_remove(&killed);
    log_test_remove(&t);
}

static void test_applied_keeps_what_a_restart_needs(void **state) {
    struct log_test t;
    uint64_t middle = 0, number = 0;

    (void)state;
    log_test_make(&t, STORE_SYNC_OS);
    t.config.log_max *= 3;
    log_test_start(&t);
    for (int round = 0; round < 6; round++) {
        uint64_t end = number + 60, first = number;

        for (; number < end; number++)
            log_test_put(&t, number);
        middle = log_last(t.log) - 30;
        assert_ok(log_make_durable(t.log, log_last(t.log)));
        log_applied(t.log, middle);
        t.applied = t.m = middle;
        log_test_restart(&t); /* recycles what it can, too */
        log_test_close(&t);
        assert_ok(log_test_open(&t));
        log_test_expect(&t, first + 30, 30);
        assert_ok(log_start(t.log));
    }
    log_test_remove(&t);
}

static void test_unreserve_makes_room(void **state) {
    enum { PIECE = LOG_TEST_SEGMENT / 4 };
    struct log_test t;
    atomic_uint calls = 0;
    size_t held = 0;

    (void)state;
    start_with_room_call(&t, &calls);
    for (;;) {
        bool all = log_test_segments(&t) == LOG_TEST_SEGMENTS;

        if (log_reserve(t.log, PIECE) == ST_OK)
            held += PIECE;
        else if (all)
            break;
        else
            usleep(STEP_MICROS);
    }
    assert_true(held >= (LOG_TEST_SEGMENTS - 3) * LOG_TEST_SEGMENT);
    atomic_store(&calls, 0);
    log_unreserve(t.log, held);
    WAIT_UNTIL(atomic_load(&calls) > 0);
    assert_ok(log_reserve(t.log, PIECE));
    log_unreserve(t.log, PIECE);
    assert_status(log_reserve(t.log, LOG_TEST_SEGMENTS * LOG_TEST_SEGMENT), ST_LIMIT); /* never possible */
    log_test_remove(&t);
}

/* Reservations are kept whatever else is appended: records of the largest size behind many small ones. */
static void test_reserved_room_is_there(void **state) {
    static char value[LOG_TEST_RECORD_MAX - 1];
    struct log_test t;
    size_t room = log_record_room(1, sizeof value);

    (void)state;
    log_test_ready(&t, STORE_SYNC_OS);
    for (unsigned number = 0; number < 400; number++) {
        struct log_record record = {.op = LOG_SET, .key = slice_str("k")};
        uint64_t lsn;

        record.value = slice_of(value, number * 37 % sizeof value);
        log_test_reserve(&t, 3 * room);
        for (unsigned i = 0; i < 3; i++) {
            size_t used = log_record_room(1, record.value.n);

            record.value_sum = log_value_sum(t.log, record.value);
            lsn = log_append(t.log, &record);
            if ((number + i) % 2 == 0)
                log_write(t.log);
            log_unreserve(t.log, room - used);
        }
        log_write(t.log);
        assert_ok(log_make_durable(t.log, lsn));
        log_applied(t.log, lsn);
    }
    log_test_remove(&t);
}

static void test_full_disk_at_preparing(void **state) {
    struct log_test t;
    atomic_uint calls = 0;
    uint64_t number;

    (void)state;
    start_with_room_call(&t, &calls);
    assert_ok(faults_set(t.faults, "LOG_ZERO:*:enospc"));
    for (number = 0;;) {
        enum status status = try_put(&t, number);

        if (status == ST_NO_SPACE)
            break;
        if (status == ST_AGAIN) { /* who was told to wait is told to look again */
            WAIT_UNTIL(atomic_load(&calls) > 0);
            atomic_store(&calls, 0);
            continue;
        }
        assert_ok(status);
        number++;
    }
    assert_ok(log_health(t.log));
    assert_int_equal(log_written(t.log), log_last(t.log));
    atomic_store(&calls, 0);
    assert_ok(faults_set(t.faults, ""));
    WAIT_UNTIL(atomic_load(&calls) > 0);
    assert_ok(log_reserve(t.log, LOG_TEST_SEGMENT / 4));
    log_unreserve(t.log, LOG_TEST_SEGMENT / 4);
    log_test_put(&t, number++);
    log_test_close(&t);
    assert_ok(log_test_open(&t));
    log_test_expect(&t, 0, number);
    log_test_remove(&t);
}

/* ---- failures ---- */

static void test_failed_sync_is_final(void **state) {
    static const enum store_sync modes[] = {STORE_SYNC_ALWAYS, STORE_SYNC_INTERVAL, STORE_SYNC_OS};

    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct log_test t;
        uint64_t durable, mark, lsn;

        log_test_ready(&t, modes[i]);
        lsn = log_test_put(&t, 0);
        assert_ok(log_make_durable(t.log, lsn));
        durable = log_durable(t.log);
        assert_ok(faults_set(t.faults, "LOG_SYNC:1:eio")); /* once: a later sync would succeed */
        lsn = log_test_put(&t, 1);
        assert_status(log_make_durable(t.log, lsn), ST_READ_ONLY);
        assert_status(log_health(t.log), ST_READ_ONLY);
        assert_status(log_reserve(t.log, 1), ST_READ_ONLY);
        assert_int_equal(log_durable(t.log), durable);
        mark = log_mark(t.log);
        log_write(t.log);
        assert_status(log_make_durable(t.log, lsn), ST_READ_ONLY);
        assert_int_equal(log_durable(t.log), durable);
        assert_int_equal(log_mark(t.log), mark);
        WAIT_UNTIL(log_test_lines(&t, "syncing failed") == 1);
        log_test_close(&t);
        assert_ok(log_test_open(&t)); /* the bytes are in the page cache */
        log_test_expect(&t, 0, 2);
        log_test_remove(&t);
    }
}

static void test_failed_write_is_final(void **state) {
    struct log_test t;
    uint64_t lsn, written;

    (void)state;
    log_test_ready(&t, STORE_SYNC_INTERVAL);
    written = log_test_put(&t, 0);
    assert_ok(faults_set(t.faults, "LOG_WRITE:1:eio"));
    lsn = log_test_put(&t, 1);
    assert_true(lsn > written);
    assert_status(log_health(t.log), ST_READ_ONLY);
    assert_int_equal(log_written(t.log), written);
    log_write(t.log);
    assert_int_equal(log_mark(t.log), written);
    log_test_close(&t);
    assert_ok(log_test_open(&t));
    log_test_expect(&t, 0, 1);
    log_test_remove(&t);
}

static void test_full_disk_at_writing(void **state) {
    static const char *const plans[] = {"LOG_WRITE:*:enospc", "LOG_WRITE:*:short"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct log_test t;
        uint64_t lsn;

        log_test_ready(&t, STORE_SYNC_INTERVAL);
        log_test_reserve(&t, LOG_TEST_SEGMENT); /* held by another session */
        assert_ok(faults_set(t.faults, plans[i]));
        lsn = log_test_put(&t, 0);
        assert_true(log_written(t.log) < lsn);
        assert_ok(log_health(t.log));
        assert_status(log_reserve(t.log, 1), ST_NO_SPACE);
        assert_status(log_make_durable(t.log, lsn), ST_NO_SPACE);
        log_write(t.log); /* is left to the sync thread */
        assert_true(log_written(t.log) < lsn);
        assert_ok(faults_set(t.faults, ""));
        WAIT_UNTIL(log_written(t.log) == lsn);
        assert_ok(log_make_durable(t.log, lsn));
        assert_ok(log_reserve(t.log, 1));
        log_test_put(&t, 1);
        log_test_close(&t);
        assert_ok(log_test_open(&t));
        log_test_expect(&t, 0, 2);
        log_test_remove(&t);
    }
}

static void test_failed_directory_sync_is_final(void **state) {
    struct log_test t;

    (void)state;
    log_test_make(&t, STORE_SYNC_OS);
    assert_ok(faults_set(t.faults, "DIR_SYNC:2:eio")); /* the first one is of the start */
    log_test_start(&t);
    WAIT_UNTIL(log_health(t.log) == ST_READ_ONLY);
    WAIT_UNTIL(log_test_lines(&t, "directory failed") == 1);
    log_test_remove(&t);
}

/* ---- syncing ---- */

static void test_os_mode_syncs_only_when_asked(void **state) {
    struct log_test t;
    uint64_t base, lsn = 0;

    (void)state;
    log_test_ready(&t, STORE_SYNC_OS);
    base = log_durable(t.log);
    for (unsigned i = 0; i < 20; i++)
        lsn = log_test_put(&t, i);
    assert_int_equal(log_mark(t.log), lsn);
    assert_int_equal(log_durable(t.log), base);
    assert_int_equal(log_test_syncs(&t), 0);
    assert_ok(log_make_durable(t.log, lsn - 5));
    assert_int_equal(log_test_syncs(&t), 1);
    assert_ok(log_make_durable(t.log, lsn - 6)); /* it is already */
    assert_int_equal(log_test_syncs(&t), 1);
    log_test_remove(&t);
}

static void test_interval_mode_syncs_by_itself(void **state) {
    struct log_test t;

    (void)state;
    log_test_ready(&t, STORE_SYNC_INTERVAL);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t lsn = log_test_put(&t, i);

        assert_true(log_mark(t.log) >= lsn);
        WAIT_UNTIL(log_durable(t.log) == lsn);
    }
    assert_int_equal(log_test_syncs(&t), 3);
    log_test_remove(&t);
}

static void test_a_sync_is_forced_before_too_much_is_unsynced(void **state) {
    struct log_test t;
    uint64_t base;

    (void)state;
    log_test_ready(&t, STORE_SYNC_OS);
    base = log_durable(t.log);
    t.log->unsynced_max = 20;
    for (unsigned i = 0; i < 9; i++)
        log_test_put(&t, i);
    assert_int_equal(log_durable(t.log), base);
    for (unsigned i = 9; i < 40; i++) {
        log_test_put(&t, i);
        assert_true(log_last(t.log) - log_durable(t.log) <= 20);
    }
    assert_true(log_durable(t.log) > base);
    log_test_remove(&t);
}

/* The highest LSN that a group of the newest segment attests. */
static uint64_t attested(const struct log_test *t) {
    static unsigned char bytes[LOG_TEST_SEGMENT];
    struct log_group group;
    uint64_t highest = 0, seq;
    char name[17];

    seq = log_test_newest(t, name);
    log_test_read_file(t, name, bytes, sizeof bytes, 0);
    for (uint64_t at = LOG_PAGE; at < sizeof bytes; at += LOG_SECTOR)
        if (log_group_decode(bytes + at, &t->secret, seq, at, &group) && group.attested > highest)
            highest = group.attested;
    return highest;
}

static void test_an_idle_log_attests_once(void **state) {
    struct log_test t;
    struct log_figures before, after;
    uint64_t lsn;

    (void)state;
    log_test_ready(&t, STORE_SYNC_INTERVAL);
    lsn = log_test_put(&t, 0);
    WAIT_UNTIL(attested(&t) == lsn);
    log_figures(t.log, &before);
    usleep(250000); /* more than two idle periods: nothing more may happen in them */
    log_figures(t.log, &after);
    assert_int_equal(after.writes, before.writes);
    assert_int_equal(after.syncs, before.syncs);
    lsn = log_test_put(&t, 1);
    WAIT_UNTIL(attested(&t) == lsn);
    log_test_remove(&t);
}

/* A stalled disk holds one worker, once: then the writer thread takes over. */
static void test_slow_writes_are_left_to_the_writer(void **state) {
    struct log_test t;
    uint64_t lsn;

    (void)state;
    log_test_ready(&t, STORE_SYNC_OS);
    t.log->slow_micros = 1000;
    assert_ok(faults_set(t.faults, "LOG_WRITE:*:sleep=300000"));
    lsn = log_test_put(&t, 0);
    assert_true(log_written(t.log) >= lsn); /* by this thread */
    lsn = log_test_put(&t, 1);
    assert_true(log_written(t.log) < lsn); /* this thread did not wait for it */
    WAIT_UNTIL(log_written(t.log) == lsn);
    assert_ok(faults_set(t.faults, ""));
    usleep(250000); /* writes that are slow no more are this thread's again */
    t.log->slow_micros = UINT64_MAX;
    lsn = log_test_put(&t, 2);
    assert_int_equal(log_written(t.log), lsn);
    log_test_remove(&t);
}

static void test_configurations_that_cannot_work(void **state) {
    struct log_test t;
    struct log_config sound;

    (void)state;
    log_test_make(&t, STORE_SYNC_OS);
    sound = t.config;
    t.config.segment_bytes += 1;
    assert_status(log_test_open(&t), ST_INVALID);
    t.config = sound;
    t.config.log_max = 3 * LOG_TEST_SEGMENT;
    assert_status(log_test_open(&t), ST_INVALID);
    t.config = sound;
    t.config.record_max = LOG_TEST_SEGMENT - LOG_PAGE;
    assert_status(log_test_open(&t), ST_INVALID);
    log_test_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_of_extremes),
        cmocka_unit_test(test_replay_ends_where_the_caller_wants),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_full_log_waits_for_the_tree),
        cmocka_unit_test(test_full_log_starts_on_a_full_disk),
        cmocka_unit_test(test_applied_keeps_what_a_restart_needs),
        cmocka_unit_test(test_unreserve_makes_room),
        cmocka_unit_test(test_reserved_room_is_there),
        cmocka_unit_test(test_full_disk_at_preparing),
        cmocka_unit_test(test_failed_sync_is_final),
        cmocka_unit_test(test_failed_write_is_final),
        cmocka_unit_test(test_full_disk_at_writing),
        cmocka_unit_test(test_failed_directory_sync_is_final),
        cmocka_unit_test(test_os_mode_syncs_only_when_asked),
        cmocka_unit_test(test_interval_mode_syncs_by_itself),
        cmocka_unit_test(test_a_sync_is_forced_before_too_much_is_unsynced),
        cmocka_unit_test(test_an_idle_log_attests_once),
        cmocka_unit_test(test_slow_writes_are_left_to_the_writer),
        cmocka_unit_test(test_configurations_that_cannot_work),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
