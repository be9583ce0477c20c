/* SPDX-License-Identifier: BSD-3-Clause */
/* support_command: one worker with a real store, for tests of the command layer. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_COMMAND_H
#define COFFER_TESTS_UNIT_SUPPORT_COMMAND_H

#include "src/cmd/command.h"
#include "src/cmd/prefixes.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_dir.h"

struct bench {
    struct test_dir dir;
    struct options options;
    struct clock *clock;
    struct faults *faults;
    struct store *store;
    struct inbox *inbox;
    struct session *session;
    struct prefixes *prefixes;
    struct counters counters;
    struct command_env env;
    struct command_worker worker;
    unsigned resets, shutdowns;
    bool graceful;
    uint64_t big; /* added to what the host's counter says */
};

/* cmocka's setup and teardown; *state is the bench.  item_max is 4096. */
int bench_setup(void **state);
int bench_teardown(void **state);

/* Runs a command until it is DONE or has MORE, waiting where it parks; the caller calls bench_end. */
struct command *bench_run(struct bench *bench, const struct request *request);
struct command *bench_begin(const struct request *request); /* not run yet: bench_continue does */
enum command_progress bench_continue(struct bench *bench, struct command *command);
void bench_end(struct command **command);
/* The same for those who want nothing but the result. */
enum result bench_result(struct bench *bench, const struct request *request);

/* STORE's item; its reference goes to the request. */
struct item *bench_item(const char *key, const char *value);
/* set, and the stored cas. */
uint64_t bench_set(struct bench *bench, const char *key, const char *value);

/* Asserts what a plain read that does not count as an access finds; value NULL: a miss. */
void bench_expect(struct bench *bench, const char *key, const char *value);
/* The item as it is; a miss fails the test.  Points into the RAM table until the next command. */
struct item_view bench_look(struct bench *bench, const char *key);

void bench_advance(struct bench *bench, int64_t seconds);
uint64_t bench_count(const struct bench *bench, enum counter which);

const char *result_name(enum result result);
#define assert_result(actual, expected) assert_string_equal(result_name(actual), result_name(expected))

#define KEY(text) slice_of(text, sizeof(text) - 1)

#endif
