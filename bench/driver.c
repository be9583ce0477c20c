/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/complain.h"
#include "bench/pace.h"
#include "src/base/check.h"

enum { DRIVER_MAGIC = 0x64726976, EVENTS = 256, LONGEST_WAIT = 100000000, SECOND = 1000000000 };

struct driver {
    unsigned magic;
    struct driver_config config;
    struct lane **lanes;
    int epoll;
    char *in;      /* LANE_READ bytes */
    char *out;     /* room for `depth` requests */
    uint64_t *ids; /* room for one request's */
    struct tally *tally;
    /* The phase. */
    const struct phase *phase;
    struct picker picker;
    struct random chance;
    uint64_t set_below,
        delete_below; /* 32 random bits below these make it a set, a delete; else it is a get */
    struct pace pace;
    uint64_t started, deadline, last_reply;
    uint64_t waiting_since; /* when a request was sent while none was in flight */
    uint64_t left;          /* requests still to send */
    uint64_t in_flight;
    unsigned turn; /* the lane that a paced request is offered first */
    _Atomic uint64_t done;
};

/* ---- Opening and closing. */

static enum status open_lanes(struct driver *driver) {
    const struct driver_config *config = &driver->config;
    enum status status = ST_OK;
    for (unsigned i = 0; i < config->lanes && status == ST_OK; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        status = lane_open(&driver->lanes[i], &config->lane);
        if (status == ST_OK) {
            event.data.ptr = driver->lanes[i];
            CHECK(epoll_ctl(driver->epoll, EPOLL_CTL_ADD, lane_fd(driver->lanes[i]), &event) == 0);
        }
    }
    return status;
}

enum status driver_open(struct driver **driver, const struct driver_config *config) {
    enum status status = ST_NO_MEMORY;
    const struct lane_config *lane = &config->lane;
    struct driver *made = calloc(1, sizeof *made);
    *driver = made;
    if (made == NULL) {
        goto out;
    }
    made->magic = DRIVER_MAGIC;
    made->config = *config;
    made->epoll = epoll_create1(EPOLL_CLOEXEC);
    made->lanes = calloc(config->lanes, sizeof(struct lane *));
    made->in = malloc(LANE_READ);
    made->out = malloc(lane->depth * protocol_request_max(lane->dataset, lane->multi));
    made->ids = calloc(lane->multi, sizeof *made->ids);
    if (made->epoll < 0 || made->lanes == NULL || made->in == NULL || made->out == NULL ||
        made->ids == NULL) {
        goto out;
    }
    status = tally_create(&made->tally);
    if (status == ST_OK) {
        status = open_lanes(made);
    }
out:
    if (status == ST_NO_MEMORY) {
        complain("out of memory");
    }
    if (status != ST_OK) {
        driver_close(driver);
    }
    return status;
}

void driver_close(struct driver **driver) {
    if (*driver == NULL) {
        return;
    }
    struct driver *closing = *driver;
    CHECK_OBJ(closing, DRIVER_MAGIC);
    closing->magic = 0;
    for (unsigned i = 0; closing->lanes != NULL && i < closing->config.lanes; i++) {
        lane_close(&closing->lanes[i]);
    }
    if (closing->epoll >= 0) {
        close(closing->epoll);
    }
    tally_destroy(&closing->tally);
    free(closing->lanes);
    free(closing->in);
    free(closing->out);
    free(closing->ids);
    free(closing);
    *driver = NULL;
}

/* ---- Sending. */

static enum operation choose(struct driver *driver) {
    uint64_t draw = random_next(&driver->chance) >> 32;
    return draw < driver->set_below ? OP_SET : draw < driver->delete_below ? OP_DELETE : OP_GET;
}

static char *compose(struct driver *driver, struct lane *lane, uint64_t start, char *out) {
    enum operation operation = choose(driver);
    unsigned n = operation == OP_GET ? driver->phase->multi : 1;
    for (unsigned i = 0; i < n; i++) {
        driver->ids[i] = picker_next(&driver->picker);
    }
    driver->left--;
    if (driver->in_flight++ == 0) {
        driver->waiting_since = lane_clock();
    }
    return lane_queue(lane, operation, driver->ids, n, start, out);
}

static enum status watch(struct driver *driver, struct lane *lane, bool writable) {
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0u), .data.ptr = lane};
    CHECK(epoll_ctl(driver->epoll, EPOLL_CTL_MOD, lane_fd(lane), &event) == 0);
    return ST_OK;
}

/* Sends what was composed into `out` up to `end`. */
static enum status send_out(struct driver *driver, struct lane *lane, const char *end) {
    bool more;
    enum status status = lane_send(lane, driver->out, (size_t)(end - driver->out), &more);
    return status == ST_OK && more ? watch(driver, lane, true) : status;
}

static bool is_over(const struct driver *driver, uint64_t now) {
    return driver->left == 0 || now >= driver->deadline ||
           atomic_load_explicit(driver->phase->stop, memory_order_relaxed);
}

/* The next requests of a lane that works in a loop. */
static enum status refill(struct driver *driver, struct lane *lane) {
    unsigned busy = lane_in_flight(lane);
    if (busy >= driver->phase->depth || (busy > 0 && !driver->phase->sliding)) {
        return ST_OK;
    }
    uint64_t now = lane_clock();
    if (is_over(driver, now)) {
        driver->left = 0;
        return ST_OK;
    }
    char *end = driver->out;
    for (unsigned i = busy; i < driver->phase->depth && driver->left > 0; i++) {
        end = compose(driver, lane, now, end);
    }
    return send_out(driver, lane, end);
}

/* Gives a lane its part of the requests that are due. */
static enum status send_paced(struct driver *driver, struct lane *lane, uint64_t share) {
    char *end = driver->out;
    unsigned room = driver->phase->depth - lane_in_flight(lane);
    for (unsigned i = 0; i < room && i < share && driver->left > 0; i++) {
        end = compose(driver, lane, pace_take(&driver->pace), end);
    }
    return end == driver->out ? ST_OK : send_out(driver, lane, end);
}

/* Sends what is due, round the lanes that have room; what finds none stays due. */
static enum status send_due(struct driver *driver, uint64_t now) {
    enum status status = ST_OK;
    unsigned lanes = driver->config.lanes;
    if (is_over(driver, now)) {
        uint64_t due = pace_due(&driver->pace, now < driver->deadline ? now : driver->deadline - 1);
        driver->tally->unsent += due < driver->left ? due : driver->left;
        driver->left = 0;
        return ST_OK;
    }
    uint64_t due = pace_due(&driver->pace, now);
    for (unsigned tried = 0; tried < lanes && due > 0 && driver->left > 0 && status == ST_OK; tried++) {
        struct lane *lane = driver->lanes[driver->turn];
        driver->turn = driver->turn + 1 < lanes ? driver->turn + 1 : 0;
        status = send_paced(driver, lane, (due + lanes - 1) / lanes);
        due = pace_due(&driver->pace, now);
    }
    return status;
}

static enum status send_more(struct driver *driver, struct lane *lane) {
    return driver->phase->rate > 0 ? ST_OK : refill(driver, lane);
}

/* ---- The loop. */

static enum status serve(struct driver *driver, const struct epoll_event *event) {
    struct lane *lane = event->data.ptr;
    enum status status = ST_OK;
    if (event->events & EPOLLOUT) {
        bool more;
        status = lane_flush(lane, &more);
        if (status == ST_OK && !more) {
            status = watch(driver, lane, false);
        }
    }
    if (status == ST_OK && event->events & ~(uint32_t)EPOLLOUT) {
        unsigned before = lane_in_flight(lane);
        status = lane_read(lane, driver->in, driver->tally, &driver->last_reply);
        driver->in_flight -= before - lane_in_flight(lane);
    }
    return status == ST_OK ? send_more(driver, lane) : status;
}

/* Nanoseconds until something other than a reply asks for attention. */
static uint64_t patience(const struct driver *driver, uint64_t now) {
    uint64_t next = now + LONGEST_WAIT;
    if (driver->left > 0 && driver->deadline < next) {
        next = driver->deadline;
    }
    bool full = driver->in_flight >= (uint64_t)driver->config.lanes * driver->phase->depth;
    if (driver->phase->rate > 0 && driver->left > 0 && !full && pace_next(&driver->pace) < next) {
        next = pace_next(&driver->pace);
    }
    return next > now ? next - now : 0;
}

static enum status wait_and_serve(struct driver *driver, uint64_t now) {
    struct epoll_event events[EVENTS];
    uint64_t wait = patience(driver, now);
    struct timespec timeout = {.tv_sec = (time_t)(wait / SECOND), .tv_nsec = (long)(wait % SECOND)};
    int n = epoll_pwait2(driver->epoll, events, EVENTS, &timeout, NULL);
    if (n < 0 && errno != EINTR) {
        complain("waiting: %s", strerror(errno));
        return ST_IO;
    }
    enum status status = ST_OK;
    for (int i = 0; i < n && status == ST_OK; i++) {
        status = serve(driver, &events[i]);
    }
    return status;
}

static void begin(struct driver *driver, const struct phase *phase) {
    const struct driver_config *config = &driver->config;
    uint64_t share = phase->requests / config->drivers + (config->index < phase->requests % config->drivers);
    driver->phase = phase;
    /* Threads draw different keys; the same command line draws the same again. */
    uint64_t seed = random_mix(config->seed * 1000 + config->index);
    picker_init(&driver->picker, phase->distribution, config->keys, phase->theta, seed);
    picker_share(&driver->picker, config->index, config->drivers);
    random_seed(&driver->chance, seed + 1);
    driver->set_below = (uint64_t)(phase->shares[OP_SET] * 0x1p32);
    driver->delete_below = (uint64_t)((phase->shares[OP_SET] + phase->shares[OP_DELETE]) * 0x1p32);
    tally_clear(driver->tally);
    driver->left = phase->requests == 0 ? UINT64_MAX : share;
    driver->started = driver->last_reply = lane_clock();
    driver->deadline =
        phase->seconds > 0 ? driver->started + (uint64_t)(phase->seconds * SECOND) : UINT64_MAX;
    if (phase->rate > 0) {
        double own = phase->rate / config->drivers;
        pace_init(&driver->pace, driver->started + (uint64_t)(config->index * SECOND / phase->rate), own);
    }
}

static void publish(struct driver *driver) {
    uint64_t done = 0;
    for (unsigned i = 0; i < OP_COUNT; i++) {
        done += driver->tally->row[i].requests;
    }
    atomic_store_explicit(&driver->done, done, memory_order_relaxed);
}

/* Fails when the server owes replies and has sent none for too long. */
static enum status check_patience(const struct driver *driver, uint64_t now) {
    uint64_t since = driver->last_reply > driver->waiting_since ? driver->last_reply : driver->waiting_since;
    if (driver->in_flight == 0 || now < since + (uint64_t)(driver->config.timeout * SECOND)) {
        return ST_OK;
    }
    complain("no reply for %g seconds with %llu requests in flight", driver->config.timeout,
             (unsigned long long)driver->in_flight);
    return ST_AGAIN;
}

/* One pass: replies, then requests that are due. */
static enum status pass(struct driver *driver, uint64_t *now) {
    enum status status = wait_and_serve(driver, *now);
    *now = lane_clock();
    if (status == ST_OK && driver->phase->rate > 0 && driver->left > 0) {
        status = send_due(driver, *now);
    } else if (is_over(driver, *now)) {
        driver->left = 0;
    }
    publish(driver);
    return status == ST_OK ? check_patience(driver, *now) : status;
}

enum status driver_run(struct driver *driver, const struct phase *phase) {
    enum status status = ST_OK;
    CHECK_OBJ(driver, DRIVER_MAGIC);
    CHECK(phase->depth <= driver->config.lane.depth && phase->multi <= driver->config.lane.multi);
    /* The default slack of timers, 50 us, would be seen in every latency at a rate. */
    prctl(PR_SET_TIMERSLACK, 1ul);
    begin(driver, phase);
    publish(driver);
    for (unsigned i = 0; i < driver->config.lanes && status == ST_OK; i++) {
        status = send_more(driver, driver->lanes[i]);
    }
    uint64_t now = driver->started;
    while (status == ST_OK && (driver->left > 0 || driver->in_flight > 0)) {
        status = pass(driver, &now);
    }
    return status;
}

uint64_t driver_done(const struct driver *driver) {
    return atomic_load_explicit(&driver->done, memory_order_relaxed);
}

const struct tally *driver_tally(const struct driver *driver) {
    return driver->tally;
}

uint64_t driver_elapsed(const struct driver *driver) {
    return driver->last_reply - driver->started;
}
