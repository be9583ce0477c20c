/* SPDX-License-Identifier: BSD-3-Clause */
/* `stats` without an argument: memcached 1.6's names in its order, so far as they mean something here.
 *
 * What is always 0 names something that Coffer does not have (an LRU crawler, a growing hash table), and that a tool
 * asks for by name.  get_expired and get_flushed are 0 since storage answers a plain miss. */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/cmd/stats.h"

static const char *const counter_names[COUNTER_COUNT] = {
#define X(name) #name,
    COUNTER_TABLE(X)
#undef X
};

static void put_counters(struct stats *stats, const enum counter *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        stats_number(stats, counter_names[list[i]], stats_counter(stats, list[i]));
    }
}
#define PUT_COUNTERS(stats, list) put_counters(stats, list, sizeof(list) / sizeof(list)[0])

static void put_seconds(struct stats *stats, const char *name, struct timeval time) {
    char text[32];
    int n = snprintf(text, sizeof text, "%lld.%06ld", (long long)time.tv_sec, (long)time.tv_usec);
    stats_word(stats, name, slice_of(text, (size_t)n));
}

static void put_process(struct stats *stats) {
    const struct command_env *env = stats->worker->env;
    int64_t uptime = stats->worker->now - env->started;
    struct rusage usage = {0};
    /* It cannot fail for RUSAGE_SELF; zeros would be shown. */
    (void)getrusage(RUSAGE_SELF, &usage);
    stats_number(stats, "pid", (uint64_t)getpid());
    stats_number(stats, "uptime", uptime > 0 ? (uint64_t)uptime : 0);
    stats_number(stats, "time", (uint64_t)stats->worker->now);
    stats_word(stats, "version", slice_str(COMMAND_MEMCACHED_VERSION));
    stats_number(stats, "pointer_size", 8 * sizeof(void *));
    put_seconds(stats, "rusage_user", usage.ru_utime);
    put_seconds(stats, "rusage_system", usage.ru_stime);
}

static void put_connections(struct stats *stats, const struct command_connections *connections) {
    static const enum counter totals[] = {COUNT_total_connections, COUNT_rejected_connections};
    static const enum counter short_of_memory[] = {COUNT_response_obj_oom, COUNT_read_buf_oom};
    stats_number(stats, "max_connections", stats->worker->env->options->max_connections);
    stats_number(stats, "curr_connections", connections->current);
    PUT_COUNTERS(stats, totals);
    stats_number(stats, "connection_structures", connections->structures);
    PUT_COUNTERS(stats, short_of_memory);
}

static void put_commands(struct stats *stats) {
    static const enum counter commands[] = {
        COUNT_cmd_get,       COUNT_cmd_set,       COUNT_cmd_flush,       COUNT_cmd_touch,       COUNT_cmd_meta,
        COUNT_get_hits,      COUNT_get_misses,    COUNT_get_expired,     COUNT_get_flushed,     COUNT_delete_misses,
        COUNT_delete_hits,   COUNT_incr_misses,   COUNT_incr_hits,       COUNT_decr_misses,     COUNT_decr_hits,
        COUNT_cas_misses,    COUNT_cas_hits,      COUNT_cas_badval,      COUNT_touch_hits,      COUNT_touch_misses,
        COUNT_store_too_large, COUNT_store_no_memory, COUNT_auth_cmds,   COUNT_auth_errors,     COUNT_idle_kicks,
        COUNT_bytes_read,    COUNT_bytes_written,
    };
    PUT_COUNTERS(stats, commands);
}

static void put_limits(struct stats *stats, const struct command_connections *connections) {
    static const enum counter yields[] = {COUNT_conn_yields};
    static const enum counter disabled[] = {COUNT_listen_disabled_num};
    stats_number(stats, "limit_maxbytes", stats->figures.memory);
    stats_number(stats, "accepting_conns", connections->accepting);
    PUT_COUNTERS(stats, disabled);
    stats_number(stats, "threads", stats->worker->env->options->threads);
    PUT_COUNTERS(stats, yields);
    stats_number(stats, "hash_power_level", 0);
    stats_number(stats, "hash_bytes", 0);
    stats_number(stats, "hash_is_expanding", 0);
    stats_number(stats, "slabs_moved", 0);
    stats_number(stats, "total_malloced", stats->figures.bytes_ram);
    stats_number(stats, "lru_crawler_running", 0);
    stats_number(stats, "lru_crawler_starts", 0);
}

/* bytes counts the items in RAM, as limit_maxbytes limits them; a burst of changes may exceed the limit for a moment,
 * which tools that compute a share of it would not survive. */
static void put_items(struct stats *stats) {
    static const enum counter total[] = {COUNT_total_items};
    const struct store_figures *figures = &stats->figures;
    stats_number(stats, "bytes", figures->bytes_ram < figures->memory ? figures->bytes_ram : figures->memory);
    stats_number(stats, "curr_items", figures->items);
    PUT_COUNTERS(stats, total);
    stats_number(stats, "expired_unfetched", 0);
    stats_number(stats, "evicted_unfetched", figures->evictions_unfetched);
    stats_number(stats, "evicted_active", 0);
    stats_number(stats, "evictions", figures->evictions);
    stats_number(stats, "reclaimed", figures->reclaimed);
    stats_number(stats, "crawler_reclaimed", 0);
    stats_number(stats, "crawler_items_checked", 0);
    stats_number(stats, "lrutail_reflocked", 0);
    stats_number(stats, "moves_to_cold", 0);
    stats_number(stats, "moves_to_warm", 0);
    stats_number(stats, "moves_within_lru", 0);
    stats_number(stats, "direct_reclaims", 0);
}

void stats_general(struct stats *stats) {
    const struct command_host *host = &stats->worker->env->host;
    struct command_connections connections = host->connections(host->arg);
    put_process(stats);
    put_connections(stats, &connections);
    put_commands(stats);
    put_limits(stats, &connections);
    put_items(stats);
}
