/* SPDX-License-Identifier: BSD-3-Clause */
/* support_log: a log in a temporary directory, records whose content follows from their number, and ways to look at
 * and damage its files. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_LOG_H
#define COFFER_TESTS_UNIT_SUPPORT_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "storage/log.h"
#include "tests/unit/support_dir.h"

enum {
    LOG_TEST_SEGMENT = 16 << 10,
    LOG_TEST_RECORD_MAX = 4 << 10,
    LOG_TEST_SEGMENTS = 8, /* of log_max */
};

/* For what happens in the background; ten seconds before the test gives up.  Evaluates `condition` repeatedly. */
enum { PATIENCE = 50000, STEP_MICROS = 200 };

#define WAIT_UNTIL(condition)                                                                          \
    do {                                                                                               \
        unsigned patience = PATIENCE;                                                                  \
        while (!(condition) && patience-- > 0)                                                         \
            usleep(STEP_MICROS);                                                                       \
        assert_true(condition);                                                                        \
    } while (0)

struct log_test {
    struct test_dir dir; /* with the segments, and the logger's lines in "messages" */
    struct hash_secret secret;
    struct faults *faults;
    struct logger *logger;
    struct log_config config; /* may be changed before a start */
    uint64_t applied, m;      /* what the tree would say */
    struct log *log;
    struct log_findings findings;
};

void log_test_make(struct log_test *t, enum store_sync sync);
void log_test_remove(struct log_test *t); /* closes first */

enum status log_test_open(struct log_test *t) MUST_CHECK;
void log_test_start(struct log_test *t); /* opens and starts, which must succeed */
/* A fresh log, started, with its spare segments prepared. */
void log_test_ready(struct log_test *t, enum store_sync sync);
void log_test_close(struct log_test *t);
void log_test_restart(struct log_test *t);

/* A copy of the directory as it is now: what a process killed here leaves behind.  `copy` is not open. */
void log_test_copy(struct log_test *copy, const struct log_test *t);

/* Waits for the segments that are prepared in the background. */
void log_test_reserve(struct log_test *t, size_t bytes);
/* Reserves and appends the record of this number, without writing it. */
uint64_t log_test_append(struct log_test *t, uint64_t number);
/* The same, written. */
uint64_t log_test_put(struct log_test *t, uint64_t number);

uint64_t log_test_syncs(struct log_test *t);
uint64_t log_test_segments(struct log_test *t);

/* The record of a number: its key has the number in decimal; all else is made from it. */
void log_test_record(uint64_t number, struct log_record *record, char *key, char *value);
uint64_t log_test_number(const struct log_record *record);
/* Is everything what log_test_record makes of its number? */
bool log_test_whole(const struct log_record *record);

/* Replays everything above `after`, checks each record and that LSNs rise; returns how many there are.  numbers may
 * be NULL, or has room for `room` of them. */
size_t log_test_replay(struct log_test *t, uint64_t after, uint64_t *numbers, size_t room);
/* Asserts that exactly the records of the numbers from first on are there above `applied`. */
void log_test_expect(struct log_test *t, uint64_t first, size_t count);

/* Lines of the logger since the last call that contain `text`. */
unsigned log_test_lines(struct log_test *t, const char *text);
void log_test_forget_lines(struct log_test *t);

/* The file with the highest number whose header says that it was started; its number. */
uint64_t log_test_newest(const struct log_test *t, char name[17]);
uint64_t log_test_file_size(const struct log_test *t, const char *name);
void log_test_read_file(const struct log_test *t, const char *name, void *bytes, size_t n, uint64_t offset);
void log_test_write_file(const struct log_test *t, const char *name, const void *bytes, size_t n, uint64_t offset);
void log_test_flip(const struct log_test *t, const char *name, uint64_t offset);

/* The byte behind the last one in the newest segment that is not zero; it must never have been recycled. */
uint64_t log_test_end(const struct log_test *t, const char *name);

#endif
