/* SPDX-License-Identifier: BSD-3-Clause */
/* micro_table: what the RAM table costs, in nanoseconds of CPU an operation on one thread.
 *
 *   micro_table [ITEMS [ROUNDS]]     default: 1000000 items, 5 rounds; the best round counts
 *
 * Keys have 16 bytes, values 100, and are met in random order, as a cache meets them: each run in an order of its own,
 * or the items would be met as they lie in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/base/check.h"
#include "storage/item.h"
#include "storage/table.h"

enum { KEY = 16, VALUE = 100, HOT = 10000 };

struct bench {
    struct table *table;
    unsigned items;
    unsigned *order; /* a random permutation of the items */
    uint64_t random;
    uint64_t lsn;
    uint64_t number;
    uint64_t sum; /* keeps the compiler from leaving out what nobody looks at */
};

static double now_ns(void) {
    struct timespec now;

    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct slice bench_key(char *text, unsigned number) {
    static const char digits[] = "0123456789abcdef";

    memcpy(text, "key:0000", 8);
    for (int i = KEY - 1; i >= 8; i--, number >>= 4)
        text[i] = digits[number & 15];
    return slice_of(text, KEY);
}

static struct item *bench_item(struct bench *bench, struct slice key) {
    struct item *item;

    CHECK(item_create(&item, key, VALUE) == ST_OK);
    memset(item_body(item), 'v', VALUE);
    item->lsn = ++bench->lsn;
    return item;
}

/* ---- the operations ---- */

/* As for one GET: a reference leaves the lock and is given back later. */
static void op_get(struct bench *bench, unsigned number) {
    char text[KEY];
    struct slice key = bench_key(text, number);
    uint64_t hash = table_hash(bench->table, key);
    struct stripe *stripe = table_lock(bench->table, hash);
    struct item *item = stripe_find(stripe, hash, key);

    if (item != NULL) {
        stripe_hit(stripe, item, 1);
        item_ref(item);
    }
    table_unlock(stripe);
    item_unref(&item);
}

static void op_hash(struct bench *bench, unsigned number) {
    char text[KEY];

    bench->sum += table_hash(bench->table, bench_key(text, number));
}

static void op_get_hot(struct bench *bench, unsigned number) {
    op_get(bench, number % HOT);
}

static void op_miss(struct bench *bench, unsigned number) {
    op_get(bench, number + bench->items);
}

static void op_item(struct bench *bench, unsigned number) {
    char text[KEY];
    struct item *item = bench_item(bench, bench_key(text, number));

    item_unref(&item);
}

static void op_publish(struct bench *bench, unsigned number) {
    char text[KEY];
    struct slice key = bench_key(text, number);
    struct item *item = bench_item(bench, key);
    uint64_t hash = table_hash(bench->table, key);
    struct stripe *stripe = table_lock(bench->table, hash);

    stripe_publish(stripe, hash, item, false);
    table_unlock(stripe);
}

/* A miss that is filled; over budget, so that something has to leave for it. */
static void op_fill(struct bench *bench, unsigned number) {
    char text[KEY];
    struct slice key = bench_key(text, number);
    uint64_t hash = table_hash(bench->table, key);
    struct item *item = bench_item(bench, key);
    struct stripe *stripe = table_lock(bench->table, hash);

    if (stripe_find(stripe, hash, key) == NULL)
        stripe_fill(stripe, hash, item);
    else
        item_unref(&item);
    table_unlock(stripe);
}

/* ---- measuring ---- */

static void shuffle(struct bench *bench) {
    for (unsigned i = bench->items; i > 1; i--) {
        bench->random ^= bench->random << 13;
        bench->random ^= bench->random >> 7;
        bench->random ^= bench->random << 17;
        unsigned other = (unsigned)(bench->random % i);
        unsigned kept = bench->order[i - 1];
        bench->order[i - 1] = bench->order[other];
        bench->order[other] = kept;
    }
}

static double run(struct bench *bench, void (*op)(struct bench *bench, unsigned number), unsigned base) {
    double start;

    shuffle(bench);
    start = now_ns();
    for (unsigned i = 0; i < bench->items; i++)
        op(bench, base + bench->order[i]);
    return (now_ns() - start) / bench->items;
}

static void measure(struct bench *bench, const char *name, void (*op)(struct bench *bench, unsigned number),
                    unsigned rounds) {
    double best = run(bench, op, 0);

    for (unsigned i = 1; i < rounds; i++) {
        double next = run(bench, op, 0);
        best = next < best ? next : best;
    }
    printf("%-44s %8.1f ns\n", name, best);
}

static void checkpoint(struct bench *bench) {
    struct item **items;
    size_t count;
    double start = now_ns();
    double collected;

    CHECK(table_collect_dirty(bench->table, &items, &count) == ST_OK);
    collected = now_ns();
    bench->number++;
    for (size_t i = 0; i < count; i++)
        table_mark_clean(bench->table, items[i], bench->number);
    printf("%-44s %8.1f ns\n", "collect a DIRTY item", (collected - start) / (double)count);
    printf("%-44s %8.1f ns\n", "mark it CLEAN", (now_ns() - collected) / (double)count);
    for (size_t i = 0; i < count; i++)
        item_unref(&items[i]);
    free(items);
}

int main(int argc, char **argv) {
    struct bench bench = {.items = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000000,
                          .random = UINT64_C(88172645463325252)};
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5;
    struct table_config config = {.budget = bench.items * UINT64_C(256)};
    struct table_figures figures;

    CHECK(bench.items > 0);
    bench.order = malloc(bench.items * sizeof *bench.order);
    CHECK(bench.order != NULL && table_create(&bench.table, &config) == ST_OK);
    for (unsigned i = 0; i < bench.items; i++)
        bench.order[i] = i;
    printf("%u items, keys of %d bytes, values of %d\n", bench.items, KEY, VALUE);
    measure(&bench, "hash a key (a part of all below)", op_hash, rounds);
    measure(&bench, "make and free an item (a part of a write)", op_item, rounds);
    printf("%-44s %8.1f ns\n", "publish a new key, growing", run(&bench, op_publish, 0));
    measure(&bench, "publish a new version", op_publish, rounds);
    measure(&bench, "find, hit, reference, give back", op_get, rounds);
    measure(&bench, "the same on 10,000 hot keys", op_get_hot, rounds);
    measure(&bench, "a miss", op_miss, rounds);
    checkpoint(&bench);
    table_figures(bench.table, &figures);
    printf("%-44s %8.1f bytes\n", "memory an item", (double)(figures.bytes + figures.buckets_bytes) / bench.items);
    table_set_budget(bench.table, figures.bytes + figures.buckets_bytes);
    printf("%-44s %8.1f ns\n", "fill, evicting", run(&bench, op_fill, bench.items));
    printf("%-44s %8.1f ns\n", "fill, evicting, again", run(&bench, op_fill, 2 * bench.items));
    table_figures(bench.table, &figures);
    printf("%-44s %8.2f\n", "evicted for each of these", (double)figures.evictions / bench.items / 2);
    free(bench.order);
    table_destroy(&bench.table);
    return 0;
}
