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
            command->note.number = 1;
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
    return command->note.number == 0 && begins(command->request.key, "cold");
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

/* Five pages of as many rows as fit no connection's bound together; parks before each. */
static enum command_progress dump(struct command *command) {
    enum { ROWS = 2000, PAGES = 5 };
    static struct item *item;
    static struct store_row rows[ROWS];
    if (command->scratch_page % 2 == 0) {
        command->scratch_page++;
        return park(command);
    }
    command->scratch_page++;
    if (item == NULL) {
        assert_ok(item_create(&item, slice_str("0123456789012345678901234567890123456789"), 0));
    }
    for (unsigned i = 0; i < ROWS; i++) {
        rows[i].item = item;
    }
    command->response = (struct response){.result = RESULT_ROWS, .rows = rows, .row_count = ROWS,
                                          .more = command->scratch_page / 2 < PAGES};
    return command->response.more ? COMMAND_MORE : COMMAND_DONE;
}
