/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/inbox.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "src/base/thread.h"
#include "tests/unit/support_cmocka.h"

enum { POSTERS = 4, ROUNDS = 5000, TICKETS = 8 };

struct work {
    struct ticket ticket;
    unsigned number;
    unsigned *log; /* numbers in the order of delivery */
    unsigned *count;
};

static void note(struct ticket *ticket) {
    struct work *work = (struct work *)ticket;
    work->log[(*work->count)++] = work->number;
}

static bool readable(const struct inbox *inbox) {
    struct pollfd poll_fd = {.fd = inbox_fd(inbox), .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

static void tickets_arrive_in_the_order_of_posting(void **state) {
    (void)state;
    struct inbox *inbox;
    struct work work[TICKETS];
    unsigned log[TICKETS];
    unsigned count = 0;
    assert_ok(inbox_create(&inbox));
    for (unsigned i = 0; i < TICKETS; i++) {
        work[i] = (struct work){{NULL, inbox, note}, i, log, &count};
        inbox_post(&work[i].ticket);
    }
    assert_int_equal(count, 0);
    assert_int_equal(inbox_drain(inbox), TICKETS);
    assert_int_equal(count, TICKETS);
    for (unsigned i = 0; i < TICKETS; i++) {
        assert_int_equal(log[i], i);
    }
    assert_int_equal(inbox_drain(inbox), 0);
    inbox_destroy(&inbox);
    assert_null(inbox);
}

static void the_descriptor_wakes_once_for_a_batch(void **state) {
    (void)state;
    struct inbox *inbox;
    struct work work[2];
    unsigned log[4];
    unsigned count = 0;
    assert_ok(inbox_create(&inbox));
    assert_false(readable(inbox));
    for (unsigned i = 0; i < 2; i++) {
        work[i] = (struct work){{NULL, inbox, note}, i, log, &count};
        inbox_post(&work[i].ticket);
        assert_true(readable(inbox));
    }
    uint64_t wakes;
    assert_int_equal(read(inbox_fd(inbox), &wakes, sizeof wakes), sizeof wakes);
    assert_int_equal(wakes, 1);
    assert_int_equal(inbox_drain(inbox), 2);
    assert_false(readable(inbox));

    /* After a drain the next one wakes again. */
    inbox_post(&work[0].ticket);
    assert_true(readable(inbox));
    assert_int_equal(inbox_drain(inbox), 1);
    assert_false(readable(inbox));
    inbox_destroy(&inbox);
}

static void post_again(struct ticket *ticket) {
    struct work *work = (struct work *)ticket;
    if (++*work->count < 3) {
        inbox_post(ticket);
    }
}

static void a_delivery_may_post_its_ticket_again(void **state) {
    (void)state;
    struct inbox *inbox;
    unsigned count = 0;
    assert_ok(inbox_create(&inbox));
    struct work work = {{NULL, inbox, post_again}, 0, NULL, &count};
    inbox_post(&work.ticket);
    for (unsigned turn = 1; turn <= 3; turn++) {
        assert_true(readable(inbox));
        assert_int_equal(inbox_drain(inbox), 1);
        assert_int_equal(count, turn);
    }
    assert_false(readable(inbox));
    inbox_destroy(&inbox);
}

/* A thread that sends its one ticket to the receiver and sends it again when it has come back. */
struct poster {
    struct ticket ticket;
    pthread_t thread;
    struct inbox *own;
    struct inbox *receiver;
    unsigned sent;
    unsigned received; /* counted on the receiver's thread */
    unsigned returned;
    bool hung;
};

static void come_home(struct ticket *ticket) {
    ((struct poster *)ticket)->returned++;
}

static void send_home(struct ticket *ticket) {
    struct poster *poster = (struct poster *)ticket;
    poster->received++;
    ticket->inbox = poster->own;
    ticket->deliver = come_home;
    inbox_post(ticket);
}

/* False when nothing came for long enough to call the wake lost. */
static bool wait_and_drain(struct inbox *inbox) {
    struct pollfd poll_fd = {.fd = inbox_fd(inbox), .events = POLLIN};
    int ready;
    do {
        ready = poll(&poll_fd, 1, 30000);
    } while (ready < 0 && errno == EINTR);
    inbox_drain(inbox);
    return ready == 1;
}

static void *post_rounds(void *arg) {
    struct poster *poster = arg;
    while (poster->sent < ROUNDS && !poster->hung) {
        poster->sent++;
        poster->ticket.inbox = poster->receiver;
        poster->ticket.deliver = send_home;
        inbox_post(&poster->ticket);
        while (poster->returned < poster->sent && !poster->hung) {
            poster->hung = !wait_and_drain(poster->own);
        }
    }
    return NULL;
}

static unsigned sum_received(const struct poster *posters) {
    unsigned sum = 0;
    for (unsigned i = 0; i < POSTERS; i++) {
        sum += posters[i].received;
    }
    return sum;
}

static void no_wake_is_lost_between_threads(void **state) {
    (void)state;
    static struct poster posters[POSTERS];
    struct inbox *receiver;
    assert_ok(inbox_create(&receiver));
    for (unsigned i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){.receiver = receiver};
        assert_ok(inbox_create(&posters[i].own));
    }
    for (unsigned i = 0; i < POSTERS; i++) {
        assert_ok(thread_start(&posters[i].thread, "poster", post_rounds, &posters[i]));
    }
    bool woken = true;
    while (woken && sum_received(posters) < POSTERS * ROUNDS) {
        woken = wait_and_drain(receiver);
    }
    assert_true(woken);
    for (unsigned i = 0; i < POSTERS; i++) {
        thread_join(posters[i].thread);
        assert_false(posters[i].hung);
        assert_int_equal(posters[i].received, ROUNDS);
        assert_int_equal(posters[i].returned, ROUNDS);
        inbox_destroy(&posters[i].own);
    }
    inbox_destroy(&receiver);
}

/* The owner may go as soon as it has the last ticket, while the poster is still inside inbox_post. */
static void *post_once(void *arg) {
    inbox_post(arg);
    return NULL;
}

static void destruction_waits_for_the_last_poster(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct inbox *inbox;
        pthread_t thread;
        unsigned log[1];
        unsigned count = 0;
        assert_ok(inbox_create(&inbox));
        struct work work = {{NULL, inbox, note}, 0, log, &count};
        assert_ok(thread_start(&thread, "poster", post_once, &work.ticket));
        while (count == 0) {
            inbox_drain(inbox);
        }
        inbox_destroy(&inbox);
        thread_join(thread);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tickets_arrive_in_the_order_of_posting),
        cmocka_unit_test(the_descriptor_wakes_once_for_a_batch),
        cmocka_unit_test(a_delivery_may_post_its_ticket_again),
        cmocka_unit_test(no_wake_is_lost_between_threads),
        cmocka_unit_test(destruction_waits_for_the_last_poster),
    };
    return cmocka_run_group_tests_name("inbox", tests, NULL, NULL);
}
