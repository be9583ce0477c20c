/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status tally_create(struct tally **tally) {
    enum status status = ST_OK;
    *tally = calloc(1, sizeof **tally);
    if (*tally == NULL) {
        return ST_NO_MEMORY;
    }
    for (unsigned i = 0; i < OP_COUNT && status == ST_OK; i++) {
        status = histogram_create(&(*tally)->row[i].latency);
    }
    if (status != ST_OK) {
        tally_destroy(tally);
    }
    return status;
}

void tally_destroy(struct tally **tally) {
    if (*tally != NULL) {
        for (unsigned i = 0; i < OP_COUNT; i++) {
            histogram_destroy(&(*tally)->row[i].latency);
        }
        free(*tally);
        *tally = NULL;
    }
}

void tally_clear(struct tally *tally) {
    for (unsigned i = 0; i < OP_COUNT; i++) {
        struct histogram *latency = tally->row[i].latency;
        histogram_clear(latency);
        tally->row[i] = (struct tally_row){.latency = latency};
    }
    tally->unsent = 0;
    tally->first[0] = '\0';
}

static void merge_row(struct tally_row *into, const struct tally_row *from) {
    into->requests += from->requests;
    into->keys += from->keys;
    into->hits += from->hits;
    into->misses += from->misses;
    into->refused += from->refused;
    into->failed += from->failed;
    into->wrong += from->wrong;
    histogram_merge(into->latency, from->latency);
}

void tally_merge(struct tally *into, const struct tally *from) {
    for (unsigned i = 0; i < OP_COUNT; i++) {
        merge_row(&into->row[i], &from->row[i]);
    }
    into->unsent += from->unsent;
    if (into->first[0] == '\0') {
        memcpy(into->first, from->first, sizeof into->first);
    }
}

void tally_total(const struct tally *tally, struct tally_row *total, struct histogram *latency) {
    histogram_clear(latency);
    *total = (struct tally_row){.latency = latency};
    for (unsigned i = 0; i < OP_COUNT; i++) {
        merge_row(total, &tally->row[i]);
    }
}

void tally_note(struct tally *tally, const char *what, struct slice text) {
    if (tally->first[0] != '\0') {
        return;
    }
    size_t n = (size_t)snprintf(tally->first, sizeof tally->first, "%s: ", what);
    for (size_t i = 0; i < text.n && n < sizeof tally->first - 1; i++) {
        unsigned char c = (unsigned char)text.p[i];
        tally->first[n++] = c < ' ' || c > '~' ? '.' : (char)c;
    }
    tally->first[n] = '\0';
}
