/* SPDX-License-Identifier: BSD-3-Clause */
/* incr and decr, meta arithmetic.
 *
 * memcached counts in place: a result that is no longer than the old value is padded with spaces to its length, so
 * those spaces are accepted behind a number, too.  Incrementing wraps at 2^64, decrementing stops at 0. */
#include <ctype.h>

#include "src/base/number.h"
#include "src/cmd/prefixes.h"
#include "src/cmd/verbs.h"

static bool parse_value(struct slice value, uint64_t *number) {
    size_t digits = 0;
    while (digits < value.n && isdigit((unsigned char)value.p[digits])) {
        digits++;
    }
    for (size_t i = digits; i < value.n; i++) {
        if (!isspace((unsigned char)value.p[i])) {
            return false;
        }
    }
    return digits <= NUMBER_DIGITS && number_u64(slice_of(value.p, digits), number);
}

static uint64_t apply(const struct request *request, uint64_t number) {
    if (request->decrement) {
        return number > request->delta ? number - request->delta : 0;
    }
    return number + request->delta;
}

/* RESULT_NUMBER and the number to store, or why not. */
static enum result judge(const struct request *request, const struct item *old, uint64_t *number) {
    struct item_view view;
    if (old == NULL) {
        *number = request->initial;
        return request->create ? RESULT_NUMBER : RESULT_MISS;
    }
    item_look(old, &view);
    if (request->compare_cas && request->cas != view.cas) {
        return RESULT_EXISTS;
    }
    if (!parse_value(view.value, number)) {
        return RESULT_NOT_NUMERIC;
    }
    *number = apply(request, *number);
    return RESULT_NUMBER;
}

static enum store_verdict arith_decide(struct store_op *op, const struct item *old) {
    struct command_note *note = &verb_command(op)->note;
    note->found = old != NULL;
    note->result = judge(&verb_command(op)->request, old, &note->number);
    return note->result == RESULT_NUMBER ? STORE_PUT : STORE_KEEP;
}

static enum status arith_build(struct store_op *op, const struct item *old) {
    struct command *command = verb_command(op);
    const struct request *request = &command->request;
    struct item_view view = {.exptime = verb_time(command, request->exptime), .flags = request->flags};
    char digits[NUMBER_DIGITS];
    uint64_t number;
    if (judge(request, old, &number) != RESULT_NUMBER) {
        return ST_OK;
    }
    if (old != NULL) {
        item_look(old, &view);
        view.exptime = request->touch ? verb_time(command, request->touch_ttl) : view.exptime;
    }
    size_t n = number_print(digits, number);
    size_t length = n > view.value.n ? n : view.value.n;
    enum status status = item_create(&op->fresh, request->key, length);
    if (status != ST_OK) {
        return status;
    }
    memcpy(item_body(op->fresh), digits, n);
    memset(item_body(op->fresh) + n, ' ', length - n);
    item_set(op->fresh, view.flags, view.exptime, view.marks);
    status = item_set_cas(&op->fresh, request->set_cas ? request->explicit_cas : 0);
    if (status != ST_OK) {
        item_unref(&op->fresh);
    }
    return status;
}

static enum status arith_prepare(struct command *command) {
    command->op.decide = arith_decide;
    command->op.build = arith_build;
    command->op.want_item = command->request.meta;
    return ST_OK;
}

/* As memcached: an item made by the command is neither a hit nor a miss, and a failed condition or a value that is no
 * number is not counted. */
static void count_arith(struct command *command) {
    bool decrement = command->request.decrement;
    const struct command_note *note = &command->note;
    if (note->result == RESULT_MISS) {
        verb_count(command, decrement ? COUNT_decr_misses : COUNT_incr_misses);
    } else if (note->result == RESULT_NUMBER && note->found) {
        verb_count(command, decrement ? COUNT_decr_hits : COUNT_incr_hits);
    } else if (note->result == RESULT_NUMBER) {
        verb_count(command, COUNT_total_items);
    }
}

static bool arith_conclude(struct command *command) {
    struct store_op *op = &command->op;
    struct response *response = &command->response;
    if (op->status != ST_OK) {
        response->result = verb_failure(op->status);
        return false;
    }
    count_arith(command);
    response->result = command->note.result;
    if (response->result == RESULT_NUMBER) {
        response->number = command->note.number;
        response->cas = op->cas;
    } else {
        item_unref(&response->item);
    }
    return false;
}

const struct store_verb verb_arith = {arith_prepare, arith_conclude};
