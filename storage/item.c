/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/item.h"

#include <stddef.h>
#include <stdlib.h>

#include "src/base/check.h"

enum {
    LINE_END_BYTES = 2,
    /* glibc's malloc: a chunk is the request and one word, in steps of 16 bytes, at least 32. */
    CHUNK_WORD = 8,
    CHUNK_STEP = 16,
    CHUNK_MIN = 32,
    /* What a chunk of 192 bytes has room for. */
    CHUNK_192_ROOM = 192 - CHUNK_WORD,
};

_Static_assert(offsetof(struct item, data) + 16 + 100 + LINE_END_BYTES <= CHUNK_192_ROOM,
               "a 16-byte key with a 100-byte value must fit a chunk of 192 bytes");

/* What is asked of malloc. */
static size_t request_bytes(bool has_cas, size_t key_bytes, size_t value_bytes) {
    return offsetof(struct item, data) + (has_cas ? sizeof(uint64_t) : 0) + key_bytes + value_bytes + LINE_END_BYTES;
}

static void end_line(struct item *item) {
    memcpy(item_body(item) + item->value_bytes, "\r\n", LINE_END_BYTES);
}

enum status item_create(struct item **item, struct slice key, size_t value_length) {
    struct item *made;

    *item = NULL;
    if (key.n == 0 || key.n > STORE_KEY_MAX)
        return ST_INVALID;
    if (value_length > UINT32_MAX)
        return ST_LIMIT;
    made = malloc(request_bytes(false, key.n, value_length));
    if (made == NULL)
        return ST_NO_MEMORY;
    memset(made, 0, offsetof(struct item, data));
    atomic_init(&made->refs, 1);
    made->key_bytes = (uint8_t)key.n;
    made->value_bytes = (uint32_t)value_length;
    memcpy(made->data, key.p, key.n);
    end_line(made);
    *item = made;
    return ST_OK;
}

enum status item_create_tombstone(struct item **item, struct slice key) {
    enum status status = item_create(item, key, 0);

    if (status == ST_OK)
        (*item)->kind = ITEM_TOMBSTONE;
    return status;
}

char *item_body(struct item *item) {
    return item_key_bytes(item) + item->key_bytes;
}

void item_set(struct item *item, uint32_t flags, int64_t exptime, unsigned marks) {
    item->flags = flags;
    item->exptime = exptime;
    item->marks = marks & (ITEM_STALE | ITEM_WON);
}

/* Moves key and value to where they stand with, or without, a cas before them. */
static enum status move_for_cas(struct item **item, bool has_cas) {
    struct item *moved = *item;
    size_t bytes = moved->key_bytes + (size_t)moved->value_bytes + LINE_END_BYTES;

    if (has_cas) {
        moved = realloc(moved, request_bytes(true, moved->key_bytes, moved->value_bytes));
        if (moved == NULL)
            return ST_NO_MEMORY;
        memmove(moved->data + sizeof(uint64_t), moved->data, bytes);
    } else {
        memmove(moved->data, moved->data + sizeof(uint64_t), bytes);
    }
    moved->has_cas = has_cas;
    *item = moved;
    return ST_OK;
}

enum status item_set_cas(struct item **item, uint64_t cas) {
    bool has_cas = cas != 0;
    enum status status = ST_OK;

    CHECK(atomic_load_explicit(&(*item)->refs, memory_order_relaxed) == 1);
    if ((*item)->has_cas != has_cas)
        status = move_for_cas(item, has_cas);
    if (status == ST_OK && has_cas)
        memcpy((*item)->data, &cas, sizeof cas);
    return status;
}

void item_shorten(struct item *item, size_t value_length) {
    CHECK(value_length <= item->value_bytes);
    item->value_bytes = (uint32_t)value_length;
    end_line(item);
}

void item_look(const struct item *item, struct item_view *view) {
    view->key = item_key(item);
    view->value = item_value(item);
    view->flags = item->flags;
    view->exptime = item->exptime;
    view->cas = item_cas(item);
    view->lsn = item->lsn;
    view->marks = item->marks;
}

void item_ref(struct item *item) {
    atomic_fetch_add_explicit(&item->refs, 1, memory_order_relaxed);
}

void item_unref(struct item **item) {
    struct item *gone = *item;

    *item = NULL;
    /* Who reads 1 holds the only reference, and nobody can take another from it: no locked instruction is needed. */
    if (gone != NULL && (atomic_load_explicit(&gone->refs, memory_order_acquire) == 1 ||
                         atomic_fetch_sub_explicit(&gone->refs, 1, memory_order_acq_rel) == 1))
        free(gone);
}

size_t item_footprint(const struct item *item) {
    size_t chunk = request_bytes(item->has_cas, item->key_bytes, item->value_bytes) + CHUNK_WORD + CHUNK_STEP - 1;

    chunk &= ~(size_t)(CHUNK_STEP - 1);
    return chunk < CHUNK_MIN ? CHUNK_MIN : chunk;
}
