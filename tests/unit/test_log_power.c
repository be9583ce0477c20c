/* SPDX-License-Identifier: BSD-3-Clause */
/* Power cuts, made by hand: sector by sector either what the file is, or what it was at the last sync. */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "storage/log_format.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_items.h"
#include "tests/unit/support_log.h"

/* Makes of `now` what a power cut may leave: of each sector of each file either what it is now or, where the file was
 * there at the last sync, what it was then. */
static void cut_power(struct log_test *now, const struct log_test *synced, uint64_t *random, unsigned kept_percent) {
    DIR *dir = opendir(synced->dir.path);
    struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        unsigned char sector[LOG_SECTOR];

        if (strlen(entry->d_name) != 16 || faccessat(now->dir.fd, entry->d_name, F_OK, 0) != 0 ||
            log_test_file_size(synced, entry->d_name) < LOG_TEST_SEGMENT) /* it was still being made */
            continue;
        for (uint64_t at = 0; at < LOG_TEST_SEGMENT; at += LOG_SECTOR) {
            if (random_below(random, 100) < kept_percent)
                continue;
            log_test_read_file(synced, entry->d_name, sector, LOG_SECTOR, at);
            log_test_write_file(now, entry->d_name, sector, LOG_SECTOR, at);
        }
    }
    closedir(dir);
}

enum { HISTORY = 1000 };

/* Records that were put, in order; what a power cut took away is taken out again. */
struct history {
    uint64_t numbers[HISTORY], next_number;
    size_t count, durable, applied; /* so many of them */
};

static void put_some(struct log_test *t, struct history *history, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        history->numbers[history->count++] = history->next_number;
        log_test_put(t, history->next_number++);
    }
}

static void sync_all(struct log_test *t, struct history *history, bool apply) {
    assert_ok(log_make_durable(t->log, log_last(t->log)));
    history->durable = history->count;
    if (apply) { /* so that recycled segments with old records lie about */
        log_applied(t->log, log_last(t->log));
        t->applied = t->m = log_last(t->log);
        history->applied = history->count;
    }
}

static void expect_history(struct log_test *t, struct history *history) {
    uint64_t numbers[HISTORY];
    size_t got = log_test_replay(t, t->applied, numbers, HISTORY);

    assert_int_equal(got, t->findings.records);
    assert_true(history->applied + got >= history->durable);
    for (size_t i = 0; i < got; i++)
        assert_int_equal(numbers[i], history->numbers[history->applied + i]);
    history->count = history->applied + got;
}

/* A started log runs, the power is cut, it is started again. */
static void live(struct log_test *t, struct history *history, uint64_t *random) {
    struct log_test synced, after;

    for (unsigned i = random_below(random, 5); i > 0; i--) {
        put_some(t, history, random_below(random, 40));
        sync_all(t, history, random_below(random, 2) == 0);
    }
    log_test_copy(&synced, t);
    put_some(t, history, random_below(random, 60));
    log_test_copy(&after, t);
    log_test_remove(t);
    cut_power(&after, &synced, random, 5 + random_below(random, 95));
    log_test_remove(&synced);
    log_test_copy(t, &after);
    log_test_remove(&after);
    assert_ok(log_test_open(t));
    expect_history(t, history);
    assert_ok(log_start(t->log));
}

/* Whatever the OS had written back of what was not synced: a prefix comes back, with all that was synced. */
static void test_power_cuts(void **state) {
    uint64_t random = random_seed("log_power");

    (void)state;
    for (unsigned round = 0; round < 8; round++) {
        static struct history history;
        struct log_test t;

        memset(&history, 0, sizeof history);
        log_test_make(&t, STORE_SYNC_OS);
        t.config.log_max *= 8;
        log_test_start(&t);
        for (unsigned lives = 0; lives < 4; lives++)
            live(&t, &history, &random);
        put_some(&t, &history, 1);
        log_test_close(&t);
        history.durable = history.count;
        assert_ok(log_test_open(&t));
        expect_history(&t, &history);
        log_test_remove(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_cuts),
    };
    return cmocka_run_group_tests_name("log_power", tests, NULL, NULL);
}
