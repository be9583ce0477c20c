/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/connection.h"

#include <stdlib.h>

#include "net/steps.h"
#include "src/base/check.h"

enum { CONNECTION_MAGIC = 0x636f6e6e, PARTS_MAX = 64 };

/* ---- waiting for the socket ---- */

static void count_here(const struct connection *c, enum counter which, uint64_t n) {
    count_add(c->home->command.counters, which, n);
}

static void stop_reading(struct connection *c) {
    c->eof = true;
    c->readable = false;
}

static void stop_sending(struct connection *c) {
    c->mute = true;
    output_clear(&c->output);
}

/* Watches what the connection can use now.  An ended or waiting one is not watched for reading, since its readable
 * socket would wake the loop again and again. */
static void watch(struct connection *c, bool reading) {
    c->watches_input = reading && !c->eof;
    unsigned what = (c->watches_input ? WATCH_READ : 0) | (c->full && !c->mute ? WATCH_WRITE : 0);
    if (watch_set(c->watch, c->transport.fd, what) != ST_OK) {
        log_error(c->home->shared->env->logger, "closing a connection: cannot watch its socket");
        connection_abandon(c);
    }
}

static void on_ready(void *arg, unsigned what) {
    struct connection *c = arg;
    CHECK_OBJ(c, CONNECTION_MAGIC);
    if (what & WATCH_WRITE) {
        c->full = false;
        list_add(&c->home->unsent, &c->unsent_link);
    }
    if (what & WATCH_READ) {
        c->readable = true;
        if (c->waits) {
            watch(c, false);
        } else {
            connection_wake(c);
        }
    }
}

void connection_wake(struct connection *c) {
    list_add(&c->home->ready, &c->ready_link);
}

/* ---- life ---- */

static struct connection *new_connection(struct home *home) {
    struct link *link = list_pop(&home->idle);
    if (link != NULL) {
        return LIST_OWNER(link, struct connection, open_link);
    }
    struct connection *c = calloc(1, sizeof *c);
    if (c != NULL && watch_create(&c->watch, home->loop, on_ready, c) != ST_OK) {
        free(c);
        c = NULL;
    }
    if (c != NULL) {
        atomic_fetch_add(&home->shared->structures, 1);
    }
    return c;
}

static void free_connection(struct connection *c) {
    atomic_fetch_sub(&c->home->shared->structures, 1);
    watch_destroy(&c->watch);
    c->magic = 0;
    free(c);
}

void connection_free_idle(struct home *home) {
    struct link *link;
    while ((link = list_pop(&home->idle)) != NULL) {
        free_connection(LIST_OWNER(link, struct connection, open_link));
    }
}

static void show(struct connection *c, enum step step) {
    atomic_store_explicit(&c->shown_step, (unsigned char)step, memory_order_relaxed);
}

static void set_up(struct connection *c, struct home *home, int fd) {
    struct watch *kept = c->watch;
    *c = (struct connection){.magic = CONNECTION_MAGIC, .home = home, .watch = kept};
    c->transport = (struct transport){.kind = &transport_socket, .fd = fd};
    output_init(&c->output, &home->output);
    atomic_store_explicit(&c->last_run, home->command.now, memory_order_relaxed);
}

/* Under the lock, so that whoever lists connections finds each descriptor open and its own. */
static void enlist(struct connection *c) {
    struct home *home = c->home;
    lock_take(&home->lock);
    list_add(&home->open, &c->open_link);
    lock_drop(&home->lock);
    home->open_count++;
}

static void close_socket(struct connection *c) {
    struct home *home = c->home;
    lock_take(&home->lock);
    list_leave(&c->open_link);
    transport_close(&c->transport);
    lock_drop(&home->lock);
    home->open_count--;
    atomic_fetch_sub(&home->shared->connections, 1);
    home->shared->descriptor_freed(home->shared->arg);
}

enum status connection_open(struct home *home, int fd) {
    struct transport transport = {.kind = &transport_socket, .fd = fd};
    struct connection *c = new_connection(home);
    enum status status = ST_NO_MEMORY;
    if (c != NULL) {
        set_up(c, home, fd);
        c->watches_input = true;
        status = watch_set(c->watch, fd, WATCH_READ);
    }
    if (status == ST_OK) {
        enlist(c);
        return ST_OK;
    }
    if (c != NULL) {
        list_add(&home->idle, &c->open_link);
    }
    transport_close(&transport);
    atomic_fetch_sub(&home->shared->connections, 1);
    home->shared->descriptor_freed(home->shared->arg);
    return status;
}

static void end_connection(struct connection *c) {
    CHECK(c->slots.count == 0);
    step_abandon(c);
    input_drop(&c->input, &c->home->input);
    output_clear(&c->output);
    list_leave(&c->ready_link);
    list_leave(&c->unsent_link);
    list_leave(&c->held_link);
    watch_stop(c->watch);
    close_socket(c);
    count_here(c, COUNT_closed_connections, 1);
    list_add(&c->home->idle, &c->open_link);
}

void connection_run(struct connection *c) {
    CHECK_OBJ(c, CONNECTION_MAGIC);
    enum outcome outcome;
    c->budget = c->home->budget;
    show(c, STEP_PARSE);
    connection_advance(c);
    do {
        outcome = step_take(c);
    } while (outcome == OUTCOME_MORE);
    if (outcome == OUTCOME_CLOSE) {
        end_connection(c);
        return;
    }
    if (input_settle(&c->input, &c->home->input) != ST_OK) {
        count_here(c, COUNT_read_buf_oom, 1);
        connection_abandon(c);
    }
    c->waits = outcome != OUTCOME_WANT_READ && !link_used(&c->ready_link);
    if (!c->waits || c->eof) {
        watch(c, !c->waits);
    }
    show(c, c->step);
    atomic_store_explicit(&c->last_run, c->home->command.now, memory_order_relaxed);
}

void connection_drain(struct connection *c) {
    c->draining = true;
    c->readable = true;
    connection_wake(c);
}

void connection_abandon(struct connection *c) {
    step_abandon(c);
    input_drop(&c->input, &c->home->input);
    stop_reading(c);
    stop_sending(c);
    c->step = STEP_CLOSE;
    connection_wake(c);
}

/* ---- replies ---- */

static bool is_error(enum result result) {
    static const bool errors[RESULT_COUNT] = {
#define X(name, error) [RESULT_##name] = error,
        RESULT_TABLE(X)
#undef X
    };
    return errors[result];
}

/* The reply's bytes.  An error in one part ends the whole reply: parts that follow are dropped, so that the client,
 * which stops reading at an error, stays in step.  Returns false when the bytes had to be dropped. */
static bool compose(struct connection *c, const struct slot *slot, bool *ends) {
    const struct reply_form *form = &slot->form;
    const struct command *command = &slot->command;
    *ends = form->last;
    if (c->cut || (c->part_failed && form->part && form->line == c->failed_line)) {
        return false;
    }
    if (slot->constant != NULL) {
        if (!form->noreply) {
            c->protocol->refuse(&c->output, form->tag, slot->constant);
        }
        return true;
    }
    c->protocol->compose(&c->output, &command->request, &command->response, form, c->home->command.now);
    if (form->part && is_error(command->response.result)) {
        c->part_failed = true;
        c->failed_line = form->line;
        *ends = true;
    }
    return true;
}

/* The client of a write without reply learns of its loss by the end of the connection, not by a clean answer to what
 * it sent behind. */
static void cut(struct connection *c) {
    step_abandon(c);
    input_drop(&c->input, &c->home->input);
    stop_reading(c);
    c->cut = true;
    c->step = STEP_CLOSE;
}

static void give_reply(struct connection *c, const struct slot *slot) {
    struct output_reply reply = {.start = c->output.end,
                                 .stamp = slot->command.response.stamp,
                                 .part = slot->form.part,
                                 .tag = slot->form.tag,
                                 .line = slot->form.line};
    bool dropped = !compose(c, slot, &reply.last);
    reply.quiet = slot->form.noreply || dropped;
    output_fence(&c->output, &reply, c->home->mark);
    list_add(&c->home->unsent, &c->unsent_link);
}

void connection_answer(struct connection *c, struct slot *slot) {
    give_reply(c, slot);
    if (slot->form.noreply && slot->command.response.result == RESULT_READ_ONLY && slot->constant == NULL) {
        cut(c);
    }
    slot_give(&c->home->slots, slot);
}

enum slot_state connection_execute(struct connection *c, struct slot *slot) {
    slot->command.unwanted = c->mute;
    switch (command_execute(&c->home->command, &slot->command)) {
    case COMMAND_PARKED:
        return SLOT_PARKED;
    case COMMAND_MORE:
        give_reply(c, slot);
        return SLOT_MORE;
    case COMMAND_DONE:
        break;
    }
    return SLOT_DONE;
}

/* The next page of a dump, once the last one has left; nobody's dump ends here.  False: it has to wait. */
static bool go_on(struct connection *c, struct slot *slot) {
    if (c->mute) {
        slot->state = SLOT_DONE;
        return true;
    }
    if (!connection_has_drained(c)) {
        return false;
    }
    slots_set(&c->slots, slot, connection_execute(c, slot));
    return true;
}

void connection_advance(struct connection *c) {
    struct slot *slot;
    while ((slot = c->slots.first) != NULL && slot->state != SLOT_PARKED) {
        if (slot->state == SLOT_DONE) {
            connection_answer(c, slots_pop(&c->slots));
        } else if (!go_on(c, slot)) {
            break;
        }
    }
}

void connection_deliver(struct ticket *ticket) {
    struct slot *slot = LIST_OWNER(ticket, struct slot, command.op.ticket);
    struct connection *c = slot->connection;
    CHECK_OBJ(c, CONNECTION_MAGIC);
    slots_set(&c->slots, slot, connection_execute(c, slot));
    if (slot->state != SLOT_PARKED) {
        connection_wake(c);
    }
}

/* ---- sending ---- */

/* One system call's worth; false: no more can be sent now. */
static bool send_some(struct connection *c, size_t limit) {
    struct iovec parts[PARTS_MAX];
    size_t offered = 0;
    size_t moved;
    int n = output_gather(&c->output, limit, parts, PARTS_MAX);
    for (int i = 0; i < n; i++) {
        offered += parts[i].iov_len;
    }
    switch (transport_write(&c->transport, parts, n, &moved)) {
    case TRANSPORT_OK:
        output_sent(&c->output, moved);
        count_here(c, COUNT_bytes_written, moved);
        c->full = moved < offered;
        break;
    case TRANSPORT_AGAIN:
        c->full = true;
        break;
    case TRANSPORT_EOF:
    case TRANSPORT_BROKEN:
        stop_sending(c);
        break;
    }
    return !c->full && !c->mute;
}

static void send_ready(struct connection *c, uint64_t mark) {
    size_t ready = output_ready(&c->output, mark);
    while (ready > 0 && !c->full && send_some(c, ready)) {
        ready = output_ready(&c->output, mark);
    }
    watch(c, c->watches_input);
}

static void count_held(struct connection *c) {
    unsigned added = c->output.fences_added - c->fences_counted;
    count_here(c, COUNT_replies_held, added < c->output.fences ? added : c->output.fences);
    c->fences_counted = c->output.fences_added;
}

static void note_held(struct connection *c) {
    struct home *home = c->home;
    uint64_t stamp = output_awaits(&c->output);
    count_held(c);
    if (stamp == 0) {
        list_leave(&c->held_link);
        return;
    }
    list_add(&home->held, &c->held_link);
    if (home->held_stamp == 0 || stamp < home->held_stamp) {
        home->held_stamp = stamp;
    }
}

/* Whether it can go on now that replies have left. */
static bool waits_for_sending(const struct connection *c) {
    bool dumps = c->slots.first != NULL && c->slots.first->state == SLOT_MORE;
    if (dumps || c->step == STEP_WRITE) {
        return connection_has_drained(c);
    }
    return c->step == STEP_CLOSE && output_unsent(&c->output) == 0;
}

void connection_flush(struct connection *c, uint64_t mark) {
    CHECK_OBJ(c, CONNECTION_MAGIC);
    if (c->output.failed) {
        count_here(c, COUNT_response_obj_oom, 1);
        connection_abandon(c);
    }
    if (c->mute) {
        output_clear(&c->output);
    }
    send_ready(c, mark);
    note_held(c);
    if (waits_for_sending(c)) {
        connection_wake(c);
    }
}

void connection_fail_held(struct connection *c, uint64_t mark) {
    struct output_loss loss;
    output_fail(&c->output, mark, c->protocol->lost, &loss);
    count_here(c, COUNT_replies_failed, loss.replies);
    if (loss.open) {
        c->part_failed = true;
        c->failed_line = loss.line;
    }
    if (loss.quiet) {
        cut(c);
    }
    connection_flush(c, mark);
}
