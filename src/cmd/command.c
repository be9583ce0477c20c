/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/cmd/command.h"

#include "src/base/check.h"
#include "src/cmd/verbs.h"

enum { RELATIVE_MAX = 60 * 60 * 24 * 30 };

int64_t command_absolute_time(int64_t now, int64_t exptime) {
    if (exptime < 0) {
        return now > 1 ? now - 1 : 1;
    }
    return exptime == 0 || exptime > RELATIVE_MAX ? exptime : now + exptime;
}

enum logger_level command_log_level(uint64_t verbosity) {
    return verbosity == 0 ? LOGGER_INFO : LOGGER_DEBUG;
}

/* A plain mg is a read here although it may log the mark of a won token: it does so after its own read, and writes of
 * the connection wait behind a parked read, so nothing is overtaken. */
bool command_may_write(const struct request *request) {
    static const bool writes[CMD_COUNT] = {
#define X(name, may_write) [CMD_##name] = may_write,
        COMMAND_TABLE(X)
#undef X
    };
    return writes[request->command] ||
           (request->command == CMD_GET && (request->touch || request->vivify || request->recache));
}

enum result verb_failure(enum status status) {
    switch (status) {
    case ST_NO_MEMORY:
        return RESULT_NO_MEMORY;
    case ST_NO_SPACE:
        return RESULT_DISK_FULL;
    case ST_LIMIT:
        return RESULT_TOO_LARGE;
    case ST_READ_ONLY:
        return RESULT_READ_ONLY;
    default:
        return RESULT_DAMAGED;
    }
}

enum command_progress verb_answer(struct command *command, enum result result) {
    command->response.result = result;
    return COMMAND_DONE;
}

enum command_progress verb_refuse(struct command *command, const char *text) {
    enum status status = buffer_append(&command->response.text, text, strlen(text));
    return verb_answer(command, status == ST_OK ? RESULT_BAD_ARGUMENT : RESULT_NO_MEMORY);
}

enum status verb_copy(struct item **fresh, const struct item_view *old, int64_t exptime, unsigned marks,
                      uint64_t cas) {
    enum status status = item_create(fresh, old->key, old->value.n);
    if (status != ST_OK) {
        return status;
    }
    memcpy(item_body(*fresh), old->value.p, old->value.n);
    item_set(*fresh, old->flags, exptime, marks);
    status = item_set_cas(fresh, cas);
    if (status != ST_OK) {
        item_unref(fresh);
    }
    return status;
}

/* ---- dispatch ---- */

static enum command_progress run_store_verb(const struct store_verb *verb, struct command *command) {
    struct store_op *op = &command->op;
    if (!command->note.begun) {
        command->note.begun = true;
        op->key = command->request.key;
        enum status status = verb->prepare(command);
        if (status != ST_OK) {
            return verb_answer(command, verb_failure(status));
        }
    }
    do {
        if (store_run(command->worker->session, op) == STORE_PARKED) {
            return COMMAND_PARKED;
        }
        if (op->stamp > command->response.stamp) {
            command->response.stamp = op->stamp;
        }
        item_unref(&command->response.item);
        command->response.item = op->item;
        op->item = NULL;
    } while (verb->conclude(command));
    return COMMAND_DONE;
}

static enum command_progress verb_noop(struct command *command) {
    return verb_answer(command, RESULT_OK);
}

static enum command_progress verb_version(struct command *command) {
    return verb_answer(command, RESULT_VERSION);
}

static enum command_progress verb_quit(struct command *command) {
    return verb_answer(command, RESULT_CLOSE);
}

enum command_progress command_execute(struct command_worker *worker, struct command *command) {
    static const struct verb {
        const struct store_verb *store;
        verb_function *run;
    } verbs[CMD_COUNT] = {
        [CMD_GET] = {&verb_get, NULL},        [CMD_STORE] = {&verb_store, NULL},
        [CMD_DELETE] = {&verb_delete, NULL},  [CMD_ARITH] = {&verb_arith, NULL},
        [CMD_TOUCH] = {&verb_touch, NULL},    [CMD_FLUSH] = {NULL, verb_flush},
        [CMD_DUMP] = {NULL, verb_dump},       [CMD_NOOP] = {NULL, verb_noop},
        [CMD_VERSION] = {NULL, verb_version}, [CMD_VERBOSITY] = {NULL, verb_verbosity},
        [CMD_STATS] = {NULL, verb_stats},     [CMD_MEMLIMIT] = {NULL, verb_memlimit},
        [CMD_SHUTDOWN] = {NULL, verb_shutdown}, [CMD_DEBUG] = {NULL, verb_debug},
        [CMD_QUIT] = {NULL, verb_quit},
    };
    CHECK(command->request.command < CMD_COUNT);
    const struct verb *verb = &verbs[command->request.command];
    if (command->worker == NULL) {
        command->worker = worker;
        if (command->request.meta) {
            verb_count(command, COUNT_cmd_meta);
        }
    }
    return verb->store != NULL ? run_store_verb(verb->store, command) : verb->run(command);
}

void command_finish(struct command *command) {
    item_unref(&command->request.item);
    item_unref(&command->response.item);
    buffer_free(&command->response.text);
    if (command->state != NULL) {
        command->state->release(command->state);
        command->state = NULL;
    }
}
