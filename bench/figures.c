/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/figures.h"

#include <math.h>

static const struct {
    const char *name;
    int decimals;
} described[] = {
#define X(name, decimals) {#name, decimals},
    FIGURES_TABLE(X)
#undef X
};

static double micros(const struct tally_row *row, double percent) {
    return (double)histogram_percentile(row->latency, percent) / 1e3;
}

static uint64_t all_requests(const struct tally *tally) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < OP_COUNT; i++) {
        sum += tally->row[i].requests;
    }
    return sum;
}

static void fill_server(struct figures *figures, const struct outcome *outcome) {
    const struct sample *before = &outcome->before, *after = &outcome->after;
    double requests = (double)all_requests(outcome->tally);
    double user = after->user - before->user, system = after->system - before->system;
    double cpu = after->cpu - before->cpu, ticks = user + system;
    figures->server_cpu_us = cpu * 1e6 / requests;
    figures->server_cores = cpu / outcome->seconds;
    /* Coarse times, good enough for the shares of what is known exactly; in a short phase there may be none. */
    if (ticks > 0) {
        figures->server_user_us = figures->server_cpu_us * user / ticks;
        figures->server_system_us = figures->server_cpu_us * system / ticks;
    }
    figures->server_resident = (double)after->resident;
    figures->server_anonymous = (double)after->anonymous;
}

void figures_fill(struct figures *figures, const struct outcome *outcome, const struct tally_row *row) {
    *figures = (struct figures){
        .seconds = outcome->seconds,
        .requests = (double)row->requests,
        .requests_per_s = (double)row->requests / outcome->seconds,
        .keys_per_s = (double)row->keys / outcome->seconds,
        .hits = (double)row->hits,
        .misses = (double)row->misses,
        .refused = (double)row->refused,
        .errors = (double)row->failed,
        .wrong = (double)row->wrong,
        .unsent = (double)outcome->tally->unsent,
        .mean_us = histogram_mean(row->latency) / 1e3,
        .p50_us = micros(row, 50),
        .p95_us = micros(row, 95),
        .p99_us = micros(row, 99),
        .p999_us = micros(row, 99.9),
        .max_us = micros(row, 100),
        .client_cpu_us = outcome->client_cpu * 1e6 / (double)all_requests(outcome->tally),
        .server_user_us = NAN,
        .server_system_us = NAN,
        .server_cpu_us = NAN,
        .server_cores = NAN,
        .server_resident = NAN,
        .server_anonymous = NAN,
        .device_written = NAN,
    };
    if (outcome->sampled) {
        fill_server(figures, outcome);
    }
    if (outcome->device_known) {
        figures->device_written = (double)(outcome->device_after - outcome->device_before);
    }
}

const char *figures_name(unsigned i) {
    return described[i].name;
}

void figures_print(const struct figures *figures, unsigned i, const char *unknown, FILE *out) {
    double value = ((const double *)figures)[i];
    if (isfinite(value)) {
        fprintf(out, "%.*f", described[i].decimals, value);
    } else {
        fputs(unknown, out);
    }
}
