/* SPDX-License-Identifier: BSD-3-Clause */
/* support_stage: a worker with its connections over a command layer and a store that the test pulls the strings of:
 * which request parks and when it comes back, where the mark stands, whether the log has failed.  The test is the
 * client.
 *
 * Included by the one file of a test program: it defines the store's and the command layer's functions itself, so it
 * can be no part of a library that other tests are linked with. */
#ifndef COFFER_TESTS_UNIT_SUPPORT_STAGE_H
#define COFFER_TESTS_UNIT_SUPPORT_STAGE_H

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

void store_hurry(struct store *store) {
    (void)store;
}

void session_expect(struct session *session, const struct slice *keys, unsigned count) {
    (void)session;
    (void)keys;
    (void)count;
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

#define HIT(key, length) "VALUE " key " 0 " length "\r\n"
#define A HIT("a", "1") "v\r\n"
#define B HIT("b", "1") "v\r\n"
#define COLD1 HIT("cold1", "5") "vvvvv\r\n"
#define COLD2 HIT("cold2", "5") "vvvvv\r\n"
#define END "END\r\n"

#endif
