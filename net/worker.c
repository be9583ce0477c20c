/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/address.h"
#include "net/connection.h"
#include "src/base/check.h"
#include "src/base/thread.h"

enum {
    WORKER_MAGIC = 0x776f726b,
    SLOTS_KEPT = 512,
    REQUESTS_MAX = 1 << 20,
    STOPPING_PASS_MILLIS = 20, /* how soon a stopping worker looks at its deadline */
};

struct worker {
    unsigned magic;
    bool started;
    pthread_t thread;
    struct inbox *inbox;
    struct watch *inbox_watch;
    struct ticket stop_ticket;
    uint64_t deadline; /* set before stop_ticket is posted */

    /* the thread's own */
    struct home home;
    bool inbox_ready;
    bool awaits_mark; /* the session was asked, and has not answered */
    bool stopping, abandoned;

    struct counters counters;
};

/* ---- new connections ---- */

struct handover {
    struct ticket ticket;
    struct worker *worker;
    int fd;
};

static void take_over(struct ticket *ticket) {
    struct handover *handover = LIST_OWNER(ticket, struct handover, ticket);
    struct worker *worker = handover->worker;
    if (connection_open(&worker->home, handover->fd) != ST_OK) {
        log_error(worker->home.shared->env->logger, "closing a new connection: out of memory");
    }
    free(handover);
}

void worker_adopt(struct worker *worker, int fd) {
    CHECK_OBJ(worker, WORKER_MAGIC);
    struct handover *handover = malloc(sizeof *handover);
    if (handover == NULL) {
        close(fd);
        atomic_fetch_sub(&worker->home.shared->connections, 1);
        return;
    }
    *handover = (struct handover){{NULL, worker->inbox, take_over}, worker, fd};
    inbox_post(&handover->ticket);
}

/* ---- the end of a pass ---- */

static void on_mark(void *arg) {
    struct worker *worker = arg;
    CHECK_OBJ(worker, WORKER_MAGIC);
    worker->awaits_mark = false;
}

static struct connection *pop_held(struct list *list) {
    struct link *link = list_pop(list);
    return link != NULL ? LIST_OWNER(link, struct connection, held_link) : NULL;
}

/* Each held connection either gets rid of replies or comes back to home->held with what it still waits for. */
static void release_held(struct home *home, uint64_t mark, bool failed) {
    struct list waiting;
    struct connection *c;
    list_init(&waiting);
    list_move(&waiting, &home->held);
    home->held_stamp = 0;
    while ((c = pop_held(&waiting)) != NULL) {
        if (failed) {
            connection_fail_held(c, mark);
        } else {
            connection_flush(c, mark);
        }
    }
}

/* health before mark: once the log has failed the mark stands still, so what is above it then is lost. */
static void look_after_held(struct worker *worker) {
    struct home *home = &worker->home;
    struct store *store = home->shared->env->store;
    bool failed = store_health(store) != ST_OK;
    uint64_t mark = store_mark(store);
    if (failed || home->held_stamp <= mark) {
        release_held(home, mark, failed);
    }
    /* One question at a time.  A smaller stamp than the one asked for is met no later than that one, and sooner when a
     * pass comes by; asking again could find the first answer on its way. */
    if (!list_empty(&home->held) && !worker->awaits_mark) {
        worker->awaits_mark = true;
        session_await(home->command.session, home->held_stamp);
    }
}

static void let_replies_go(struct worker *worker) {
    struct home *home = &worker->home;
    struct link *link;
    uint64_t mark = store_mark(home->shared->env->store);
    while ((link = list_pop(&home->unsent)) != NULL) {
        connection_flush(LIST_OWNER(link, struct connection, unsent_link), mark);
    }
    if (!list_empty(&home->held)) {
        look_after_held(worker);
    }
}

/* ---- passes ---- */

static void on_inbox(void *arg, unsigned what) {
    struct worker *worker = arg;
    CHECK_OBJ(worker, WORKER_MAGIC);
    (void)what;
    worker->inbox_ready = true;
}

/* Connections that become ready while others run get their turn in the next pass. */
static void run_ready(struct home *home) {
    struct list now;
    struct link *link;
    list_init(&now);
    list_move(&now, &home->ready);
    while ((link = list_pop(&now)) != NULL) {
        connection_run(LIST_OWNER(link, struct connection, ready_link));
    }
}

static void pass(struct worker *worker) {
    struct home *home = &worker->home;
    bool busy = !list_empty(&home->ready) || !list_empty(&home->again);
    loop_pass(home->loop, busy ? 0 : worker->stopping ? STOPPING_PASS_MILLIS : -1);
    home->command.now = session_tick(home->command.session);
    home->mark = store_mark(home->shared->env->store);
    list_move(&home->ready, &home->again);
    if (worker->inbox_ready) {
        worker->inbox_ready = false;
        inbox_drain(worker->inbox);
    }
    run_ready(home);
    session_commit(home->command.session);
    let_replies_go(worker);
}

static void each_open(struct home *home, void (*act)(struct connection *c)) {
    struct link *link = home->open.head.next;
    while (link != &home->open.head) {
        struct link *next = link->next;
        act(LIST_OWNER(link, struct connection, open_link));
        link = next;
    }
}

static void stop_asked(struct ticket *ticket) {
    struct worker *worker = LIST_OWNER(ticket, struct worker, stop_ticket);
    CHECK_OBJ(worker, WORKER_MAGIC);
    worker->stopping = true;
    each_open(&worker->home, connection_drain);
}

static bool has_work(struct worker *worker) {
    if (!worker->stopping) {
        return true;
    }
    if (!worker->abandoned && clock_micros() >= worker->deadline) {
        worker->abandoned = true;
        store_hurry(worker->home.shared->env->store); /* requests that wait for room keep their connections */
        each_open(&worker->home, connection_abandon);
    }
    return worker->home.open_count > 0 || (worker->awaits_mark && !worker->abandoned);
}

static void *run(void *arg) {
    struct worker *worker = arg;
    CHECK_OBJ(worker, WORKER_MAGIC);
    while (has_work(worker)) {
        pass(worker);
    }
    return NULL;
}

/* ---- life ---- */

static void home_init(struct home *home, struct net_shared *shared) {
    home->shared = shared;
    uint64_t requests = shared->env->options->requests_per_event;
    /* The read counts as one request, too. */
    home->budget = (int)(requests < REQUESTS_MAX ? requests + 1 : REQUESTS_MAX) * HOME_REQUEST_COST;
    input_home_init(&home->input);
    output_pools_init(&home->output);
    pool_init(&home->slots, sizeof(struct slot), SLOTS_KEPT);
    list_init(&home->ready);
    list_init(&home->again);
    list_init(&home->unsent);
    list_init(&home->held);
    list_init(&home->idle);
    list_init(&home->open);
    lock_init(&home->lock, LOCK_LEAF);
}

static void home_free(struct home *home) {
    CHECK(home->open_count == 0);
    connection_free_idle(home);
    input_home_free(&home->input);
    output_pools_free(&home->output);
    pool_free(&home->slots);
    lock_destroy(&home->lock);
}

static enum status open_parts(struct worker *worker) {
    struct home *home = &worker->home;
    const struct command_env *env = home->shared->env;
    enum status status = inbox_create(&worker->inbox);
    if (status == ST_OK) {
        status = loop_create(&home->loop);
    }
    if (status == ST_OK) {
        status = watch_create(&worker->inbox_watch, home->loop, on_inbox, worker);
    }
    if (status == ST_OK) {
        status = watch_set(worker->inbox_watch, inbox_fd(worker->inbox), WATCH_READ);
    }
    if (status == ST_OK) {
        status = session_open(&home->command.session, env->store, worker->inbox, on_mark, worker);
    }
    home->command.env = env;
    home->command.inbox = worker->inbox;
    home->command.counters = &worker->counters;
    return status;
}

enum status worker_create(struct worker **worker, struct net_shared *shared) {
    struct worker *created = aligned_alloc(_Alignof(struct worker), sizeof *created);
    *worker = NULL;
    if (created == NULL) {
        return ST_NO_MEMORY;
    }
    *created = (struct worker){.magic = WORKER_MAGIC, .stop_ticket = {.deliver = stop_asked}};
    home_init(&created->home, shared);
    enum status status = open_parts(created);
    if (status != ST_OK) {
        worker_destroy(&created);
    }
    *worker = created;
    return status;
}

enum status worker_start(struct worker *worker, unsigned number) {
    CHECK_OBJ(worker, WORKER_MAGIC);
    char name[16];
    snprintf(name, sizeof name, "worker-%u", number);
    enum status status = thread_start(&worker->thread, name, run, worker);
    worker->started = status == ST_OK;
    return status;
}

void worker_stop(struct worker *worker, uint64_t deadline_micros) {
    CHECK_OBJ(worker, WORKER_MAGIC);
    if (worker->started) {
        worker->deadline = deadline_micros;
        worker->stop_ticket.inbox = worker->inbox;
        inbox_post(&worker->stop_ticket);
    }
}

void worker_join(struct worker *worker) {
    CHECK_OBJ(worker, WORKER_MAGIC);
    if (worker->started) {
        thread_join(worker->thread);
        worker->started = false;
    }
}

void worker_destroy(struct worker **worker) {
    struct worker *dying = *worker;
    if (dying == NULL) {
        return;
    }
    CHECK_OBJ(dying, WORKER_MAGIC);
    CHECK(!dying->started);
    if (dying->home.command.session != NULL) {
        inbox_drain(dying->inbox); /* the session's answer may be in it */
        session_close(&dying->home.command.session);
    }
    home_free(&dying->home);
    watch_destroy(&dying->inbox_watch);
    loop_destroy(&dying->home.loop);
    inbox_destroy(&dying->inbox);
    dying->magic = 0;
    free(dying);
    *worker = NULL;
}

/* ---- looking in from outside ---- */

const struct counters *worker_counters(const struct worker *worker) {
    CHECK_OBJ(worker, WORKER_MAGIC);
    return &worker->counters;
}

static enum status list_one(const struct connection *c, int64_t now, struct buffer *text) {
    static const char *const words[STEP_COUNT] = {
#define X(name, word) [STEP_##name] = word,
        CONNECTION_STEPS(X)
#undef X
    };
    char peer[ADDRESS_TEXT];
    char own[ADDRESS_TEXT];
    int fd = c->transport.fd;
    int64_t idle = now - atomic_load_explicit(&c->last_run, memory_order_relaxed);
    address_print_peer(peer, fd);
    address_print_own(own, fd);
    return buffer_printf(text, "%d:addr%c%s%c%d:listen_addr%c%s%c%d:state%c%s%c%d:secs_since_last_cmd%c%lld%c", fd, 0,
                         peer, 0, fd, 0, own, 0, fd, 0,
                         words[atomic_load_explicit(&c->shown_step, memory_order_relaxed)], 0, fd, 0,
                         (long long)(idle > 0 ? idle : 0), 0);
}

enum status worker_list(struct worker *worker, int64_t now, struct buffer *text) {
    CHECK_OBJ(worker, WORKER_MAGIC);
    struct home *home = &worker->home;
    enum status status = ST_OK;
    lock_take(&home->lock);
    for (struct link *link = home->open.head.next; status == ST_OK && link != &home->open.head; link = link->next) {
        status = list_one(LIST_OWNER(link, struct connection, open_link), now, text);
    }
    lock_drop(&home->lock);
    return status;
}
