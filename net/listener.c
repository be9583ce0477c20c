/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/address.h"
#include "src/base/check.h"

struct opening {
    struct listeners *listeners;
    const struct options *options;
    struct logger *logger;
};

static enum status status_of_bind(int error) {
    return error == EADDRINUSE ? ST_BUSY : error == EADDRNOTAVAIL || error == EACCES ? ST_INVALID : ST_IO;
}

static int backlog(const struct options *options) {
    return options->backlog > 0 && options->backlog < INT32_MAX ? (int)options->backlog : SOMAXCONN;
}

static enum status add(struct opening *opening, int fd) {
    char text[ADDRESS_TEXT];
    if (listen(fd, backlog(opening->options)) != 0) {
        return status_of_bind(errno);
    }
    opening->listeners->fd[opening->listeners->count++] = fd;
    address_print_own(text, fd);
    log_info(opening->logger, "listening on %s", text);
    return ST_OK;
}

/* ---- TCP ---- */

static void set(int fd, int level, int name) {
    int on = 1;
    /* None of these is needed to serve: a system that refuses one serves a little worse. */
    (void)setsockopt(fd, level, name, &on, sizeof on);
}

/* Accepted sockets inherit the options, so none costs a call for each connection. */
static enum status open_tcp(struct opening *opening, const struct addrinfo *at) {
    enum status status;
    int fd = -1;
    if (opening->listeners->count == LISTENERS_MAX) {
        return ST_LIMIT;
    }
    fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno == EAFNOSUPPORT ? ST_INVALID : status_from_errno(errno);
    }
    set(fd, SOL_SOCKET, SO_REUSEADDR);
    set(fd, SOL_SOCKET, SO_KEEPALIVE);
    set(fd, IPPROTO_TCP, TCP_NODELAY);
    if (at->ai_family == AF_INET6) {
        set(fd, IPPROTO_IPV6, IPV6_V6ONLY); /* so that 0.0.0.0 and :: can be opened side by side */
    }
    status = bind(fd, at->ai_addr, at->ai_addrlen) == 0 ? ST_OK : status_of_bind(errno);
    if (status == ST_OK) {
        status = add(opening, fd);
    }
    if (status != ST_OK) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return status;
}

static void warn_of_strangers(struct opening *opening, const struct addrinfo *at) {
    char text[ADDRESS_TEXT];
    if (!address_is_local(at->ai_addr)) {
        address_print(text, at->ai_addr, at->ai_addrlen);
        log_warn(opening->logger, "%s can be reached from other machines, and there is no authentication: everybody "
                 "who can connect can read and change everything", text);
    }
}

/* One name may stand for several addresses (localhost): one that the machine does not have is left out as long as
 * another can be opened. */
static enum status open_each(struct opening *opening, const struct addrinfo *all, const char *name) {
    enum status first_failure = ST_OK;
    unsigned before = opening->listeners->count;
    for (const struct addrinfo *at = all; at != NULL; at = at->ai_next) {
        char text[ADDRESS_TEXT];
        enum status status = open_tcp(opening, at);
        if (status == ST_OK) {
            warn_of_strangers(opening, at);
            continue;
        }
        address_print(text, at->ai_addr, at->ai_addrlen);
        logger_line(opening->logger, status == ST_INVALID && all->ai_next != NULL ? LOGGER_WARN : LOGGER_ERROR,
                    "cannot listen on %s (%s): %s", text, name, strerror(errno));
        if (status != ST_INVALID) {
            return status;
        }
        first_failure = status;
    }
    return opening->listeners->count > before ? ST_OK : first_failure;
}

/* ADDR, ADDR:PORT, [ADDR6], [ADDR6]:PORT or ADDR6.  Cuts `text`; *port keeps its value when none is given. */
static bool split_address(char *text, const char **host, const char **port) {
    char *colon = strrchr(text, ':');
    *host = text;
    if (text[0] == '[') {
        char *end = strchr(text, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':')) {
            return false;
        }
        *host = text + 1;
        *end = '\0';
        colon = end[1] == ':' ? end + 1 : NULL;
    } else if (colon != NULL && strchr(text, ':') != colon) {
        colon = NULL;
    }
    if (colon != NULL) {
        *colon = '\0';
        *port = colon + 1;
    }
    return **host != '\0' && **port != '\0';
}

static enum status open_name(struct opening *opening, const char *name) {
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    char standard_port[24];
    const char *host;
    const char *port = standard_port;
    enum status status = ST_INVALID;
    char *text = strdup(name);
    if (text == NULL) {
        return ST_NO_MEMORY;
    }
    snprintf(standard_port, sizeof standard_port, "%llu", (unsigned long long)opening->options->port);
    if (!split_address(text, &host, &port)) {
        log_error(opening->logger, "cannot listen on %s: write ADDRESS, ADDRESS:PORT or [ADDRESS6]:PORT", name);
        goto out;
    }
    if (port == standard_port && opening->options->port == 0) {
        status = ST_OK; /* -p 0: only addresses with a port of their own */
        goto out;
    }
    int error = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, port, &hints, &all);
    if (error != 0) {
        log_error(opening->logger, "cannot listen on %s: %s", name, gai_strerror(error));
        goto out;
    }
    status = open_each(opening, all, name);
out:
    if (all != NULL) {
        freeaddrinfo(all);
    }
    free(text);
    return status;
}

/* ---- unix sockets ---- */

/* A socket file outlives the process that made it: one that nobody answers on is in the way, and removed. */
static enum status clear_path(const struct sockaddr_un *address) {
    struct stat st;
    if (lstat(address->sun_path, &st) != 0) {
        return errno == ENOENT ? ST_OK : ST_INVALID;
    }
    if (!S_ISSOCK(st.st_mode)) {
        errno = EEXIST;
        return ST_INVALID;
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return status_from_errno(errno);
    }
    bool alive = connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 || errno != ECONNREFUSED;
    close(probe);
    if (alive) {
        errno = EADDRINUSE;
        return ST_BUSY;
    }
    return unlink(address->sun_path) == 0 ? ST_OK : ST_INVALID;
}

/* The mode is set before the name exists, so that nobody can slip in, and again after it, past the umask. */
static enum status bind_unix(struct opening *opening, int fd, const struct sockaddr_un *address, mode_t mode) {
    enum status status = clear_path(address);
    if (status != ST_OK) {
        return status;
    }
    if (fchmod(fd, mode) != 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        return status_of_bind(errno);
    }
    opening->listeners->path = opening->options->socket_path;
    return chmod(address->sun_path, mode) == 0 ? add(opening, fd) : ST_IO;
}

static enum status open_unix(struct opening *opening) {
    const char *path = opening->options->socket_path;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *end;
    unsigned long mode = strtoul(opening->options->socket_mask, &end, 8);
    enum status status = ST_INVALID;
    int fd = -1;
    if (*end != '\0' || mode > 0777) {
        log_error(opening->logger, "--unix-mask %s: not an octal access mask", opening->options->socket_mask);
        return ST_INVALID;
    }
    if (strlen(path) >= sizeof address.sun_path) {
        log_error(opening->logger, "cannot listen on %s: a socket's path has at most %zu bytes", path,
                  sizeof address.sun_path - 1);
        return ST_INVALID;
    }
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        status = bind_unix(opening, fd, &address, (mode_t)mode);
    }
    if (status != ST_OK) {
        log_error(opening->logger, "cannot listen on %s: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
    }
    return status;
}

/* ---- all ---- */

enum status listeners_open(struct listeners *listeners, const struct options *options, struct logger *logger) {
    struct opening opening = {listeners, options, logger};
    enum status status = ST_OK;
    *listeners = (struct listeners){.count = 0};
    if (options->socket_path != NULL && options->socket_path[0] != '\0') {
        status = open_unix(&opening);
    } else {
        for (unsigned i = 0; status == ST_OK && i < options->listen.count; i++) {
            status = open_name(&opening, options->listen.item[i]);
        }
    }
    if (status == ST_OK && listeners->count == 0) {
        log_warn(logger, "no address to listen on: nobody can connect");
    }
    if (status != ST_OK) {
        listeners_close(listeners);
    }
    return status;
}

void listeners_close(struct listeners *listeners) {
    for (unsigned i = 0; i < listeners->count; i++) {
        close(listeners->fd[i]);
    }
    listeners->count = 0;
    if (listeners->path != NULL) {
        unlink(listeners->path);
        listeners->path = NULL;
    }
}
