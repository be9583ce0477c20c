/* SPDX-License-Identifier: BSD-3-Clause */
/* Every option, one row one option, in the order of --help:
 * X(field, type, letter or 0, long name, default text, least, most, argument name or "", help).
 * Types: TEXT (last one wins), LIST (given several times or comma-separated), NUMBER, SIZE (k m g t), MEGABYTES (a SIZE
 * whose plain number counts megabytes), FLAG, COUNT (-v -vv), SYNC (always, interval=MS, os), MASK (octal).  least and
 * most bound numbers; both 0: not bounded here.  The names are memcached's where memcached has them. */
#ifndef COFFER_TBL_OPTIONS_H
#define COFFER_TBL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OPTION_LIST_MAX 16

struct option_list {
    char *item[OPTION_LIST_MAX];
    unsigned count;
};

struct option_sync {
    int mode;        /* enum store_sync: 0 always, 1 interval, 2 os */
    unsigned millis; /* of interval */
};

#define OPTION_TYPE_TEXT      char *
#define OPTION_TYPE_MASK      char *
#define OPTION_TYPE_LIST      struct option_list
#define OPTION_TYPE_NUMBER    uint64_t
#define OPTION_TYPE_SIZE      uint64_t
#define OPTION_TYPE_MEGABYTES uint64_t
#define OPTION_TYPE_FLAG      bool
#define OPTION_TYPE_COUNT     unsigned
#define OPTION_TYPE_SYNC      struct option_sync

#define OPTIONS_LISTENING(X)                                                                                          \
    X(port, NUMBER, 'p', "port", "11211", 0, 65535, "PORT", "TCP port (0: none)")                                     \
    X(listen, LIST, 'l', "listen", "127.0.0.1", 0, 0, "ADDR[:PORT]",                                                  \
      "address to listen on; may be repeated, or several separated by commas")                                        \
    X(socket_path, TEXT, 's', "unix-socket", "", 0, 0, "PATH", "listen on a unix socket instead of TCP")              \
    X(socket_mask, MASK, 'a', "unix-mask", "700", 0, 0, "MASK", "access mask of the unix socket, octal")              \
    X(max_connections, NUMBER, 'c', "conn-limit", "1024", 1, 1000000, "N", "clients connected at the same time")      \
    X(backlog, NUMBER, 'b', "listen-backlog", "1024", 1, 65535, "N", "connections waiting to be accepted")

#define OPTIONS_STORING(X)                                                                                            \
    X(data_dir, TEXT, 'H', "data-dir", "./coffer-data", 0, 0, "DIR", "where the data lives; made when missing")       \
    X(sync, SYNC, 0, "sync", "interval=100", 0, 0, "MODE",                                                            \
      "when a reply may leave: always = synced to disk; interval=MS = handed to the system, synced every MS "         \
      "milliseconds; os = handed to the system")                                                                      \
    X(memory, MEGABYTES, 'm', "memory-limit", "0", 0, 1ULL << 44, "SIZE",                                             \
      "RAM for items, in megabytes or with k, m, g (0: an eighth of what the process may use, at least 64m)")         \
    X(item_max, SIZE, 'I', "max-item-size", "1m", 1 << 10, 64 << 20, "SIZE", "largest value, 1k to 64m")              \
    X(log_max, SIZE, 0, "log-max", "1g", 1 << 20, 1ULL << 44, "SIZE",                                                 \
      "log kept before writers wait for a checkpoint: bounds the restart after a crash")                              \
    X(log_segment, SIZE, 0, "log-segment", "64m", 128 << 10, 1ULL << 34, "SIZE",                                      \
      "one log file; at least two of the largest values, at most a quarter of --log-max")                             \
    X(checkpoint_seconds, NUMBER, 0, "checkpoint-seconds", "60", 1, 86400, "N",                                       \
      "seconds until a change reaches the tree")

#define OPTIONS_RUNNING(X)                                                                                            \
    X(threads, NUMBER, 't', "threads", "0", 0, 256, "N", "worker threads (0: one for each core)")                     \
    X(readers, NUMBER, 0, "readers", "32", 1, 256, "N", "threads that read from disk")                                \
    X(requests_per_event, NUMBER, 'R', "max-reqs-per-event", "20", 1, 1000000, "N",                                   \
      "requests of one connection before others get their turn")                                                      \
    X(daemonize, FLAG, 'd', "daemon", "no", 0, 0, "", "run in the background")                                        \
    X(user, TEXT, 'u', "user", "", 0, 0, "NAME", "become this user when started as root")                             \
    X(pid_file, TEXT, 'P', "pidfile", "", 0, 0, "FILE", "write the process id there once clients are served")         \
    X(log_file, TEXT, 0, "log-file", "", 0, 0, "FILE", "write log lines there instead of to standard error")          \
    X(verbose, COUNT, 'v', "verbose", "0", 0, 0, "", "write more log lines")                                          \
    X(enable_shutdown, FLAG, 'A', "enable-shutdown", "no", 0, 0, "", "let clients stop the server with `shutdown`")   \
    X(track_sizes, FLAG, 0, "track-sizes", "no", 0, 0, "", "answer `stats sizes`, by a walk over all items")          \
    X(config, TEXT, 0, "config", "", 0, 0, "FILE", "read options from FILE first; see --sample-config")

#define OPTIONS_OTHER(X)                                                                                              \
    X(udp_port, TEXT, 'U', "udp-port", "0", 0, 0, "PORT", "for memcached's scripts: only 0, there is no UDP")         \
    X(extended, TEXT, 'o', "extended", "", 0, 0, "LIST", "for memcached's scripts: accepted and ignored")             \
    X(enable_debug, FLAG, 0, "enable-debug", "no", 0, 0, "", "for tests: accept `debug` commands")                    \
    X(fault_plan, TEXT, 0, "fault-plan", "", 0, 0, "PLAN", "for tests, with --enable-debug: make system calls fail")

#define OPTION_TABLE(X) OPTIONS_LISTENING(X) OPTIONS_STORING(X) OPTIONS_RUNNING(X) OPTIONS_OTHER(X)

/* What the program does instead of serving: X(action, letter or 0, long name, help). */
#define OPTION_ACTIONS(X)                                                                                             \
    X(HELP, 'h', "help", "show this text")                                                                            \
    X(VERSION, 'V', "version", "show the version")                                                                    \
    X(CHECK, 0, "check-config", "check options and configuration file, serve nothing")                                \
    X(SAMPLE, 0, "sample-config", "write a configuration file with all options to standard output")

#endif
