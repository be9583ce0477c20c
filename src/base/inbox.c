/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue is a stack that posters push with one compare-and-swap and that the owner takes whole and turns round:
 * no lock, so a poster never waits for the owner or for another poster's write(2).
 *
 * A lost wake would hang requests.  Why there is none: the owner reads the eventfd before it takes the stack, so a
 * ticket pushed after the taking finds the stack empty and writes again.  At worst the owner is woken once more for
 * nothing. */
#include "src/base/inbox.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/base/check.h"

enum { INBOX_MAGIC = 0x696e6278 };

struct inbox {
    unsigned magic;
    int fd;
    struct ticket *_Atomic newest;
    atomic_uint posting; /* posters that may still touch the inbox: destruction waits for them */
};

enum status inbox_create(struct inbox **inbox) {
    struct inbox *created = calloc(1, sizeof *created);
    *inbox = NULL;
    if (created == NULL) {
        return ST_NO_MEMORY;
    }
    created->magic = INBOX_MAGIC;
    created->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (created->fd < 0) {
        enum status status = status_from_errno(errno);
        free(created);
        return status;
    }
    *inbox = created;
    return ST_OK;
}

void inbox_destroy(struct inbox **inbox) {
    struct inbox *dying = *inbox;
    if (dying == NULL) {
        return;
    }
    CHECK_OBJ(dying, INBOX_MAGIC);
    /* The last ticket may have been delivered while its poster is still on the way to the eventfd. */
    while (atomic_load(&dying->posting) != 0) {
        sched_yield();
    }
    CHECK(atomic_load(&dying->newest) == NULL);
    close(dying->fd);
    dying->magic = 0;
    free(dying);
    *inbox = NULL;
}

int inbox_fd(const struct inbox *inbox) {
    CHECK_OBJ(inbox, INBOX_MAGIC);
    return inbox->fd;
}

static void wake(struct inbox *inbox) {
    uint64_t one = 1;
    ssize_t n;
    do {
        n = write(inbox->fd, &one, sizeof one);
    } while (n < 0 && errno == EINTR);
    /* EAGAIN means that the counter is full: the owner is being woken anyway. */
    CHECK(n == (ssize_t)sizeof one || errno == EAGAIN);
}

void inbox_post(struct ticket *ticket) {
    struct inbox *inbox = ticket->inbox;
    CHECK_OBJ(inbox, INBOX_MAGIC);
    atomic_fetch_add(&inbox->posting, 1);
    struct ticket *older = atomic_load(&inbox->newest);
    do {
        ticket->next = older;
    } while (!atomic_compare_exchange_weak(&inbox->newest, &older, ticket));
    /* From here on the ticket is the owner's. */
    if (older == NULL) {
        wake(inbox);
    }
    atomic_fetch_sub(&inbox->posting, 1);
}

static struct ticket *take_oldest_first(struct inbox *inbox) {
    struct ticket *stack = atomic_exchange(&inbox->newest, NULL);
    struct ticket *queue = NULL;
    while (stack != NULL) {
        struct ticket *next = stack->next;
        stack->next = queue;
        queue = stack;
        stack = next;
    }
    return queue;
}

unsigned inbox_drain(struct inbox *inbox) {
    CHECK_OBJ(inbox, INBOX_MAGIC);
    uint64_t count;
    ssize_t n;
    /* Before the tickets are taken: a wake that comes later is for a later ticket, or finds nothing. */
    do {
        n = read(inbox->fd, &count, sizeof count);
    } while (n < 0 && errno == EINTR);
    CHECK(n == (ssize_t)sizeof count || errno == EAGAIN);
    unsigned delivered = 0;
    struct ticket *ticket = take_oldest_first(inbox);
    while (ticket != NULL) {
        struct ticket *next = ticket->next; /* deliver may free the ticket or post it again */
        ticket->next = NULL;
        ticket->deliver(ticket);
        ticket = next;
        delivered++;
    }
    return delivered;
}
