/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/logger.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/thread.h"
#include "tests/unit/support_child.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_dir.h"

enum { TEXT_ROOM = 1 << 20, THREADS = 4, LINES = 500 };

static const char STAMP[] = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z ";

struct fixture {
    struct test_dir dir;
    char path[512];
    char *text;
};

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    test_dir_make(&fixture->dir);
    snprintf(fixture->path, sizeof fixture->path, "%s/log", fixture->dir.path);
    fixture->text = malloc(TEXT_ROOM);
    assert_non_null(fixture->text);
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    test_dir_remove(&fixture->dir);
    free(fixture->text);
    free(fixture);
    return 0;
}

static void assert_matches(const char *text, const char *pattern) {
    char whole[512];
    regex_t regex;
    snprintf(whole, sizeof whole, "%s%s$", STAMP, pattern);
    assert_int_equal(regcomp(&regex, whole, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&regex, text, 0, NULL, 0) != 0) {
        fail_msg("\"%s\" does not match %s", text, whole);
    }
    regfree(&regex);
}

static void lines_have_stamp_level_and_text(void **state) {
    struct fixture *fixture = *state;
    struct logger *logger;
    assert_ok(logger_open(&logger, fixture->path, LOGGER_DEBUG));
    log_error(logger, "disk %s", "full");
    assert_true(test_dir_read(&fixture->dir, "log", fixture->text, TEXT_ROOM) > 0);
    assert_matches(fixture->text, "error disk full\n");
    assert_int_equal(unlink(fixture->path), 0);
    assert_ok(logger_reopen(logger));
    log_debug(logger, "%d of %d", 1, 2);
    test_dir_read(&fixture->dir, "log", fixture->text, TEXT_ROOM);
    assert_matches(fixture->text, "debug 1 of 2\n");
    logger_close(&logger);
    assert_null(logger);
    logger_close(&logger);
}

static void lines_above_the_level_are_dropped(void **state) {
    struct fixture *fixture = *state;
    struct logger *logger;
    assert_ok(logger_open(&logger, fixture->path, LOGGER_WARN));
    log_info(logger, "not this");
    log_debug(logger, "nor this");
    log_warn(logger, "but this");
    logger_set_level(logger, LOGGER_INFO);
    log_info(logger, "and now this");
    log_debug(logger, "still not this");
    test_dir_read(&fixture->dir, "log", fixture->text, TEXT_ROOM);
    assert_null(strstr(fixture->text, "not this"));
    assert_null(strstr(fixture->text, "nor this"));
    assert_non_null(strstr(fixture->text, " warn but this\n"));
    assert_non_null(strstr(fixture->text, " info and now this\n"));
    logger_close(&logger);
    logger_line(NULL, LOGGER_ERROR, "nobody listens");
}

static void a_long_line_is_cut_and_still_ends(void **state) {
    struct fixture *fixture = *state;
    struct logger *logger;
    char *text = malloc(10001);
    memset(text, 'a', 10000);
    text[10000] = '\0';
    assert_ok(logger_open(&logger, fixture->path, LOGGER_INFO));
    log_info(logger, "%s", text);
    log_info(logger, "next");
    free(text);
    test_dir_read(&fixture->dir, "log", fixture->text, TEXT_ROOM);
    char *end = strchr(fixture->text, '\n');
    assert_non_null(end);
    assert_int_equal(end - fixture->text, 2047);
    assert_matches(end + 1, "info next\n");
    logger_close(&logger);
}

static void errno_survives_a_line(void **state) {
    struct fixture *fixture = *state;
    struct logger *logger;
    assert_ok(logger_open(&logger, fixture->path, LOGGER_INFO));
    errno = ENOSPC;
    log_warn(logger, "message");
    assert_int_equal(errno, ENOSPC);
    logger_close(&logger);
}

static void rotation_by_rename_goes_on_in_a_new_file(void **state) {
    struct fixture *fixture = *state;
    struct logger *logger;
    char old[600];
    snprintf(old, sizeof old, "%s.1", fixture->path);
    assert_ok(logger_open(&logger, fixture->path, LOGGER_INFO));
    log_info(logger, "first");
    assert_int_equal(rename(fixture->path, old), 0);
    log_info(logger, "second");
    assert_ok(logger_reopen(logger));
    log_info(logger, "third");
    test_dir_read(&fixture->dir, "log.1", fixture->text, TEXT_ROOM);
    assert_non_null(strstr(fixture->text, "first\n"));
    assert_non_null(strstr(fixture->text, "second\n"));
    test_dir_read(&fixture->dir, "log", fixture->text, TEXT_ROOM);
    assert_matches(fixture->text, "info third\n");
    logger_close(&logger);
}

static void an_emptied_file_is_filled_from_its_start(void **state) {
    struct fixture *fixture = *state;
    struct logger *logger;
    assert_ok(logger_open(&logger, fixture->path, LOGGER_INFO));
    log_info(logger, "first");
    assert_int_equal(truncate(fixture->path, 0), 0);
    log_info(logger, "second");
    test_dir_read(&fixture->dir, "log", fixture->text, TEXT_ROOM);
    assert_matches(fixture->text, "info second\n");
    logger_close(&logger);
}

static void a_failed_reopen_keeps_the_old_file(void **state) {
    struct fixture *fixture = *state;
    struct logger *logger;
    char old[600];
    snprintf(old, sizeof old, "%s.1", fixture->path);
    assert_ok(logger_open(&logger, fixture->path, LOGGER_INFO));
    assert_int_equal(rename(fixture->path, old), 0);
    assert_int_equal(mkdir(fixture->path, 0700), 0); /* a directory in its place cannot be written */
    assert_status(logger_reopen(logger), ST_IO);
    log_info(logger, "still here");
    test_dir_read(&fixture->dir, "log.1", fixture->text, TEXT_ROOM);
    assert_non_null(strstr(fixture->text, "still here\n"));
    logger_close(&logger);
    assert_status(logger_open(&logger, fixture->path, LOGGER_INFO), ST_IO);
    assert_null(logger);
}

static void log_to_standard_error(void *arg) {
    struct logger *logger;
    (void)arg;
    if (logger_open(&logger, "", LOGGER_INFO) == ST_OK && logger_reopen(logger) == ST_OK) {
        log_info(logger, "hello");
        logger_close(&logger);
        logger_close(&logger);
    }
}

static void no_path_means_standard_error(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(child_signal(log_to_standard_error, NULL, fixture->text, TEXT_ROOM), 0);
    assert_matches(fixture->text, "info hello\n");
}

static void *write_lines(void *arg) {
    for (int i = 0; i < LINES; i++) {
        log_info(arg, "%0200d", i);
    }
    return NULL;
}

static void lines_of_threads_never_mix(void **state) {
    struct fixture *fixture = *state;
    struct logger *logger;
    pthread_t threads[THREADS];
    assert_ok(logger_open(&logger, fixture->path, LOGGER_INFO));
    for (int i = 0; i < THREADS; i++) {
        assert_ok(thread_start(&threads[i], "writer", write_lines, logger));
    }
    for (int i = 0; i < 20; i++) {
        assert_ok(logger_reopen(logger)); /* meanwhile, as SIGHUP would */
    }
    for (int i = 0; i < THREADS; i++) {
        thread_join(threads[i]);
    }
    logger_close(&logger);
    test_dir_read(&fixture->dir, "log", fixture->text, TEXT_ROOM);
    int lines = 0;
    const size_t length = strlen("2026-11-30T23:59:59.123Z info ") + 200;
    for (char *line = fixture->text; *line != '\0'; line += length + 1) {
        assert_int_equal(strcspn(line, "\n"), length);
        lines++;
    }
    assert_int_equal(lines, THREADS * LINES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_have_stamp_level_and_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_above_the_level_are_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_line_is_cut_and_still_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errno_survives_a_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rotation_by_rename_goes_on_in_a_new_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_emptied_file_is_filled_from_its_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_reopen_keeps_the_old_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_path_means_standard_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_of_threads_never_mix, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("logger", tests, NULL, NULL);
}
