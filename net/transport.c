/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/transport.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/check.h"

static enum transport_end failure(void) {
    return errno == EAGAIN || errno == EWOULDBLOCK ? TRANSPORT_AGAIN : TRANSPORT_BROKEN;
}

/* One part is what nearly every request needs, and the plain calls cost the kernel less than the gathering ones. */
static enum transport_end socket_read(struct transport *transport, struct iovec *parts, int count, size_t *moved) {
    ssize_t n;
    do {
        n = count == 1 ? recv(transport->fd, parts->iov_base, parts->iov_len, 0) : readv(transport->fd, parts, count);
    } while (n < 0 && errno == EINTR);
    *moved = n > 0 ? (size_t)n : 0;
    return n > 0 ? TRANSPORT_OK : n == 0 ? TRANSPORT_EOF : failure();
}

static enum transport_end socket_write(struct transport *transport, struct iovec *parts, int count, size_t *moved) {
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    ssize_t n;
    do {
        n = count == 1 ? send(transport->fd, parts->iov_base, parts->iov_len, MSG_NOSIGNAL)
                       : sendmsg(transport->fd, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    *moved = n > 0 ? (size_t)n : 0;
    return n >= 0 ? TRANSPORT_OK : failure();
}

static void socket_close(struct transport *transport) {
    if (transport->fd >= 0) {
        close(transport->fd);
        transport->fd = -1;
    }
}

const struct transport_kind transport_socket = {socket_read, socket_write, socket_close};
