/* SPDX-License-Identifier: BSD-3-Clause */
/* stats: how the groups of the stats command are written; only the command layer includes it.
 *
 * What monitoring tools rely on, and tests check: one token a value, never empty; names without ':' outside of items,
 * slabs and conns; the general group stays under 4096 bytes of text protocol (collectd's buffer), memcached's names
 * first and in its order; bytes <= limit_maxbytes; product-specific names only in settings and persist. */
#ifndef COFFER_CMD_STATS_H
#define COFFER_CMD_STATS_H

#include "src/cmd/command.h"

/* A group being written.  The first error stays, and what comes after it is left out. */
struct stats {
    const struct command_worker *worker;
    struct buffer *text; /* name NUL value NUL, repeated */
    enum status status;
    struct store_figures figures;
};

void stats_number(struct stats *stats, const char *name, uint64_t value);
void stats_word(struct stats *stats, const char *name, struct slice value); /* escaped to one token */
void stats_flag(struct stats *stats, const char *name, bool value);         /* yes or no, as memcached's settings */
/* One of the counters, summed over all workers. */
uint64_t stats_counter(const struct stats *stats, enum counter which);

typedef void stats_group(struct stats *stats);
stats_group stats_general, stats_settings, stats_items, stats_slabs, stats_sizes, stats_persist;

#endif
