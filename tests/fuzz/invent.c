/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/invent.h"

#include "src/base/check.h"
#include "src/base/hash.h"

enum { ROWS = 3, LARGE_VALUE = 5000, SMALL_VALUE = 60 };

uint64_t invent_number(uint64_t seed, uint64_t n) {
    uint64_t both[2] = {seed, n};
    return hash_key(both, sizeof both, 0);
}

static struct item *invent_item(struct slice key, uint64_t number) {
    struct item *item;
    size_t n = number % 50 == 0 ? LARGE_VALUE : (size_t)(number >> 8) % SMALL_VALUE;
    CHECK(item_create(&item, key, n) == ST_OK);
    for (size_t i = 0; i < n; i++) {
        item_body(item)[i] = (char)(number >> i % 56);
    }
    item_set(item, (uint32_t)number, number & 64 ? 0 : INVENT_NOW + (int64_t)(number >> 20) % 5000 - 5, 0);
    CHECK(item_set_cas(&item, number) == ST_OK);
    return item;
}

static void invent_rows(struct response *response, uint64_t number) {
    static struct store_row rows[ROWS];
    for (unsigned i = 0; i < ROWS; i++) {
        uint64_t key[4] = {number, number >> 3, ~number, number * 7};
        size_t n = 1 + (size_t)(number >> i * 5) % sizeof key;
        struct item *item = invent_item(slice_of((const char *)key, n), number + i);
        rows[i] = (struct store_row){
            .item = item, .size = number >> 9, .idle = (uint32_t)number % 90, .fetched = number & 1};
    }
    response->rows = rows;
    response->row_count = ROWS;
}

/* Results that a command can have; the errors that any of them can have come behind. */
static const enum result results[CMD_COUNT][6] = {
    [CMD_GET] = {RESULT_HIT, RESULT_HIT, RESULT_HIT, RESULT_MISS, RESULT_MISS, RESULT_DAMAGED},
    [CMD_STORE] = {RESULT_STORED, RESULT_STORED, RESULT_NOT_STORED, RESULT_EXISTS, RESULT_MISS, RESULT_TOO_LARGE},
    [CMD_DELETE] = {RESULT_DELETED, RESULT_DELETED, RESULT_MISS, RESULT_EXISTS, RESULT_READ_ONLY, RESULT_DISK_FULL},
    [CMD_ARITH] = {RESULT_NUMBER, RESULT_NUMBER, RESULT_MISS, RESULT_EXISTS, RESULT_NOT_NUMERIC, RESULT_NOT_STORED},
    [CMD_TOUCH] = {RESULT_TOUCHED, RESULT_TOUCHED, RESULT_TOUCHED, RESULT_MISS, RESULT_MISS, RESULT_DISK_FULL},
    [CMD_FLUSH] = {RESULT_OK, RESULT_OK, RESULT_OK, RESULT_OK, RESULT_OK, RESULT_READ_ONLY},
    [CMD_DUMP] = {RESULT_ROWS, RESULT_ROWS, RESULT_ROWS, RESULT_ROWS, RESULT_ROWS, RESULT_DAMAGED},
    [CMD_NOOP] = {RESULT_OK, RESULT_OK, RESULT_OK, RESULT_OK, RESULT_OK, RESULT_OK},
    [CMD_VERSION] = {RESULT_VERSION, RESULT_VERSION, RESULT_VERSION, RESULT_VERSION, RESULT_VERSION, RESULT_VERSION},
    [CMD_VERBOSITY] = {RESULT_OK, RESULT_OK, RESULT_OK, RESULT_OK, RESULT_OK, RESULT_UNKNOWN},
    [CMD_STATS] = {RESULT_STATS, RESULT_STATS, RESULT_LINES, RESULT_RESET, RESULT_BAD_ARGUMENT, RESULT_UNKNOWN},
    [CMD_MEMLIMIT] = {RESULT_OK, RESULT_OK, RESULT_OK, RESULT_OK, RESULT_BAD_ARGUMENT, RESULT_BAD_ARGUMENT},
    [CMD_SHUTDOWN] = {RESULT_CLOSE, RESULT_CLOSE, RESULT_DISABLED, RESULT_DISABLED, RESULT_DISABLED,
                      RESULT_BAD_ARGUMENT},
    [CMD_DEBUG] = {RESULT_OK, RESULT_OK, RESULT_DISABLED, RESULT_DISABLED, RESULT_BAD_ARGUMENT, RESULT_BAD_ARGUMENT},
    [CMD_QUIT] = {RESULT_CLOSE, RESULT_CLOSE, RESULT_CLOSE, RESULT_CLOSE, RESULT_CLOSE, RESULT_CLOSE},
};

static void invent_text(struct response *response, uint64_t number) {
    static const char pairs[] = "name\0value\0another\0007\0";
    static const char line[] = "a line\0";
    size_t n = response->result == RESULT_STATS ? sizeof pairs - 1 : sizeof line - 1;
    const char *from = response->result == RESULT_STATS ? pairs : line;
    for (uint64_t i = 0; i < number % 4; i++) {
        CHECK(buffer_append(&response->text, from, n) == ST_OK);
    }
}

void invent_response(const struct request *request, uint64_t number, struct response *response) {
    *response = (struct response){.result = results[request->command][number % 6],
                                  .cas = number >> 3,
                                  .number = number >> (number & 63),
                                  .won = number & 256,
                                  .stale = number & 512,
                                  .win_taken = number & 1024,
                                  .was_fetched = number & 2048,
                                  .idle = (uint32_t)(number >> 7)};
    buffer_init(&response->text);
    switch (response->result) {
    case RESULT_HIT:
    case RESULT_TOUCHED:
        response->item = invent_item(request->key, number);
        break;
    case RESULT_STORED:
    case RESULT_NUMBER:
        response->item = request->meta ? invent_item(request->key, number) : NULL;
        break;
    case RESULT_ROWS:
        invent_rows(response, number);
        break;
    case RESULT_STATS:
    case RESULT_LINES:
        invent_text(response, number);
        break;
    case RESULT_BAD_ARGUMENT:
        CHECK(buffer_append(&response->text, "a reason", strlen("a reason")) == ST_OK);
        break;
    default:
        break;
    }
}

void invent_free(struct response *response) {
    item_unref(&response->item);
    for (unsigned i = 0; i < response->row_count; i++) {
        struct item *item = response->rows[i].item;
        item_unref(&item);
    }
    buffer_free(&response->text);
}
