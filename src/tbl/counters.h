/* SPDX-License-Identifier: BSD-3-Clause */
/* Event counters kept per worker and summed on read: X(name).  The name is the `stats` name (memcached's). */
#define COUNTER_TABLE(X)                                                                               \
    X(cmd_get) X(cmd_set) X(cmd_flush) X(cmd_touch) X(cmd_meta)                                        \
    X(get_hits) X(get_misses) X(get_expired) X(get_flushed)                                            \
    X(delete_misses) X(delete_hits)                                                                    \
    X(incr_misses) X(incr_hits) X(decr_misses) X(decr_hits)                                            \
    X(cas_misses) X(cas_hits) X(cas_badval)                                                            \
    X(touch_hits) X(touch_misses)                                                                      \
    X(store_too_large) X(store_no_memory) X(total_items)                                               \
    X(auth_cmds) X(auth_errors)                                                                        \
    X(bytes_read) X(bytes_written)                                                                     \
    X(total_connections) X(rejected_connections) X(closed_connections) X(conn_yields)                  \
    X(listen_disabled_num) X(idle_kicks) X(read_buf_oom) X(response_obj_oom)                           \
    X(replies_held) X(replies_failed) X(protocol_errors)
