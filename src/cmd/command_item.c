/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading, storing, deleting and touching one item.
 *
 * Each verb has a judge: a pure function of request and live version that says what is to happen.  decide asks it under
 * the key's lock and notes the answer; build asks it too and makes nothing when nothing is to be stored, so it does
 * not matter in which order, or how often, the store calls the two. */
#include "src/base/check.h"
#include "src/cmd/prefixes.h"
#include "src/cmd/verbs.h"

static bool cas_differs(const struct request *request, const struct item_view *old) {
    return request->compare_cas && request->cas != old->cas;
}

static enum store_verdict note_result(struct command *command, enum result result, enum store_verdict verdict) {
    command->note.result = result;
    return verdict;
}

/* ---- GET ---- */

struct get_plan {
    bool put;        /* something changes */
    bool won;        /* this client is to recache the item */
    int64_t exptime; /* of what is put */
    unsigned marks;
    uint64_t cas;
};

/* The remaining time for `recache` is that before a touch by the same command.  Only a meta client can be told that it
 * has won, so a gat leaves a stale item's token to somebody else. */
static struct get_plan plan_get(const struct command *command, const struct item_view *old) {
    const struct request *request = &command->request;
    struct get_plan plan = {.exptime = old->exptime, .marks = old->marks, .cas = old->cas};
    bool due = request->recache && old->exptime != 0 && old->exptime < verb_time(command, request->recache_ttl);
    bool stale = request->meta && (old->marks & ITEM_STALE);
    plan.won = (due || stale) && !(old->marks & ITEM_WON);
    if (plan.won) {
        plan.marks |= ITEM_WON;
    }
    if (request->touch) {
        plan.exptime = verb_time(command, request->touch_ttl);
        plan.cas = request->set_cas ? request->explicit_cas : old->cas;
    }
    plan.put = plan.won || plan.exptime != old->exptime || plan.cas != old->cas;
    return plan;
}

static enum store_verdict get_decide(struct store_op *op, const struct item *old) {
    struct command *command = verb_command(op);
    struct item_view view;
    command->note.found = old != NULL;
    command->note.marks = 0;
    command->note.won = false;
    if (old == NULL) {
        command->note.won = command->request.vivify;
        return command->request.vivify ? STORE_PUT : STORE_KEEP;
    }
    item_look(old, &view);
    struct get_plan plan = plan_get(command, &view);
    command->note.marks = view.marks;
    command->note.won = plan.won;
    return plan.put ? STORE_PUT : STORE_KEEP;
}

static enum status vivify(struct command *command) {
    const struct request *request = &command->request;
    struct item *fresh;
    enum status status = item_create(&fresh, request->key, 0);
    if (status == ST_OK) {
        item_set(fresh, 0, verb_time(command, request->vivify_ttl), ITEM_WON);
        status = item_set_cas(&fresh, request->set_cas ? request->explicit_cas : 0);
        if (status != ST_OK) {
            item_unref(&fresh);
        }
    }
    command->op.fresh = fresh;
    return status;
}

static enum status get_build(struct store_op *op, const struct item *old) {
    struct command *command = verb_command(op);
    struct item_view view;
    if (old == NULL) {
        return command->request.vivify ? vivify(command) : ST_OK;
    }
    item_look(old, &view);
    struct get_plan plan = plan_get(command, &view);
    return plan.put ? verb_copy(&op->fresh, &view, plan.exptime, plan.marks, plan.cas) : ST_OK;
}

static void get_prepare_change(struct store_op *op) {
    op->decide = get_decide;
    op->build = get_build;
    op->want_item = true;
}

static enum status get_prepare(struct command *command) {
    const struct request *request = &command->request;
    command->op.quiet_access = request->no_bump;
    if (request->touch || request->vivify || request->recache) {
        get_prepare_change(&command->op);
    }
    return ST_OK;
}

static void get_count(struct command *command, bool hit) {
    if (command->request.touch) {
        verb_count(command, COUNT_cmd_touch);
        verb_count(command, hit ? COUNT_touch_hits : COUNT_touch_misses);
    } else {
        verb_count(command, COUNT_cmd_get);
        verb_count(command, hit ? COUNT_get_hits : COUNT_get_misses);
    }
    prefixes_get(verb_env(command)->prefixes, command->request.key, hit);
}

/* A stale item that nobody has won yet makes a meta read a write: the same op goes round again with get_decide. */
static bool get_must_win(struct command *command) {
    struct store_op *op = &command->op;
    struct item_view view;
    if (op->decide != NULL) {
        return false;
    }
    command->note.found = command->response.item != NULL;
    if (!command->note.found || !command->request.meta) {
        return false;
    }
    item_look(command->response.item, &view);
    command->note.marks = view.marks;
    if (!(view.marks & ITEM_STALE) || (view.marks & ITEM_WON)) {
        return false;
    }
    command->response.was_fetched = op->was_fetched;
    command->response.idle = op->idle;
    struct ticket ticket = op->ticket;
    *op = (struct store_op){.ticket = ticket, .key = command->request.key, .quiet_access = true};
    get_prepare_change(op);
    return true;
}

static bool get_conclude(struct command *command) {
    struct store_op *op = &command->op;
    struct response *response = &command->response;
    if (get_must_win(command)) {
        return true;
    }
    if (op->status != ST_OK) {
        response->result = verb_failure(op->status);
        return false;
    }
    get_count(command, command->note.found);
    if (op->verdict == STORE_PUT && !command->note.found) {
        verb_count(command, COUNT_total_items);
    }
    response->result = response->item != NULL ? RESULT_HIT : RESULT_MISS;
    response->cas = response->item != NULL ? op->cas : 0;
    response->won = command->note.won;
    response->stale = (command->note.marks & ITEM_STALE) != 0;
    response->win_taken = (command->note.marks & ITEM_WON) != 0;
    /* The second round of get_must_win asked for no access; the first one's answers stand. */
    if (!op->quiet_access || command->request.no_bump) {
        response->was_fetched = op->was_fetched;
        response->idle = op->idle;
    }
    return false;
}

const struct store_verb verb_get = {get_prepare, get_conclude};

/* ---- TOUCH ---- */

static enum store_verdict touch_decide(struct store_op *op, const struct item *old) {
    struct command *command = verb_command(op);
    struct item_view view;
    if (old == NULL) {
        return note_result(command, RESULT_MISS, STORE_KEEP);
    }
    item_look(old, &view);
    bool same = view.exptime == verb_time(command, command->request.exptime);
    return note_result(command, RESULT_TOUCHED, same ? STORE_KEEP : STORE_PUT);
}

static enum status touch_build(struct store_op *op, const struct item *old) {
    struct command *command = verb_command(op);
    struct item_view view;
    if (old == NULL) {
        return ST_OK;
    }
    item_look(old, &view);
    return verb_copy(&op->fresh, &view, verb_time(command, command->request.exptime), view.marks, view.cas);
}

static enum status touch_prepare(struct command *command) {
    command->op.decide = touch_decide;
    command->op.build = touch_build;
    command->op.want_item = true;
    return ST_OK;
}

static bool touch_conclude(struct command *command) {
    struct store_op *op = &command->op;
    if (op->status != ST_OK) {
        command->response.result = verb_failure(op->status);
        return false;
    }
    bool hit = command->note.result == RESULT_TOUCHED;
    verb_count(command, COUNT_cmd_touch);
    verb_count(command, hit ? COUNT_touch_hits : COUNT_touch_misses);
    prefixes_get(verb_env(command)->prefixes, command->request.key, hit);
    command->response.result = command->note.result;
    command->response.cas = hit ? op->cas : 0;
    return false;
}

const struct store_verb verb_touch = {touch_prepare, touch_conclude};

/* ---- DELETE ---- */

static enum store_verdict delete_decide(struct store_op *op, const struct item *old) {
    struct command *command = verb_command(op);
    const struct request *request = &command->request;
    struct item_view view;
    if (old == NULL) {
        return note_result(command, RESULT_MISS, STORE_KEEP);
    }
    item_look(old, &view);
    if (cas_differs(request, &view)) {
        return note_result(command, RESULT_EXISTS, STORE_KEEP);
    }
    bool keep_item = request->invalidate || request->drop_value;
    return note_result(command, RESULT_DELETED, keep_item ? STORE_PUT : STORE_DELETE);
}

/* What md leaves in place: marked as stale, so that the next reader wins, or without its value; an emptied item has
 * the request's client flags, since the old ones told how to read the old value. */
static enum status delete_build(struct store_op *op, const struct item *old) {
    const struct command *command = verb_command(op);
    const struct request *request = &command->request;
    struct item_view view;
    if (old == NULL) {
        return ST_OK;
    }
    item_look(old, &view);
    if (request->drop_value) {
        view.value.n = 0;
        view.flags = request->flags;
    }
    return verb_copy(&op->fresh, &view, request->touch ? verb_time(command, request->touch_ttl) : view.exptime,
                     request->invalidate ? ITEM_STALE : 0, request->set_cas ? request->explicit_cas : 0);
}

static enum status delete_prepare(struct command *command) {
    command->op.decide = delete_decide;
    if (command->request.invalidate || command->request.drop_value) {
        command->op.build = delete_build;
    }
    return ST_OK;
}

static bool delete_conclude(struct command *command) {
    struct store_op *op = &command->op;
    if (op->status != ST_OK) {
        command->response.result = verb_failure(op->status);
        return false;
    }
    bool hit = command->note.result == RESULT_DELETED;
    verb_count(command, hit ? COUNT_delete_hits : COUNT_delete_misses);
    if (hit) {
        prefixes_delete(verb_env(command)->prefixes, command->request.key);
    }
    command->response.result = command->note.result;
    command->response.cas = op->verdict == STORE_PUT ? op->cas : 0;
    return false;
}

const struct store_verb verb_delete = {delete_prepare, delete_conclude};
