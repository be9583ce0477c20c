/* SPDX-License-Identifier: BSD-3-Clause */
/* driver: one thread of the generator, its connections and its event loop.
 *
 * Without a rate each connection works in a loop: it sends `depth` requests at once, and the next when all
 * are answered (or, sliding, one more for each answered).  With a rate requests are sent when they are due,
 * round the connections.
 *
 * driver_run is called by one thread at a time; driver_done by any. */
#ifndef COFFER_BENCH_DRIVER_H
#define COFFER_BENCH_DRIVER_H

#include <stdatomic.h>

#include "bench/lane.h"
#include "bench/picker.h"
#include "bench/tally.h"

struct driver_config {
    struct lane_config lane; /* its depth is the most that any phase uses */
    unsigned lanes;
    unsigned index, drivers; /* this one of all */
    uint64_t keys;
    uint64_t seed;
    double timeout; /* seconds without a reply after which the run fails */
};

/* One stretch of work, the same for all drivers. */
struct phase {
    const char *name;
    enum picker_kind distribution;
    double theta;
    double shares[OP_COUNT]; /* of the requests; they add up to 1 */
    unsigned depth, multi;
    bool sliding;
    uint64_t requests; /* of all drivers together; 0: no limit */
    double seconds;    /* 0: no limit */
    double rate;       /* of all drivers together; 0: as fast as answers come */
    const atomic_bool *stop;
};

struct driver;

/* Connects.  What is wrong has been said when these do not return ST_OK. */
enum status driver_open(struct driver **driver, const struct driver_config *config) MUST_CHECK;
void driver_close(struct driver **driver);

/* Returns when every request sent is answered. */
enum status driver_run(struct driver *driver, const struct phase *phase) MUST_CHECK;

/* Requests answered in this phase so far. */
uint64_t driver_done(const struct driver *driver);

/* Of the last phase. */
const struct tally *driver_tally(const struct driver *driver);
/* Nanoseconds from its first request to its last answer. */
uint64_t driver_elapsed(const struct driver *driver);

#endif
