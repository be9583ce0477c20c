/* SPDX-License-Identifier: BSD-3-Clause */
/* set add replace append prepend and cas: what a data block becomes.
 *
 * A judge decides, as in command_item.c.  Most modes store the request's item as it came; those that depend on the
 * live version (append, prepend, a stale set) build a new one and keep the request's until command_finish. */
#include "src/base/check.h"
#include "src/cmd/prefixes.h"
#include "src/cmd/verbs.h"

static bool adds_to_value(const struct request *request) {
    return request->mode == MODE_APPEND || request->mode == MODE_PREPEND;
}

/* ms I: a cas below the live one stores the value all the same, but as a stale one. */
static bool stores_stale(const struct request *request, const struct item_view *old) {
    return request->invalidate && request->cas < old->cas;
}

static enum result judge_existing(const struct request *request, const struct item_view *old) {
    if (request->mode == MODE_ADD) {
        return RESULT_NOT_STORED;
    }
    if (!request->compare_cas || request->cas == old->cas) {
        return RESULT_STORED;
    }
    return !adds_to_value(request) && stores_stale(request, old) ? RESULT_STORED : RESULT_EXISTS;
}

static enum result judge_missing(const struct request *request) {
    switch (request->mode) {
    case MODE_ADD:
        return RESULT_STORED;
    case MODE_SET:
        return request->compare_cas ? RESULT_MISS : RESULT_STORED;
    case MODE_REPLACE:
        return request->compare_cas ? RESULT_MISS : RESULT_NOT_STORED;
    case MODE_APPEND:
    case MODE_PREPEND:
        return request->vivify ? RESULT_STORED : RESULT_NOT_STORED;
    }
    CHECK(false); /* the mode is none of the enum */
    return RESULT_NOT_STORED;
}

static enum result judge(const struct request *request, const struct item *old) {
    struct item_view view;
    if (old == NULL) {
        return judge_missing(request);
    }
    item_look(old, &view);
    return judge_existing(request, &view);
}

static enum store_verdict store_decide(struct store_op *op, const struct item *old) {
    struct command *command = verb_command(op);
    command->note.result = judge(&command->request, old);
    return command->note.result == RESULT_STORED ? STORE_PUT : STORE_KEEP;
}

/* An item of the parts' bytes, one after the other. */
static enum status join(struct command *command, struct slice first, struct slice second) {
    const struct request *request = &command->request;
    struct item *fresh;
    if (first.n + second.n > verb_env(command)->options->item_max) {
        return ST_LIMIT;
    }
    enum status status = item_create(&fresh, request->key, first.n + second.n);
    if (status == ST_OK) {
        memcpy(item_body(fresh), first.p, first.n);
        memcpy(item_body(fresh) + first.n, second.p, second.n);
        status = item_set_cas(&fresh, request->set_cas ? request->explicit_cas : 0);
        if (status != ST_OK) {
            item_unref(&fresh);
        }
    }
    command->op.fresh = fresh;
    return status;
}

static enum status build_joined(struct command *command, const struct item_view *old, struct slice added) {
    bool append = command->request.mode == MODE_APPEND;
    enum status status = join(command, append ? old->value : added, append ? added : old->value);
    if (status == ST_OK) {
        item_set(command->op.fresh, old->flags, old->exptime, 0);
    }
    return status;
}

/* The request's value where nothing was (append with N), or over an older or newer version. */
static enum status build_whole(struct command *command, const struct item_view *old, struct slice value) {
    const struct request *request = &command->request;
    int64_t exptime = verb_time(command, adds_to_value(request) ? request->vivify_ttl : request->exptime);
    unsigned marks = 0;
    if (old != NULL && request->cas != old->cas) {
        exptime = old->exptime;
        marks = ITEM_STALE | (old->marks & ITEM_WON);
    }
    enum status status = join(command, value, slice_of("", 0));
    if (status == ST_OK) {
        item_set(command->op.fresh, request->flags, exptime, marks);
    }
    return status;
}

static enum status store_build(struct store_op *op, const struct item *old) {
    struct command *command = verb_command(op);
    struct item_view given;
    struct item_view live;
    if (judge(&command->request, old) != RESULT_STORED) {
        return ST_OK;
    }
    item_look(command->request.item, &given);
    if (old == NULL) {
        return build_whole(command, NULL, given.value);
    }
    item_look(old, &live);
    return adds_to_value(&command->request) ? build_joined(command, &live, given.value)
                                            : build_whole(command, &live, given.value);
}

/* ---- a refused body ---- */

/* What a refused set would have replaced must not be read as if it were current; ms removes in every mode.  A classic
 * cas, add, replace, append or prepend leaves the old value: it would have been conditional. */
static bool refusal_removes(const struct request *request) {
    return request->meta || (request->mode == MODE_SET && !request->count_as_cas);
}

static enum store_verdict refusal_decide(struct store_op *op, const struct item *old) {
    const struct request *request = &verb_command(op)->request;
    struct item_view view;
    if (old == NULL) {
        return STORE_KEEP;
    }
    item_look(old, &view);
    return request->compare_cas && request->cas != view.cas ? STORE_KEEP : STORE_DELETE;
}

static enum status prepare_refusal(struct command *command) {
    bool large = command->request.refusal == REFUSE_TOO_LARGE;
    command->note.result = large ? RESULT_TOO_LARGE : RESULT_NO_MEMORY;
    verb_count(command, large ? COUNT_store_too_large : COUNT_store_no_memory);
    command->op.decide = refusal_decide;
    return refusal_removes(&command->request) ? ST_OK : large ? ST_LIMIT : ST_NO_MEMORY;
}

/* ---- the verb ---- */

static enum status store_prepare(struct command *command) {
    struct request *request = &command->request;
    struct store_op *op = &command->op;
    if (request->refusal != REFUSE_NOTHING) {
        return prepare_refusal(command);
    }
    CHECK(request->item != NULL);
    verb_count(command, COUNT_cmd_set);
    prefixes_set(verb_env(command)->prefixes, request->key);
    op->decide = store_decide;
    op->blind = request->mode == MODE_SET && !request->compare_cas;
    op->want_item = request->meta;
    if (adds_to_value(request) || (request->compare_cas && request->invalidate)) {
        op->build = store_build;
        return ST_OK;
    }
    item_set(request->item, request->flags, verb_time(command, request->exptime), 0);
    enum status status = item_set_cas(&request->item, request->set_cas ? request->explicit_cas : 0);
    if (status == ST_OK) {
        op->fresh = request->item;
        request->item = NULL;
    }
    return status;
}

static void count_failure(struct command *command, enum status status) {
    if (status == ST_LIMIT) {
        verb_count(command, COUNT_store_too_large);
    } else if (status == ST_NO_MEMORY) {
        verb_count(command, COUNT_store_no_memory);
    }
}

static void count_cas(struct command *command, enum result result) {
    const struct request *request = &command->request;
    bool compares = request->compare_cas && (request->mode == MODE_SET || request->mode == MODE_REPLACE);
    if (compares || request->count_as_cas) {
        verb_count(command, result == RESULT_STORED   ? COUNT_cas_hits
                            : result == RESULT_EXISTS ? COUNT_cas_badval
                                                      : COUNT_cas_misses);
    }
}

static bool store_conclude(struct command *command) {
    struct store_op *op = &command->op;
    struct response *response = &command->response;
    if (op->status != ST_OK) {
        response->result = verb_failure(op->status);
        count_failure(command, op->status);
        return false;
    }
    response->result = command->note.result;
    if (command->request.refusal != REFUSE_NOTHING) {
        return false;
    }
    count_cas(command, response->result);
    if (response->result == RESULT_STORED) {
        response->cas = op->cas;
        verb_count(command, COUNT_total_items);
    } else {
        /* What stays current is not what the client sent: nothing to report about it. */
        item_unref(&response->item);
    }
    return false;
}

const struct store_verb verb_store = {store_prepare, store_conclude};
