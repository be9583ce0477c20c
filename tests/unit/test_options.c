/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line, configuration file, and the texts made of the table. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/options.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_dir.h"

enum { ARGS_MAX = 32 };

struct parsed {
    struct options options;
    enum options_action action;
    enum status status;
    struct buffer message, warnings;
};

/* Parses a line of words separated by single blanks; they must live as long as nobody looks at argv again. */
static void parse(struct parsed *parsed, const char *line) {
    char words[1024];
    char *argv[ARGS_MAX] = {(char *)"cofferd"};
    int argc = 1;
    char *rest = words;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
        if (*word != '\0') {
            argv[argc++] = word;
        }
    }
    argv[argc] = NULL;
    options_init(&parsed->options);
    buffer_init(&parsed->message);
    buffer_init(&parsed->warnings);
    parsed->status =
        options_parse(&parsed->options, argc, argv, &parsed->action, &parsed->message, &parsed->warnings);
    assert_ok(buffer_append(&parsed->message, "", 1));
    assert_ok(buffer_append(&parsed->warnings, "", 1));
}

static void forget(struct parsed *parsed) {
    options_free(&parsed->options);
    buffer_free(&parsed->message);
    buffer_free(&parsed->warnings);
}

static void parse_good(struct parsed *parsed, const char *line) {
    parse(parsed, line);
    assert_string_equal(buffer_head(&parsed->message), "");
    assert_ok(parsed->status);
}

static void expect_error(const char *line, const char *message) {
    struct parsed parsed;
    parse(&parsed, line);
    assert_string_equal(buffer_head(&parsed.message), message);
    assert_status(parsed.status, ST_INVALID);
    forget(&parsed);
}

/* ---- command line ---- */

static void test_defaults(void **state) {
    struct parsed parsed;
    (void)state;
    parse_good(&parsed, "");
    const struct options *options = &parsed.options;
    assert_int_equal(parsed.action, OPTIONS_RUN);
    assert_int_equal(options->port, 11211);
    assert_int_equal(options->listen.count, 1);
    assert_string_equal(options->listen.item[0], "127.0.0.1");
    assert_string_equal(options->data_dir, "./coffer-data");
    assert_int_equal(options->sync.mode, 1);
    assert_int_equal(options->sync.millis, 100);
    assert_int_equal(options->item_max, 1 << 20);
    assert_int_equal(options->log_max, 1 << 30);
    assert_int_equal(options->log_segment, 64 << 20);
    assert_int_equal(options->max_connections, 1024);
    assert_in_range(options->threads, 1, 256);
    assert_true(options->memory >= 64 << 20);
    assert_string_equal(options->pid_file, "");
    assert_int_equal(options->verbose, 0);
    assert_false(options->daemonize);
    assert_string_equal(buffer_head(&parsed.warnings), "");
    forget(&parsed);
}

static void test_memcacheds_habits(void **state) {
    struct parsed parsed;
    (void)state;
    parse_good(&parsed, "-p 11300 -m 128 -c 50 -t 4 -vv -d -u nobody -P /run/x.pid -b 64 -R 5 -I 2m -a 660 -A -H /d");
    const struct options *options = &parsed.options;
    assert_int_equal(options->port, 11300);
    assert_int_equal(options->memory, 128 << 20);
    assert_int_equal(options->max_connections, 50);
    assert_int_equal(options->threads, 4);
    assert_int_equal(options->verbose, 2);
    assert_true(options->daemonize);
    assert_string_equal(options->user, "nobody");
    assert_string_equal(options->pid_file, "/run/x.pid");
    assert_int_equal(options->backlog, 64);
    assert_int_equal(options->requests_per_event, 5);
    assert_int_equal(options->item_max, 2 << 20);
    assert_string_equal(options->socket_mask, "660");
    assert_true(options->enable_shutdown);
    assert_string_equal(options->data_dir, "/d");
    forget(&parsed);
}

static void test_long_names_and_units(void **state) {
    struct parsed parsed;
    (void)state;
    parse_good(&parsed, "--memory-limit=1g --port 1 --verbose --verbose=5 --daemon=no --enable-debug --sync=always "
                        "--max-item-size=512k --log-max=64m");
    assert_int_equal(parsed.options.memory, 1 << 30);
    assert_int_equal(parsed.options.port, 1);
    assert_int_equal(parsed.options.verbose, 5);
    assert_false(parsed.options.daemonize);
    assert_true(parsed.options.enable_debug);
    assert_int_equal(parsed.options.sync.mode, 0);
    assert_int_equal(parsed.options.item_max, 512 << 10);
    forget(&parsed);
    parse_good(&parsed, "-m 64m --sync os");
    assert_int_equal(parsed.options.memory, 64 << 20);
    assert_int_equal(parsed.options.sync.mode, 2);
    forget(&parsed);
    parse_good(&parsed, "--sync interval=5");
    assert_int_equal(parsed.options.sync.millis, 5);
    forget(&parsed);
}

static void test_listen_repeats_and_commas(void **state) {
    struct parsed parsed;
    (void)state;
    parse_good(&parsed, "-l 127.0.0.1,[::1]:11300 -l 10.0.0.1:2");
    assert_int_equal(parsed.options.listen.count, 3);
    assert_string_equal(parsed.options.listen.item[0], "127.0.0.1");
    assert_string_equal(parsed.options.listen.item[1], "[::1]:11300");
    assert_string_equal(parsed.options.listen.item[2], "10.0.0.1:2");
    forget(&parsed);
    expect_error("-l a,,b", "--listen: '' is not an address; leave no empty place between commas");
    expect_error("-l 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "--listen: more than 16 are given; leave some out");
}

static void test_ignored_options_warn_once_each(void **state) {
    struct parsed parsed;
    (void)state;
    parse_good(&parsed, "-U 0 -o modern,track_sizes");
    assert_string_equal(buffer_head(&parsed.warnings),
                        "--udp-port 0: not needed, cofferd has no UDP\n"
                        "--extended modern,track_sizes: ignored, it sets up what only memcached has\n");
    forget(&parsed);
    expect_error("-U 11211", "--udp-port: cofferd has no UDP; give 0 or leave it out");
}

static void test_actions(void **state) {
    static const struct {
        const char *line;
        enum options_action action;
    } rows[] = {{"-h", OPTIONS_HELP},
                {"--help --nonsense", OPTIONS_HELP},
                {"-p 1 -V", OPTIONS_VERSION},
                {"--version", OPTIONS_VERSION},
                {"--check-config", OPTIONS_CHECK},
                {"--sample-config", OPTIONS_SAMPLE}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parsed parsed;
        parse(&parsed, rows[i].line);
        assert_ok(parsed.status);
        assert_int_equal(parsed.action, rows[i].action);
        forget(&parsed);
    }
}

static void test_errors_say_what_to_do(void **state) {
    (void)state;
    expect_error("-p abc", "--port: 'abc' is not a whole number");
    expect_error("-p 65536", "--port: '65536' is out of range; give 0 to 65535");
    expect_error("-p -1", "--port: '-1' is not a whole number");
    expect_error("-m lots", "--memory-limit: 'lots' is not a size; give a number with an optional k, m or g, like 64m");
    expect_error("-m 4k", "memory-limit: less than a megabyte; give 1m or more");
    expect_error("-m 99999999999999999999", "--memory-limit: '99999999999999999999' is not a size; give a number with "
                                            "an optional k, m or g, like 64m");
    expect_error("-m 18446744073709551615", "--memory-limit: '18446744073709551615' is out of range; give 0 to 16t");
    expect_error("-I 128m", "--max-item-size: '128m' is out of range; give 1k to 64m");
    expect_error("-I 10", "--max-item-size: '10' is out of range; give 1k to 64m");
    expect_error("-t 1000", "--threads: '1000' is out of range; give 0 to 256");
    expect_error("-a 888", "--unix-mask: '888' is not an access mask; give octal digits like 700");
    expect_error("--sync sometimes", "--sync: 'sometimes' is not a sync mode; give always, interval=MS with 1 to 60000 "
                                     "milliseconds, or os");
    expect_error("--sync interval=0", "--sync: 'interval=0' is not a sync mode; give always, interval=MS with 1 to "
                                      "60000 milliseconds, or os");
    expect_error("--daemon=maybe", "--daemon: 'maybe' is not yes or no");
    expect_error("--nonsense", "--nonsense: no such option; see cofferd --help");
    expect_error("-d -y", "-y: no such option; see cofferd --help");
    expect_error("-dy", "-y: no such option; see cofferd --help");
    expect_error("-p", "-p: needs a value; see cofferd --help");
    expect_error("--port", "--port: needs a value; see cofferd --help");
    expect_error("--check-config=1", "--check-config=1: takes no value; see cofferd --help");
    expect_error("-p 1 start", "'start': not an option; see cofferd --help");
    expect_error("-p 0", "port: 0 leaves nothing to listen on; give a port, an address with one, or --unix-socket");
    expect_error("-p 0 -l ::1", "port: 0 leaves nothing to listen on; give a port, an address with one, or "
                                "--unix-socket");
    expect_error("--fault-plan X:1:kill", "fault-plan: is for tests; give --enable-debug, too");
    expect_error("--data-dir=", "data-dir: is empty; name a directory");
}

static void test_no_port_is_fine_with_another_place(void **state) {
    struct parsed parsed;
    (void)state;
    parse_good(&parsed, "-p 0 -s /run/coffer.sock");
    forget(&parsed);
    parse_good(&parsed, "-p 0 -l [::1]:11300");
    forget(&parsed);
}

static void test_log_is_fitted_to_the_values(void **state) {
    struct parsed parsed;
    (void)state;
    parse_good(&parsed, "-I 64m");
    assert_true(parsed.options.log_segment >= 2 * (64 << 20) + (64 << 10));
    assert_true(parsed.options.log_max >= 4 * parsed.options.log_segment);
    forget(&parsed);
    parse_good(&parsed, "--log-max 16m");
    assert_int_equal(parsed.options.log_segment, 4 << 20);
    assert_int_equal(parsed.options.log_max, 16 << 20);
    forget(&parsed);
    parse_good(&parsed, "--log-segment 1g");
    assert_int_equal(parsed.options.log_segment, 1 << 30);
    assert_int_equal(parsed.options.log_max, 4ULL << 30);
    forget(&parsed);
    expect_error("--log-segment 1m", "log-segment: too small for values of max-item-size; give 2112k or more");
    expect_error("--log-max 4m", "log-max: too small for four segments of 2112k (log-segment, max-item-size); give "
                                 "8448k or more");
}

/* ---- configuration file ---- */

static void write_config(const struct test_dir *dir, const char *text) {
    int fd = openat(dir->fd, "conf", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void parse_config(struct parsed *parsed, const struct test_dir *dir, const char *text, const char *line) {
    char words[512];
    write_config(dir, text);
    snprintf(words, sizeof words, "--config %s/conf %s", dir->path, line);
    parse(parsed, words);
}

static void test_command_line_wins_over_the_file(void **state) {
    struct test_dir dir;
    struct parsed parsed;
    (void)state;
    test_dir_make(&dir);
    parse_config(&parsed, &dir,
                 "# a comment\n\nport = 1\n  memory-limit = 200   ; more\nlisten = 10.0.0.1\n\tlisten=10.0.0.2\n"
                 "verbose = 2\ndaemon = yes\nsync = always\nlog-file = /var/log/with blank\n",
                 "-p 2 -v --daemon=no");
    assert_string_equal(buffer_head(&parsed.message), "");
    assert_ok(parsed.status);
    assert_int_equal(parsed.options.port, 2);
    assert_int_equal(parsed.options.memory, 200 << 20);
    assert_int_equal(parsed.options.listen.count, 2);
    assert_string_equal(parsed.options.listen.item[1], "10.0.0.2");
    assert_int_equal(parsed.options.verbose, 1);
    assert_false(parsed.options.daemonize);
    assert_int_equal(parsed.options.sync.mode, 0);
    assert_string_equal(parsed.options.log_file, "/var/log/with blank");
    forget(&parsed);
    parse_config(&parsed, &dir, "listen = 10.0.0.1\nlisten = 10.0.0.2\n", "-l ::1");
    assert_int_equal(parsed.options.listen.count, 1);
    assert_string_equal(parsed.options.listen.item[0], "::1");
    forget(&parsed);
    test_dir_remove(&dir);
}

/* The message begins with the file's name, then says `rest`. */
static void expect_config_error(const struct test_dir *dir, const char *text, const char *rest) {
    struct parsed parsed;
    char expected[512];
    parse_config(&parsed, dir, text, "");
    snprintf(expected, sizeof expected, "%s/conf:%s", dir->path, rest);
    assert_string_equal(buffer_head(&parsed.message), expected);
    assert_status(parsed.status, ST_INVALID);
    forget(&parsed);
}

static void test_file_errors_name_the_line(void **state) {
    struct test_dir dir;
    char longer[600];
    (void)state;
    test_dir_make(&dir);
    expect_config_error(&dir, "port = 1\nport = x\n", "2: port: 'x' is not a whole number");
    expect_config_error(&dir, "\n\nnonsense = x\n", "3: nonsense: no such option; cofferd --sample-config shows all");
    expect_config_error(&dir, "port = 1\nwhat is this\n", "2: not understood; write name = value");
    expect_config_error(&dir, "what is this\nport = x\n", "2: port: 'x' is not a whole number");
    expect_config_error(&dir, "[server]\nport = 1\n", "2: server: there are no [sections]; take it away");
    expect_config_error(&dir, "config = x\n", "1: config: belongs on the command line; take it away here");
    memset(longer, 'x', sizeof longer);
    memcpy(longer, "log-file = ", 11);
    longer[sizeof longer - 1] = '\0';
    expect_config_error(&dir, longer, "1: the line is too long; write lists as several lines");
    test_dir_remove(&dir);
    expect_error("--config /nonexistent/x", "--config: cannot read /nonexistent/x: No such file or directory");
}

/* ---- texts made of the table ---- */

static char *printed(void (*print)(FILE *out)) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    print(out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect_narrow(const char *text, size_t width) {
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        if (n > width) {
            fail_msg("too wide: %.*s", (int)n, text);
        }
        text += n + (text[n] == '\n');
    }
}

static void test_help_has_every_option(void **state) {
    char *text = printed(options_help);
    (void)state;
    for (enum option_row row = 0; row < OPTION_COUNT; row++) {
        char name[64];
        snprintf(name, sizeof name, "--%s", options_name(row));
        if (strstr(text, name) == NULL) {
            fail_msg("--help lacks %s", name);
        }
    }
    assert_non_null(strstr(text, "\n  -p, --port=PORT             TCP port (0: none) (default 11211)\n"));
    assert_non_null(strstr(text, "\n  -h, --help                  show this text\n"));
    assert_non_null(strstr(text, "Exit status:"));
    expect_narrow(text, 80);
    free(text);
}

/* Without the '#' before a name. */
static char *enable_all(const char *sample) {
    char *text = calloc(1, strlen(sample) + 1);
    char *out = text;
    assert_non_null(text);
    for (const char *p = sample; *p != '\0'; p++) {
        bool start = p == sample || p[-1] == '\n';
        if (!(start && p[0] == '#' && p[1] >= 'a' && p[1] <= 'z')) {
            *out++ = *p;
        }
    }
    return text;
}

static void test_sample_says_the_defaults(void **state) {
    struct test_dir dir;
    struct parsed parsed;
    struct parsed plain;
    struct buffer a;
    struct buffer b;
    (void)state;
    test_dir_make(&dir);
    char *sample = printed(options_sample);
    char *enabled = enable_all(sample);
    expect_narrow(sample, 80);
    parse_good(&plain, "");
    parse_config(&parsed, &dir, enabled, "");
    assert_string_equal(buffer_head(&parsed.message), "");
    assert_ok(parsed.status);
    buffer_init(&a);
    buffer_init(&b);
    for (enum option_row row = 0; row < OPTION_COUNT; row++) {
        char name[64];
        snprintf(name, sizeof name, "\n#%s =", options_name(row));
        bool command_line_only = row == OPTION_config || row == OPTION_udp_port || row == OPTION_extended;
        assert_int_equal(strstr(sample, name) == NULL, command_line_only);
        if (row != OPTION_config) {
            assert_ok(options_value(&parsed.options, row, &a));
            assert_ok(options_value(&plain.options, row, &b));
        }
    }
    assert_int_equal(buffer_length(&a), buffer_length(&b));
    assert_memory_equal(buffer_head(&a), buffer_head(&b), buffer_length(&a));
    buffer_free(&a);
    buffer_free(&b);
    forget(&parsed);
    forget(&plain);
    free(enabled);
    free(sample);
    test_dir_remove(&dir);
}

static void test_sample_in_the_tree_is_current(void **state) {
    char *sample = printed(options_sample);
    char file[16384];
    (void)state;
    int fd = open("etc/coffer.conf", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        free(sample);
        fail_msg("run tests at the top of the tree; made by: cofferd --sample-config >etc/coffer.conf");
    }
    ssize_t n = read(fd, file, sizeof file - 1);
    close(fd);
    assert_true(n > 0);
    file[n] = '\0';
    assert_string_equal(file, sample);
    free(sample);
}

static void test_values_read_back(void **state) {
    struct options options;
    struct buffer text;
    (void)state;
    options_init(&options);
    buffer_init(&text);
    options.memory = 3 << 20;
    assert_ok(options_value(&options, OPTION_memory, &text));
    assert_ok(buffer_append(&text, " ", 1));
    assert_ok(options_value(&options, OPTION_sync, &text));
    assert_ok(buffer_append(&text, " ", 1));
    assert_ok(options_value(&options, OPTION_listen, &text));
    assert_ok(buffer_append(&text, "", 1));
    assert_string_equal(buffer_head(&text), "3072k interval=100 127.0.0.1");
    buffer_free(&text);
    options_free(&options);
}

static void test_sizes(void **state) {
    uint64_t bytes = 7;
    (void)state;
    assert_ok(options_parse_size("10k", &bytes));
    assert_int_equal(bytes, 10240);
    assert_status(options_parse_size("10x", &bytes), ST_INVALID);
    assert_int_equal(bytes, 10240);
    assert_true(options_available_memory() >= 1 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_memcacheds_habits),
        cmocka_unit_test(test_long_names_and_units),
        cmocka_unit_test(test_listen_repeats_and_commas),
        cmocka_unit_test(test_ignored_options_warn_once_each),
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_errors_say_what_to_do),
        cmocka_unit_test(test_no_port_is_fine_with_another_place),
        cmocka_unit_test(test_log_is_fitted_to_the_values),
        cmocka_unit_test(test_command_line_wins_over_the_file),
        cmocka_unit_test(test_file_errors_name_the_line),
        cmocka_unit_test(test_help_has_every_option),
        cmocka_unit_test(test_sample_says_the_defaults),
        cmocka_unit_test(test_sample_in_the_tree_is_current),
        cmocka_unit_test(test_values_read_back),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
