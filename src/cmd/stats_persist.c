/* SPDX-License-Identifier: BSD-3-Clause */
/* `stats persist`: what no memcached has, under names of our own. */
#include "src/cmd/stats.h"

static void put_modes(struct stats *stats) {
    static const char *const modes[] = {
        [STORE_SYNC_ALWAYS] = "always", [STORE_SYNC_INTERVAL] = "interval", [STORE_SYNC_OS] = "os"};
    const struct options *options = stats->worker->env->options;
    stats_word(stats, "product_version", slice_str(COFFER_VERSION));
    stats_word(stats, "sync_mode", slice_str(modes[options->sync.mode]));
    stats_number(stats, "sync_interval_ms", options->sync.mode == STORE_SYNC_INTERVAL ? options->sync.millis : 0);
    stats_flag(stats, "read_only", stats->figures.read_only);
}

static void put_log(struct stats *stats) {
    const struct store_figures *figures = &stats->figures;
    stats_number(stats, "lsn", figures->lsn);
    stats_number(stats, "lsn_written", figures->lsn_written);
    stats_number(stats, "lsn_durable", figures->lsn_durable);
    stats_number(stats, "lsn_applied", figures->lsn_applied);
    stats_number(stats, "log_bytes", figures->log_bytes);
    stats_number(stats, "log_segments", figures->log_segments);
    stats_number(stats, "log_writes", figures->log_writes);
    stats_number(stats, "log_written_bytes", figures->log_written_bytes);
    stats_number(stats, "log_syncs", figures->log_syncs);
    stats_number(stats, "log_sync_micros_max", figures->log_sync_micros_max);
    stats_number(stats, "room_waits", figures->room_waits);
    stats_number(stats, "replies_held", stats_counter(stats, COUNT_replies_held));
    stats_number(stats, "replies_failed", stats_counter(stats, COUNT_replies_failed));
}

static void put_tree(struct stats *stats) {
    const struct store_figures *figures = &stats->figures;
    stats_number(stats, "checkpoints", figures->checkpoints);
    stats_number(stats, "checkpoint_items", figures->checkpoint_items);
    stats_number(stats, "checkpoint_micros", figures->checkpoint_micros);
    stats_number(stats, "checkpoint_failures", figures->checkpoint_failures);
    stats_number(stats, "tree_items", figures->tree_items);
    stats_number(stats, "tree_bytes", figures->tree_bytes);
    stats_number(stats, "tree_generation", figures->tree_generation);
    stats_number(stats, "flushes", figures->flushes);
    stats_number(stats, "cold_reads", figures->cold_reads);
    stats_number(stats, "cold_inline", figures->cold_inline);
    stats_number(stats, "cold_waiting", figures->cold_waiting);
    stats_number(stats, "cold_micros_max", figures->cold_micros_max);
}

static void put_memory(struct stats *stats) {
    const struct store_figures *figures = &stats->figures;
    stats_number(stats, "items_ram", figures->items_ram);
    stats_number(stats, "items_dirty", figures->items_dirty);
    stats_number(stats, "bytes_ram", figures->bytes_ram);
    stats_number(stats, "bytes_dirty", figures->bytes_dirty);
}

static void put_recovery(struct stats *stats) {
    const struct store_figures *figures = &stats->figures;
    stats_number(stats, "recovered_records", figures->recovered_records);
    stats_number(stats, "recovered_bytes", figures->recovered_bytes);
    stats_number(stats, "recovery_micros", figures->recovery_micros);
    stats_number(stats, "dropped_bytes", figures->dropped_bytes);
}

void stats_persist(struct stats *stats) {
    put_modes(stats);
    put_log(stats);
    put_tree(stats);
    put_memory(stats);
    put_recovery(stats);
    stats_number(stats, "protocol_errors", stats_counter(stats, COUNT_protocol_errors));
}
