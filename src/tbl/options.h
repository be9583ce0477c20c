/* SPDX-License-Identifier: BSD-3-Clause */
/* Every option: X(field, type, letter or 0, long name, default text, argument name or "", help).
 * Types: TEXT (char *, last one wins), LIST (given several times or comma-separated), NUMBER, SIZE (k m g t), FLAG,
 * COUNT (-v -vv), SYNC (always | interval=MS | os).  The names are memcached's where memcached has them. */
#ifndef COFFER_TBL_OPTIONS_H
#define COFFER_TBL_OPTIONS_H

#define OPTION_LIST_MAX 16

struct option_list {
    char *item[OPTION_LIST_MAX];
    unsigned count;
};

struct option_sync {
    int mode;        /* enum store_sync: 0 always, 1 interval, 2 os */
    unsigned millis; /* of interval */
};

#define OPTION_TYPE_TEXT   char *
#define OPTION_TYPE_LIST   struct option_list
#define OPTION_TYPE_NUMBER uint64_t
#define OPTION_TYPE_SIZE   uint64_t
#define OPTION_TYPE_FLAG   bool
#define OPTION_TYPE_COUNT  unsigned
#define OPTION_TYPE_SYNC   struct option_sync

#define OPTION_TABLE(X)                                                                                               \
    X(port, NUMBER, 'p', "port", "11211", "PORT", "TCP port to listen on (0: none)")                                  \
    X(socket_path, TEXT, 's', "unix-socket", "", "PATH", "unix socket to listen on (disables TCP)")                   \
    X(socket_mask, TEXT, 'a', "unix-mask", "700", "MASK", "access mask of the unix socket, octal")                    \
    X(listen, LIST, 'l', "listen", "127.0.0.1", "ADDR[:PORT]", "address to listen on; may be repeated")               \
    X(data_dir, TEXT, 'H', "data-dir", "./coffer-data", "DIR", "directory of the store")                              \
    X(sync, SYNC, 0, "sync", "interval=100", "MODE", "always, interval=MS or os: when a reply may leave")             \
    X(memory, SIZE, 'm', "memory-limit", "0", "SIZE",                                                                 \
      "RAM for items; a plain number is megabytes (default: 1/8 of what the process may use)")                        \
    X(threads, NUMBER, 't', "threads", "0", "N", "worker threads (default: number of cores)")                         \
    X(readers, NUMBER, 0, "readers", "32", "N", "threads for cold reads")                                             \
    X(max_connections, NUMBER, 'c', "conn-limit", "1024", "N", "simultaneous connections")                            \
    X(backlog, NUMBER, 'b', "listen-backlog", "1024", "N", "backlog of the listening sockets")                        \
    X(requests_per_event, NUMBER, 'R', "max-reqs-per-event", "20", "N",                                               \
      "requests of one connection before others get their turn")                                                      \
    X(item_max, SIZE, 'I', "max-item-size", "1m", "SIZE", "largest value, up to 64m")                                 \
    X(log_max, SIZE, 0, "log-max", "1g", "SIZE", "log kept before writers wait for a checkpoint")                     \
    X(log_segment, SIZE, 0, "log-segment", "64m", "SIZE", "size of one log file")                                     \
    X(checkpoint_seconds, NUMBER, 0, "checkpoint-seconds", "60", "N", "oldest change not yet in the tree")            \
    X(daemonize, FLAG, 'd', "daemon", "no", "", "run in the background")                                              \
    X(user, TEXT, 'u', "user", "", "NAME", "user to become when started as root")                                     \
    X(pid_file, TEXT, 'P', "pidfile", "", "FILE", "write the process id there")                                       \
    X(log_file, TEXT, 0, "log-file", "", "FILE", "write log lines there (reopened on SIGHUP)")                        \
    X(verbose, COUNT, 'v', "verbose", "0", "", "more log lines (-vv: even more)")                                     \
    X(enable_shutdown, FLAG, 'A', "enable-shutdown", "no", "", "accept the shutdown command")                         \
    X(enable_debug, FLAG, 0, "enable-debug", "no", "", "accept the debug commands of the test suite")                 \
    X(fault_plan, TEXT, 0, "fault-plan", "", "PLAN", "with --enable-debug: make system calls fail (tests)")           \
    X(track_sizes, FLAG, 0, "track-sizes", "no", "", "answer `stats sizes` with a histogram")                         \
    X(config, TEXT, 0, "config", "", "FILE", "read options from FILE (name = value)")                                 \
    X(ignored_udp, TEXT, 'U', "udp-port", "0", "PORT", "accepted for memcached's scripts: 0 only")                    \
    X(ignored_extended, TEXT, 'o', "extended", "", "OPTIONS", "accepted for memcached's scripts and ignored")

#endif
