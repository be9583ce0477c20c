/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

/* A socket without a name (a client's, or one of a pair) is "unix:unnamed", and so is one of the abstract kind. */
static void print_unix(char text[ADDRESS_TEXT], const struct sockaddr *address, socklen_t length) {
    const struct sockaddr_un *un = (const void *)address;
    size_t before = offsetof(struct sockaddr_un, sun_path);
    size_t n = length > before ? length - before : 0;
    bool named = n > 0 && un->sun_path[0] != '\0';
    snprintf(text, ADDRESS_TEXT, "unix:%.*s", named ? (int)strnlen(un->sun_path, n) : 7,
             named ? un->sun_path : "unnamed");
}

void address_print(char text[ADDRESS_TEXT], const struct sockaddr *address, socklen_t length) {
    char host[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *in = (const void *)address;
    const struct sockaddr_in6 *in6 = (const void *)address;
    switch (address->sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(text, ADDRESS_TEXT, "tcp:%s:%u", host, ntohs(in->sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(text, ADDRESS_TEXT, "tcp6:[%s]:%u", host, ntohs(in6->sin6_port));
        break;
    case AF_UNIX:
        print_unix(text, address, length);
        break;
    default:
        snprintf(text, ADDRESS_TEXT, "?");
    }
}

static void print_of(char text[ADDRESS_TEXT], int fd, int (*ask)(int, struct sockaddr *, socklen_t *)) {
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof address;
    if (ask(fd, (struct sockaddr *)&address, &length) != 0) {
        snprintf(text, ADDRESS_TEXT, "?");
        return;
    }
    address_print(text, (const struct sockaddr *)&address, length);
}

static int ask_own(int fd, struct sockaddr *address, socklen_t *length) {
    return getsockname(fd, address, length);
}

static int ask_peer(int fd, struct sockaddr *address, socklen_t *length) {
    return getpeername(fd, address, length);
}

void address_print_own(char text[ADDRESS_TEXT], int fd) {
    print_of(text, fd, ask_own);
}

void address_print_peer(char text[ADDRESS_TEXT], int fd) {
    print_of(text, fd, ask_peer);
}

bool address_is_local(const struct sockaddr *address) {
    const struct sockaddr_in *in = (const void *)address;
    const struct sockaddr_in6 *in6 = (const void *)address;
    switch (address->sa_family) {
    case AF_INET:
        return ntohl(in->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    default:
        return true;
    }
}
