/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock order: a thread may take a lock only when every lock that it holds stands above it here.
 * Locks of one class may be held together only in ascending address order (flush_all takes all stripes).
 * X(name, what it guards). */
#define LOCK_TABLE(X)                                                                                  \
    X(SERVER, "start, stop and reload of the server")                                                  \
    X(TREE_JOB, "the tree thread's job list and checkpoint state")                                     \
    X(TREE_READER, "one thread's read transaction")                                                    \
    X(STRIPE, "a part of the RAM table")                                                               \
    X(LOG_APPEND, "the log's pending chunks and next LSN")                                             \
    X(LOG_WAIT, "who waits for the log's mark")                                                        \
    X(LOG_SYNC, "the sync thread's state and the list of segments")                                    \
    X(STORE_WAIT, "requests that are parked for room")                                                 \
    X(POOL, "the reader pool's queue")                                                                 \
    X(LEAF, "anything that takes no other lock: inbox, logger, counters")
