/* SPDX-License-Identifier: BSD-3-Clause */
/* What a request can ask for, whatever the protocol: X(name, may write to the log). */
#define COMMAND_TABLE(X)                                                                               \
    X(GET, 0)       /* read; with touch_ttl, vivify or recache it may write */                         \
    X(STORE, 1)     /* set add replace append prepend, with or without a cas condition */              \
    X(DELETE, 1)                                                                                       \
    X(ARITH, 1)     /* incr decr */                                                                    \
    X(TOUCH, 1)                                                                                        \
    X(FLUSH, 1)                                                                                        \
    X(DUMP, 0)      /* all keys, paged: answers COMMAND_MORE */                                        \
    X(NOOP, 0)                                                                                         \
    X(VERSION, 0)                                                                                      \
    X(VERBOSITY, 0)                                                                                    \
    X(STATS, 0)                                                                                        \
    X(MEMLIMIT, 0)                                                                                     \
    X(SHUTDOWN, 0)                                                                                     \
    X(DEBUG, 0)     /* tests only: clock, fault, checkpoint (option enable-debug) */                   \
    X(QUIT, 0)
