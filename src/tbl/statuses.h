/* SPDX-License-Identifier: BSD-3-Clause */
/* One row a status: X(name, text for people). What a row means on the wire is chosen in net/. */
#define STATUS_TABLE(X)                                                                                \
    X(OK, "ok")                                                                                        \
    X(NOT_FOUND, "not found")                                                                          \
    X(INVALID, "invalid argument")                                                                     \
    X(NO_MEMORY, "out of memory")                                                                      \
    X(NO_SPACE, "no space left on the disk")                                                           \
    X(LIMIT, "over a configured limit")                                                                \
    X(BUSY, "in use by another process")                                                               \
    X(IO, "input/output error")                                                                        \
    X(CORRUPT, "damaged data")                                                                         \
    X(READ_ONLY, "the store is read-only after a failed write or sync")                                \
    X(AGAIN, "not now")
