/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker with its connections over a command layer and a store that the test pulls the strings of: which request
 * parks and when it comes back, where the mark stands, whether the log has failed.  The test is the client. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/slots.h"
#include "net/worker.h"
#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/base/number.h"
#include "tests/unit/support_cmocka.h"

enum { PARKED_MAX = 1024, PATIENCE_MILLIS = 10000 };

struct session {
    struct inbox *inbox;
    struct ticket ticket;
    void (*on_mark)(void *arg);
    void *arg;
    bool armed;
    uint64_t stamp;
};

/* ---- the strings ---- */

static struct stage {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t mark;
    bool failed;
    struct session session;
    struct command *parked[PARKED_MAX];
    unsigned parked_count, parked_most;
    struct buffer journal; /* what was executed, in order */
} stage = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void on_stage(void) {
    assert_int_equal(pthread_mutex_lock(&stage.mutex), 0);
}

static void off_stage(void) {
    assert_int_equal(pthread_cond_broadcast(&stage.changed), 0);
    assert_int_equal(pthread_mutex_unlock(&stage.mutex), 0);
}

static void tell_session(void) {
    if (stage.session.armed && (stage.failed || stage.mark >= stage.session.stamp)) {
        stage.session.armed = false;
        inbox_post(&stage.session.ticket);
    }
}

static void set_mark(uint64_t mark) {
    on_stage();
    stage.mark = mark;
    tell_session();
    off_stage();
}

static void fail_log(void) {
    on_stage();
    stage.failed = true;
    tell_session();
    off_stage();
}

static void wait_parked(unsigned count) {
    on_stage();
    while (stage.parked_count < count) {
        pthread_cond_wait(&stage.changed, &stage.mutex);
    }
    assert_int_equal(stage.parked_count, count);
    off_stage();
}

/* Lets the parked request of this key go on; "" = the oldest one. */
static void release(const char *key) {
    on_stage();
    for (unsigned i = 0; i < stage.parked_count; i++) {
        struct command *command = stage.parked[i];
        if (*key == '\0' || slice_equal(command->request.key, slice_str(key))) {
            stage.parked_count--;
            memmove(&stage.parked[i], &stage.parked[i + 1], (stage.parked_count - i) * sizeof stage.parked[0]);
            command->note.won = true;
            command->op.ticket.inbox = stage.session.inbox;
            inbox_post(&command->op.ticket);
            break;
        }
    }
    off_stage();
}

static void expect_journal(const char *expected) {
    on_stage();
    assert_ok(buffer_append(&stage.journal, "", 1));
    assert_string_equal(buffer_head(&stage.journal), expected);
    stage.journal.end--;
    off_stage();
}

/* ---- the fake store ---- */

static void mark_reached(struct ticket *ticket) {
    (void)ticket;
    stage.session.on_mark(stage.session.arg);
}

enum status session_open(struct session **session, struct store *store, struct inbox *inbox,
                         void (*on_mark)(void *arg), void *arg) {
    (void)store;
    stage.session = (struct session){
        .inbox = inbox, .ticket = {NULL, inbox, mark_reached}, .on_mark = on_mark, .arg = arg};
    *session = &stage.session;
    return ST_OK;
}

void session_close(struct session **session) {
    *session = NULL;
}

int64_t session_tick(struct session *session) {
    (void)session;
    return 1000;
}

void session_commit(struct session *session) {
    (void)session;
}

uint64_t store_mark(const struct store *store) {
    (void)store;
    on_stage();
    uint64_t mark = stage.mark;
    off_stage();
    return mark;
}

void session_await(struct session *session, uint64_t stamp) {
    on_stage();
    session->armed = true;
    session->stamp = stamp;
    tell_session();
    off_stage();
}

enum status store_health(const struct store *store) {
    (void)store;
    on_stage();
    bool failed = stage.failed;
    off_stage();
    return failed ? ST_READ_ONLY : ST_OK;
}

/* ---- the fake command layer: keys say what happens to them ---- */

static bool begins(struct slice key, const char *with) {
    return key.n >= strlen(with) && memcmp(key.p, with, strlen(with)) == 0;
}

static bool parks(const struct command *command) {
    return !command->note.won && begins(command->request.key, "cold");
}

static enum command_progress park(struct command *command) {
    on_stage();
    assert_true(stage.parked_count < PARKED_MAX);
    stage.parked[stage.parked_count++] = command;
    if (stage.parked_count > stage.parked_most) {
        stage.parked_most = stage.parked_count;
    }
    off_stage();
    return COMMAND_PARKED;
}

static void write_journal(const struct request *request) {
    on_stage();
    assert_ok(buffer_printf(&stage.journal, "%s %.*s;", request->command == CMD_GET ? "get" : "set",
                            (int)request->key.n, request->key.p));
    off_stage();
}

static void answer_get(struct command *command) {
    struct slice key = command->request.key;
    size_t length = begins(key, "big") ? 100000 : key.n;
    uint64_t stamp;
    command->response.result = begins(key, "miss") ? RESULT_MISS : begins(key, "bad") ? RESULT_DAMAGED : RESULT_HIT;
    if (begins(key, "at") && number_u64(slice_of(key.p + 2, key.n - 2), &stamp)) {
        command->response.stamp = stamp;
    }
    if (command->response.result == RESULT_HIT) {
        assert_ok(item_create(&command->response.item, key, length));
        memset(item_body(command->response.item), 'v', length);
    }
}

/* The flags of a store command are its stamp; other commands have none. */
static void answer_store(struct command *command) {
    struct item_view view;
    command->response.stamp = command->request.flags;
    command->response.result = RESULT_STORED;
    if (command->request.refusal != REFUSE_NOTHING) {
        command->response.result =
            command->request.refusal == REFUSE_TOO_LARGE ? RESULT_TOO_LARGE : RESULT_NO_MEMORY;
        return;
    }
    item_look(command->request.item, &view);
    for (size_t i = 0; i < view.value.n; i++) {
        assert_int_equal(view.value.p[i], view.value.p[0]);
    }
}

enum { DUMP_ROWS = 2000, DUMP_PAGES = 5 };

/* Pages of as many rows as fit no connection's bound together; each is waited for. */
static enum command_progress dump(struct command *command) {
    static struct store_row rows[DUMP_ROWS];
    if (!command->note.won) {
        return park(command);
    }
    if (rows[0].item == NULL) {
        struct item *item;
        assert_ok(item_create(&item, slice_str("0123456789012345678901234567890123456789"), 0));
        for (unsigned i = 0; i < DUMP_ROWS; i++) {
            rows[i].item = item;
        }
    }
    command->note.won = false;
    command->note.number++;
    command->response = (struct response){.result = RESULT_ROWS, .rows = rows, .row_count = DUMP_ROWS,
                                          .more = command->note.number < DUMP_PAGES};
    return command->response.more ? COMMAND_MORE : COMMAND_DONE;
}

enum command_progress command_execute(struct command_worker *worker, struct command *command) {
    (void)worker;
    if (parks(command)) {
        return park(command);
    }
    switch (command->request.command) {
    case CMD_GET:
        write_journal(&command->request);
        answer_get(command);
        break;
    case CMD_STORE:
        write_journal(&command->request);
        answer_store(command);
        break;
    case CMD_DUMP:
        return dump(command);
    case CMD_QUIT:
        command->response.result = RESULT_CLOSE;
        break;
    default:
        command->response.result = RESULT_VERSION;
    }
    return COMMAND_DONE;
}

void command_finish(struct command *command) {
    item_unref(&command->request.item);
    item_unref(&command->response.item);
}

bool command_may_write(const struct request *request) {
    return request->command != CMD_GET || request->touch;
}

/* ---- the worker and its clients ---- */

struct fixture {
    struct options options;
    struct command_env env;
    struct net_shared shared;
    struct worker *worker;
    int client;
};

static void nothing_freed(void *arg) {
    (void)arg;
}

static int new_client(struct fixture *f) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
    atomic_fetch_add(&f->shared.connections, 1);
    worker_adopt(f->worker, pair[1]);
    return pair[0];
}

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    stage.mark = 0;
    stage.failed = false;
    stage.parked_most = 0;
    buffer_init(&stage.journal);
    f->options.requests_per_event = 20;
    f->options.item_max = 1 << 20;
    f->env.options = &f->options;
    f->shared.env = &f->env;
    f->shared.body_limit = 4 << 20;
    f->shared.descriptor_freed = nothing_freed;
    assert_ok(worker_create(&f->worker, &f->shared));
    assert_ok(worker_start(f->worker, 0));
    f->client = new_client(f);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    worker_stop(f->worker, 0);
    worker_join(f->worker);
    worker_destroy(&f->worker);
    assert_int_equal(f->shared.connections, 0);
    assert_int_equal(f->shared.structures, 0);
    assert_int_equal(f->shared.body_bytes, 0);
    close(f->client);
    buffer_free(&stage.journal);
    free(f);
    return 0;
}

static void send_bytes(int fd, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        assert_true(sent > 0);
        bytes += sent;
        n -= (size_t)sent;
    }
}

static void ask(int fd, const char *text) {
    send_bytes(fd, text, strlen(text));
}

static void read_bytes(int fd, char *to, size_t n) {
    while (n > 0) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&wait, 1, PATIENCE_MILLIS), 1);
        ssize_t got = recv(fd, to, n, 0);
        if (got <= 0) {
            fail_msg("the connection ended with %zu bytes missing", n);
        }
        to += got;
        n -= (size_t)got;
    }
}

static void expect(int fd, const char *text) {
    size_t n = strlen(text);
    char *got = calloc(1, n + 1);
    assert_non_null(got);
    read_bytes(fd, got, n);
    assert_string_equal(got, text);
    free(got);
}

static void expect_end(int fd) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char byte;
    assert_int_equal(poll(&wait, 1, PATIENCE_MILLIS), 1);
    ssize_t n = recv(fd, &byte, 1, 0);
    assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
}

/* Nothing has been answered, although the worker has dealt with everything sent: a second connection's request, sent
 * later, has been answered. */
static void expect_nothing(struct fixture *f, int fd) {
    char byte;
    int other = new_client(f);
    ask(other, "version\r\n");
    expect(other, "VERSION 1.6.45\r\n");
    ask(other, "version\r\n");
    expect(other, "VERSION 1.6.45\r\n");
    close(other);
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
    assert_true(errno == EAGAIN || errno == EWOULDBLOCK);
}

static uint64_t counted(struct fixture *f, enum counter which) {
    return counter_read(worker_counters(f->worker), which);
}

#define HIT(key, length) "VALUE " key " 0 " length "\r\n"
#define A HIT("a", "1") "v\r\n"
#define B HIT("b", "1") "v\r\n"
#define COLD1 HIT("cold1", "5") "vvvvv\r\n"
#define COLD2 HIT("cold2", "5") "vvvvv\r\n"
#define END "END\r\n"

/* ---- plain service ---- */

static void test_pipeline(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a\r\nset x 0 0 1\r\n1\r\nget b miss a\r\nnonsense\r\nset y 0 0 1 noreply\r\n1\r\nversion\r\n");
    expect(f->client, A END "STORED\r\n" B A END "ERROR\r\nVERSION 1.6.45\r\n");
}

static void test_byte_by_byte(void **state) {
    struct fixture *f = *state;
    const char *text = "get a\r\nset x 0 0 3\r\n111\r\nset x 0 x 3\r\n111\r\nget b a\r\n";
    for (size_t i = 0; i < strlen(text); i++) {
        send_bytes(f->client, text + i, 1);
        if (i % 3 == 0) {
            int other = new_client(f); /* makes the worker turn to somebody else in between */
            ask(other, "version\r\n");
            expect(other, "VERSION 1.6.45\r\n");
            close(other);
        }
    }
    expect(f->client, A END "STORED\r\nCLIENT_ERROR bad command line format\r\n" B A END);
}

static void test_large_values(void **state) {
    struct fixture *f = *state;
    const size_t sizes[] = {2000, 20000, 70000, 300000, 1 << 20};
    char *body = malloc(1 << 20);
    assert_non_null(body);
    memset(body, 'x', 1 << 20);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char line[64];
        snprintf(line, sizeof line, "set x 0 0 %zu\r\n", sizes[i]);
        ask(f->client, line);
        send_bytes(f->client, body, sizes[i]);
        ask(f->client, "\r\nget a\r\n");
        expect(f->client, "STORED\r\n" A END);
    }
    ask(f->client, "get big1 a big2\r\n");
    expect(f->client, HIT("big1", "100000"));
    read_bytes(f->client, body, 100002);
    assert_memory_equal(body + 99999, "v\r\n", 3);
    expect(f->client, A HIT("big2", "100000"));
    read_bytes(f->client, body, 100002);
    expect(f->client, END);
    free(body);
}

static void test_too_large_value_is_swallowed(void **state) {
    struct fixture *f = *state;
    size_t n = (1 << 20) + 1;
    char *body = calloc(1, n);
    assert_non_null(body);
    for (int i = 0; i < 2; i++) {
        ask(f->client, i == 0 ? "set x 0 0 1048577\r\n" : "set x 0 0 1048577 noreply\r\n");
        send_bytes(f->client, body, n);
        ask(f->client, "\r\n");
    }
    ask(f->client, "get a\r\n");
    expect(f->client, "SERVER_ERROR object too large for cache\r\n" A END);
    expect_journal("set x;set x;get a;");
    free(body);
}

/* Four clients with a megabyte announced each use up what may be in flight; a fifth is refused, and stays in step. */
static void test_bodies_in_flight_are_bounded(void **state) {
    struct fixture *f = *state;
    int others[4];
    char *body = calloc(1, 1 << 20);
    assert_non_null(body);
    for (int i = 0; i < 4; i++) {
        others[i] = new_client(f);
        ask(others[i], i == 3 ? "set x 0 0 1000000\r\n" : "set x 0 0 1048576\r\n");
    }
    expect_nothing(f, others[3]);
    ask(f->client, "set y 0 0 1048576\r\n");
    send_bytes(f->client, body, 1 << 20);
    ask(f->client, "\r\nset z 0 0 1\r\n1\r\n");
    expect(f->client, "SERVER_ERROR out of memory storing object\r\nSTORED\r\n");
    send_bytes(others[0], body, 1 << 20);
    ask(others[0], "\r\n");
    expect(others[0], "STORED\r\n");
    ask(f->client, "set y 0 0 1000000\r\n");
    send_bytes(f->client, body, 1000000);
    ask(f->client, "\r\n");
    expect(f->client, "STORED\r\n");
    for (int i = 0; i < 4; i++) {
        close(others[i]);
    }
    free(body);
}

static void test_bad_data_block(void **state) {
    struct fixture *f = *state;
    ask(f->client, "set x 0 0 3\r\nabcXXget a\r\nset x 0 0 3 noreply\r\nabcXXget b\r\n");
    expect(f->client, "CLIENT_ERROR bad data chunk\r\n" A END B END);
    expect_journal("get a;get b;");
}

static void test_quit_closes_behind_its_replies(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a\r\nquit\r\n");
    expect(f->client, A END);
    expect_end(f->client);
}

static void test_binary_is_turned_away(void **state) {
    struct fixture *f = *state;
    ask(f->client, "\x80\x0b");
    expect_end(f->client);
}

static void test_half_closed_client_is_answered(void **state) {
    struct fixture *f = *state;
    struct buffer requests;
    buffer_init(&requests);
    for (int i = 0; i < 1000; i++) {
        assert_ok(buffer_printf(&requests, "get a\r\n"));
    }
    assert_ok(buffer_printf(&requests, "get cold1\r\nget partial"));
    send_bytes(f->client, buffer_head(&requests), buffer_length(&requests));
    assert_int_equal(shutdown(f->client, SHUT_WR), 0);
    for (int i = 0; i < 1000; i++) {
        expect(f->client, A END);
    }
    wait_parked(1);
    release("cold1");
    expect(f->client, COLD1 END);
    expect_end(f->client);
    buffer_free(&requests);
}

/* Writes without reply, and then nobody there any more. */
static void test_requests_of_a_gone_client_are_executed(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get cold1\r\nset x 0 0 1 noreply\r\n1\r\nset y 0 0 1\r\n1\r\n");
    wait_parked(1);
    close(f->client);
    release("cold1");
    f->client = new_client(f);
    ask(f->client, "get a\r\n");
    expect(f->client, A END);
    expect_journal("get cold1;set x;set y;get a;");
}

/* ---- order ---- */

static void test_reads_run_side_by_side(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get cold1 a cold2 b\r\nget b\r\n");
    wait_parked(2);
    expect_nothing(f, f->client);
    expect_journal("get a;get b;get b;");
    release("cold2");
    expect_nothing(f, f->client);
    release("cold1");
    expect(f->client, COLD1 A COLD2 B END B END);
}

static void test_write_waits_behind_parked_read(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get cold1\r\nget b\r\nset x 0 0 1\r\n1\r\nget a\r\n");
    wait_parked(1);
    expect_nothing(f, f->client);
    expect_journal("get b;");
    release("cold1");
    expect(f->client, COLD1 END B END "STORED\r\n" A END);
    expect_journal("get b;get cold1;set x;get a;");
}

static void test_read_waits_behind_parked_read_of_the_same_key(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get cold1\r\nget cold2\r\nget cold1\r\nget a\r\n");
    wait_parked(2);
    expect_nothing(f, f->client);
    expect_journal("");
    release("cold1");
    wait_parked(2);
    release("cold1");
    release("cold2");
    expect(f->client, COLD1 END COLD2 END COLD1 END A END);
}

static void test_everything_waits_behind_parked_write(void **state) {
    struct fixture *f = *state;
    ask(f->client, "set coldw 0 0 1\r\n1\r\nget a\r\nversion\r\n");
    wait_parked(1);
    expect_nothing(f, f->client);
    expect_journal("");
    release("coldw");
    expect(f->client, "STORED\r\n" A END "VERSION 1.6.45\r\n");
    expect_journal("set coldw;get a;");
}

static void test_touching_reads_wait_for_each_other(void **state) {
    struct fixture *f = *state;
    ask(f->client, "gat 1 cold1 cold2\r\n");
    wait_parked(1);
    expect_nothing(f, f->client);
    release("cold1");
    wait_parked(1);
    release("cold2");
    expect(f->client, COLD1 COLD2 END);
}

/* One line of many cold keys: bounded, in order, whatever order they come back in. */
static void test_cold_multi_get_is_bounded(void **state) {
    enum { KEYS = 3000 };
    struct fixture *f = *state;
    struct buffer line;
    buffer_init(&line);
    assert_ok(buffer_printf(&line, "get"));
    for (int i = 0; i < KEYS; i++) {
        assert_ok(buffer_printf(&line, " cold%d", i));
    }
    assert_ok(buffer_printf(&line, "\r\n"));
    send_bytes(f->client, buffer_head(&line), buffer_length(&line));
    for (int i = 0; i < KEYS; i++) {
        on_stage();
        while (stage.parked_count == 0) {
            pthread_cond_wait(&stage.changed, &stage.mutex);
        }
        char key[STORE_KEY_MAX + 1] = "";
        struct slice any = stage.parked[(unsigned)(i * 7919) % stage.parked_count]->request.key;
        memcpy(key, any.p, any.n);
        off_stage();
        release(key);
    }
    for (int i = 0; i < KEYS; i++) {
        char value[128];
        int n = snprintf(NULL, 0, "cold%d", i);
        snprintf(value, sizeof value, "VALUE cold%d 0 %d\r\n%.*s\r\n", i, n, n, "vvvvvvvvvv");
        expect(f->client, value);
    }
    expect(f->client, END);
    assert_in_range(stage.parked_most, 32, HOME_SLOTS_MAX);
    buffer_free(&line);
}

static void test_error_in_a_multi_get_ends_the_reply(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a cold1 bad1 b\r\nget b\r\n");
    wait_parked(1);
    release("cold1");
    expect(f->client, A COLD1 "SERVER_ERROR read failed: damaged data\r\n" B END);
}

/* ---- durability ---- */

static void test_reply_waits_for_the_mark(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a\r\nset x 5 0 1\r\n1\r\nget b\r\nset x 7 0 1\r\n1\r\n");
    expect(f->client, A END);
    expect_nothing(f, f->client);
    expect_journal("get a;set x;get b;set x;");
    set_mark(4);
    expect_nothing(f, f->client);
    set_mark(5);
    expect(f->client, "STORED\r\n" B END);
    expect_nothing(f, f->client);
    set_mark(9);
    expect(f->client, "STORED\r\n");
    assert_true(counted(f, COUNT_replies_held) > 0);
}

static void test_read_waits_for_what_it_has_seen(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get at8\r\n");
    expect_nothing(f, f->client);
    set_mark(8);
    expect(f->client, HIT("at8", "3") "vvv\r\n" END);
}

static void test_reply_waits_for_earlier_noreply_write(void **state) {
    struct fixture *f = *state;
    ask(f->client, "set x 5 0 1 noreply\r\n1\r\nget a\r\n");
    expect_nothing(f, f->client);
    set_mark(5);
    expect(f->client, A END);
}

static void test_several_connections_wait_for_different_marks(void **state) {
    struct fixture *f = *state;
    int clients[20];
    for (unsigned i = 0; i < 20; i++) {
        char line[64];
        clients[i] = new_client(f);
        snprintf(line, sizeof line, "set x %u 0 1\r\n1\r\n", 100 + i * 7 % 20);
        ask(clients[i], line);
    }
    expect_nothing(f, clients[19]);
    for (unsigned mark = 100; mark < 120; mark++) {
        set_mark(mark);
        for (unsigned i = 0; i < 20; i++) {
            if (100 + i * 7 % 20 == mark) {
                expect(clients[i], "STORED\r\n");
                close(clients[i]);
            }
        }
    }
}

#define FAILED "SERVER_ERROR write failed: the store is read-only\r\n"

static void test_held_replies_fail_with_the_log(void **state) {
    struct fixture *f = *state;
    ask(f->client, "set x 5 0 1\r\n1\r\nget a\r\nget at7 b\r\nget b\r\n");
    expect_nothing(f, f->client);
    fail_log();
    expect(f->client, FAILED A END FAILED B END);
    assert_int_equal(counted(f, COUNT_replies_failed), 2);
    ask(f->client, "get at9 a\r\nget a\r\n");
    expect(f->client, FAILED A END);
}

static void test_lost_noreply_write_closes(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a\r\nset x 5 0 1 noreply\r\n1\r\nget b\r\n");
    expect(f->client, A END);
    expect_nothing(f, f->client);
    fail_log();
    expect_end(f->client);
}

/* The reply of a multi-get whose other keys are still to be read. */
static void test_log_fails_amid_a_multi_get(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a at7 cold1 b\r\nget b\r\n");
    wait_parked(1);
    expect(f->client, A);
    fail_log();
    expect(f->client, FAILED);
    release("cold1");
    expect(f->client, B END);
}

/* ---- clients that do not read ---- */

static void test_unread_replies_are_bounded(void **state) {
    struct fixture *f = *state;
    unsigned sent = 0;
    int other = new_client(f);
    assert_int_equal(fcntl(f->client, F_SETFL, O_NONBLOCK), 0);
    /* The server stops reading at its bound, then the socket fills, then we are stopped. */
    for (unsigned stopped = 0; stopped < 100;) {
        static const char request[] = "get big1\r\n";
        ssize_t n = send(f->client, request, sizeof request - 1, MSG_NOSIGNAL);
        assert_true(n < 0 || n == sizeof request - 1);
        if (n > 0) {
            sent++;
            stopped = 0;
        } else {
            stopped++;
            ask(other, "version\r\n");
            expect(other, "VERSION 1.6.45\r\n");
        }
    }
    close(other);
    on_stage();
    size_t executed = buffer_length(&stage.journal) / strlen("get big1;");
    off_stage();
    assert_in_range(executed, HOME_UNSENT_MAX / 100000, HOME_UNSENT_MAX / 100000 + 10); /* and the socket's own room */
    assert_int_equal(fcntl(f->client, F_SETFL, 0), 0);
    char *body = malloc(100002);
    assert_non_null(body);
    for (unsigned i = 0; i < sent; i++) {
        expect(f->client, HIT("big1", "100000"));
        read_bytes(f->client, body, 100002);
        expect(f->client, END);
    }
    free(body);
}

static void test_dump_goes_on_as_it_is_read(void **state) {
    struct fixture *f = *state;
    const char *row = "key=0123456789012345678901234567890123456789 exp=-1 la=1000 cas=0 fetch=no cls=1 size=0\r\n";
    ask(f->client, "lru_crawler metadump all\r\nget a\r\n");
    for (unsigned page = 0; page < DUMP_PAGES; page++) {
        wait_parked(1);
        release("");
        for (unsigned i = 0; i < DUMP_ROWS; i++) {
            expect(f->client, row);
        }
    }
    expect(f->client, END A END);
}

static void test_dump_is_given_up_when_nobody_reads(void **state) {
    struct fixture *f = *state;
    ask(f->client, "lru_crawler metadump all\r\n");
    wait_parked(1);
    close(f->client);
    release("");
    f->client = new_client(f);
    ask(f->client, "get a\r\n");
    expect(f->client, A END);
    on_stage();
    unsigned parked = stage.parked_count;
    off_stage();
    if (parked > 0) {
        release(""); /* the next page was asked for before the loss was noticed */
    }
}

/* ---- from outside ---- */

static void test_listing(void **state) {
    struct fixture *f = *state;
    struct buffer text;
    buffer_init(&text);
    ask(f->client, "get a\r\n");
    expect(f->client, A END);
    assert_ok(worker_list(f->worker, 1007, &text));
    const char *colon = memchr(buffer_head(&text), ':', buffer_length(&text));
    assert_non_null(colon);
    assert_string_equal(colon, ":addr");
    for (size_t i = 0; i < buffer_length(&text); i++) {
        char *byte = buffer_head(&text) + i;
        *byte = *byte == '\0' ? ' ' : *byte;
    }
    assert_ok(buffer_append(&text, "", 1));
    assert_non_null(strstr(buffer_head(&text), ":state conn_read"));
    assert_non_null(strstr(buffer_head(&text), ":secs_since_last_cmd 7"));
    buffer_free(&text);
}

static void test_stop_answers_what_has_arrived(void **state) {
    struct fixture *f = *state;
    struct buffer requests;
    buffer_init(&requests);
    assert_ok(buffer_printf(&requests, "get cold1\r\n"));
    for (int i = 0; i < 3000; i++) {
        assert_ok(buffer_printf(&requests, "get a\r\n"));
    }
    send_bytes(f->client, buffer_head(&requests), buffer_length(&requests));
    wait_parked(1);
    worker_stop(f->worker, clock_micros() + 10 * 1000 * 1000);
    release("cold1");
    expect(f->client, COLD1 END);
    for (int i = 0; i < 3000; i++) {
        expect(f->client, A END);
    }
    expect_end(f->client);
    worker_join(f->worker);
    buffer_free(&requests);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_pipeline),
        TEST(test_byte_by_byte),
        TEST(test_large_values),
        TEST(test_too_large_value_is_swallowed),
        TEST(test_bodies_in_flight_are_bounded),
        TEST(test_bad_data_block),
        TEST(test_quit_closes_behind_its_replies),
        TEST(test_binary_is_turned_away),
        TEST(test_half_closed_client_is_answered),
        TEST(test_requests_of_a_gone_client_are_executed),
        TEST(test_reads_run_side_by_side),
        TEST(test_write_waits_behind_parked_read),
        TEST(test_read_waits_behind_parked_read_of_the_same_key),
        TEST(test_everything_waits_behind_parked_write),
        TEST(test_touching_reads_wait_for_each_other),
        TEST(test_cold_multi_get_is_bounded),
        TEST(test_error_in_a_multi_get_ends_the_reply),
        TEST(test_reply_waits_for_the_mark),
        TEST(test_read_waits_for_what_it_has_seen),
        TEST(test_reply_waits_for_earlier_noreply_write),
        TEST(test_several_connections_wait_for_different_marks),
        TEST(test_held_replies_fail_with_the_log),
        TEST(test_lost_noreply_write_closes),
        TEST(test_log_fails_amid_a_multi_get),
        TEST(test_unread_replies_are_bounded),
        TEST(test_dump_goes_on_as_it_is_read),
        TEST(test_dump_is_given_up_when_nobody_reads),
        TEST(test_listing),
        TEST(test_stop_answers_what_has_arrived),
    };
    return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
