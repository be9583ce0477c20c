/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/check.h"

enum { LOOP_MAGIC = 0x6c6f6f70, WATCH_MAGIC = 0x77617463, NO_FD = -1 };

struct loop {
    unsigned magic;
    struct event_base *base;
    struct event timer; /* ends a pass that waits for a limited time */
};

struct watch {
    unsigned magic;
    unsigned what;
    int fd;
    struct loop *loop;
    void (*ready)(void *arg, unsigned what);
    void *arg;
    struct event event;
};

static void time_is_up(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
}

/* No locks (one thread), and no surprises from the environment. */
static struct event_base *new_base(void) {
    struct event_base *base = NULL;
    struct event_config *config = event_config_new();
    if (config != NULL) {
        if (event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV) == 0) {
            base = event_base_new_with_config(config);
        }
        event_config_free(config);
    }
    return base;
}

enum status loop_create(struct loop **loop) {
    struct loop *created = calloc(1, sizeof *created);
    *loop = NULL;
    if (created == NULL) {
        return ST_NO_MEMORY;
    }
    created->magic = LOOP_MAGIC;
    created->base = new_base();
    if (created->base == NULL || evtimer_assign(&created->timer, created->base, time_is_up, NULL) != 0) {
        loop_destroy(&created);
        return ST_NO_MEMORY;
    }
    *loop = created;
    return ST_OK;
}

void loop_destroy(struct loop **loop) {
    if (*loop != NULL) {
        CHECK_OBJ(*loop, LOOP_MAGIC);
        if ((*loop)->base != NULL) {
            event_base_free((*loop)->base);
        }
        (*loop)->magic = 0;
        free(*loop);
        *loop = NULL;
    }
}

void loop_pass(struct loop *loop, int millis) {
    CHECK_OBJ(loop, LOOP_MAGIC);
    if (millis > 0) {
        struct timeval limit = {millis / 1000, (millis % 1000) * 1000};
        CHECK(evtimer_add(&loop->timer, &limit) == 0);
    }
    /* epoll_wait fails only when this file misuses it; a loop without events returns 1 at once, which is fine. */
    CHECK(event_base_loop(loop->base, millis == 0 ? EVLOOP_ONCE | EVLOOP_NONBLOCK : EVLOOP_ONCE) >= 0);
    if (millis > 0) {
        CHECK(evtimer_del(&loop->timer) == 0);
    }
}

static void fired(evutil_socket_t fd, short what, void *arg) {
    struct watch *watch = arg;
    CHECK_OBJ(watch, WATCH_MAGIC);
    (void)fd;
    watch->ready(watch->arg, ((what & EV_READ) ? WATCH_READ : 0) | ((what & EV_WRITE) ? WATCH_WRITE : 0));
}

enum status watch_create(struct watch **watch, struct loop *loop, void (*ready)(void *arg, unsigned what), void *arg) {
    CHECK_OBJ(loop, LOOP_MAGIC);
    struct watch *created = calloc(1, sizeof *created);
    if (created != NULL) {
        created->magic = WATCH_MAGIC;
        created->fd = NO_FD;
        created->loop = loop;
        created->ready = ready;
        created->arg = arg;
    }
    *watch = created;
    return created != NULL ? ST_OK : ST_NO_MEMORY;
}

void watch_destroy(struct watch **watch) {
    if (*watch != NULL) {
        watch_stop(*watch);
        (*watch)->magic = 0;
        free(*watch);
        *watch = NULL;
    }
}

void watch_stop(struct watch *watch) {
    CHECK_OBJ(watch, WATCH_MAGIC);
    if (watch->what != 0) {
        CHECK(event_del(&watch->event) == 0);
        watch->what = 0;
    }
}

enum status watch_set(struct watch *watch, int fd, unsigned what) {
    CHECK_OBJ(watch, WATCH_MAGIC);
    if (watch->what == what && (what == 0 || watch->fd == fd)) {
        return ST_OK;
    }
    watch_stop(watch);
    if (what == 0) {
        return ST_OK;
    }
    short events = (short)(EV_PERSIST | ((what & WATCH_READ) ? EV_READ : 0) | ((what & WATCH_WRITE) ? EV_WRITE : 0));
    if (event_assign(&watch->event, watch->loop->base, fd, events, fired, watch) != 0 ||
        event_add(&watch->event, NULL) != 0) {
        return status_from_errno(errno);
    }
    watch->fd = fd;
    watch->what = what;
    return ST_OK;
}
