/* SPDX-License-Identifier: BSD-3-Clause */
/* `stats items`, `stats slabs` and the state of `stats sizes`.
 *
 * Coffer has no slab classes.  Tools expect at least one with memcached's full set of fields, so all items make up
 * class 1: what is in RAM is its hot part, what is only on disk its cold part, and its chunks have the average size of
 * what is in RAM.  Tools split the lines of these groups at ':', so there is nothing but memcached's own names. */
#include <stdio.h>

#include "src/cmd/stats.h"

enum { PAGE_BYTES = 1 << 20, CHUNK_MIN = 48, NAME_ROOM = 48 };

struct field {
    const char *name;
    uint64_t value;
};

static void put_class(struct stats *stats, const char *group, const struct field *fields, size_t n) {
    char name[NAME_ROOM];
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s1:%s", group, fields[i].name);
        stats_number(stats, name, fields[i].value);
    }
}

static uint64_t less(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

void stats_items(struct stats *stats) {
    const struct store_figures *figures = &stats->figures;
    uint64_t hot = figures->items_ram < figures->items ? figures->items_ram : figures->items;
    const struct field fields[] = {
        {"number", figures->items},
        {"number_hot", hot},
        {"number_warm", 0},
        {"number_cold", figures->items - hot},
        {"number_temp", 0},
        {"age_hot", 0},
        {"age_warm", 0},
        {"age", 0},
        {"mem_requested", figures->bytes_ram},
        {"evicted", figures->evictions},
        {"evicted_nonzero", 0},
        {"evicted_time", 0},
        {"outofmemory", stats_counter(stats, COUNT_store_no_memory)},
        {"tailrepairs", 0},
        {"reclaimed", figures->reclaimed},
        {"expired_unfetched", 0},
        {"evicted_unfetched", figures->evictions_unfetched},
        {"evicted_active", 0},
        {"crawler_reclaimed", 0},
        {"crawler_items_checked", 0},
        {"lrutail_reflocked", 0},
        {"moves_to_cold", 0},
        {"moves_to_warm", 0},
        {"moves_within_lru", 0},
        {"direct_reclaims", 0},
        {"hits_to_hot", stats_counter(stats, COUNT_get_hits)},
        {"hits_to_warm", 0},
        {"hits_to_cold", 0},
        {"hits_to_temp", 0},
    };
    put_class(stats, "items:", fields, sizeof fields / sizeof fields[0]);
}

void stats_slabs(struct stats *stats) {
    const struct store_figures *figures = &stats->figures;
    uint64_t average = figures->items_ram > 0 ? figures->bytes_ram / figures->items_ram : 0;
    uint64_t chunk = average > CHUNK_MIN ? average : CHUNK_MIN;
    uint64_t per_page = chunk < PAGE_BYTES ? PAGE_BYTES / chunk : 1;
    /* Enough pages for the bytes and for the chunks; never none, for such classes are hidden. */
    uint64_t pages = (figures->bytes_ram + PAGE_BYTES - 1) / PAGE_BYTES;
    uint64_t for_chunks = (figures->items_ram + per_page - 1) / per_page;
    pages = for_chunks > pages ? for_chunks : pages;
    pages = pages > 0 ? pages : 1;
    const struct field fields[] = {
        {"chunk_size", chunk},
        {"chunks_per_page", per_page},
        {"total_pages", pages},
        {"total_chunks", pages * per_page},
        {"used_chunks", figures->items_ram},
        {"free_chunks", less(pages * per_page, figures->items_ram)},
        {"free_chunks_end", 0},
        {"mem_requested", figures->bytes_ram},
        {"get_hits", stats_counter(stats, COUNT_get_hits)},
        {"cmd_set", stats_counter(stats, COUNT_cmd_set)},
        {"delete_hits", stats_counter(stats, COUNT_delete_hits)},
        {"incr_hits", stats_counter(stats, COUNT_incr_hits)},
        {"decr_hits", stats_counter(stats, COUNT_decr_hits)},
        {"cas_hits", stats_counter(stats, COUNT_cas_hits)},
        {"cas_badval", stats_counter(stats, COUNT_cas_badval)},
        {"touch_hits", stats_counter(stats, COUNT_touch_hits)},
    };
    put_class(stats, "", fields, sizeof fields / sizeof fields[0]);
    stats_number(stats, "active_slabs", 1);
    stats_number(stats, "total_malloced", pages * PAGE_BYTES);
}

void stats_sizes(struct stats *stats) {
    bool enabled = stats->worker->env->options->track_sizes;
    stats_word(stats, "sizes_status", slice_str(enabled ? "enabled" : "disabled"));
}
