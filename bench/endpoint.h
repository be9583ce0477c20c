/* SPDX-License-Identifier: BSD-3-Clause */
/* endpoint: where the server listens.  Looked up once; then constant, any thread. */
#ifndef COFFER_BENCH_ENDPOINT_H
#define COFFER_BENCH_ENDPOINT_H

#include <sys/socket.h>

#include "src/base/status.h"

enum { ENDPOINT_NAME = 320 };

struct endpoint {
    struct sockaddr_storage address;
    socklen_t size;
    char name[ENDPOINT_NAME]; /* for people */
};

/* What is wrong has been said when these do not return ST_OK. */
enum status endpoint_tcp(struct endpoint *endpoint, const char *host, unsigned port) MUST_CHECK;
enum status endpoint_unix(struct endpoint *endpoint, const char *path) MUST_CHECK;

/* A connected, non-blocking socket that sends without delay. */
enum status endpoint_connect(const struct endpoint *endpoint, int *fd) MUST_CHECK;

#endif
