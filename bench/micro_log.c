/* SPDX-License-Identifier: BSD-3-Clause */
/* micro_log: what the write-ahead log costs on one thread.
 *
 *   micro_log [DIR [MEGABYTES]]     default: /tmp, 64 MB of reserved room a round
 *
 * For each value size: nanoseconds an append (with the value's sum), the same with log_write after every record and
 * after every 32 records (what a pass of a worker gathers), and the megabytes a second that the last comes to.  The
 * segments are made before the clock runs and recycled afterwards, as in a server that has run for a while. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/check.h"
#include "storage/log.h"

enum { SEGMENT = 64 << 20, SEGMENTS = 8, KEY = 16, VALUE_MAX = 64 << 10, ROUNDS = 3 };

struct bench {
    char dir_name[256];
    int dir;
    struct hash_secret secret;
    struct log *log;
    char value[VALUE_MAX];
};

static double now_ns(void) {
    struct timespec now;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void start(struct bench *bench, const char *base) {
    struct log_config config = {
        .secret = &bench->secret,
        .sync = STORE_SYNC_OS,
        .log_max = (uint64_t)SEGMENT * SEGMENTS,
        .segment_bytes = SEGMENT,
        .record_max = 1 << 20,
    };
    struct log_findings findings;

    CHECK((size_t)snprintf(bench->dir_name, sizeof bench->dir_name, "%s/micro-log-XXXXXX", base) <
          sizeof bench->dir_name);
    CHECK(mkdtemp(bench->dir_name) != NULL);
    bench->dir = open(bench->dir_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(bench->dir >= 0);
    hash_random(&bench->secret, sizeof bench->secret);
    hash_random(bench->value, sizeof bench->value);
    config.dir = bench->dir;
    config.dir_name = bench->dir_name;
    CHECK(log_open(&bench->log, &config, 0, 0, &findings) == ST_OK);
    CHECK(log_start(bench->log) == ST_OK);
}

static void stop(struct bench *bench) {
    char command[sizeof bench->dir_name + 16];

    log_close(&bench->log);
    close(bench->dir);
    snprintf(command, sizeof command, "rm -r '%s'", bench->dir_name);
    CHECK(system(command) == 0);
}

static void reserve(struct bench *bench, size_t bytes) {
    enum status status;

    while ((status = log_reserve(bench->log, bytes)) == ST_AGAIN)
        usleep(1000);
    CHECK(status == ST_OK);
}

/* As after a checkpoint: all segments but the current one can be used again. */
static void apply(struct bench *bench) {
    uint64_t last = log_last(bench->log);

    CHECK(log_make_durable(bench->log, last) == ST_OK);
    log_applied(bench->log, last);
}

struct cost {
    double append, both; /* nanoseconds a record */
};

static void append(struct bench *bench, size_t value_bytes, unsigned number) {
    char key[KEY + 1];
    struct log_record record = {.op = LOG_SET, .key = slice_of(key, KEY), .value = slice_of(bench->value, value_bytes)};

    memcpy(key, "key:", 4);
    memcpy(key + 4, &number, sizeof number);
    memcpy(key + 8, "12345678", 8);
    record.value_sum = log_value_sum(bench->log, record.value);
    log_append(bench->log, &record);
}

/* log_write after every `batch` records. */
static struct cost run(struct bench *bench, size_t value_bytes, unsigned records, unsigned batch) {
    struct cost cost = {0, 0};
    double at, appended, written;

    reserve(bench, log_record_room(KEY, value_bytes) * records);
    at = now_ns();
    for (unsigned i = 0; i < records;) {
        unsigned end = i + batch < records ? i + batch : records;

        for (; i < end; i++)
            append(bench, value_bytes, i);
        appended = now_ns();
        log_write(bench->log);
        written = now_ns();
        cost.append += appended - at;
        cost.both += written - at;
        at = written;
    }
    apply(bench);
    cost.append /= records;
    cost.both /= records;
    return cost;
}

static struct cost best(struct bench *bench, size_t value_bytes, unsigned records, unsigned batch) {
    struct cost fastest = {0, 0};

    for (int i = 0; i < ROUNDS; i++) {
        struct cost cost = run(bench, value_bytes, records, batch);

        fastest.append = i == 0 || cost.append < fastest.append ? cost.append : fastest.append;
        fastest.both = i == 0 || cost.both < fastest.both ? cost.both : fastest.both;
    }
    return fastest;
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {10, 100, 1000, 4000, 20000, VALUE_MAX};
    static struct bench bench;
    uint64_t budget = (argc > 2 ? strtoull(argv[2], NULL, 10) : 64) << 20;

    start(&bench, argc > 1 ? argv[1] : "/tmp");
    printf("value  append ns  with a write each, ns  with a write every 32, ns  MB/s\n");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned records = (unsigned)(budget / log_record_room(KEY, sizes[i]));
        struct cost each = best(&bench, sizes[i], records, 1), every = best(&bench, sizes[i], records, 32);

        printf("%5zu %10.0f %22.0f %26.0f %5.0f\n", sizes[i], every.append, each.both, every.both,
               (double)(sizes[i] + KEY) * 1e3 / every.both);
    }
    stop(&bench);
    return 0;
}
