/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/cmd/prefixes.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "src/base/check.h"
#include "src/base/hash.h"
#include "src/base/lock.h"
#include "src/cmd/token.h"

enum { PREFIXES_MAGIC = 0x70726678, HEADS = 1024 };

struct tally {
    uint64_t gets, hits, sets, deletes;
};

struct prefix {
    struct prefix *next;  /* with the same head */
    struct prefix *later; /* in order of first use */
    struct tally tally;
    size_t length;
    char name[];
};

struct prefixes {
    unsigned magic;
    uint64_t seed;
    atomic_bool enabled;
    struct lock lock; /* guards what follows */
    struct prefix *heads[HEADS];
    struct prefix *first;
    struct prefix **last;
    struct tally others; /* what came when there was no room */
    unsigned count;
};

enum status prefixes_create(struct prefixes **prefixes) {
    struct prefixes *created = calloc(1, sizeof *created);
    *prefixes = created;
    if (created == NULL) {
        return ST_NO_MEMORY;
    }
    created->magic = PREFIXES_MAGIC;
    hash_random(&created->seed, sizeof created->seed);
    atomic_init(&created->enabled, false);
    lock_init(&created->lock, LOCK_LEAF);
    created->last = &created->first;
    return ST_OK;
}

static void forget_all(struct prefixes *prefixes) {
    struct prefix *prefix = prefixes->first;
    while (prefix != NULL) {
        struct prefix *later = prefix->later;
        free(prefix);
        prefix = later;
    }
    memset(prefixes->heads, 0, sizeof prefixes->heads);
    memset(&prefixes->others, 0, sizeof prefixes->others);
    prefixes->first = NULL;
    prefixes->last = &prefixes->first;
    prefixes->count = 0;
}

void prefixes_destroy(struct prefixes **prefixes) {
    if (*prefixes != NULL) {
        CHECK_OBJ(*prefixes, PREFIXES_MAGIC);
        forget_all(*prefixes);
        lock_destroy(&(*prefixes)->lock);
        (*prefixes)->magic = 0;
        free(*prefixes);
        *prefixes = NULL;
    }
}

void prefixes_enable(struct prefixes *prefixes, bool enabled) {
    if (prefixes != NULL) {
        atomic_store_explicit(&prefixes->enabled, enabled, memory_order_relaxed);
    }
}

bool prefixes_enabled(const struct prefixes *prefixes) {
    return prefixes != NULL && atomic_load_explicit(&prefixes->enabled, memory_order_relaxed);
}

void prefixes_reset(struct prefixes *prefixes) {
    if (prefixes != NULL) {
        lock_take(&prefixes->lock);
        forget_all(prefixes);
        lock_drop(&prefixes->lock);
    }
}

static struct tally *add(struct prefixes *prefixes, struct slice name, struct prefix **head) {
    struct prefix *prefix = NULL;
    if (prefixes->count < PREFIXES_MAX) {
        prefix = calloc(1, sizeof *prefix + name.n);
    }
    if (prefix == NULL) {
        return &prefixes->others;
    }
    prefix->length = name.n;
    memcpy(prefix->name, name.p, name.n);
    prefix->next = *head;
    *head = prefix;
    *prefixes->last = prefix;
    prefixes->last = &prefix->later;
    prefixes->count++;
    return &prefix->tally;
}

/* Where the key's prefix is counted, with the lock taken; NULL, without it, when it is not. */
static struct tally *take(struct prefixes *prefixes, struct slice key) {
    const char *colon;
    if (!prefixes_enabled(prefixes) || (colon = memchr(key.p, ':', key.n)) == NULL) {
        return NULL;
    }
    struct slice name = slice_of(key.p, (size_t)(colon - key.p));
    struct prefix **head = &prefixes->heads[hash_key(name.p, name.n, prefixes->seed) % HEADS];
    lock_take(&prefixes->lock);
    for (struct prefix *prefix = *head; prefix != NULL; prefix = prefix->next) {
        if (slice_equal(name, slice_of(prefix->name, prefix->length))) {
            return &prefix->tally;
        }
    }
    return add(prefixes, name, head);
}

void prefixes_get(struct prefixes *prefixes, struct slice key, bool hit) {
    struct tally *tally = take(prefixes, key);
    if (tally != NULL) {
        tally->gets++;
        tally->hits += hit;
        lock_drop(&prefixes->lock);
    }
}

void prefixes_set(struct prefixes *prefixes, struct slice key) {
    struct tally *tally = take(prefixes, key);
    if (tally != NULL) {
        tally->sets++;
        lock_drop(&prefixes->lock);
    }
}

void prefixes_delete(struct prefixes *prefixes, struct slice key) {
    struct tally *tally = take(prefixes, key);
    if (tally != NULL) {
        tally->deletes++;
        lock_drop(&prefixes->lock);
    }
}

static enum status print_line(struct buffer *lines, struct slice name, const struct tally *tally) {
    enum status status = buffer_append(lines, "PREFIX ", strlen("PREFIX "));
    if (status == ST_OK) {
        status = token_append(lines, name);
    }
    if (status == ST_OK) {
        status = buffer_printf(lines, " get %llu hit %llu set %llu del %llu", (unsigned long long)tally->gets,
                               (unsigned long long)tally->hits, (unsigned long long)tally->sets,
                               (unsigned long long)tally->deletes);
    }
    return status == ST_OK ? buffer_append(lines, "", 1) : status;
}

enum status prefixes_dump(struct prefixes *prefixes, struct buffer *lines) {
    enum status status = ST_OK;
    if (prefixes == NULL) {
        return ST_OK;
    }
    lock_take(&prefixes->lock);
    const struct tally *others = &prefixes->others;
    for (const struct prefix *prefix = prefixes->first; prefix != NULL && status == ST_OK; prefix = prefix->later) {
        status = print_line(lines, slice_of(prefix->name, prefix->length), &prefix->tally);
    }
    if (status == ST_OK && others->gets + others->sets + others->deletes > 0) {
        status = print_line(lines, slice_str("(others)"), others);
    }
    lock_drop(&prefixes->lock);
    return status;
}
