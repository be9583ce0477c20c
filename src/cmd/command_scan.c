/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that walk over all items, a page at a time: dumps, `stats cachedump` and `stats sizes`.
 *
 * A page is read by the pool while the command is parked, used, and freed when the next one is asked for: memory is
 * bounded by one page, and no snapshot of the tree is held while a client takes its time. */
#include <stdio.h>
#include <stdlib.h>

#include "src/base/check.h"
#include "src/base/number.h"
#include "src/cmd/stats.h"
#include "src/cmd/token.h"
#include "src/cmd/verbs.h"

enum {
    WALK_MAGIC = 0x77616c6b,
    PAGE_ROWS = 2000,
    SIZE_STEP = 32,     /* bytes that one line of `stats sizes` stands for */
    ITEM_OVERHEAD = 48, /* header and line end, about */
    CACHEDUMP_BYTES = 2 << 20, /* memcached's limit for its answer */
};

struct walk {
    struct command_state state;
    struct store_scan scan;
    bool asked;       /* a page is on its way, or there and not looked at */
    uint64_t *counts; /* of `stats sizes`: items by size / SIZE_STEP */
    size_t steps;
    uint64_t left; /* of `stats cachedump`: rows still wanted */
    verb_function *resume; /* of the stats command: which group it is that walks */
};

static void walk_deliver(struct ticket *ticket) {
    struct walk *walk = CONTAINER_OF(ticket, struct walk, scan.ticket);
    CHECK_OBJ(&walk->state, WALK_MAGIC);
    struct ticket *outer = &walk->state.command->op.ticket;
    outer->deliver(outer);
}

static void walk_release(struct command_state *state) {
    struct walk *walk = CONTAINER_OF(state, struct walk, state);
    CHECK_OBJ(state, WALK_MAGIC);
    store_scan_free(&walk->scan);
    state->magic = 0;
    free(walk->counts);
    free(walk);
}

static struct walk *walk_of(struct command *command) {
    CHECK_OBJ(command->state, WALK_MAGIC);
    return CONTAINER_OF(command->state, struct walk, state);
}

static enum status walk_begin(struct command *command, verb_function *resume) {
    struct walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL) {
        return ST_NO_MEMORY;
    }
    walk->state = (struct command_state){WALK_MAGIC, command, walk_release};
    walk->scan.ticket.deliver = walk_deliver;
    walk->scan.prefix = slice_of("", 0);
    walk->scan.limit = PAGE_ROWS;
    walk->resume = resume;
    command->state = &walk->state;
    return ST_OK;
}

static enum command_progress walk_ask(struct command *command, struct walk *walk) {
    store_scan_free(&walk->scan);
    command->response.rows = NULL;
    command->response.row_count = 0;
    walk->asked = true;
    store_scan_page(command->worker->session, &walk->scan);
    return COMMAND_PARKED;
}

/* The page that was asked for has come. */
static enum status walk_take(struct command *command, struct walk *walk) {
    walk->asked = false;
    if (walk->scan.stamp > command->response.stamp) {
        command->response.stamp = walk->scan.stamp;
    }
    return walk->scan.status;
}

/* A client that is gone, or a server that stops, must not wait for the end of all items. */
static bool walk_goes_on(const struct command *command, const struct walk *walk) {
    return walk->scan.more && !command->unwanted;
}

enum command_progress verb_resume_walk(struct command *command) {
    return walk_of(command)->resume(command);
}

/* ---- dumps ---- */

enum command_progress verb_dump(struct command *command) {
    struct response *response = &command->response;
    enum status status = command->state == NULL ? walk_begin(command, verb_dump) : ST_OK;
    if (status != ST_OK) {
        return verb_answer(command, verb_failure(status));
    }
    struct walk *walk = walk_of(command);
    if (!walk->asked) {
        return walk_ask(command, walk);
    }
    status = walk_take(command, walk);
    if (status != ST_OK) {
        response->more = false;
        return verb_answer(command, verb_failure(status));
    }
    response->result = RESULT_ROWS;
    response->rows = walk->scan.rows;
    response->row_count = walk->scan.count;
    response->more = walk->scan.more;
    return response->more ? COMMAND_MORE : COMMAND_DONE;
}

/* ---- stats sizes ---- */

static enum status sizes_begin(struct command *command) {
    enum status status = walk_begin(command, verb_sizes);
    if (status != ST_OK) {
        return status;
    }
    struct walk *walk = walk_of(command);
    walk->steps = (verb_env(command)->options->item_max + STORE_KEY_MAX + ITEM_OVERHEAD) / SIZE_STEP + 2;
    walk->counts = calloc(walk->steps, sizeof *walk->counts);
    return walk->counts != NULL ? ST_OK : ST_NO_MEMORY;
}

static void sizes_count(struct walk *walk) {
    for (unsigned i = 0; i < walk->scan.count; i++) {
        struct item_view view;
        item_look(walk->scan.rows[i].item, &view);
        size_t size = view.key.n + walk->scan.rows[i].size + ITEM_OVERHEAD;
        size_t step = (size + SIZE_STEP - 1) / SIZE_STEP;
        /* An item may be larger than today's limit allows. */
        walk->counts[step < walk->steps ? step : walk->steps - 1]++;
    }
}

static enum status sizes_print(struct command *command, const struct walk *walk) {
    struct stats stats = {.worker = command->worker, .text = &command->response.text, .status = ST_OK};
    for (size_t step = 0; step < walk->steps; step++) {
        char name[24];
        if (walk->counts[step] > 0) {
            (void)snprintf(name, sizeof name, "%zu", step * SIZE_STEP);
            stats_number(&stats, name, walk->counts[step]);
        }
    }
    return stats.status;
}

enum command_progress verb_sizes(struct command *command) {
    enum status status = command->state == NULL ? sizes_begin(command) : ST_OK;
    if (status != ST_OK) {
        return verb_answer(command, verb_failure(status));
    }
    struct walk *walk = walk_of(command);
    if (!walk->asked) {
        return walk_ask(command, walk);
    }
    status = walk_take(command, walk);
    if (status == ST_OK) {
        sizes_count(walk);
        if (walk_goes_on(command, walk)) {
            return walk_ask(command, walk);
        }
        status = sizes_print(command, walk);
    }
    return verb_answer(command, status == ST_OK ? RESULT_STATS : verb_failure(status));
}

/* ---- stats cachedump ---- */

static enum status cachedump_begin(struct command *command) {
    const struct request *request = &command->request;
    uint64_t limit = 0;
    if (request->word_count < 3 || !number_u64(request->words[2], &limit)) {
        return ST_INVALID;
    }
    enum status status = walk_begin(command, verb_cachedump);
    if (status == ST_OK) {
        walk_of(command)->left = limit > 0 ? limit : UINT64_MAX;
    }
    return status;
}

/* "ITEM key [1 b; 1700000000 s]", the key as one word. */
static enum status cachedump_print(struct buffer *text, const struct store_row *row) {
    struct item_view view;
    item_look(row->item, &view);
    enum status status = buffer_append(text, "ITEM ", strlen("ITEM "));
    if (status == ST_OK) {
        status = token_append(text, view.key);
    }
    if (status == ST_OK) {
        status = buffer_printf(text, " [%llu b; %lld s]", (unsigned long long)row->size, (long long)view.exptime);
    }
    return status == ST_OK ? buffer_append(text, "", 1) : status;
}

static enum status cachedump_page(struct walk *walk, struct buffer *text) {
    enum status status = ST_OK;
    for (unsigned i = 0; i < walk->scan.count && walk->left > 0 && status == ST_OK; i++) {
        status = cachedump_print(text, &walk->scan.rows[i]);
        walk->left = buffer_length(text) < CACHEDUMP_BYTES ? walk->left - 1 : 0;
    }
    return status;
}

/* stats cachedump CLASS LIMIT: all items are in class 1; no limit is 0. */
enum command_progress verb_cachedump(struct command *command) {
    const struct request *request = &command->request;
    if (command->state == NULL && request->word_count > 1 && !slice_equal(request->words[1], slice_str("1"))) {
        return verb_answer(command, RESULT_LINES);
    }
    enum status status = command->state == NULL ? cachedump_begin(command) : ST_OK;
    if (status == ST_INVALID) {
        return verb_refuse(command, "bad command line");
    }
    if (status != ST_OK) {
        return verb_answer(command, verb_failure(status));
    }
    struct walk *walk = walk_of(command);
    if (!walk->asked) {
        return walk_ask(command, walk);
    }
    status = walk_take(command, walk);
    if (status == ST_OK) {
        status = cachedump_page(walk, &command->response.text);
    }
    if (status == ST_OK && walk_goes_on(command, walk) && walk->left > 0) {
        return walk_ask(command, walk);
    }
    return verb_answer(command, status == ST_OK ? RESULT_LINES : verb_failure(status));
}
