/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_command.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { PARK_MILLIS = 20000 };

struct awaited {
    struct command command;
    bool came; /* its ticket was delivered */
};

static void note_ticket(struct ticket *ticket) {
    struct awaited *awaited = (struct awaited *)((char *)ticket - offsetof(struct awaited, command.op.ticket));
    awaited->came = true;
}

static void no_mark(void *arg) {
    (void)arg;
}

/* ---- the host ---- */

static uint64_t host_counter(void *arg, enum counter which) {
    struct bench *bench = arg;
    return counter_read(&bench->counters, which) + bench->big;
}

static void host_reset(void *arg) {
    struct bench *bench = arg;
    bench->resets++;
}

static struct command_connections host_connections(void *arg) {
    struct bench *bench = arg;
    return (struct command_connections){7 + bench->big, 9 + bench->big, true};
}

static enum status host_list(void *arg, struct buffer *text) {
    (void)arg;
    return buffer_append(text, "5:state\0conn_read\0", 18);
}

static void host_shutdown(void *arg, bool graceful) {
    struct bench *bench = arg;
    bench->shutdowns++;
    bench->graceful = graceful;
}

/* ---- the bench ---- */

static void open_store(struct bench *bench) {
    struct store_config config;
    store_config_init(&config);
    config.dir = bench->dir.path;
    config.memory = 64 << 20;
    config.sync = STORE_SYNC_OS;
    config.log_segment = 1 << 20;
    config.log_max = 16 << 20;
    config.item_max = bench->options.item_max;
    config.readers = 2;
    config.sessions = 1;
    config.clock = bench->clock;
    config.faults = bench->faults;
    assert_ok(store_open(&bench->store, &config));
}

int bench_setup(void **state) {
    struct bench *bench = calloc(1, sizeof *bench);
    assert_non_null(bench);
    test_dir_make(&bench->dir);
    options_init(&bench->options);
    bench->options.item_max = 4096;
    bench->options.threads = 3;
    bench->options.enable_debug = true;
    bench->options.enable_shutdown = true;
    bench->clock = clock_create();
    assert_non_null(bench->clock);
    assert_ok(faults_create(&bench->faults, NULL));
    open_store(bench);
    assert_ok(inbox_create(&bench->inbox));
    assert_ok(session_open(&bench->session, bench->store, bench->inbox, no_mark, NULL));
    assert_ok(prefixes_create(&bench->prefixes));
    bench->env = (struct command_env){
        .store = bench->store,
        .options = &bench->options,
        .clock = bench->clock,
        .prefixes = bench->prefixes,
        .host = {bench, host_counter, host_reset, host_connections, host_list, host_shutdown, bench->faults},
        .started = clock_wall(bench->clock),
    };
    bench->worker = (struct command_worker){
        .env = &bench->env, .session = bench->session, .inbox = bench->inbox, .counters = &bench->counters};
    bench->worker.now = session_tick(bench->session);
    *state = bench;
    return 0;
}

int bench_teardown(void **state) {
    struct bench *bench = *state;
    session_close(&bench->session);
    store_close(&bench->store, 5);
    inbox_destroy(&bench->inbox);
    prefixes_destroy(&bench->prefixes);
    faults_destroy(&bench->faults);
    clock_destroy(&bench->clock);
    options_free(&bench->options);
    test_dir_remove(&bench->dir);
    free(bench);
    return 0;
}

enum command_progress bench_continue(struct bench *bench, struct command *command) {
    struct awaited *awaited = (struct awaited *)command;
    enum command_progress progress;
    bench->worker.now = session_tick(bench->session);
    while ((progress = command_execute(&bench->worker, command)) == COMMAND_PARKED) {
        while (!awaited->came) {
            struct pollfd wait = {.fd = inbox_fd(bench->inbox), .events = POLLIN};
            assert_int_equal(poll(&wait, 1, PARK_MILLIS), 1);
            inbox_drain(bench->inbox);
        }
        awaited->came = false;
    }
    session_commit(bench->session);
    return progress;
}

struct command *bench_begin(const struct request *request) {
    struct awaited *awaited = calloc(1, sizeof *awaited);
    assert_non_null(awaited);
    awaited->command.op.ticket.deliver = note_ticket;
    awaited->command.request = *request;
    return &awaited->command;
}

struct command *bench_run(struct bench *bench, const struct request *request) {
    struct command *command = bench_begin(request);
    enum command_progress progress = bench_continue(bench, command);
    assert_int_equal(progress == COMMAND_MORE, command->response.more);
    return command;
}

void bench_end(struct command **command) {
    command_finish(*command);
    free(*command);
    *command = NULL;
}

enum result bench_result(struct bench *bench, const struct request *request) {
    struct command *command = bench_run(bench, request);
    enum result result = command->response.result;
    bench_end(&command);
    return result;
}

struct item *bench_item(const char *key, const char *value) {
    struct item *item;
    assert_ok(item_create(&item, slice_str(key), strlen(value)));
    memcpy(item_body(item), value, strlen(value));
    return item;
}

uint64_t bench_set(struct bench *bench, const char *key, const char *value) {
    struct request request = {.command = CMD_STORE, .key = slice_str(key), .item = bench_item(key, value)};
    struct command *command = bench_run(bench, &request);
    assert_result(command->response.result, RESULT_STORED);
    uint64_t cas = command->response.cas;
    bench_end(&command);
    return cas;
}

static struct command *read_quietly(struct bench *bench, const char *key) {
    struct counters before = bench->counters;
    struct request request = {.command = CMD_GET, .key = slice_str(key), .no_bump = true};
    struct command *command = bench_run(bench, &request);
    bench->counters = before;
    return command;
}

void bench_expect(struct bench *bench, const char *key, const char *value) {
    struct command *command = read_quietly(bench, key);
    assert_result(command->response.result, value != NULL ? RESULT_HIT : RESULT_MISS);
    if (value != NULL) {
        struct item_view view;
        item_look(command->response.item, &view);
        assert_int_equal(view.value.n, strlen(value));
        assert_memory_equal(view.value.p, value, view.value.n);
    }
    bench_end(&command);
}

struct item_view bench_look(struct bench *bench, const char *key) {
    struct command *command = read_quietly(bench, key);
    struct item_view view;
    assert_result(command->response.result, RESULT_HIT);
    item_look(command->response.item, &view);
    bench_end(&command);
    return view;
}

void bench_advance(struct bench *bench, int64_t seconds) {
    clock_advance(bench->clock, seconds);
}

uint64_t bench_count(const struct bench *bench, enum counter which) {
    return counter_read(&bench->counters, which);
}

const char *result_name(enum result result) {
    static const char *const names[RESULT_COUNT] = {
#define X(name, error) #name,
        RESULT_TABLE(X)
#undef X
    };
    assert_true(result < RESULT_COUNT);
    return names[result];
}
