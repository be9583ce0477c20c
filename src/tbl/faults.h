/* SPDX-License-Identifier: BSD-3-Clause */
/* Named places where a test can make the process die or a system call fail: X(name, where). */
#define FAULT_TABLE(X)                                                                                 \
    X(LOG_OPEN, "opening a log segment")                                                               \
    X(LOG_ZERO, "filling a new segment with zeros")                                                    \
    X(LOG_RENAME, "giving a segment its new number")                                                   \
    X(LOG_HEADER, "writing a segment's header")                                                        \
    X(LOG_READ, "reading a segment at start")                                                          \
    X(LOG_REWRITE, "writing the unattested tail again at start")                                       \
    X(LOG_WRITE, "writing a group")                                                                    \
    X(LOG_WRITTEN, "after a group was written, before replies leave")                                  \
    X(LOG_SYNC, "syncing a segment")                                                                   \
    X(LOG_UNLINK, "removing a segment")                                                                \
    X(DIR_SYNC, "syncing a directory")                                                                 \
    X(SECRET_WRITE, "writing the secret")                                                              \
    X(MANIFEST_WRITE, "writing the manifest")                                                          \
    X(MANIFEST_RENAME, "putting the manifest in place")                                                \
    X(TREE_CREATE, "creating a tree file")                                                             \
    X(TREE_COMMIT, "committing a chunk to the tree")                                                   \
    X(TREE_COMMITTED, "after a chunk was committed")                                                   \
    X(TREE_SWITCH, "between the manifest's rename and closing the old tree")                           \
    X(TREE_UNLINK, "removing an old tree file")                                                        \
    X(CHECKPOINT_BEGIN, "before a checkpoint's walk")                                                  \
    X(CHECKPOINT_WAIT, "after the walk, before the first chunk")                                       \
    X(CHECKPOINT_END, "after applied was committed, before segments are recycled")                     \
    X(RECOVERY_SCANNED, "after the log's end was found")                                               \
    X(RECOVERY_REPLAYED, "after the replay, before the server listens")
