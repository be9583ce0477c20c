/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/steps.h"

#include <string.h>

#include "src/base/check.h"

static void count_here(const struct connection *c, enum counter which, uint64_t n) {
    count_add(c->home->command.counters, which, n);
}

static enum outcome go(struct connection *c, enum step step) {
    c->step = step;
    return OUTCOME_MORE;
}

/* Others get their turn before it goes on. */
static enum outcome yield(struct connection *c) {
    count_here(c, COUNT_conn_yields, 1);
    list_add(&c->home->again, &c->ready_link);
    return OUTCOME_PARKED;
}

/* ---- reading ---- */

/* Reads once.  What it leaves in the connection tells the caller how to go on: readable while there may be more. */
static size_t receive(struct connection *c, struct iovec *parts, int count) {
    size_t asked = 0;
    size_t moved;
    for (int i = 0; i < count; i++) {
        asked += parts[i].iov_len;
    }
    c->budget -= HOME_REQUEST_COST;
    switch (transport_read(&c->transport, parts, count, &moved)) {
    case TRANSPORT_OK:
        count_here(c, COUNT_bytes_read, moved);
        c->readable = moved == asked;
        break;
    case TRANSPORT_AGAIN:
        c->readable = false;
        break;
    case TRANSPORT_EOF:
    case TRANSPORT_BROKEN:
        c->readable = false;
        c->eof = true;
        break;
    }
    return moved;
}

static enum outcome give_up(struct connection *c) {
    step_abandon(c);
    c->eof = true;
    return go(c, STEP_CLOSE);
}

/* A step needs bytes: either there may be some, or the socket has to be waited for, or none will ever come. */
static bool must_wait(struct connection *c, enum outcome *outcome) {
    if (c->eof || (!c->readable && c->draining)) {
        *outcome = give_up(c);
        return true;
    }
    if (!c->readable) {
        *outcome = OUTCOME_WANT_READ;
        return true;
    }
    if (c->budget <= 0) {
        *outcome = yield(c);
        return true;
    }
    return false;
}

static bool receive_input(struct connection *c) {
    struct iovec part;
    char *to;
    if (input_room(&c->input, &c->home->input, &to, &part.iov_len) != ST_OK) {
        count_here(c, COUNT_read_buf_oom, 1);
        return false;
    }
    CHECK(part.iov_len > 0); /* what a parser leaves is shorter than the buffer */
    part.iov_base = to;
    input_filled(&c->input, receive(c, &part, 1));
    return true;
}

static enum outcome step_read(struct connection *c) {
    enum outcome outcome;
    if (must_wait(c, &outcome)) {
        return outcome;
    }
    return receive_input(c) ? go(c, STEP_PARSE) : give_up(c);
}

/* ---- parsing ---- */

static enum outcome refuse_for_memory(struct connection *c) {
    c->current->constant = c->protocol->no_memory;
    return go(c, STEP_EXECUTE);
}

/* Everything of the request that points into the input moves to the slot. */
static bool keep_request(struct connection *c) {
    struct slot *slot = c->current;
    const struct request *request = &slot->command.request;
    slot->plain_read = request->command == CMD_GET && !command_may_write(request);
    slot->command.op.ticket.deliver = connection_deliver;
    return slot_keep_bytes(slot) == ST_OK;
}

static enum outcome begin_request(struct connection *c) {
    return keep_request(c) ? go(c, STEP_EXECUTE) : refuse_for_memory(c);
}

static enum outcome refuse_body(struct connection *c, enum request_refusal why) {
    c->current->command.request.refusal = why;
    c->skip = c->body_total;
    return go(c, STEP_SWALLOW);
}

/* Only a value that has not arrived with its command counts: it may take any time. */
static bool reserve_body(struct connection *c) {
    struct net_shared *shared = c->home->shared;
    if (c->body_total <= input_bytes(&c->input).n) {
        return true;
    }
    if (atomic_fetch_add(&shared->body_bytes, c->body_total) + c->body_total > shared->body_limit) {
        atomic_fetch_sub(&shared->body_bytes, c->body_total);
        return false;
    }
    c->body_reserved = c->body_total;
    return true;
}

static void release_body(struct connection *c) {
    if (c->body_reserved > 0) {
        atomic_fetch_sub(&c->home->shared->body_bytes, c->body_reserved);
        c->body_reserved = 0;
    }
}

static enum outcome begin_body(struct connection *c, uint64_t length) {
    struct request *request = &c->current->command.request;
    c->body_total = length + c->protocol->line_end;
    c->body_got = 0;
    if (!keep_request(c)) {
        return refuse_body(c, REFUSE_NO_MEMORY);
    }
    if (length > c->home->shared->env->options->item_max) {
        return refuse_body(c, REFUSE_TOO_LARGE);
    }
    if (!reserve_body(c)) {
        return refuse_body(c, REFUSE_NO_MEMORY);
    }
    if (item_create(&request->item, request->key, length) != ST_OK) {
        release_body(c);
        return refuse_body(c, REFUSE_NO_MEMORY);
    }
    return go(c, STEP_BODY);
}

static enum outcome begin_constant(struct connection *c, const struct parsed *parsed) {
    c->current->constant = parsed->reply;
    c->skip = parsed->skip;
    if (parsed->refused) {
        count_here(c, COUNT_protocol_errors, 1);
    }
    return go(c, c->skip > 0 ? STEP_SWALLOW : STEP_EXECUTE);
}

/* Whether something has to happen before another request may be taken from the input. */
static bool must_pause(struct connection *c, enum outcome *outcome) {
    if (input_empty(&c->input)) {
        c->step = STEP_READ;
        *outcome = c->readable || c->eof || c->draining ? OUTCOME_MORE : OUTCOME_WANT_READ;
    } else if (c->budget <= 0) {
        *outcome = yield(c);
    } else if (connection_is_full(c)) {
        *outcome = go(c, STEP_WRITE);
    } else if (c->slots.count >= HOME_SLOTS_MAX) {
        *outcome = go(c, STEP_PARKED);
    } else {
        return false;
    }
    return true;
}

/* When several requests have come at once, the memory that their lookups will wait for is asked for side by side. */
static void look_ahead(struct connection *c) {
    struct slice keys[STORE_EXPECT_MAX];
    if (c->expected > 0) {
        c->expected--;
        return;
    }
    if (c->protocol->peek == NULL) {
        return;
    }
    unsigned count = c->protocol->peek(&c->parser, input_bytes(&c->input), keys, STORE_EXPECT_MAX);
    if (count > 1) {
        session_expect(c->home->command.session, keys, count);
        c->expected = count - 1;
    }
}

static enum outcome step_parse(struct connection *c) {
    enum outcome outcome;
    if (must_pause(c, &outcome)) {
        return outcome;
    }
    if (c->protocol == NULL) {
        c->protocol = protocol_choose(*input_bytes(&c->input).p);
    }
    look_ahead(c);
    struct slot *slot = slot_take(&c->home->slots, c);
    if (slot == NULL) {
        count_here(c, COUNT_response_obj_oom, 1);
        return give_up(c);
    }
    struct parsed parsed = {.request = &slot->command.request, .key_room = slot->key};
    enum parse_verdict verdict = c->protocol->parse(&c->parser, input_bytes(&c->input), &parsed);
    input_take(&c->input, parsed.consumed);
    if (verdict == PARSE_MORE) {
        slot_give(&c->home->slots, slot);
        return go(c, STEP_READ);
    }
    slot->form = parsed.form;
    c->current = slot;
    c->budget -= parsed.form.part && !parsed.form.last ? 1 : HOME_REQUEST_COST;
    if (verdict == PARSE_REQUEST) {
        return begin_request(c);
    }
    return verdict == PARSE_BODY ? begin_body(c, parsed.body) : begin_constant(c, &parsed);
}

/* ---- data blocks ---- */

static enum outcome end_body(struct connection *c, const char *body) {
    struct slot *slot = c->current;
    unsigned line_end = c->protocol->line_end;
    release_body(c);
    if (memcmp(body + c->body_total - line_end, "\r\n", line_end) != 0) {
        item_unref(&slot->command.request.item);
        slot->constant = c->protocol->bad_body;
        count_here(c, COUNT_protocol_errors, 1);
    }
    return go(c, STEP_EXECUTE);
}

/* Straight into the item; what comes behind the value goes to the input in the same call. */
static void receive_body(struct connection *c, char *body) {
    size_t rest = c->body_total - c->body_got;
    struct iovec parts[2] = {{body + c->body_got, rest}};
    int count = 1;
    char *to;
    if (rest > HOME_BODY_READ) {
        parts[0].iov_len = HOME_BODY_READ;
    } else if (input_room(&c->input, &c->home->input, &to, &parts[1].iov_len) == ST_OK) {
        parts[1].iov_base = to;
        count = 2;
    }
    size_t moved = receive(c, parts, count);
    size_t mine = moved < parts[0].iov_len ? moved : parts[0].iov_len;
    c->body_got += mine;
    input_filled(&c->input, moved - mine);
}

static enum outcome step_body(struct connection *c) {
    char *body = item_body(c->current->command.request.item);
    struct slice arrived = input_bytes(&c->input);
    size_t rest = c->body_total - c->body_got;
    size_t n = arrived.n < rest ? arrived.n : rest;
    enum outcome outcome;
    if (n > 0) {
        memcpy(body + c->body_got, arrived.p, n);
        c->body_got += n;
        input_take(&c->input, n);
    }
    if (c->body_got == c->body_total) {
        return end_body(c, body);
    }
    if (!must_wait(c, &outcome)) {
        receive_body(c, body);
        outcome = OUTCOME_MORE;
    }
    return outcome;
}

static enum outcome step_swallow(struct connection *c) {
    size_t arrived = input_bytes(&c->input).n;
    size_t n = arrived < c->skip ? arrived : (size_t)c->skip;
    enum outcome outcome;
    input_take(&c->input, n);
    c->skip -= n;
    if (c->skip == 0) {
        return go(c, STEP_EXECUTE);
    }
    if (must_wait(c, &outcome)) {
        return outcome;
    }
    return receive_input(c) ? OUTCOME_MORE : give_up(c);
}

/* ---- executing ---- */

static enum outcome step_execute(struct connection *c) {
    struct slot *slot = c->current;
    enum slot_state state = SLOT_DONE;
    if (slot->constant == NULL) {
        if (!slots_admit(&c->slots, slot)) {
            return OUTCOME_PARKED;
        }
        state = connection_execute(c, slot);
    }
    c->current = NULL;
    /* quit and shutdown are not admitted while others are parked; a refused request may have some in front of it. */
    bool quits = slot->constant != NULL ? slot->form.closes
                                        : state == SLOT_DONE && slot->command.response.result == RESULT_CLOSE;
    if (state == SLOT_DONE && c->slots.count == 0) {
        connection_answer(c, slot);
    } else {
        slot->state = state;
        slots_add(&c->slots, slot);
    }
    return quits ? give_up(c) : go(c, c->cut ? STEP_CLOSE : STEP_PARSE);
}

static enum outcome step_parked(struct connection *c) {
    return c->slots.count <= HOME_SLOTS_MAX / 2 ? go(c, STEP_PARSE) : OUTCOME_PARKED;
}

static enum outcome step_write(struct connection *c) {
    return connection_has_drained(c) ? go(c, STEP_PARSE) : OUTCOME_WANT_WRITE;
}

static enum outcome step_close(struct connection *c) {
    if (c->slots.count > 0) {
        return OUTCOME_PARKED;
    }
    return output_unsent(&c->output) > 0 && !c->mute ? OUTCOME_WANT_WRITE : OUTCOME_CLOSE;
}

enum outcome step_take(struct connection *c) {
    static enum outcome (*const steps[STEP_COUNT])(struct connection *) = {
        [STEP_READ] = step_read,       [STEP_PARSE] = step_parse,   [STEP_BODY] = step_body,
        [STEP_SWALLOW] = step_swallow, [STEP_EXECUTE] = step_execute, [STEP_PARKED] = step_parked,
        [STEP_WRITE] = step_write,     [STEP_CLOSE] = step_close,
    };
    return steps[c->step](c);
}

void step_abandon(struct connection *c) {
    release_body(c);
    if (c->current != NULL) {
        item_unref(&c->current->command.request.item);
        slot_give(&c->home->slots, c->current);
        c->current = NULL;
    }
}
