/* SPDX-License-Identifier: BSD-3-Clause */
/* transport: moves bytes between a connection and its peer: TCP and unix sockets alike; an encrypted kind is another
 * table of the same three functions.
 *
 * Never blocks and raises no signal.  Used by the thread that owns the connection. */
#ifndef COFFER_NET_TRANSPORT_H
#define COFFER_NET_TRANSPORT_H

#include <stddef.h>
#include <sys/uio.h>

enum transport_end {
    TRANSPORT_OK,    /* at least one byte was moved */
    TRANSPORT_AGAIN, /* nothing now: wait for the descriptor */
    TRANSPORT_EOF,   /* read only: the peer has sent its last byte */
    TRANSPORT_BROKEN /* nothing will ever be moved this way again */
};

struct transport;

struct transport_kind {
    enum transport_end (*read)(struct transport *transport, struct iovec *parts, int count, size_t *moved);
    enum transport_end (*write)(struct transport *transport, struct iovec *parts, int count, size_t *moved);
    void (*close)(struct transport *transport);
};

struct transport {
    const struct transport_kind *kind;
    int fd; /* what to wait for */
};

extern const struct transport_kind transport_socket;

static inline enum transport_end transport_read(struct transport *t, struct iovec *parts, int count, size_t *moved) {
    return t->kind->read(t, parts, count, moved);
}

static inline enum transport_end transport_write(struct transport *t, struct iovec *parts, int count, size_t *moved) {
    return t->kind->write(t, parts, count, moved);
}

static inline void transport_close(struct transport *t) {
    t->kind->close(t);
}

#endif
