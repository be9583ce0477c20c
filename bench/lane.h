/* SPDX-License-Identifier: BSD-3-Clause */
/* lane: one connection and its requests in flight.
 *
 * Requests are queued (composed into the caller's buffer) and sent together; replies are read into a buffer
 * that all lanes of a thread share and parsed there.  Between calls a lane keeps only the bytes of an
 * incomplete line, and what the socket would not take.
 *
 * Owned by one thread. */
#ifndef COFFER_BENCH_LANE_H
#define COFFER_BENCH_LANE_H

#include <stdbool.h>

#include "bench/dataset.h"
#include "bench/endpoint.h"
#include "bench/protocol.h"
#include "bench/tally.h"
#include "src/base/status.h"

/* The caller's buffer for lane_read: replies are received behind room for the bytes kept. */
enum { LANE_KEPT = PROTOCOL_LINE_MAX, LANE_RECEIVED = 256 * 1024, LANE_READ = LANE_KEPT + LANE_RECEIVED };

struct lane_config {
    const struct endpoint *endpoint;
    const struct protocol *protocol;
    const struct dataset *dataset;
    unsigned depth;  /* most requests in flight */
    unsigned multi;  /* most keys a request */
    uint32_t expire; /* of values set, seconds; 0: never */
    bool verify;     /* values read are compared with what they must be */
};

struct lane;

/* What is wrong has been said when these do not return ST_OK. */
enum status lane_open(struct lane **lane, const struct lane_config *config) MUST_CHECK;
void lane_close(struct lane **lane);

int lane_fd(const struct lane *lane);
unsigned lane_in_flight(const struct lane *lane);

/* Composes a request at `out`, which must have room (protocol_request_max), and returns its end.  Fewer than
 * `depth` requests must be in flight.  Its latency counts from `start`, nanoseconds. */
char *lane_queue(struct lane *lane, enum operation operation, const uint64_t *ids, unsigned n, uint64_t start,
                 char *out);

/* Sends what was queued; what the socket does not take is kept.  `more` says whether lane_flush must be
 * called when the socket is writable. */
enum status lane_send(struct lane *lane, const char *bytes, size_t n, bool *more) MUST_CHECK;
enum status lane_flush(struct lane *lane, bool *more) MUST_CHECK;

/* Receives once, and counts the requests answered; `now` is set to the moment after receiving. */
enum status lane_read(struct lane *lane, char *buffer, struct tally *tally, uint64_t *now) MUST_CHECK;

/* Monotonic nanoseconds. */
uint64_t lane_clock(void);

#endif
