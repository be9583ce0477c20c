/* SPDX-License-Identifier: BSD-3-Clause */
/* settings: what the command line asks for.  One row of the table is one option; --help is made of it too.
 *
 * Set once at start, constant afterwards. */
#ifndef COFFER_BENCH_SETTINGS_H
#define COFFER_BENCH_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/picker.h"
#include "bench/protocol.h"
#include "src/base/status.h"

/* X(field, type, letter or 0, name, default, argument or "", help).  TEXT, NUMBER (digits), REAL, FLAG. */
#define SETTINGS_TABLE(X)                                                                                    \
    X(host, TEXT, 'h', "host", "127.0.0.1", "HOST", "where the server is")                                   \
    X(port, NUMBER, 'p', "port", "0", "PORT", "its TCP port (0: 11211, with resp 6379)")                     \
    X(socket, TEXT, 's', "socket", "", "PATH", "its unix socket, instead of host and port")                  \
    X(protocol_name, TEXT, 'P', "protocol", "text", "NAME",                                                  \
      "text, meta, binary (memcached's) or resp (Redis)")                                                    \
    X(threads, NUMBER, 'T', "threads", "1", "N", "threads of the generator")                                 \
    X(connections, NUMBER, 'c', "connections", "50", "N", "connections, of all threads together")            \
    X(depth, NUMBER, 'd', "depth", "1", "N", "requests that a connection sends at once (pipeline)")          \
    X(sliding, FLAG, 0, "sliding", "", "", "send a new request for each answer, not when all have come")     \
    X(operation, TEXT, 'o', "op", "", "NAME", "only set, get or delete")                                     \
    X(ratio, TEXT, 'r', "ratio", "1:9", "S:G", "sets to gets, when --op is not given")                       \
    X(multi, NUMBER, 'm', "multi", "1", "N", "keys in one get")                                              \
    X(keys, NUMBER, 'n', "keys", "1000000", "N", "different keys")                                           \
    X(prefix, TEXT, 0, "prefix", "key:", "TEXT", "what keys begin with")                                     \
    X(key_size, NUMBER, 0, "key-size", "16", "BYTES", "length of keys (0: as short as each number)")         \
    X(hashed, FLAG, 0, "hashed-keys", "", "", "keys are 32 hexadecimal digits, as of an MD5 sum")             \
    X(distribution_text, TEXT, 'D', "distribution", "uniform", "NAME",                                       \
      "uniform, zipf[:THETA] or sequential")                                                                 \
    X(size, TEXT, 'z', "size", "100", "BYTES", "length of values: 100, 20k, or from-to: 100-2000")           \
    X(compressible, NUMBER, 0, "compressible", "0", "PERCENT",                                               \
      "part of the values that can be compressed away")                                                      \
    X(expire, NUMBER, 'e', "expire", "0", "SECONDS", "values set expire then (0: never)")                    \
    X(load, FLAG, 'l', "load", "", "", "first set every key once")                                           \
    X(warm_up, REAL, 'w', "warm-up", "0", "SECONDS", "run so long before measuring")                         \
    X(seconds, REAL, 't', "seconds", "10", "SECONDS", "measure so long (0 with --load: only load)")          \
    X(requests, NUMBER, 'N', "requests", "0", "N", "stop after so many requests, not by time")               \
    X(rate, REAL, 'R', "rate", "0", "N", "requests a second, sent when due whether answers come or not")     \
    X(verify, FLAG, 'v', "verify", "", "", "compare every value read with what its key must have")           \
    X(seed, NUMBER, 0, "seed", "1", "N", "another seed: other values, another order")                        \
    X(idle, NUMBER, 0, "idle", "0", "N", "more connections, on which nothing is sent")                       \
    X(timeout, REAL, 0, "timeout", "30", "SECONDS", "give up when no answer comes for so long")              \
    X(pid, NUMBER, 0, "pid", "0", "PID", "the server's process: report its CPU and memory")                  \
    X(device_of, TEXT, 0, "device-of", "", "DIR",                                                            \
      "report what the disk below this directory has written")                                               \
    X(label, TEXT, 0, "label", "", "TEXT", "name this run in table, CSV and JSON")                           \
    X(csv, TEXT, 0, "csv", "", "FILE", "add a line per operation (-: standard output, without table)")       \
    X(json, TEXT, 0, "json", "", "FILE", "write all figures (-: standard output, without table)")            \
    X(quiet, FLAG, 'q', "quiet", "", "", "no progress bar")                                                  \
    X(help, FLAG, 0, "help", "", "", "print this and exit")

#define SETTINGS_TYPE_TEXT const char *
#define SETTINGS_TYPE_NUMBER uint64_t
#define SETTINGS_TYPE_REAL double
#define SETTINGS_TYPE_FLAG bool

struct settings {
#define X(field, type, letter, name, initial, argument, help) SETTINGS_TYPE_##type field;
    SETTINGS_TABLE(X)
#undef X
    /* What the texts above mean. */
    const struct protocol *protocol;
    double shares[OP_COUNT]; /* of the requests, together 1 */
    enum picker_kind distribution;
    double theta;
    uint64_t size_min, size_max;
};

/* What is wrong has been said on ST_INVALID.  With --help nothing else is checked. */
enum status settings_parse(struct settings *settings, int argc, char **argv) MUST_CHECK;
void settings_help(void);

#endif
