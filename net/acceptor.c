/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/acceptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/check.h"
#include "src/base/clock.h"
#include "src/base/thread.h"

enum { ACCEPTOR_MAGIC = 0x61636370, ACCEPTS_PER_EVENT = 64, RETRY_MILLIS = 1000, TELL_EVERY_MICROS = 60 * 1000 * 1000 };

struct door {
    struct acceptor *acceptor;
    struct watch *watch;
    int fd;
};

struct acceptor {
    unsigned magic;
    bool started;
    pthread_t thread;
    struct net_shared *shared;
    struct worker **workers;
    unsigned worker_count;
    struct loop *loop;
    struct inbox *inbox;
    struct watch *inbox_watch;
    struct ticket stop_ticket, resume_ticket;
    struct door doors[LISTENERS_MAX];
    unsigned door_count;

    /* the thread's own */
    unsigned next;
    bool stopping;
    uint64_t told_at; /* when the operator was last told of running out of descriptors */

    atomic_bool starved; /* out of descriptors; whoever clears it makes the acceptor go on */

    struct counters counters;
};

static struct logger *logger_of(const struct acceptor *acceptor) {
    return acceptor->shared->env->logger;
}

/* ---- running out of descriptors ---- */

static void open_doors(struct acceptor *acceptor) {
    for (unsigned i = 0; i < acceptor->door_count; i++) {
        struct door *door = &acceptor->doors[i];
        if (watch_set(door->watch, door->fd, WATCH_READ) != ST_OK) {
            log_error(logger_of(acceptor), "cannot watch a listening socket: %s", strerror(errno));
        }
    }
}

static void close_doors(struct acceptor *acceptor) {
    for (unsigned i = 0; i < acceptor->door_count; i++) {
        watch_stop(acceptor->doors[i].watch);
    }
}

static void starve(struct acceptor *acceptor, int error) {
    count(&acceptor->counters, COUNT_listen_disabled_num);
    uint64_t now = clock_micros();
    if (acceptor->told_at == 0 || now - acceptor->told_at > TELL_EVERY_MICROS) {
        acceptor->told_at = now;
        log_warn(logger_of(acceptor), "cannot accept connections for now: %s", strerror(error));
    }
    close_doors(acceptor);
    atomic_store(&acceptor->starved, true);
}

static void resume(struct ticket *ticket) {
    struct acceptor *acceptor = LIST_OWNER(ticket, struct acceptor, resume_ticket);
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    if (!acceptor->stopping) {
        open_doors(acceptor);
    }
}

void acceptor_descriptor_freed(struct acceptor *acceptor) {
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    if (atomic_load_explicit(&acceptor->starved, memory_order_relaxed) && atomic_exchange(&acceptor->starved, false)) {
        inbox_post(&acceptor->resume_ticket);
    }
}

/* ---- accepting ---- */

/* What the client has sent already is read first: closing with unread input would reset the connection, and the
 * answer could be lost with it. */
static void turn_away(struct acceptor *acceptor, int fd) {
    static const char answer[] = "ERROR Too many open connections\r\n";
    char dropped[4096];
    count(&acceptor->counters, COUNT_rejected_connections);
    (void)!recv(fd, dropped, sizeof dropped, MSG_DONTWAIT);
    (void)!send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
    close(fd);
}

static void let_in(struct acceptor *acceptor, int fd) {
    if (atomic_load(&acceptor->shared->connections) >= acceptor->shared->env->options->max_connections) {
        turn_away(acceptor, fd);
        return;
    }
    atomic_fetch_add(&acceptor->shared->connections, 1);
    count(&acceptor->counters, COUNT_total_connections);
    worker_adopt(acceptor->workers[acceptor->next], fd);
    acceptor->next = (acceptor->next + 1) % acceptor->worker_count;
}

static void on_client(void *arg, unsigned what) {
    struct door *door = arg;
    struct acceptor *acceptor = door->acceptor;
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    (void)what;
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        int fd = accept4(door->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            let_in(acceptor, fd);
            continue;
        }
        switch (errno) {
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
            starve(acceptor, errno);
            return;
        case EINTR:
        case ECONNABORTED:
            continue;
        default:
            return; /* nobody is there, or one client's network failed: the loop tells about the next one */
        }
    }
}

/* ---- life ---- */

static void on_inbox(void *arg, unsigned what) {
    struct acceptor *acceptor = arg;
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    (void)what;
    inbox_drain(acceptor->inbox);
}

static void stop_asked(struct ticket *ticket) {
    struct acceptor *acceptor = LIST_OWNER(ticket, struct acceptor, stop_ticket);
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    acceptor->stopping = true;
}

static void *run(void *arg) {
    struct acceptor *acceptor = arg;
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    while (!acceptor->stopping) {
        bool starved = atomic_load(&acceptor->starved);
        loop_pass(acceptor->loop, starved ? RETRY_MILLIS : -1);
        if (starved && atomic_exchange(&acceptor->starved, false)) {
            open_doors(acceptor);
        }
    }
    return NULL;
}

static enum status make_doors(struct acceptor *acceptor, const struct listeners *listeners) {
    enum status status = ST_OK;
    for (unsigned i = 0; status == ST_OK && i < listeners->count; i++) {
        struct door *door = &acceptor->doors[i];
        *door = (struct door){.acceptor = acceptor, .fd = listeners->fd[i]};
        acceptor->door_count++;
        status = watch_create(&door->watch, acceptor->loop, on_client, door);
        if (status == ST_OK) {
            status = watch_set(door->watch, door->fd, WATCH_READ);
        }
    }
    return status;
}

static enum status open_parts(struct acceptor *acceptor, const struct listeners *listeners) {
    enum status status = inbox_create(&acceptor->inbox);
    if (status == ST_OK) {
        status = loop_create(&acceptor->loop);
    }
    if (status == ST_OK) {
        status = watch_create(&acceptor->inbox_watch, acceptor->loop, on_inbox, acceptor);
    }
    if (status == ST_OK) {
        status = watch_set(acceptor->inbox_watch, inbox_fd(acceptor->inbox), WATCH_READ);
    }
    if (status == ST_OK) {
        status = make_doors(acceptor, listeners);
    }
    acceptor->stop_ticket = (struct ticket){NULL, acceptor->inbox, stop_asked};
    acceptor->resume_ticket = (struct ticket){NULL, acceptor->inbox, resume};
    return status;
}

enum status acceptor_create(struct acceptor **acceptor, struct net_shared *shared, const struct listeners *listeners,
                            struct worker **workers, unsigned worker_count) {
    struct acceptor *created = aligned_alloc(_Alignof(struct acceptor), sizeof *created);
    *acceptor = NULL;
    if (created == NULL) {
        return ST_NO_MEMORY;
    }
    *created = (struct acceptor){
        .magic = ACCEPTOR_MAGIC, .shared = shared, .workers = workers, .worker_count = worker_count};
    enum status status = open_parts(created, listeners);
    if (status != ST_OK) {
        acceptor_destroy(&created);
    }
    *acceptor = created;
    return status;
}

enum status acceptor_start(struct acceptor *acceptor) {
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    enum status status = thread_start(&acceptor->thread, "acceptor", run, acceptor);
    acceptor->started = status == ST_OK;
    return status;
}

void acceptor_stop(struct acceptor *acceptor) {
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    if (acceptor->started) {
        inbox_post(&acceptor->stop_ticket);
        thread_join(acceptor->thread);
        acceptor->started = false;
    }
    close_doors(acceptor);
}

void acceptor_destroy(struct acceptor **acceptor) {
    struct acceptor *dying = *acceptor;
    if (dying == NULL) {
        return;
    }
    CHECK_OBJ(dying, ACCEPTOR_MAGIC);
    CHECK(!dying->started);
    dying->stopping = true;
    for (unsigned i = 0; i < dying->door_count; i++) {
        watch_destroy(&dying->doors[i].watch);
    }
    watch_destroy(&dying->inbox_watch);
    loop_destroy(&dying->loop);
    if (dying->inbox != NULL) {
        inbox_drain(dying->inbox); /* a worker may have asked to go on after the thread's end */
    }
    inbox_destroy(&dying->inbox);
    dying->magic = 0;
    free(dying);
    *acceptor = NULL;
}

bool acceptor_accepting(const struct acceptor *acceptor) {
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    return !atomic_load(&acceptor->starved);
}

const struct counters *acceptor_counters(const struct acceptor *acceptor) {
    CHECK_OBJ(acceptor, ACCEPTOR_MAGIC);
    return &acceptor->counters;
}
