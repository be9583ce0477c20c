/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading.  Everything that touches the map runs under sigbus_guard; memory is allocated between guarded steps, since
 * a step may be left at any read.  A value is copied first and verified then: what is served is what was verified. */
#include <errno.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/check.h"
#include "src/base/logger.h"
#include "storage/item.h"
#include "storage/sigbus.h"
#include "storage/tree_internal.h"

enum {
    PANIC_WAIT_MICROS = 5000000, /* for the tree thread to notice what a reader saw first */
    PAGE_BYTES_MAX = 16 << 20,   /* values of one page of a scan, beyond its first */
    SHOWN_KEY = 64,
};

/* ---- damage ---- */

static void show_key(struct slice key, char text[4 * SHOWN_KEY + 1]) {
    size_t n = key.n < SHOWN_KEY ? key.n : SHOWN_KEY;
    char *to = text;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)key.p[i];
        to += sprintf(to, c > ' ' && c < 0x7f && c != '\\' ? "%c" : "\\x%02x", c);
    }
    *to = '\0';
}

void tree_report_damage(struct tree *tree, struct slice key, const char *what) {
    char text[4 * SHOWN_KEY + 1];
    uint64_t times = atomic_fetch_add_explicit(&tree->damaged, 1, memory_order_relaxed) + 1;

    /* The powers of two: a client that asks for a damaged key all day must not fill the disk with this. */
    if ((times & (times - 1)) != 0)
        return;
    show_key(key, text);
    log_error(tree->logger, "%s/tree: %s of key '%s' (%" PRIu64 " times so far)", tree->path, what, text, times);
}

void tree_found_set(const struct tree *tree, struct slice bytes, struct tree_found *found) {
    found->exists = true;
    found->sound = record_decode(&found->record, &tree->secret, bytes, &found->sum) == ST_OK;
}

/* ---- snapshots ---- */

enum status tree_reader_open(struct tree_reader **reader, struct tree *tree) {
    CHECK_OBJ(tree, TREE_MAGIC);
    *reader = NULL;
    for (unsigned i = 0; i < tree->reader_count && *reader == NULL; i++) {
        struct tree_reader *slot = &tree->readers[i];
        lock_take(&slot->lock);
        if (!slot->used) {
            slot->used = true;
            *reader = slot;
        }
        lock_drop(&slot->lock);
    }
    return *reader != NULL ? ST_OK : ST_LIMIT;
}

void tree_reader_end(struct tree_reader *reader) {
    if (reader->txn != NULL)
        mdb_txn_abort(reader->txn);
    reader->txn = NULL;
}

void tree_reader_close(struct tree_reader **reader) {
    struct tree_reader *closed = *reader;

    *reader = NULL;
    if (closed == NULL)
        return;
    CHECK_OBJ(closed, TREE_READER_MAGIC);
    lock_take(&closed->lock);
    CHECK(closed->used);
    tree_reader_end(closed);
    closed->used = false;
    lock_drop(&closed->lock);
}

/* Under a guard: the newest snapshot. */
static int snapshot(struct tree_reader *reader) {
    if (reader->txn == NULL)
        return mdb_txn_begin(reader->env->env, NULL, MDB_RDONLY, &reader->txn);
    return mdb_txn_renew(reader->txn);
}

/* A first step of reading; step takes the snapshot and leaves LMDB's error in *rc. */
static enum status enter(struct tree_reader *reader, void (*step)(void *arg), void *arg, const int *rc) {
    enum status status;

    for (;;) {
        while (reader->env == NULL && !reader->lost)
            cond_wait(&reader->moved, &reader->lock);
        if (reader->lost)
            return ST_IO;
        status = sigbus_guard(step, arg);
        if (status != ST_OK || *rc != MDB_PANIC)
            break;
        /* A commit has just failed so badly that LMDB gives up; the tree thread opens the file again. */
        if (!cond_wait_for(&reader->moved, &reader->lock, PANIC_WAIT_MICROS))
            return ST_IO;
    }
    return status == ST_OK ? tree_status(reader->tree, *rc) : status;
}

static void leave(struct tree_reader *reader) {
    if (reader->txn != NULL)
        mdb_txn_reset(reader->txn);
}

static void name_snapshot(const struct tree_reader *reader, uint64_t *number, uint64_t *birth) {
    *number = reader->env->generation << TREE_NUMBER_SHIFT | mdb_txn_id(reader->txn);
    *birth = reader->env->birth;
}

/* ---- items ---- */

struct copying {
    char *to;
    struct slice from;
};

static void copy(void *arg) {
    const struct copying *copying = arg;
    memcpy(copying->to, copying->from.p, copying->from.n);
}

static enum status new_item(const struct record *record, struct slice key, size_t value_bytes, struct item **item) {
    enum status status = item_create(item, key, value_bytes);

    if (status != ST_OK)
        return status;
    (*item)->lsn = record->lsn;
    item_set(*item, record->flags, record->exptime, record->marks);
    if (record->cas != 0)
        status = item_set_cas(item, record->cas);
    if (status != ST_OK)
        item_unref(item);
    return status;
}

/* The record with its value as a new item; its value is not verified yet. */
static enum status copy_item(const struct record *record, struct slice key, struct item **item) {
    enum status status = new_item(record, key, record->value.n, item);

    if (status != ST_OK)
        return status;
    struct copying copying = {item_body(*item), record->value};
    status = sigbus_guard(copy, &copying);
    if (status != ST_OK)
        item_unref(item);
    return status;
}

static bool value_fits(const struct tree *tree, const struct record *record, const struct item *item) {
    return record->kind == RECORD_INLINE &&
           record_value_sum(&tree->secret, item_key(item), item_value(item)) == record->value_sum;
}

/* ---- lookup ---- */

struct lookup {
    struct tree_reader *reader;
    struct slice key;
    struct tree_found found;
    int rc;
};

static void look_up(void *arg) {
    struct lookup *l = arg;
    MDB_val key = {l->key.n, (void *)l->key.p}, data;

    l->rc = snapshot(l->reader);
    if (l->rc != 0)
        return;
    l->rc = mdb_get(l->reader->txn, l->reader->env->items, &key, &data);
    if (l->rc == 0)
        tree_found_set(l->reader->tree, slice_of(data.mv_data, data.mv_size), &l->found);
    else if (l->rc == MDB_NOTFOUND)
        l->rc = 0;
}

enum status tree_get(struct tree_reader *reader, struct slice key, struct item **item, uint64_t *number,
                     uint64_t *birth) {
    struct lookup l = {.reader = reader, .key = key};
    enum status status;

    CHECK_OBJ(reader, TREE_READER_MAGIC);
    *item = NULL;
    *number = *birth = 0;
    lock_take(&reader->lock);
    status = enter(reader, look_up, &l, &l.rc);
    if (status == ST_OK)
        name_snapshot(reader, number, birth);
    if (status == ST_OK && l.found.exists)
        status = l.found.sound ? copy_item(&l.found.record, key, item) : ST_CORRUPT;
    leave(reader);
    lock_drop(&reader->lock);
    if (*item != NULL && !value_fits(reader->tree, &l.found.record, *item)) {
        item_unref(item);
        status = ST_CORRUPT;
    }
    if (status == ST_CORRUPT)
        tree_report_damage(reader->tree, key, "damaged record");
    return status;
}

/* ---- scan ---- */

struct scan {
    struct tree_reader *reader;
    struct slice from;   /* the first step looks for this ... */
    bool above;          /* ... or for what follows it */
    struct slice prefix;
    MDB_cursor *cursor;
    int rc;
    /* what a step has found */
    char key[STORE_KEY_MAX];
    size_t key_bytes;
    struct tree_found found;
    bool ended;
    /* over all steps */
    uint64_t bytes, skipped;
};

/* Takes the snapshot, and reads what mdb_cursor_open would read while it owns memory. */
static void scan_enter(void *arg) {
    struct scan *s = arg;
    MDB_stat unused;

    s->rc = snapshot(s->reader);
    if (s->rc == 0)
        s->rc = mdb_stat(s->reader->txn, s->reader->env->items, &unused);
}

static void scan_take(struct scan *s, const MDB_val *key, const MDB_val *data) {
    bool matches = key->mv_size >= s->prefix.n &&
                   (s->prefix.n == 0 || memcmp(key->mv_data, s->prefix.p, s->prefix.n) == 0);

    s->ended = !matches;
    if (s->ended)
        return;
    s->key_bytes = key->mv_size <= sizeof s->key ? key->mv_size : 0; /* 0: no key of ours, so damage */
    memcpy(s->key, key->mv_data, s->key_bytes);
    tree_found_set(s->reader->tree, slice_of(data->mv_data, data->mv_size), &s->found);
}

static void scan_step(void *arg) {
    struct scan *s = arg;
    MDB_val key = {s->from.n, (void *)s->from.p}, data;
    MDB_cursor_op op = s->from.p == NULL ? MDB_NEXT : s->from.n == 0 ? MDB_FIRST : MDB_SET_RANGE;

    s->rc = mdb_cursor_get(s->cursor, &key, &data, op);
    if (s->rc == 0 && s->above && slice_equal(slice_of(key.mv_data, key.mv_size), s->from))
        s->rc = mdb_cursor_get(s->cursor, &key, &data, MDB_NEXT);
    s->from.p = NULL;
    s->above = false;
    if (s->rc == 0)
        scan_take(s, &key, &data);
    s->ended = s->ended || s->rc == MDB_NOTFOUND;
    s->rc = s->rc == MDB_NOTFOUND ? 0 : s->rc;
}

/* Moves to the next sound record; s->ended when there is none. */
static enum status scan_next(struct scan *s) {
    enum status status;
    bool again = true;

    while (again) {
        status = sigbus_guard(scan_step, s);
        if (status == ST_OK)
            status = tree_status(s->reader->tree, s->rc);
        if (status != ST_OK)
            return status;
        again = !s->ended && (!s->found.sound || s->key_bytes == 0);
        if (again)
            s->skipped++;
    }
    return ST_OK;
}

/* The found record as an item, or NULL when its value is damaged. */
static enum status scan_item(struct scan *s, bool values, struct item **item, uint64_t *size) {
    const struct record *record = &s->found.record;
    struct slice key = slice_of(s->key, s->key_bytes);
    enum status status;

    *size = record->value.n;
    if (!values)
        return new_item(record, key, 0, item);
    status = copy_item(record, key, item);
    if (status == ST_OK && value_fits(s->reader->tree, record, *item)) {
        s->bytes += *size;
    } else if (status == ST_OK) {
        item_unref(item);
        s->skipped++;
    }
    return status;
}

static enum status scan_page(struct scan *s, unsigned limit, bool values, struct item **items, uint64_t *sizes,
                             unsigned *count) {
    enum status status = ST_OK;

    while (*count < limit && s->bytes < PAGE_BYTES_MAX) {
        struct item *item = NULL;
        status = scan_next(s);
        if (status == ST_OK && !s->ended)
            status = scan_item(s, values, &item, &sizes[*count]);
        if (status != ST_OK || s->ended)
            break;
        if (item != NULL)
            items[(*count)++] = item;
    }
    return status;
}

enum status tree_scan(struct tree_reader *reader, struct slice after, struct slice prefix, unsigned limit, bool values,
                      struct item **items, uint64_t *sizes, unsigned *count, bool *more, uint64_t *number,
                      uint64_t *birth) {
    bool above = slice_compare(after, prefix) >= 0 && after.n > 0;
    struct scan s = {.reader = reader, .from = above ? after : prefix, .above = above, .prefix = prefix};
    enum status status;

    CHECK_OBJ(reader, TREE_READER_MAGIC);
    *count = 0;
    *number = *birth = 0;
    if (s.from.p == NULL)
        s.from = slice_str("");
    lock_take(&reader->lock);
    status = enter(reader, scan_enter, &s, &s.rc);
    if (status == ST_OK) {
        name_snapshot(reader, number, birth);
        status = tree_status(reader->tree, mdb_cursor_open(reader->txn, reader->env->items, &s.cursor));
    }
    if (status == ST_OK)
        status = scan_page(&s, limit, values, items, sizes, count);
    if (s.cursor != NULL)
        mdb_cursor_close(s.cursor);
    leave(reader);
    lock_drop(&reader->lock);
    *more = status == ST_OK && !s.ended;
    while (status != ST_OK && *count > 0)
        item_unref(&items[--*count]);
    if (s.skipped > 0)
        log_warn(reader->tree->logger, "%s/tree: a scan has left out %" PRIu64 " damaged records", reader->tree->path,
                 s.skipped);
    return status;
}
