/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/slots.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/check.h"
#include "src/base/hash.h"

struct slot *slot_take(struct pool *pool, struct connection *connection) {
    struct slot *slot = pool_take(pool);
    if (slot != NULL) {
        memset(slot, 0, offsetof(struct slot, key));
        slot->connection = connection;
    }
    return slot;
}

void slot_give(struct pool *pool, struct slot *slot) {
    CHECK(slot->state != SLOT_PARKED);
    if (slot->constant == NULL) {
        command_finish(&slot->command);
    }
    free(slot->words);
    pool_give(pool, slot);
}

/* Words are rare, and long only when somebody tries. */
static enum status keep_words(struct slot *slot) {
    struct request *request = &slot->command.request;
    size_t total = 0;
    for (unsigned i = 0; i < request->word_count; i++) {
        total += request->words[i].n;
    }
    slot->words = malloc(total + 1);
    if (slot->words == NULL) {
        return ST_NO_MEMORY;
    }
    char *to = slot->words;
    for (unsigned i = 0; i < request->word_count; i++) {
        struct slice *word = &request->words[i];
        memcpy(to, word->p, word->n);
        word->p = to;
        to += word->n;
    }
    return ST_OK;
}

enum status slot_keep_bytes(struct slot *slot) {
    struct request *request = &slot->command.request;
    CHECK(request->key.n <= sizeof slot->key);
    if (request->key.n > 0 && request->key.p != slot->key) {
        memcpy(slot->key, request->key.p, request->key.n);
        request->key.p = slot->key;
    }
    return request->word_count > 0 ? keep_words(slot) : ST_OK;
}

static uint64_t key_sum(struct slice key) {
    return hash_key(key.p, key.n, 0);
}

/* Keeps the counts of parked slots; n is 1 or -1. */
static void count_parked(struct slots *slots, struct slot *slot, int n) {
    if (slot->state == SLOT_PARKED) {
        slots->parked += (unsigned)n;
        slots->parked_reads += slot->plain_read ? (unsigned)n : 0;
    }
}

void slots_add(struct slots *slots, struct slot *slot) {
    slot->next = NULL;
    if (slots->last != NULL) {
        slots->last->next = slot;
    } else {
        slots->first = slot;
    }
    slots->last = slot;
    slots->count++;
    count_parked(slots, slot, 1);
    if (slot->state == SLOT_PARKED && slot->plain_read) {
        slot->key_sum = key_sum(slot->command.request.key);
    }
}

struct slot *slots_pop(struct slots *slots) {
    struct slot *slot = slots->first;
    CHECK(slot->state != SLOT_PARKED);
    slots->first = slot->next;
    if (slot->next == NULL) {
        slots->last = NULL;
    }
    slots->count--;
    return slot;
}

void slots_set(struct slots *slots, struct slot *slot, enum slot_state state) {
    count_parked(slots, slot, -1);
    slot->state = state;
    count_parked(slots, slot, 1);
}

/* A dump, whose pages come one after the other, is always the first: it begins when nothing is parked. */
bool slots_admit(const struct slots *slots, const struct slot *slot) {
    if (slots->parked == 0) {
        return slots->first == NULL || slots->first->state != SLOT_MORE;
    }
    if (!slot->plain_read || slots->parked_reads < slots->parked) {
        return false;
    }
    struct slice key = slot->command.request.key;
    uint64_t sum = key_sum(key);
    for (const struct slot *other = slots->first; other != NULL; other = other->next) {
        if (other->state == SLOT_PARKED && other->key_sum == sum &&
            slice_equal(other->command.request.key, key)) {
            return false;
        }
    }
    return true;
}
