/* SPDX-License-Identifier: BSD-3-Clause */
/* debug: how tests move the clock, force checkpoints and make system calls fail.  Needs --enable-debug.
 *
 *   debug clock SECONDS    adds to the server's clock (may be negative)
 *   debug checkpoint       applies all that is DIRTY; answers when it is done
 *   debug fault [PLAN]     replaces the plan of src/base/fault.h; none ends all faults */
#include <pthread.h>
#include <stdlib.h>

#include "src/base/check.h"
#include "src/base/number.h"
#include "src/base/thread.h"
#include "src/cmd/verbs.h"

enum { CHECKPOINT_MAGIC = 0x64636b70, PLAN_MAX = 256 };

/* A checkpoint waits for the disk, so a thread of its own does it while the command is parked. */
struct checkpoint {
    struct command_state state;
    struct ticket ticket;
    pthread_t thread;
    enum status status;
};

static void *checkpoint_run(void *arg) {
    struct checkpoint *checkpoint = arg;
    CHECK_OBJ(&checkpoint->state, CHECKPOINT_MAGIC);
    checkpoint->status = store_checkpoint(verb_env(checkpoint->state.command)->store);
    inbox_post(&checkpoint->ticket);
    return NULL;
}

static void checkpoint_deliver(struct ticket *ticket) {
    struct checkpoint *checkpoint = CONTAINER_OF(ticket, struct checkpoint, ticket);
    CHECK_OBJ(&checkpoint->state, CHECKPOINT_MAGIC);
    struct ticket *outer = &checkpoint->state.command->op.ticket;
    outer->deliver(outer);
}

static void checkpoint_release(struct command_state *state) {
    struct checkpoint *checkpoint = CONTAINER_OF(state, struct checkpoint, state);
    CHECK_OBJ(state, CHECKPOINT_MAGIC);
    thread_join(checkpoint->thread);
    state->magic = 0;
    free(checkpoint);
}

static enum command_progress start_checkpoint(struct command *command) {
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (checkpoint == NULL) {
        return verb_answer(command, RESULT_NO_MEMORY);
    }
    checkpoint->state = (struct command_state){CHECKPOINT_MAGIC, command, checkpoint_release};
    checkpoint->ticket.inbox = command->worker->inbox;
    checkpoint->ticket.deliver = checkpoint_deliver;
    enum status status = thread_start(&checkpoint->thread, "debug-ckpt", checkpoint_run, checkpoint);
    if (status != ST_OK) {
        free(checkpoint);
        return verb_answer(command, verb_failure(status));
    }
    command->state = &checkpoint->state;
    return COMMAND_PARKED;
}

static enum command_progress end_checkpoint(struct command *command) {
    struct checkpoint *checkpoint = CONTAINER_OF(command->state, struct checkpoint, state);
    enum status status = checkpoint->status;
    checkpoint_release(command->state);
    command->state = NULL;
    return verb_answer(command, status == ST_OK ? RESULT_OK : verb_failure(status));
}

static enum command_progress move_clock(struct command *command, struct slice seconds) {
    int64_t delta;
    if (!number_i64(seconds, &delta)) {
        return verb_refuse(command, "usage: debug clock <seconds>");
    }
    clock_advance(verb_env(command)->clock, delta);
    command->worker->now = session_tick(command->worker->session);
    return verb_answer(command, RESULT_OK);
}

static enum command_progress set_faults(struct command *command, struct slice plan) {
    char text[PLAN_MAX];
    struct faults *faults = verb_env(command)->host.faults;
    if (plan.n >= sizeof text || faults == NULL) {
        return verb_refuse(command, "no such fault plan");
    }
    memcpy(text, plan.p, plan.n);
    text[plan.n] = '\0';
    enum status status = faults_set(faults, text);
    return status == ST_OK ? verb_answer(command, RESULT_OK) : verb_refuse(command, "no such fault plan");
}

enum command_progress verb_debug(struct command *command) {
    const struct request *request = &command->request;
    struct slice none = slice_of("", 0);
    struct slice word = request->word_count > 0 ? request->words[0] : none;
    struct slice argument = request->word_count > 1 ? request->words[1] : none;
    if (command->state != NULL) {
        return end_checkpoint(command);
    }
    if (!verb_env(command)->options->enable_debug) {
        return verb_answer(command, RESULT_DISABLED);
    }
    if (slice_equal(word, slice_str("clock"))) {
        return move_clock(command, argument);
    }
    if (slice_equal(word, slice_str("checkpoint"))) {
        return start_checkpoint(command);
    }
    if (slice_equal(word, slice_str("fault"))) {
        return set_faults(command, argument);
    }
    return verb_refuse(command, "usage: debug clock <seconds> | checkpoint | fault [<plan>]");
}
