/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps: all keys, a page at a time.
 *
 * A page is read by the pool while the command is parked, handed to the composer, and freed when it asks for the next
 * one: memory is bounded by one page, and no snapshot of the tree is held while a client takes its time. */
#include <stdlib.h>

#include "src/base/check.h"
#include "src/cmd/verbs.h"

enum { DUMP_MAGIC = 0x64756d70, PAGE_ROWS = 2000 };

struct dump {
    struct command_state state;
    struct store_scan scan;
    bool asked; /* a page is on its way, or there unread */
};

static void dump_deliver(struct ticket *ticket) {
    struct dump *dump = CONTAINER_OF(ticket, struct dump, scan.ticket);
    CHECK_OBJ(&dump->state, DUMP_MAGIC);
    struct ticket *outer = &dump->state.command->op.ticket;
    outer->deliver(outer);
}

static void dump_release(struct command_state *state) {
    struct dump *dump = CONTAINER_OF(state, struct dump, state);
    CHECK_OBJ(state, DUMP_MAGIC);
    store_scan_free(&dump->scan);
    state->magic = 0;
    free(dump);
}

static enum status dump_begin(struct command *command) {
    struct dump *dump = calloc(1, sizeof *dump);
    if (dump == NULL) {
        return ST_NO_MEMORY;
    }
    dump->state = (struct command_state){DUMP_MAGIC, command, dump_release};
    dump->scan.ticket.deliver = dump_deliver;
    dump->scan.prefix = slice_of("", 0);
    dump->scan.limit = PAGE_ROWS;
    command->state = &dump->state;
    return ST_OK;
}

static enum command_progress ask_page(struct command *command, struct dump *dump) {
    store_scan_free(&dump->scan);
    command->response.rows = NULL;
    command->response.row_count = 0;
    dump->asked = true;
    store_scan_page(command->worker->session, &dump->scan);
    return COMMAND_PARKED;
}

enum command_progress verb_dump(struct command *command) {
    struct response *response = &command->response;
    enum status status = command->state == NULL ? dump_begin(command) : ST_OK;
    if (status != ST_OK) {
        return verb_answer(command, verb_failure(status));
    }
    CHECK_OBJ(command->state, DUMP_MAGIC);
    struct dump *dump = CONTAINER_OF(command->state, struct dump, state);
    if (!dump->asked) {
        return ask_page(command, dump);
    }
    dump->asked = false;
    if (dump->scan.stamp > response->stamp) {
        response->stamp = dump->scan.stamp;
    }
    if (dump->scan.status != ST_OK) {
        return verb_answer(command, verb_failure(dump->scan.status));
    }
    response->result = RESULT_ROWS;
    response->rows = dump->scan.rows;
    response->row_count = dump->scan.count;
    response->more = dump->scan.more;
    return response->more ? COMMAND_MORE : COMMAND_DONE;
}
