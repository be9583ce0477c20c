/* SPDX-License-Identifier: BSD-3-Clause */
/* figures: the numbers that a report shows of one operation in one phase, named once for CSV and
 * JSON alike. */
#ifndef COFFER_BENCH_FIGURES_H
#define COFFER_BENCH_FIGURES_H

#include "bench/report.h"

/* X(name, decimals): latencies in microseconds; the server's and the client's CPU in microseconds for each
 * request of the phase; bytes are bytes; device_written by anybody. */
/* clang-format off */
#define FIGURES_TABLE(X) \
    X(seconds, 6) \
    X(requests, 0) \
    X(requests_per_s, 1) \
    X(keys_per_s, 1) \
    X(hits, 0) \
    X(misses, 0) \
    X(refused, 0) \
    X(errors, 0) \
    X(wrong, 0) \
    X(unsent, 0) \
    X(mean_us, 1) \
    X(p50_us, 1) \
    X(p95_us, 1) \
    X(p99_us, 1) \
    X(p999_us, 1) \
    X(max_us, 1) \
    X(client_cpu_us, 3) \
    X(server_user_us, 3) \
    X(server_system_us, 3) \
    X(server_cpu_us, 3) \
    X(server_cores, 3) \
    X(server_resident, 0) \
    X(server_anonymous, 0) \
    X(device_written, 0)
/* clang-format on */

struct figures {
#define X(name, decimals) double name;
    FIGURES_TABLE(X)
#undef X
};

enum { FIGURES_COUNT = sizeof(struct figures) / sizeof(double) };

/* NAN: not known. */
void figures_fill(struct figures *figures, const struct outcome *outcome, const struct tally_row *row);

const char *figures_name(unsigned i);
/* As text; `unknown` for NAN. */
void figures_print(const struct figures *figures, unsigned i, const char *unknown, FILE *out);

#endif
