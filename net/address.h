/* SPDX-License-Identifier: BSD-3-Clause */
/* address: socket addresses as memcached writes them: tcp:127.0.0.1:11211, tcp6:[::1]:11211, unix:/run/x.sock.
 *
 * Any thread. */
#ifndef COFFER_NET_ADDRESS_H
#define COFFER_NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

enum { ADDRESS_TEXT = 128 };

void address_print(char text[ADDRESS_TEXT], const struct sockaddr *address, socklen_t length);
/* Of an open socket; "?" when the system does not say. */
void address_print_own(char text[ADDRESS_TEXT], int fd);
void address_print_peer(char text[ADDRESS_TEXT], int fd);

/* Only this machine can reach it. */
bool address_is_local(const struct sockaddr *address);

#endif
