/* SPDX-License-Identifier: BSD-3-Clause */
/* The stats groups, by the rules that monitoring tools live by. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_command.h"

static struct request stats_of(const char *group, const char *argument) {
    struct request request = {.command = CMD_STATS};
    if (group != NULL) {
        request.words[request.word_count++] = slice_str(group);
    }
    if (argument != NULL) {
        request.words[request.word_count++] = slice_str(argument);
    }
    return request;
}

static struct command *run_stats(struct bench *bench, const char *group) {
    struct request request = stats_of(group, NULL);
    struct command *command = bench_run(bench, &request);
    assert_result(command->response.result, RESULT_STATS);
    return command;
}

/* The value of a name; NULL when it is not there.  Counts the bytes that text protocol takes. */
static const char *find(const struct command *command, const char *name, size_t *bytes) {
    const char *p = command->response.text.data + command->response.text.start;
    const char *end = command->response.text.data + command->response.text.end;
    const char *found = NULL;
    *bytes = strlen("END\r\n");
    while (p < end) {
        const char *value = p + strlen(p) + 1;
        assert_true(value < end);
        found = strcmp(p, name) == 0 ? value : found;
        *bytes += strlen("STAT  \r\n") + strlen(p) + strlen(value);
        p = value + strlen(value) + 1;
    }
    assert_ptr_equal(p, end);
    return found;
}

static const char *value_of(const struct command *command, const char *name) {
    size_t bytes;
    const char *value = find(command, name, &bytes);
    if (value == NULL) {
        fail_msg("no %s", name);
    }
    return value;
}

static uint64_t number_of(const struct command *command, const char *name) {
    char *end;
    uint64_t number = strtoull(value_of(command, name), &end, 10);
    assert_int_equal(*end, '\0');
    return number;
}

static void expect_tokens(const struct command *command, bool colons) {
    const char *p = command->response.text.data + command->response.text.start;
    const char *end = command->response.text.data + command->response.text.end;
    for (bool name = true; p < end; p += strlen(p) + 1, name = !name) {
        assert_true(*p != '\0');
        assert_null(strpbrk(p, " \t\r\n"));
        assert_true(!name || colons || strchr(p, ':') == NULL);
    }
}

static void test_every_group_has_one_token_a_value(void **state) {
    struct bench *bench = *state;
    static const struct {
        const char *name;
        bool colons;
    } groups[] = {{NULL, false},    {"settings", false}, {"items", true},   {"slabs", true},
                  {"sizes", false}, {"conns", true},     {"persist", false}};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        struct command *command = run_stats(bench, groups[i].name);
        expect_tokens(command, groups[i].colons);
        bench_end(&command);
    }
}

static void test_general_has_what_tools_ask_for(void **state) {
    struct bench *bench = *state;
    static const char *const names[] = {
        "pid", "uptime", "time", "version", "pointer_size", "rusage_user", "rusage_system", "max_connections",
        "curr_connections", "total_connections", "rejected_connections", "connection_structures", "cmd_get", "cmd_set",
        "cmd_flush", "cmd_touch", "cmd_meta", "get_hits", "get_misses", "get_expired", "get_flushed", "delete_misses",
        "delete_hits", "incr_misses", "incr_hits", "decr_misses", "decr_hits", "cas_misses", "cas_hits", "cas_badval",
        "touch_hits", "touch_misses", "store_too_large", "store_no_memory", "auth_cmds", "auth_errors", "bytes_read",
        "bytes_written", "limit_maxbytes", "accepting_conns", "listen_disabled_num", "threads", "conn_yields",
        "hash_power_level", "hash_bytes", "hash_is_expanding", "bytes", "curr_items", "total_items",
        "expired_unfetched", "evicted_unfetched", "evictions", "reclaimed", "lru_crawler_starts", "crawler_reclaimed",
        "crawler_items_checked", "moves_to_cold", "moves_to_warm", "moves_within_lru", "direct_reclaims",
        "total_malloced"};
    struct command *command = run_stats(bench, NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)value_of(command, names[i]);
    }
    assert_string_equal(value_of(command, "version"), "1.6.45");
    assert_non_null(strchr(value_of(command, "rusage_user"), '.'));
    bench_end(&command);
}

static void test_general_fits_collectds_buffer(void **state) {
    struct bench *bench = *state;
    size_t bytes;
    bench->big = UINT64_MAX / 2; /* every counter has as many digits as it can */
    struct command *command = run_stats(bench, NULL);
    assert_non_null(find(command, "direct_reclaims", &bytes));
    assert_true(bytes < 4096);
    bench_end(&command);
}

static void test_general_tells_what_happened(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "a", "1");
    bench_set(bench, "b", "2");
    bench_advance(bench, 30);
    struct request request = {.command = CMD_GET, .key = KEY("a")};
    assert_result(bench_result(bench, &request), RESULT_HIT);
    request.key = KEY("c");
    assert_result(bench_result(bench, &request), RESULT_MISS);
    struct command *command = run_stats(bench, NULL);
    assert_int_equal(number_of(command, "curr_items"), 2);
    assert_int_equal(number_of(command, "total_items"), 2);
    assert_int_equal(number_of(command, "cmd_get"), 2);
    assert_int_equal(number_of(command, "get_hits"), 1);
    assert_int_equal(number_of(command, "get_misses"), 1);
    assert_int_equal(number_of(command, "cmd_set"), 2);
    assert_int_equal(number_of(command, "curr_connections"), 7);
    assert_int_equal(number_of(command, "connection_structures"), 9);
    assert_int_equal(number_of(command, "threads"), 3);
    assert_in_range(number_of(command, "uptime"), 30, 90);
    assert_int_equal(number_of(command, "limit_maxbytes"), 64 << 20);
    assert_in_range(number_of(command, "bytes"), 1, 64 << 20);
    bench_end(&command);
}

static void test_settings_are_memcacheds_and_ours(void **state) {
    struct bench *bench = *state;
    struct command *command = run_stats(bench, "settings");
    assert_string_equal(value_of(command, "maxconns"), "1024");
    assert_string_equal(value_of(command, "lru_crawler"), "no");
    assert_string_equal(value_of(command, "cas_enabled"), "yes");
    assert_string_equal(value_of(command, "domain_socket"), "NULL");
    assert_string_equal(value_of(command, "inter"), "127.0.0.1");
    assert_string_equal(value_of(command, "shutdown_command"), "yes");
    assert_string_equal(value_of(command, "detail_enabled"), "no");
    assert_string_equal(value_of(command, "item_size_max"), "4096");
    assert_string_equal(value_of(command, "sync"), "interval=100");
    assert_string_equal(value_of(command, "data_dir"), "./coffer-data");
    assert_string_equal(value_of(command, "checkpoint_seconds"), "60");
    bench_end(&command);
}

static void test_settings_escape_blanks(void **state) {
    struct bench *bench = *state;
    struct options options = bench->options;
    options.data_dir = (char *)"/srv/my data";
    bench->env.options = &options;
    struct command *command = run_stats(bench, "settings");
    assert_string_equal(value_of(command, "data_dir"), "/srv/my%20data");
    bench_end(&command);
    bench->env.options = &bench->options;
}

static void test_one_class_with_all_fields(void **state) {
    struct bench *bench = *state;
    bench_set(bench, "a", "1");
    struct command *command = run_stats(bench, "items");
    assert_int_equal(number_of(command, "items:1:number"), 1);
    assert_int_equal(number_of(command, "items:1:number_hot"), 1);
    assert_int_equal(number_of(command, "items:1:age"), 0);
    assert_int_equal(number_of(command, "items:1:hits_to_temp"), 0);
    bench_end(&command);
    command = run_stats(bench, "slabs");
    assert_int_equal(number_of(command, "1:used_chunks"), 1);
    assert_int_equal(number_of(command, "1:cmd_set"), 1);
    assert_true(number_of(command, "1:total_pages") > 0);
    assert_int_equal(number_of(command, "1:total_chunks"),
                     number_of(command, "1:used_chunks") + number_of(command, "1:free_chunks"));
    assert_int_equal(number_of(command, "1:chunks_per_page") * number_of(command, "1:total_pages"),
                     number_of(command, "1:total_chunks"));
    assert_int_equal(number_of(command, "active_slabs"), 1);
    assert_true(number_of(command, "total_malloced") > 0);
    bench_end(&command);
}

static void test_sizes_are_off_and_say_so(void **state) {
    struct bench *bench = *state;
    struct command *command = run_stats(bench, "sizes");
    assert_string_equal(value_of(command, "sizes_status"), "disabled");
    bench_end(&command);
}

static void test_sizes_count_all_items_when_switched_on(void **state) {
    struct bench *bench = *state;
    char key[16];
    bench->options.track_sizes = true;
    for (unsigned i = 0; i < 2500; i++) {
        snprintf(key, sizeof key, "key%05u", i);
        bench_set(bench, key, i < 2200 ? "short" : "a value that is longer than the others by some 32 bytes");
    }
    struct command *command = run_stats(bench, "sizes");
    assert_int_equal(number_of(command, "64"), 2200);
    assert_int_equal(number_of(command, "128"), 300);
    bench_end(&command);
    command = run_stats(bench, "sizes_enable");
    assert_string_equal(value_of(command, "sizes_status"), "enabled");
    bench_end(&command);
}

static void test_sizes_for_a_gone_client_end_with_the_page(void **state) {
    struct bench *bench = *state;
    struct request request = stats_of("sizes", NULL);
    char key[16];
    bench->options.track_sizes = true;
    for (int i = 0; i < 2500; i++) {
        snprintf(key, sizeof key, "k%d", i);
        bench_set(bench, key, "v");
    }
    struct command *command = bench_begin(&request);
    command->unwanted = true;
    assert_int_equal(bench_continue(bench, command), COMMAND_DONE);
    assert_true(number_of(command, "64") < 2500);
    bench_end(&command);
}

static struct command *cachedump(struct bench *bench, const char *class, const char *limit) {
    struct request request = stats_of("cachedump", class);
    if (limit != NULL) {
        request.words[request.word_count++] = slice_str(limit);
    }
    return bench_run(bench, &request);
}

static void test_cachedump_lists_class_1(void **state) {
    struct bench *bench = *state;
    static const char expected[] = "ITEM a%20b [2 b; 0 s]\0ITEM c [1 b; 0 s]";
    bench_set(bench, "a b", "xx");
    bench_set(bench, "c", "y");
    bench_set(bench, "d", "z");
    struct command *command = cachedump(bench, "1", "2");
    assert_result(command->response.result, RESULT_LINES);
    assert_int_equal(buffer_length(&command->response.text), sizeof expected);
    assert_memory_equal(buffer_head(&command->response.text), expected, sizeof expected);
    bench_end(&command);
    command = cachedump(bench, "2", "0");
    assert_result(command->response.result, RESULT_LINES);
    assert_int_equal(buffer_length(&command->response.text), 0);
    bench_end(&command);
    command = cachedump(bench, "1", NULL);
    assert_result(command->response.result, RESULT_BAD_ARGUMENT);
    bench_end(&command);
}

static void test_cachedump_without_limit_takes_several_pages(void **state) {
    struct bench *bench = *state;
    char key[16];
    for (unsigned i = 0; i < 2100; i++) {
        snprintf(key, sizeof key, "key%05u", i);
        bench_set(bench, key, "v");
    }
    struct command *command = cachedump(bench, "1", "0");
    assert_result(command->response.result, RESULT_LINES);
    assert_int_equal(buffer_length(&command->response.text), 2100 * sizeof "ITEM key00000 [1 b; 0 s]");
    bench_end(&command);
}

static void test_persist_tells_of_the_log(void **state) {
    struct bench *bench = *state;
    uint64_t cas = bench_set(bench, "a", "1");
    struct command *command = run_stats(bench, "persist");
    assert_string_equal(value_of(command, "product_version"), COFFER_VERSION);
    assert_string_equal(value_of(command, "sync_mode"), "interval");
    assert_string_equal(value_of(command, "read_only"), "no");
    assert_true(number_of(command, "lsn") >= cas);
    assert_int_equal(number_of(command, "items_ram"), 1);
    (void)number_of(command, "recovered_records");
    (void)number_of(command, "cold_reads");
    (void)number_of(command, "tree_bytes");
    bench_end(&command);
}

static void test_conns_come_from_the_host(void **state) {
    struct bench *bench = *state;
    struct command *command = run_stats(bench, "conns");
    assert_string_equal(value_of(command, "5:state"), "conn_read");
    bench_end(&command);
}

static void test_unknown_group(void **state) {
    struct bench *bench = *state;
    struct request request = stats_of("nonsense", NULL);
    assert_result(bench_result(bench, &request), RESULT_UNKNOWN);
}

static void test_reset_forgets_counters_and_prefixes(void **state) {
    struct bench *bench = *state;
    struct request on = stats_of("detail", "on");
    struct request reset = stats_of("reset", NULL);
    struct request dump = stats_of("detail", "dump");
    assert_result(bench_result(bench, &on), RESULT_OK);
    bench_set(bench, "a:1", "v");
    assert_result(bench_result(bench, &reset), RESULT_RESET);
    assert_int_equal(bench->resets, 1);
    struct command *command = bench_run(bench, &dump);
    assert_int_equal(buffer_length(&command->response.text), 0);
    bench_end(&command);
}

static void expect_dump(struct bench *bench, const char *lines, size_t n) {
    struct request dump = stats_of("detail", "dump");
    struct command *command = bench_run(bench, &dump);
    assert_result(command->response.result, RESULT_LINES);
    assert_int_equal(buffer_length(&command->response.text), n);
    if (n > 0) {
        assert_memory_equal(buffer_head(&command->response.text), lines, n);
    }
    bench_end(&command);
}

static void test_detail_counts_by_prefix_while_on(void **state) {
    struct bench *bench = *state;
    static const char expected[] = "PREFIX a get 2 hit 1 set 2 del 1\0PREFIX b%20 get 0 hit 0 set 1 del 0";
    struct request on = stats_of("detail", "on");
    struct request off = stats_of("detail", "off");
    struct request get = {.command = CMD_GET, .key = KEY("a:1")};
    struct request touch = {.command = CMD_TOUCH, .key = KEY("a:none"), .exptime = 5};
    struct request delete = {.command = CMD_DELETE, .key = KEY("a:1")};
    bench_set(bench, "a:0", "v");
    expect_dump(bench, NULL, 0);
    assert_result(bench_result(bench, &on), RESULT_OK);
    bench_set(bench, "a:1", "v");
    bench_set(bench, "a:2", "v");
    bench_set(bench, "b :2", "v");
    bench_set(bench, "plain", "v");
    assert_result(bench_result(bench, &get), RESULT_HIT);
    assert_result(bench_result(bench, &touch), RESULT_MISS);
    assert_result(bench_result(bench, &delete), RESULT_DELETED);
    assert_result(bench_result(bench, &delete), RESULT_MISS);
    expect_dump(bench, expected, sizeof expected);
    assert_result(bench_result(bench, &off), RESULT_OK);
    bench_set(bench, "a:3", "v");
    expect_dump(bench, expected, sizeof expected);
}

static void test_detail_wants_a_word(void **state) {
    struct bench *bench = *state;
    struct request request = stats_of("detail", NULL);
    struct command *command = bench_run(bench, &request);
    assert_result(command->response.result, RESULT_BAD_ARGUMENT);
    assert_memory_equal(buffer_head(&command->response.text), "usage: ", 7);
    bench_end(&command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_every_group_has_one_token_a_value),
        TEST(test_general_has_what_tools_ask_for),
        TEST(test_general_fits_collectds_buffer),
        TEST(test_general_tells_what_happened),
        TEST(test_settings_are_memcacheds_and_ours),
        TEST(test_settings_escape_blanks),
        TEST(test_one_class_with_all_fields),
        TEST(test_sizes_are_off_and_say_so),
        TEST(test_sizes_count_all_items_when_switched_on),
        TEST(test_sizes_for_a_gone_client_end_with_the_page),
        TEST(test_cachedump_lists_class_1),
        TEST(test_cachedump_without_limit_takes_several_pages),
        TEST(test_persist_tells_of_the_log),
        TEST(test_conns_come_from_the_host),
        TEST(test_unknown_group),
        TEST(test_reset_forgets_counters_and_prefixes),
        TEST(test_detail_counts_by_prefix_while_on),
        TEST(test_detail_wants_a_word),
    };
    return cmocka_run_group_tests_name("command_stats", tests, NULL, NULL);
}
