/* SPDX-License-Identifier: BSD-3-Clause */
/* `stats settings`: memcached's names first, then every option of ours under its long name, '-' written as '_'.
 *
 * Booleans are yes and no.  lru_crawler must be "no": tools that read "yes" go on to ask for its settings. */
#include "src/cmd/prefixes.h"
#include "src/cmd/stats.h"

enum { NAME_ROOM = 64 };

static void put_text(struct stats *stats, const char *name, const char *value) {
    stats_word(stats, name, slice_str(value));
}

static void put_listen(struct stats *stats, const struct option_list *list) {
    struct buffer joined;
    buffer_init(&joined);
    for (unsigned i = 0; i < list->count && stats->status == ST_OK; i++) {
        stats->status = buffer_printf(&joined, "%s%s", i > 0 ? "," : "", list->item[i]);
    }
    stats_word(stats, "inter", slice_of(buffer_head(&joined), buffer_length(&joined)));
    buffer_free(&joined);
}

static void put_sockets(struct stats *stats, const struct options *options) {
    bool tcp = options->socket_path[0] == '\0';
    stats_number(stats, "maxbytes", stats->figures.memory);
    stats_number(stats, "maxconns", options->max_connections);
    stats_number(stats, "tcpport", tcp ? options->port : 0);
    stats_number(stats, "udpport", 0);
    put_listen(stats, &options->listen);
    stats_number(stats, "verbosity", options->verbose);
    stats_number(stats, "oldest", 0);
    put_text(stats, "evictions", "on");
    put_text(stats, "domain_socket", options->socket_path);
    put_text(stats, "umask", options->socket_mask);
    stats_flag(stats, "shutdown_command", options->enable_shutdown);
    put_text(stats, "growth_factor", "1.00");
    stats_number(stats, "chunk_size", 0);
    stats_number(stats, "num_threads", options->threads);
    stats_number(stats, "num_threads_per_udp", 0);
}

static void put_protocol(struct stats *stats, const struct options *options) {
    put_text(stats, "stat_key_prefix", ":");
    stats_flag(stats, "detail_enabled", prefixes_enabled(stats->worker->env->prefixes));
    stats_number(stats, "reqs_per_event", options->requests_per_event);
    stats_flag(stats, "cas_enabled", true);
    stats_number(stats, "tcp_backlog", options->backlog);
    put_text(stats, "binding_protocol", "auto-negotiate");
    stats_flag(stats, "auth_enabled_sasl", false);
    stats_flag(stats, "auth_enabled_ascii", false);
    stats_number(stats, "item_size_max", options->item_max);
    stats_flag(stats, "maxconns_fast", true);
    stats_number(stats, "hashpower_init", 0);
    stats_flag(stats, "slab_reassign", false);
    stats_number(stats, "slab_automove", 0);
    stats_flag(stats, "lru_crawler", false);
    stats_number(stats, "tail_repair_time", 0);
    stats_flag(stats, "flush_enabled", true);
    stats_flag(stats, "dump_enabled", true);
    put_text(stats, "hash_algorithm", "xxh3");
    stats_flag(stats, "lru_maintainer_thread", false);
    stats_flag(stats, "lru_segmented", false);
    stats_number(stats, "idle_timeout", 0);
    stats_flag(stats, "track_sizes", options->track_sizes);
    stats_flag(stats, "ssl_enabled", false);
}

/* '-' in names becomes '_', as in memcached's own. */
static void put_option(struct stats *stats, enum option_row row, struct slice value) {
    char name[NAME_ROOM];
    size_t n = 0;
    for (const char *p = options_name(row); *p != '\0' && n + 1 < sizeof name; p++) {
        name[n++] = *p == '-' ? '_' : *p;
    }
    name[n] = '\0';
    stats_word(stats, name, value);
}

void stats_settings(struct stats *stats) {
    const struct options *options = stats->worker->env->options;
    struct buffer value;
    buffer_init(&value);
    put_sockets(stats, options);
    put_protocol(stats, options);
    for (enum option_row row = 0; row < OPTION_COUNT && stats->status == ST_OK; row++) {
        if (row == OPTION_track_sizes) {
            continue; /* memcached's own name, and given */
        }
        buffer_consume(&value, buffer_length(&value));
        stats->status = options_value(options, row, &value);
        put_option(stats, row, slice_of(buffer_head(&value), buffer_length(&value)));
    }
    buffer_free(&value);
}
