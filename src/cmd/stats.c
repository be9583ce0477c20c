/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/cmd/stats.h"

#include "src/base/number.h"
#include "src/cmd/token.h"

static void put(struct stats *stats, const char *name, struct slice value) {
    if (stats->status == ST_OK) {
        stats->status = buffer_append(stats->text, name, strlen(name) + 1);
    }
    if (stats->status == ST_OK) {
        stats->status = token_append(stats->text, value);
    }
    if (stats->status == ST_OK) {
        stats->status = buffer_append(stats->text, "", 1);
    }
}

void stats_number(struct stats *stats, const char *name, uint64_t value) {
    char digits[NUMBER_DIGITS];
    put(stats, name, slice_of(digits, number_print(digits, value)));
}

void stats_word(struct stats *stats, const char *name, struct slice value) {
    put(stats, name, value);
}

void stats_flag(struct stats *stats, const char *name, bool value) {
    put(stats, name, slice_str(value ? "yes" : "no"));
}

uint64_t stats_counter(const struct stats *stats, enum counter which) {
    const struct command_host *host = &stats->worker->env->host;
    return host->counter(host->arg, which);
}
