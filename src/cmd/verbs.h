/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs: what the files of the command layer share; nobody else includes it.
 *
 * A verb of the store kind prepares command->op once, is run until the store is done with it, and concludes with
 * response and counters.  Other verbs have a function that is called for each command_execute. */
#ifndef COFFER_CMD_VERBS_H
#define COFFER_CMD_VERBS_H

#include <stddef.h>

#include "src/cmd/command.h"

#define CONTAINER_OF(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* First member of what a long command keeps between calls of command_execute. */
struct command_state {
    unsigned magic;
    struct command *command;
    void (*release)(struct command_state *state);
};

static inline struct command *verb_command(struct store_op *op) {
    return CONTAINER_OF(op, struct command, op);
}
static inline const struct command_env *verb_env(const struct command *command) {
    return command->worker->env;
}
static inline int64_t verb_time(const struct command *command, int64_t exptime) {
    return command_absolute_time(command->worker->now, exptime);
}
static inline void verb_count(const struct command *command, enum counter which) {
    count(command->worker->counters, which);
}

/* The result that tells a client of a failed operation. */
enum result verb_failure(enum status status);
/* Answers with a result, or with an error and a text that says what is wrong. */
enum command_progress verb_answer(struct command *command, enum result result);
enum command_progress verb_refuse(struct command *command, const char *text);

/* A fresh item made of a live one: same key, value and cas, other expiry and marks.  cas 0 = a new one. */
enum status verb_copy(struct item **fresh, const struct item_view *old, int64_t exptime, unsigned marks,
                      uint64_t cas) MUST_CHECK;

/* A store verb.  conclude returns true when it has prepared the op for another round. */
struct store_verb {
    enum status (*prepare)(struct command *command);
    bool (*conclude)(struct command *command);
};
extern const struct store_verb verb_get, verb_store, verb_delete, verb_touch, verb_arith;

typedef enum command_progress verb_function(struct command *command);
verb_function verb_flush, verb_dump, verb_stats, verb_verbosity, verb_memlimit, verb_shutdown, verb_debug;
/* Groups of stats that walk over all items, and how one of them goes on after it was parked. */
verb_function verb_sizes, verb_cachedump, verb_resume_walk;

#endif
