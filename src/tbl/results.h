/* SPDX-License-Identifier: BSD-3-Clause */
/* How a request ended, whatever the protocol: X(name, is an error).  Each composer has its own words for it. */
#define RESULT_TABLE(X)                                                                                \
    X(HIT, 0)          /* response.item */                                                             \
    X(MISS, 0)         /* no such item */                                                              \
    X(STORED, 0)       /* response.cas */                                                              \
    X(NOT_STORED, 0)   /* add on an existing key, replace/append/prepend on a missing one */           \
    X(EXISTS, 0)       /* the cas condition failed */                                                  \
    X(DELETED, 0)                                                                                      \
    X(TOUCHED, 0)                                                                                      \
    X(NUMBER, 0)       /* response.number */                                                           \
    X(OK, 0)                                                                                           \
    X(VERSION, 0)                                                                                      \
    X(STATS, 0)        /* response.text: name NUL value NUL, repeated */                               \
    X(LINES, 0)        /* response.text: lines as they are, each ended by NUL; END follows */              \
    X(RESET, 0)        /* stats reset */                                                               \
    X(ROWS, 0)         /* response.rows: a page of a dump; the last one has more == false */           \
    X(CLOSE, 0)        /* quit: no reply, close */                                                     \
    X(NOT_NUMERIC, 1)  /* incr or decr on something else than a decimal of 64 bits */                  \
    X(BAD_DELTA, 1)    /* the client's delta is not a number */                                        \
    X(TOO_LARGE, 1)    /* value over item_max */                                                       \
    X(NO_MEMORY, 1)                                                                                    \
    X(DISK_FULL, 1)                                                                                    \
    X(READ_ONLY, 1)                                                                                    \
    X(DAMAGED, 1)      /* checksum or I/O error while reading */                                       \
    X(DISABLED, 1)     /* shutdown or debug not enabled */                                             \
    X(BAD_ARGUMENT, 1) /* a well-formed command with an argument that makes no sense: response.text */ \
    X(UNKNOWN, 1)      /* no such command or stats group */
