/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench/complain.h"

enum status endpoint_tcp(struct endpoint *endpoint, const char *host, unsigned port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    char service[16];
    snprintf(service, sizeof service, "%u", port);
    int error = getaddrinfo(host, service, &hints, &found);
    if (error != 0) {
        complain("%s: %s", host, gai_strerror(error));
        return ST_INVALID;
    }
    memset(endpoint, 0, sizeof *endpoint);
    memcpy(&endpoint->address, found->ai_addr, found->ai_addrlen);
    endpoint->size = found->ai_addrlen;
    snprintf(endpoint->name, sizeof endpoint->name, strchr(host, ':') == NULL ? "%.300s:%u" : "[%.300s]:%u",
             host, port);
    freeaddrinfo(found);
    return ST_OK;
}

enum status endpoint_unix(struct endpoint *endpoint, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        complain("%s: longer than a socket's path may be (%zu)", path, sizeof address.sun_path - 1);
        return ST_INVALID;
    }
    memcpy(address.sun_path, path, strlen(path));
    memset(endpoint, 0, sizeof *endpoint);
    memcpy(&endpoint->address, &address, sizeof address);
    endpoint->size = sizeof address;
    snprintf(endpoint->name, sizeof endpoint->name, "%s", path);
    return ST_OK;
}

enum status endpoint_connect(const struct endpoint *endpoint, int *fd) {
    int on = 1;
    int family = endpoint->address.ss_family;
    *fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0) {
        complain("socket: %s", strerror(errno));
        return status_from_errno(errno);
    }
    if (connect(*fd, (const struct sockaddr *)&endpoint->address, endpoint->size) != 0 ||
        fcntl(*fd, F_SETFL, O_NONBLOCK) != 0 ||
        (family != AF_UNIX && setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)) {
        int error = errno;
        complain("%s: %s", endpoint->name, strerror(error));
        close(*fd);
        *fd = -1;
        return status_from_errno(error);
    }
    return ST_OK;
}
