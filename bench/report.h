/* SPDX-License-Identifier: BSD-3-Clause */
/* report: what came out, as a table for people, as CSV and as JSON. */
#ifndef COFFER_BENCH_REPORT_H
#define COFFER_BENCH_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/endpoint.h"
#include "bench/sampler.h"
#include "bench/settings.h"
#include "bench/tally.h"

/* Of one phase. */
struct outcome {
    const char *phase;
    double seconds;
    struct tally *tally;
    double client_cpu; /* seconds */
    bool sampled;
    struct sample before, after; /* the server, if sampled */
    bool device_known;
    uint64_t device_before, device_after; /* bytes written to the device, ever */
};

struct report {
    const struct settings *settings;
    const struct endpoint *endpoint;
    const struct outcome *outcomes;
    unsigned count;
};

void report_table(const struct report *report, FILE *out);

/* Adds to the file, with a line of names when it is empty.  What is wrong has been said. */
enum status report_csv(const struct report *report, const char *path) MUST_CHECK;
enum status report_json(const struct report *report, const char *path) MUST_CHECK;

#endif
