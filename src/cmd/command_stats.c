/* SPDX-License-Identifier: BSD-3-Clause */
/* The stats command: which group is asked for, and the groups that are no list of values. */
#include "src/cmd/prefixes.h"
#include "src/cmd/stats.h"
#include "src/cmd/verbs.h"

static enum command_progress answer_group(struct command *command, stats_group *group) {
    struct stats stats = {.worker = command->worker, .text = &command->response.text, .status = ST_OK};
    store_figures(verb_env(command)->store, &stats.figures);
    group(&stats);
    return verb_answer(command, stats.status == ST_OK ? RESULT_STATS : verb_failure(stats.status));
}

static enum command_progress answer_connections(struct command *command) {
    const struct command_host *host = &verb_env(command)->host;
    enum status status = host->list_connections(host->arg, &command->response.text);
    return verb_answer(command, status == ST_OK ? RESULT_STATS : verb_failure(status));
}

static enum command_progress answer_reset(struct command *command) {
    const struct command_host *host = &verb_env(command)->host;
    host->reset_counters(host->arg);
    prefixes_reset(verb_env(command)->prefixes);
    return verb_answer(command, RESULT_RESET);
}

/* stats detail on|off|dump */
static enum command_progress answer_detail(struct command *command) {
    const struct request *request = &command->request;
    struct prefixes *prefixes = verb_env(command)->prefixes;
    struct slice word = request->word_count > 1 ? request->words[1] : slice_of("", 0);
    if (slice_equal(word, slice_str("dump"))) {
        enum status status = prefixes_dump(prefixes, &command->response.text);
        return verb_answer(command, status == ST_OK ? RESULT_LINES : verb_failure(status));
    }
    bool on = slice_equal(word, slice_str("on"));
    if (!on && !slice_equal(word, slice_str("off"))) {
        return verb_refuse(command, "usage: stats detail on|off|dump");
    }
    prefixes_enable(prefixes, on);
    return verb_answer(command, RESULT_OK);
}

/* By a walk over all items, so it must be asked for at start. */
static enum command_progress answer_sizes(struct command *command) {
    return verb_env(command)->options->track_sizes ? verb_sizes(command) : answer_group(command, stats_sizes);
}

enum command_progress verb_stats(struct command *command) {
    static const struct {
        const char *name;
        stats_group *group;
        verb_function *other;
    } groups[] = {
        {"settings", stats_settings, NULL},
        {"items", stats_items, NULL},
        {"slabs", stats_slabs, NULL},
        {"sizes", NULL, answer_sizes},
        {"sizes_enable", stats_sizes, NULL}, /* stays as it was at start, and says so */
        {"sizes_disable", stats_sizes, NULL},
        {"persist", stats_persist, NULL},
        {"cachedump", NULL, verb_cachedump},
        {"conns", NULL, answer_connections},
        {"reset", NULL, answer_reset},
        {"detail", NULL, answer_detail},
    };
    if (command->state != NULL) {
        return verb_resume_walk(command);
    }
    if (command->request.word_count == 0) {
        return answer_group(command, stats_general);
    }
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (slice_equal(command->request.words[0], slice_str(groups[i].name))) {
            return groups[i].group != NULL ? answer_group(command, groups[i].group) : groups[i].other(command);
        }
    }
    return verb_answer(command, RESULT_UNKNOWN);
}
