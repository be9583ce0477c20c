/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_log.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/check.h"
#include "storage/log_internal.h"
#include "tests/unit/support_cmocka.h"

enum { VALUE_MAX = LOG_TEST_RECORD_MAX, MESSAGES_MAX = 1 << 20 };

static void open_logger(struct log_test *t) {
    char path[sizeof t->dir.path + 16];

    snprintf(path, sizeof path, "%s/messages", t->dir.path);
    assert_ok(logger_open(&t->logger, path, LOGGER_DEBUG));
}

static void set_places(struct log_test *t) {
    t->config.dir = t->dir.fd;
    t->config.dir_name = t->dir.path;
    t->config.secret = &t->secret;
    t->config.logger = t->logger;
    t->config.faults = t->faults;
}

void log_test_make(struct log_test *t, enum store_sync sync) {
    memset(t, 0, sizeof *t);
    test_dir_make(&t->dir);
    hash_random(&t->secret, sizeof t->secret);
    assert_ok(faults_create(&t->faults, NULL));
    open_logger(t);
    t->config = (struct log_config){
        .sync = sync,
        .sync_ms = 10,
        .log_max = LOG_TEST_SEGMENTS * LOG_TEST_SEGMENT,
        .segment_bytes = LOG_TEST_SEGMENT,
        .record_max = LOG_TEST_RECORD_MAX,
    };
    set_places(t);
}

void log_test_remove(struct log_test *t) {
    log_test_close(t);
    logger_close(&t->logger);
    faults_destroy(&t->faults);
    test_dir_remove(&t->dir);
}

enum status log_test_open(struct log_test *t) {
    enum status status = log_open(&t->log, &t->config, t->applied, t->m, &t->findings);

    if (status == ST_OK) /* what log_write leaves behind must not depend on how busy the machine is */
        t->log->slow_micros = UINT64_MAX;
    return status;
}

void log_test_start(struct log_test *t) {
    assert_ok(log_test_open(t));
    assert_ok(log_start(t->log));
}

void log_test_ready(struct log_test *t, enum store_sync sync) {
    log_test_make(t, sync);
    log_test_start(t);
    WAIT_UNTIL(log_test_segments(t) == 3);
}

uint64_t log_test_syncs(struct log_test *t) {
    struct log_figures figures;

    log_figures(t->log, &figures);
    return figures.syncs;
}

uint64_t log_test_segments(struct log_test *t) {
    struct log_figures figures;

    log_figures(t->log, &figures);
    return figures.segments;
}

void log_test_close(struct log_test *t) {
    log_close(&t->log);
}

void log_test_restart(struct log_test *t) {
    log_test_close(t);
    log_test_start(t);
}

static void copy_file(const struct log_test *from, const struct log_test *to, const char *name) {
    int in = openat(from->dir.fd, name, O_RDONLY | O_CLOEXEC), out;
    ssize_t n;

    if (in < 0) /* a running log has just given it another name */
        return;
    out = openat(to->dir.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(out >= 0);
    do {
        n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0);
    } while (n > 0);
    assert_int_equal(n, 0);
    close(in);
    close(out);
}

void log_test_copy(struct log_test *copy, const struct log_test *t) {
    DIR *dir;
    struct dirent *entry;

    memset(copy, 0, sizeof *copy);
    test_dir_make(&copy->dir);
    copy->secret = t->secret;
    copy->config = t->config;
    copy->applied = t->applied;
    copy->m = t->m;
    assert_ok(faults_create(&copy->faults, NULL));
    open_logger(copy);
    set_places(copy);
    dir = opendir(t->dir.path);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "messages") != 0)
            copy_file(t, copy, entry->d_name);
    closedir(dir);
}

/* ---- records ---- */

static uint64_t mix(uint64_t number) {
    number = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return number ^ (number >> 29);
}

void log_test_record(uint64_t number, struct log_record *record, char *key, char *value) {
    uint64_t x = mix(number);
    size_t length = x % 7 == 0 ? x % VALUE_MAX : x % 60;

    memset(value, (int)(x & 255) | 1, length); /* never zeros, which could be padding */
    *record = (struct log_record){
        .op = x % 5 == 0 ? LOG_DELETE : LOG_SET,
        .marks = (unsigned)(x % 3),
        .flags = (uint32_t)x,
        .exptime = (int64_t)(x >> 20) - 1000,
        .cas = x % 4 == 0 ? x | 1 : 0,
        .key = slice_of(key, (size_t)sprintf(key, "%" PRIu64, number)),
        .value = slice_of(value, length),
    };
}

uint64_t log_test_number(const struct log_record *record) {
    char text[32];

    CHECK(record->key.n < sizeof text);
    memcpy(text, record->key.p, record->key.n);
    text[record->key.n] = '\0';
    return strtoull(text, NULL, 10);
}

bool log_test_whole(const struct log_record *record) {
    char key[32], value[VALUE_MAX];
    struct log_record made;

    log_test_record(log_test_number(record), &made, key, value);
    return record->op == made.op && record->kind == made.kind && record->marks == made.marks &&
           record->flags == made.flags && record->exptime == made.exptime && record->cas == made.cas &&
           slice_equal(record->key, made.key) && slice_equal(record->value, made.value);
}

void log_test_reserve(struct log_test *t, size_t bytes) {
    unsigned patience = 50000;
    enum status status;

    while ((status = log_reserve(t->log, bytes)) == ST_AGAIN && patience-- > 0)
        usleep(200);
    assert_ok(status);
}

uint64_t log_test_append(struct log_test *t, uint64_t number) {
    char key[32], value[VALUE_MAX];
    struct log_record record;

    log_test_record(number, &record, key, value);
    log_test_reserve(t, log_record_room(record.key.n, record.value.n));
    record.value_sum = log_value_sum(t->log, record.value);
    return log_append(t->log, &record);
}

uint64_t log_test_put(struct log_test *t, uint64_t number) {
    uint64_t lsn = log_test_append(t, number);

    log_write(t->log);
    return lsn;
}

struct replayed {
    uint64_t *numbers;
    size_t room, count;
    uint64_t last;
};

static enum status replay_one(void *arg, const struct log_record *record) {
    struct replayed *replayed = arg;

    assert_true(log_test_whole(record));
    assert_true(record->lsn > replayed->last);
    replayed->last = record->lsn;
    if (replayed->numbers != NULL) {
        assert_true(replayed->count < replayed->room);
        replayed->numbers[replayed->count] = log_test_number(record);
    }
    replayed->count++;
    return ST_OK;
}

size_t log_test_replay(struct log_test *t, uint64_t after, uint64_t *numbers, size_t room) {
    struct replayed replayed = {.numbers = numbers, .room = room, .last = after};

    assert_ok(log_replay(t->log, after, replay_one, &replayed));
    return replayed.count;
}

void log_test_expect(struct log_test *t, uint64_t first, size_t count) {
    uint64_t *numbers = calloc(count + 1, sizeof *numbers);

    assert_non_null(numbers);
    assert_int_equal(log_test_replay(t, t->applied, numbers, count + 1), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(numbers[i], first + i);
    free(numbers);
}

/* ---- files ---- */

unsigned log_test_lines(struct log_test *t, const char *text) {
    char *messages = malloc(MESSAGES_MAX);
    unsigned count = 0;

    assert_non_null(messages);
    assert_true(test_dir_read(&t->dir, "messages", messages, MESSAGES_MAX) >= 0);
    for (const char *at = messages; (at = strstr(at, text)) != NULL; at += strlen(text))
        count++;
    free(messages);
    return count;
}

void log_test_forget_lines(struct log_test *t) {
    int fd = openat(t->dir.fd, "messages", O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
    close(fd);
}

uint64_t log_test_newest(const struct log_test *t, char name[17]) {
    DIR *dir = opendir(t->dir.path);
    struct dirent *entry;
    uint64_t newest = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        unsigned char page[LOG_PAGE] = {0};
        struct log_segment_header header;
        uint64_t seq = strtoull(entry->d_name, NULL, 16);

        int fd = openat(t->dir.fd, entry->d_name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? pread(fd, page, sizeof page, 0) : 0; /* a running log may have renamed it */

        close(fd);
        if (n == (ssize_t)sizeof page && strlen(entry->d_name) == 16 && seq > newest &&
            log_header_decode(page, &t->secret, &header) == ST_OK &&
            header.seq == seq) {
            newest = seq;
            memcpy(name, entry->d_name, 17);
        }
    }
    closedir(dir);
    return newest;
}

uint64_t log_test_file_size(const struct log_test *t, const char *name) {
    struct stat st;

    assert_int_equal(fstatat(t->dir.fd, name, &st, 0), 0);
    return (uint64_t)st.st_size;
}

void log_test_read_file(const struct log_test *t, const char *name, void *bytes, size_t n, uint64_t offset) {
    int fd = openat(t->dir.fd, name, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, bytes, n, (off_t)offset), n);
    close(fd);
}

void log_test_write_file(const struct log_test *t, const char *name, const void *bytes, size_t n, uint64_t offset) {
    int fd = openat(t->dir.fd, name, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, (off_t)offset), n);
    close(fd);
}

void log_test_flip(const struct log_test *t, const char *name, uint64_t offset) {
    unsigned char byte;

    log_test_read_file(t, name, &byte, 1, offset);
    byte ^= 0x10;
    log_test_write_file(t, name, &byte, 1, offset);
}

uint64_t log_test_end(const struct log_test *t, const char *name) {
    size_t n = (size_t)log_test_file_size(t, name);
    unsigned char *bytes = malloc(n);

    assert_non_null(bytes);
    log_test_read_file(t, name, bytes, n, 0);
    while (n > 0 && bytes[n - 1] == 0)
        n--;
    free(bytes);
    return n;
}
