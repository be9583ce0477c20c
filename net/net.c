/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net.h"

#include <sched.h>
#include <stdlib.h>

#include "net/acceptor.h"
#include "net/address.h"
#include "net/listener.h"
#include "net/worker.h"
#include "src/base/check.h"
#include "src/base/clock.h"

enum { NET_MAGIC = 0x6e657400, WORKERS_MAX = 256 };

struct net {
    unsigned magic;
    struct command_env *env;
    struct net_shared shared;
    struct lock lock; /* guards listeners, once workers run */
    struct listeners listeners;
    struct worker *workers[WORKERS_MAX];
    unsigned worker_count;
    struct acceptor *acceptor; /* made after all workers; NULL before net_start */
    _Atomic uint64_t zero[COUNTER_COUNT]; /* what the counters stood at when they were last reset */
};

/* ---- what the command layer asks ---- */

static uint64_t sum(const struct net *net, enum counter which) {
    uint64_t total = net->acceptor != NULL ? counter_read(acceptor_counters(net->acceptor), which) : 0;
    for (unsigned i = 0; i < net->worker_count; i++) {
        total += counter_read(worker_counters(net->workers[i]), which);
    }
    return total;
}

static uint64_t host_counter(void *arg, enum counter which) {
    const struct net *net = arg;
    CHECK_OBJ(net, NET_MAGIC);
    uint64_t total = sum(net, which);
    uint64_t zero = atomic_load_explicit(&net->zero[which], memory_order_relaxed);
    return total > zero ? total - zero : 0;
}

/* Only the owner may write a counter, so a reset moves where we count from. */
static void host_reset_counters(void *arg) {
    struct net *net = arg;
    CHECK_OBJ(net, NET_MAGIC);
    for (int i = 0; i < COUNTER_COUNT; i++) {
        atomic_store_explicit(&net->zero[i], sum(net, (enum counter)i), memory_order_relaxed);
    }
}

static struct command_connections host_connections(void *arg) {
    const struct net *net = arg;
    CHECK_OBJ(net, NET_MAGIC);
    return (struct command_connections){
        .current = atomic_load(&net->shared.connections),
        .structures = atomic_load(&net->shared.structures),
        .accepting = net->acceptor != NULL && acceptor_accepting(net->acceptor),
    };
}

static enum status list_listener(int fd, int64_t age, struct buffer *text) {
    char own[ADDRESS_TEXT];
    address_print_own(own, fd);
    return buffer_printf(text, "%d:addr%c%s%c%d:state%cconn_listening%c%d:secs_since_last_cmd%c%lld%c", fd, 0, own, 0,
                         fd, 0, 0, fd, 0, (long long)(age > 0 ? age : 0), 0);
}

static enum status host_list_connections(void *arg, struct buffer *text) {
    struct net *net = arg;
    CHECK_OBJ(net, NET_MAGIC);
    int64_t now = clock_wall(net->env->clock);
    enum status status = ST_OK;
    lock_take(&net->lock);
    for (unsigned i = 0; status == ST_OK && i < net->listeners.count; i++) {
        status = list_listener(net->listeners.fd[i], now - net->env->started, text);
    }
    lock_drop(&net->lock);
    for (unsigned i = 0; status == ST_OK && i < net->worker_count; i++) {
        status = worker_list(net->workers[i], now, text);
    }
    return status;
}

static void fill_host(struct net *net) {
    struct command_host *host = &net->env->host;
    host->arg = net;
    host->counter = host_counter;
    host->reset_counters = host_reset_counters;
    host->connections = host_connections;
    host->list_connections = host_list_connections;
}

/* ---- life ---- */

static void descriptor_freed(void *arg) {
    struct net *net = arg;
    CHECK_OBJ(net, NET_MAGIC);
    acceptor_descriptor_freed(net->acceptor);
}

/* Values in flight may take half of the memory for items, and always at least one of the largest. */
static uint64_t body_limit(const struct options *options) {
    uint64_t least = 64 << 20;
    uint64_t memory = options->memory > 0 ? options->memory : options_available_memory() / 8;
    uint64_t limit = memory / 2 > least ? memory / 2 : least;
    return limit > options->item_max + 2 ? limit : options->item_max + 2;
}

/* options.threads, or as many as there are cores that this process may run on. */
static unsigned wanted_workers(const struct options *options) {
    cpu_set_t cores;
    uint64_t count = options->threads;
    if (count == 0) {
        count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? (uint64_t)CPU_COUNT(&cores) : 1;
    }
    return count > WORKERS_MAX ? WORKERS_MAX : (unsigned)count;
}

enum status net_create(struct net **net, struct command_env *env) {
    struct net *created = calloc(1, sizeof *created);
    *net = created;
    if (created == NULL) {
        return ST_NO_MEMORY;
    }
    created->magic = NET_MAGIC;
    created->env = env;
    created->shared = (struct net_shared){
        .env = env, .body_limit = body_limit(env->options), .descriptor_freed = descriptor_freed, .arg = created};
    lock_init(&created->lock, LOCK_LEAF);
    fill_host(created);
    return ST_OK;
}

static enum status create_parts(struct net *net) {
    unsigned wanted = wanted_workers(net->env->options);
    enum status status = listeners_open(&net->listeners, net->env->options, net->env->logger);
    for (unsigned i = 0; status == ST_OK && i < wanted; i++) {
        status = worker_create(&net->workers[i], &net->shared);
        net->worker_count += status == ST_OK;
    }
    if (status == ST_OK) {
        status = acceptor_create(&net->acceptor, &net->shared, &net->listeners, net->workers, net->worker_count);
    }
    return status;
}

enum status net_start(struct net *net) {
    CHECK_OBJ(net, NET_MAGIC);
    enum status status = create_parts(net);
    for (unsigned i = 0; status == ST_OK && i < net->worker_count; i++) {
        status = worker_start(net->workers[i], i);
    }
    if (status == ST_OK) {
        status = acceptor_start(net->acceptor);
    }
    if (status != ST_OK) {
        log_error(net->env->logger, "cannot start serving: %s", status_text(status));
        net_stop(net, 0);
    }
    return status;
}

void net_stop(struct net *net, unsigned seconds) {
    CHECK_OBJ(net, NET_MAGIC);
    if (net->acceptor != NULL) {
        acceptor_stop(net->acceptor);
    }
    lock_take(&net->lock);
    listeners_close(&net->listeners);
    lock_drop(&net->lock);
    uint64_t deadline = clock_micros() + (uint64_t)seconds * 1000 * 1000;
    for (unsigned i = 0; i < net->worker_count; i++) {
        worker_stop(net->workers[i], deadline);
    }
    for (unsigned i = 0; i < net->worker_count; i++) {
        worker_join(net->workers[i]);
    }
}

void net_destroy(struct net **net) {
    struct net *dying = *net;
    if (dying == NULL) {
        return;
    }
    CHECK_OBJ(dying, NET_MAGIC);
    /* Workers end their sessions, and so the last use of the acceptor. */
    for (unsigned i = 0; i < dying->worker_count; i++) {
        worker_destroy(&dying->workers[i]);
    }
    acceptor_destroy(&dying->acceptor);
    lock_destroy(&dying->lock);
    dying->magic = 0;
    free(dying);
    *net = NULL;
}
