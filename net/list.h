/* SPDX-License-Identifier: BSD-3-Clause */
/* list: doubly linked, intrusive; an element knows whether it is in a list and leaves it in O(1).
 *
 * A zeroed link is in no list.  One thread. */
#ifndef COFFER_NET_LIST_H
#define COFFER_NET_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
    struct link *next, *prev; /* both NULL: in no list */
};

struct list {
    struct link head;
};

#define LIST_OWNER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct list *list) {
    list->head.next = list->head.prev = &list->head;
}

static inline bool list_empty(const struct list *list) {
    return list->head.next == &list->head;
}

static inline bool link_used(const struct link *link) {
    return link->next != NULL;
}

/* At the end; nothing happens when the link is in a list already. */
static inline void list_add(struct list *list, struct link *link) {
    if (!link_used(link)) {
        link->next = &list->head;
        link->prev = list->head.prev;
        link->prev->next = link;
        list->head.prev = link;
    }
}

static inline void list_leave(struct link *link) {
    if (link_used(link)) {
        link->next->prev = link->prev;
        link->prev->next = link->next;
        link->next = link->prev = NULL;
    }
}

/* The first link, taken out; NULL when there is none. */
static inline struct link *list_pop(struct list *list) {
    struct link *first = list->head.next;
    if (first == &list->head) {
        return NULL;
    }
    list_leave(first);
    return first;
}

/* Moves everything from `from` to the end of `to`. */
static inline void list_move(struct list *to, struct list *from) {
    if (!list_empty(from)) {
        from->head.next->prev = to->head.prev;
        from->head.prev->next = &to->head;
        to->head.prev->next = from->head.next;
        to->head.prev = from->head.prev;
        list_init(from);
    }
}

#endif
