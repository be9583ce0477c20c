/* SPDX-License-Identifier: BSD-3-Clause */
/* run: connects, then loads, warms up and measures, as the settings ask, and reports. */
#ifndef COFFER_BENCH_RUN_H
#define COFFER_BENCH_RUN_H

#include "bench/settings.h"
#include "src/base/status.h"

/* ST_OK when all went well; ST_CORRUPT when a value was wrong, ST_INVALID when a reply was an error.  SIGINT
 * ends the phase that runs and what is known is reported. */
enum status run(const struct settings *settings) MUST_CHECK;

#endif
