/* SPDX-License-Identifier: BSD-3-Clause */
/* Times, dispatch, dumps and the commands of operators and tests. */
#include <stdio.h>

#include "tests/unit/support_command.h"

static struct request words_of(enum command_code command, const char *first, const char *second) {
    struct request request = {.command = command};
    if (first != NULL) {
        request.words[request.word_count++] = slice_str(first);
    }
    if (second != NULL) {
        request.words[request.word_count++] = slice_str(second);
    }
    return request;
}

static enum result run_words(struct bench *bench, enum command_code command, const char *first, const char *second) {
    struct request request = words_of(command, first, second);
    return bench_result(bench, &request);
}

static void test_times_follow_memcached(void **state) {
    (void)state;
    const int64_t now = 1800000000;
    assert_int_equal(command_absolute_time(now, 0), 0);
    assert_int_equal(command_absolute_time(now, 1), now + 1);
    assert_int_equal(command_absolute_time(now, 2592000), now + 2592000);
    assert_int_equal(command_absolute_time(now, 2592001), 2592001);
    assert_int_equal(command_absolute_time(now, 4000000000), 4000000000);
    assert_in_range(command_absolute_time(now, -1), 1, now - 1);
    assert_in_range(command_absolute_time(now, INT64_MIN), 1, now - 1);
    assert_int_equal(command_absolute_time(now, INT64_MAX), INT64_MAX);
}

static void test_what_may_write(void **state) {
    (void)state;
    struct request get = {.command = CMD_GET};
    assert_false(command_may_write(&get));
    get.touch = true;
    assert_true(command_may_write(&get));
    get = (struct request){.command = CMD_GET, .vivify = true};
    assert_true(command_may_write(&get));
    get = (struct request){.command = CMD_GET, .recache = true};
    assert_true(command_may_write(&get));
    assert_true(command_may_write(&(struct request){.command = CMD_STORE}));
    assert_true(command_may_write(&(struct request){.command = CMD_FLUSH}));
    assert_false(command_may_write(&(struct request){.command = CMD_DUMP}));
    assert_false(command_may_write(&(struct request){.command = CMD_VERSION}));
}

static void test_simple_commands(void **state) {
    struct bench *bench = *state;
    assert_result(run_words(bench, CMD_VERSION, NULL, NULL), RESULT_VERSION);
    assert_result(run_words(bench, CMD_NOOP, NULL, NULL), RESULT_OK);
    assert_result(run_words(bench, CMD_QUIT, NULL, NULL), RESULT_CLOSE);
}

/* ---- flush ---- */

static void test_flush_removes_what_was_there(void **state) {
    struct bench *bench = *state;
    struct request flush = {.command = CMD_FLUSH};
    bench_set(bench, "a", "1");
    struct command *command = bench_run(bench, &flush);
    assert_result(command->response.result, RESULT_OK);
    assert_true(command->response.stamp > 0);
    bench_end(&command);
    bench_expect(bench, "a", NULL);
    bench_set(bench, "a", "2");
    bench_expect(bench, "a", "2");
    flush.exptime = -1;
    assert_result(bench_result(bench, &flush), RESULT_OK);
    bench_expect(bench, "a", NULL);
    assert_int_equal(bench_count(bench, COUNT_cmd_flush), 2);
}

static void test_delayed_flush_takes_what_came_before_its_time(void **state) {
    struct bench *bench = *state;
    struct request flush = {.command = CMD_FLUSH, .exptime = 2};
    bench_set(bench, "pre", "1");
    assert_result(bench_result(bench, &flush), RESULT_OK);
    bench_set(bench, "post", "2");
    bench_expect(bench, "pre", "1");
    bench_expect(bench, "post", "2");
    bench_advance(bench, 3);
    bench_expect(bench, "pre", NULL);
    bench_expect(bench, "post", NULL);
    bench_set(bench, "late", "3");
    bench_expect(bench, "late", "3");
}

/* ---- operators ---- */

static void test_memlimit_takes_megabytes(void **state) {
    struct bench *bench = *state;
    struct store_figures figures;
    assert_result(run_words(bench, CMD_MEMLIMIT, "100", NULL), RESULT_OK);
    store_figures(bench->store, &figures);
    assert_int_equal(figures.memory, 100 << 20);
    assert_result(run_words(bench, CMD_MEMLIMIT, "7", NULL), RESULT_BAD_ARGUMENT);
    assert_result(run_words(bench, CMD_MEMLIMIT, "many", NULL), RESULT_BAD_ARGUMENT);
    assert_result(run_words(bench, CMD_MEMLIMIT, "18446744073709551615", NULL), RESULT_BAD_ARGUMENT);
    assert_result(run_words(bench, CMD_MEMLIMIT, NULL, NULL), RESULT_BAD_ARGUMENT);
    store_figures(bench->store, &figures);
    assert_int_equal(figures.memory, 100 << 20);
}

static void test_verbosity_sets_the_log_level(void **state) {
    struct bench *bench = *state;
    char text[512];
    char path[300];
    snprintf(path, sizeof path, "%s/lines", bench->dir.path);
    assert_ok(logger_open(&bench->env.logger, path, LOGGER_INFO));
    log_debug(bench->env.logger, "quiet");
    assert_result(run_words(bench, CMD_VERBOSITY, "1", NULL), RESULT_OK);
    log_debug(bench->env.logger, "loud");
    assert_result(run_words(bench, CMD_VERBOSITY, "0", NULL), RESULT_OK);
    log_debug(bench->env.logger, "quiet");
    assert_true(test_dir_read(&bench->dir, "lines", text, sizeof text) > 0);
    assert_non_null(strstr(text, "loud"));
    assert_null(strstr(text, "quiet"));
    assert_result(run_words(bench, CMD_VERBOSITY, "x", NULL), RESULT_BAD_ARGUMENT);
    assert_result(run_words(bench, CMD_VERBOSITY, NULL, NULL), RESULT_UNKNOWN);
    logger_close(&bench->env.logger);
}

static void test_shutdown_when_enabled(void **state) {
    struct bench *bench = *state;
    assert_result(run_words(bench, CMD_SHUTDOWN, "now", NULL), RESULT_BAD_ARGUMENT);
    assert_int_equal(bench->shutdowns, 0);
    assert_result(run_words(bench, CMD_SHUTDOWN, NULL, NULL), RESULT_CLOSE);
    assert_false(bench->graceful);
    assert_result(run_words(bench, CMD_SHUTDOWN, "graceful", NULL), RESULT_CLOSE);
    assert_true(bench->graceful);
    bench->options.enable_shutdown = false;
    assert_result(run_words(bench, CMD_SHUTDOWN, NULL, NULL), RESULT_DISABLED);
    assert_int_equal(bench->shutdowns, 2);
}

/* ---- debug ---- */

static void test_debug_moves_the_clock(void **state) {
    struct bench *bench = *state;
    int64_t before = clock_wall(bench->clock);
    assert_result(run_words(bench, CMD_DEBUG, "clock", "1000"), RESULT_OK);
    assert_in_range(clock_wall(bench->clock), before + 1000, before + 1100);
    assert_true(bench->worker.now >= before + 1000);
    assert_result(run_words(bench, CMD_DEBUG, "clock", "-1000"), RESULT_OK);
    assert_in_range(clock_wall(bench->clock), before, before + 100);
    assert_result(run_words(bench, CMD_DEBUG, "clock", "soon"), RESULT_BAD_ARGUMENT);
}

static void test_debug_checkpoint_applies_all(void **state) {
    struct bench *bench = *state;
    struct store_figures figures;
    bench_set(bench, "a", "1");
    assert_result(run_words(bench, CMD_DEBUG, "checkpoint", NULL), RESULT_OK);
    store_figures(bench->store, &figures);
    assert_int_equal(figures.items_dirty, 0);
    assert_int_equal(figures.tree_items, 1);
    bench_expect(bench, "a", "1");
}

static void test_debug_sets_faults(void **state) {
    struct bench *bench = *state;
    assert_result(run_words(bench, CMD_DEBUG, "fault", "TREE_COMMIT:*:enospc"), RESULT_OK);
    assert_int_not_equal(fault_hit(bench->faults, FAULT_TREE_COMMIT), 0);
    assert_result(run_words(bench, CMD_DEBUG, "fault", NULL), RESULT_OK);
    assert_int_equal(fault_hit(bench->faults, FAULT_TREE_COMMIT), 0);
    assert_result(run_words(bench, CMD_DEBUG, "fault", "nonsense"), RESULT_BAD_ARGUMENT);
}

static void test_debug_only_when_enabled(void **state) {
    struct bench *bench = *state;
    assert_result(run_words(bench, CMD_DEBUG, "nonsense", NULL), RESULT_BAD_ARGUMENT);
    assert_result(run_words(bench, CMD_DEBUG, NULL, NULL), RESULT_BAD_ARGUMENT);
    bench->options.enable_debug = false;
    assert_result(run_words(bench, CMD_DEBUG, "clock", "5"), RESULT_DISABLED);
    assert_result(run_words(bench, CMD_DEBUG, "checkpoint", NULL), RESULT_DISABLED);
}

/* ---- dump ---- */

enum { DUMPED = 4500 };

static void fill(struct bench *bench, unsigned n) {
    char key[32];
    for (unsigned i = 0; i < n; i++) {
        snprintf(key, sizeof key, "key%05u", i);
        bench_set(bench, key, "v");
    }
}

/* Counts the rows of a page, each the next key in order. */
static unsigned check_page(const struct response *response, unsigned next) {
    char key[32];
    struct item_view view;
    assert_result(response->result, RESULT_ROWS);
    for (unsigned i = 0; i < response->row_count; i++, next++) {
        snprintf(key, sizeof key, "key%05u", next);
        item_look(response->rows[i].item, &view);
        assert_true(slice_equal(view.key, slice_str(key)));
        assert_int_equal(response->rows[i].size, 1);
    }
    return next;
}

static void test_dump_gives_all_keys_in_pages(void **state) {
    struct bench *bench = *state;
    struct request dump = {.command = CMD_DUMP};
    unsigned pages = 1;
    fill(bench, DUMPED);
    struct command *command = bench_run(bench, &dump);
    unsigned seen = check_page(&command->response, 0);
    assert_true(seen < DUMPED);
    while (command->response.more) {
        (void)bench_continue(bench, command);
        seen = check_page(&command->response, seen);
        pages++;
    }
    assert_int_equal(seen, DUMPED);
    assert_true(pages > 2);
    assert_true(command->response.stamp > 0);
    bench_end(&command);
}

static void test_dump_of_nothing(void **state) {
    struct bench *bench = *state;
    struct request dump = {.command = CMD_DUMP};
    struct command *command = bench_run(bench, &dump);
    assert_result(command->response.result, RESULT_ROWS);
    assert_int_equal(command->response.row_count, 0);
    assert_false(command->response.more);
    bench_end(&command);
}

static void test_dump_given_up_frees_its_page(void **state) {
    struct bench *bench = *state;
    struct request dump = {.command = CMD_DUMP};
    fill(bench, DUMPED);
    struct command *command = bench_run(bench, &dump);
    assert_true(command->response.more);
    bench_end(&command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_follow_memcached),
        cmocka_unit_test(test_what_may_write),
        TEST(test_simple_commands),
        TEST(test_flush_removes_what_was_there),
        TEST(test_delayed_flush_takes_what_came_before_its_time),
        TEST(test_memlimit_takes_megabytes),
        TEST(test_verbosity_sets_the_log_level),
        TEST(test_shutdown_when_enabled),
        TEST(test_debug_moves_the_clock),
        TEST(test_debug_checkpoint_applies_all),
        TEST(test_debug_sets_faults),
        TEST(test_debug_only_when_enabled),
        TEST(test_dump_gives_all_keys_in_pages),
        TEST(test_dump_of_nothing),
        TEST(test_dump_given_up_frees_its_page),
    };
    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
