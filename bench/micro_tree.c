/* SPDX-License-Identifier: BSD-3-Clause */
/* micro_tree: what a put and a lookup in the tree cost, without the rest of the store.
 *
 *     micro_tree [DIRECTORY [RECORDS]]
 *
 * Applies RECORDS (1,000,000) sorted 100-byte values in chunks of 5,000, each a synced commit: into an empty tree,
 * the same again (all keys replaced), and a tenth of the keys; then looks up random keys while everything is cached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/base/check.h"
#include "src/base/clock.h"
#include "src/base/io.h"
#include "storage/item.h"
#include "storage/tree.h"

enum { CHUNK = 5000, VALUE_BYTES = 100, KEY_ROOM = 32, LOOKUPS = 1000000, READERS = 4, NANOS = 1000 };

struct bench {
    struct tree *tree;
    unsigned long records;
    uint64_t lsn;
};

/* Key numbers are spread, so that the order of keys is not the order of insertion. */
static struct slice key_of(char text[KEY_ROOM], unsigned long number) {
    return slice_of(text, (size_t)snprintf(text, KEY_ROOM, "key:%012lu", number * 7));
}

static uint64_t cpu_micros(void) {
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static struct item **make_chunk(struct bench *b, unsigned long from, unsigned long step, unsigned long *count) {
    struct item **items = malloc(CHUNK * sizeof *items);
    CHECK(items != NULL);
    for (*count = 0; *count < CHUNK && from + *count * step < b->records; ++*count) {
        char text[KEY_ROOM];
        struct slice key = key_of(text, from + *count * step);
        CHECK(item_create(&items[*count], key, VALUE_BYTES) == ST_OK);
        memset(item_body(items[*count]), 'v', VALUE_BYTES);
        items[*count]->lsn = ++b->lsn;
    }
    return items;
}

static void apply_chunk(struct bench *b, struct item **items, unsigned long count) {
    const struct tree_marks marks = {.applied = b->lsn, .m = b->lsn};
    CHECK(tree_txn_begin(b->tree) == ST_OK);
    for (unsigned long i = 0; i < count; i++)
        CHECK(tree_txn_apply(b->tree, items[i], 0) == ST_OK);
    CHECK(tree_txn_commit(b->tree, &marks) == ST_OK);
}

static void put_all(struct bench *b, const char *what, unsigned long step) {
    uint64_t wall = 0, cpu = 0;
    unsigned long done = 0, count;
    for (unsigned long from = 0; from < b->records; from += CHUNK * step) {
        struct item **items = make_chunk(b, from, step, &count);
        uint64_t wall_from = clock_micros(), cpu_from = cpu_micros();
        apply_chunk(b, items, count);
        wall += clock_micros() - wall_from;
        cpu += cpu_micros() - cpu_from;
        done += count;
        for (unsigned long i = 0; i < count; i++)
            item_unref(&items[i]);
        free(items);
    }
    printf("%-12s %8lu puts  %6lu ns CPU/put  %6lu ns/put  tree %lu MB\n", what, done,
           (unsigned long)(cpu * NANOS / done), (unsigned long)(wall * NANOS / done),
           (unsigned long)(tree_bytes(b->tree) >> 20));
}

static void get_random(struct bench *b, const char *what, unsigned long among) {
    struct tree_reader *reader;
    uint64_t random = 88172645463325252u;
    CHECK(tree_reader_open(&reader, b->tree) == ST_OK);
    uint64_t from = cpu_micros();
    for (unsigned i = 0; i < LOOKUPS; i++) {
        char text[KEY_ROOM];
        struct item *item;
        uint64_t number, birth;
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        CHECK(tree_get(reader, key_of(text, random % among), &item, &number, &birth) == ST_OK);
        CHECK(item != NULL);
        item_unref(&item);
    }
    printf("%-12s %8d gets  %6lu ns CPU/get\n", what, LOOKUPS,
           (unsigned long)((cpu_micros() - from) * NANOS / LOOKUPS));
    tree_reader_close(&reader);
}

int main(int argc, char **argv) {
    char path[] = "/tmp/micro-tree-XXXXXX";
    const char *name = argc > 1 ? argv[1] : mkdtemp(path);
    struct hash_secret secret;
    struct tree_config config = {.dir_name = name, .secret = &secret, .readers = READERS};
    struct bench b = {.records = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000};
    CHECK(name != NULL && b.records > 0);
    CHECK(io_opendir(name, &config.dir) == ST_OK);
    hash_random(&secret, sizeof secret);
    CHECK(tree_open(&b.tree, &config) == ST_OK);
    put_all(&b, "fresh", 1);
    put_all(&b, "replace all", 1);
    put_all(&b, "a tenth", 10);
    get_random(&b, "hot", b.records);
    get_random(&b, "hottest", b.records < 1000 ? b.records : 1000);
    tree_close(&b.tree);
    io_close(&config.dir);
    return 0;
}
