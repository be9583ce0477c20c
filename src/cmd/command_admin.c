/* SPDX-License-Identifier: BSD-3-Clause */
/* flush_all, cache_memlimit, verbosity, shutdown: what an operator asks of the whole server. */
#include "src/base/number.h"
#include "src/cmd/verbs.h"

enum { MEMLIMIT_MIN_MEGABYTES = 8, MEGABYTE_SHIFT = 20 };

static bool word_is(const struct request *request, unsigned at, const char *text) {
    return at < request->word_count && slice_equal(request->words[at], slice_str(text));
}

enum command_progress verb_flush(struct command *command) {
    int64_t delay = command->request.exptime;
    if (!command->note.begun) {
        command->note.begun = true;
        /* Kept in the note: a flush that parks for room must not move to a later moment. */
        command->note.number = delay > 0 ? (uint64_t)verb_time(command, delay) : 0;
        verb_count(command, COUNT_cmd_flush);
    }
    if (store_flush(command->worker->session, &command->op, (int64_t)command->note.number) == STORE_PARKED) {
        return COMMAND_PARKED;
    }
    command->response.stamp = command->op.stamp;
    return verb_answer(command, command->op.status == ST_OK ? RESULT_OK : verb_failure(command->op.status));
}

enum command_progress verb_memlimit(struct command *command) {
    uint64_t megabytes;
    if (command->request.word_count == 0 || !number_u64(command->request.words[0], &megabytes)) {
        return verb_refuse(command, "bad command line format");
    }
    if (megabytes < MEMLIMIT_MIN_MEGABYTES) {
        return verb_refuse(command, "cannot set maxbytes to less than 8m");
    }
    if (megabytes > UINT64_MAX >> MEGABYTE_SHIFT) {
        return verb_refuse(command, "cannot set maxbytes to so much");
    }
    if (store_set_memory(verb_env(command)->store, megabytes << MEGABYTE_SHIFT) != ST_OK) {
        return verb_refuse(command, "cannot set maxbytes to this value");
    }
    return verb_answer(command, RESULT_OK);
}

enum command_progress verb_verbosity(struct command *command) {
    uint64_t level;
    if (command->request.word_count == 0) {
        return verb_answer(command, RESULT_UNKNOWN);
    }
    if (!number_u64(command->request.words[0], &level)) {
        return verb_refuse(command, "bad command line format");
    }
    if (verb_env(command)->logger != NULL) {
        logger_set_level(verb_env(command)->logger, command_log_level(level));
    }
    return verb_answer(command, RESULT_OK);
}

enum command_progress verb_shutdown(struct command *command) {
    const struct command_env *env = verb_env(command);
    bool graceful = word_is(&command->request, 0, "graceful");
    if (!env->options->enable_shutdown) {
        return verb_answer(command, RESULT_DISABLED);
    }
    if (command->request.word_count > 0 && !graceful) {
        return verb_refuse(command, "invalid shutdown mode");
    }
    log_info(env->logger, "stopping: a client sent shutdown");
    env->host.shutdown(env->host.arg, graceful);
    return verb_answer(command, RESULT_CLOSE);
}
