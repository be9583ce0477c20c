/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/text_compose.h"

#include "net/compose.h"
#include "net/meta_compose.h"
#include "src/base/check.h"
#include "src/cmd/command.h"

/* ---- VALUE ---- */

enum { VALUE_LINE_MAX = sizeof "VALUE   " + STORE_KEY_MAX + 3 * NUMBER_DIGITS + 4 };

_Static_assert((int)VALUE_LINE_MAX <= (int)OUTPUT_ROOM_MAX, "a VALUE line fits the output's room");

/* The key is echoed as it was sent. */
static void compose_value(struct output *output, const struct request *request, const struct response *response,
                          bool with_cas) {
    struct item_view view;
    char *line = output_room(output, VALUE_LINE_MAX);
    if (line == NULL) {
        return;
    }
    item_look(response->item, &view);
    char *to = put(line, "VALUE ", 6);
    to = put(to, request->key.p, request->key.n);
    *to++ = ' ';
    to = put_number(to, view.flags);
    *to++ = ' ';
    to = put_number(to, view.value.n);
    if (with_cas) {
        *to++ = ' ';
        to = put_number(to, response->cas);
    }
    to = put(to, "\r\n", 2);
    output_added(output, (size_t)(to - line));
    /* The item's memory goes on with a line end. */
    compose_item(output, response->item, slice_of(view.value.p, view.value.n + 2));
}

/* ---- STAT and other lines ---- */

static void compose_stats(struct output *output, const struct response *response) {
    struct slice rest = response_text(response);
    while (rest.n > 0) {
        struct slice name = next_text(&rest);
        struct slice value = next_text(&rest);
        output_bytes(output, "STAT ", 5);
        output_bytes(output, name.p, name.n);
        output_bytes(output, " ", 1);
        output_bytes(output, value.p, value.n);
        output_bytes(output, "\r\n", 2);
    }
    output_text(output, "END\r\n");
}

static void compose_lines(struct output *output, const struct response *response) {
    struct slice rest = response_text(response);
    while (rest.n > 0) {
        struct slice line = next_text(&rest);
        output_bytes(output, line.p, line.n);
        output_bytes(output, "\r\n", 2);
    }
    output_text(output, "END\r\n");
}

/* ---- metadump ---- */

/* As memcached's uriencode: letters, digits and -._~ stay.  Escaped thrice as long, so by pieces. */
static void compose_escaped(struct output *output, struct slice text) {
    static const char hex[] = "0123456789ABCDEF";
    char piece[STORE_KEY_MAX * 3];
    char *to = piece;
    CHECK(text.n <= STORE_KEY_MAX);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char byte = (unsigned char)text.p[i];
        bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                     byte == '-' || byte == '.' || byte == '_' || byte == '~';
        if (plain) {
            *to++ = (char)byte;
        } else {
            *to++ = '%';
            *to++ = hex[byte >> 4];
            *to++ = hex[byte & 15];
        }
    }
    output_bytes(output, piece, (size_t)(to - piece));
}

static void compose_row(struct output *output, const struct store_row *row, int64_t now) {
    struct item_view view;
    item_look(row->item, &view);
    output_bytes(output, "key=", 4);
    compose_escaped(output, view.key);
    char *line = output_room(output, OUTPUT_ROOM_MAX);
    if (line == NULL) {
        return;
    }
    char *to = put_text(line, " exp=");
    to = put_signed(to, view.exptime == 0 ? -1 : view.exptime);
    to = put_text(to, " la=");
    to = put_signed(to, now - (int64_t)row->idle);
    to = put_text(to, " cas=");
    to = put_number(to, view.cas);
    to = put_text(to, row->fetched ? " fetch=yes cls=1 size=" : " fetch=no cls=1 size=");
    to = put_number(to, row->size);
    to = put(to, "\r\n", 2);
    output_added(output, (size_t)(to - line));
}

static void compose_rows(struct output *output, const struct response *response, int64_t now) {
    for (unsigned i = 0; i < response->row_count; i++) {
        compose_row(output, &response->rows[i], now);
    }
    if (!response->more) {
        output_text(output, "END\r\n");
    }
}

/* ---- one line ---- */

#define READ_ONLY_LINE "SERVER_ERROR write failed: the store is read-only\r\n"

/* What does not depend on the command. */
static const char *const result_lines[RESULT_COUNT] = {
    [RESULT_MISS] = "NOT_FOUND\r\n",
    [RESULT_STORED] = "STORED\r\n",
    [RESULT_NOT_STORED] = "NOT_STORED\r\n",
    [RESULT_EXISTS] = "EXISTS\r\n",
    [RESULT_DELETED] = "DELETED\r\n",
    [RESULT_TOUCHED] = "TOUCHED\r\n",
    [RESULT_OK] = "OK\r\n",
    [RESULT_VERSION] = "VERSION " COMMAND_MEMCACHED_VERSION "\r\n",
    [RESULT_RESET] = "RESET\r\n",
    [RESULT_CLOSE] = "",
    [RESULT_NOT_NUMERIC] = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
    [RESULT_BAD_DELTA] = "CLIENT_ERROR invalid numeric delta argument\r\n",
    [RESULT_TOO_LARGE] = "SERVER_ERROR object too large for cache\r\n",
    [RESULT_NO_MEMORY] = "SERVER_ERROR out of memory\r\n",
    [RESULT_DISK_FULL] = "SERVER_ERROR out of disk space\r\n",
    [RESULT_READ_ONLY] = READ_ONLY_LINE,
    [RESULT_DAMAGED] = "SERVER_ERROR read failed: damaged data\r\n",
    [RESULT_DISABLED] = "ERROR\r\n",
    [RESULT_UNKNOWN] = "ERROR\r\n",
};

static const char *result_line(const struct request *request, enum result result) {
    if (result == RESULT_NO_MEMORY && request->command == CMD_STORE) {
        return "SERVER_ERROR out of memory storing object\r\n";
    }
    if (result == RESULT_DISABLED && request->command == CMD_SHUTDOWN) {
        return "ERROR: shutdown not enabled\r\n";
    }
    return result_lines[result];
}

static void compose_refusal(struct output *output, const struct request *request, const struct response *response) {
    struct slice text = response_text(response);
    output_text(output, request->command == CMD_MEMLIMIT ? "MEMLIMIT_TOO_SMALL " : "CLIENT_ERROR ");
    output_bytes(output, text.p, text.n);
    output_bytes(output, "\r\n", 2);
}

static void compose_number(struct output *output, uint64_t number) {
    char *line = output_room(output, NUMBER_DIGITS + 2);
    if (line != NULL) {
        char *to = put_number(line, number);
        to = put(to, "\r\n", 2);
        output_added(output, (size_t)(to - line));
    }
}

void text_compose(struct output *output, const struct request *request, const struct response *response,
                  const struct reply_form *form, int64_t now) {
    if (form->noreply) {
        return;
    }
    if (form->meta.verb != '\0' && meta_compose(output, request, response, form, now)) {
        return;
    }
    switch (response->result) {
    case RESULT_HIT:
        compose_value(output, request, response, form->with_cas);
        break;
    case RESULT_NUMBER:
        compose_number(output, response->number);
        break;
    case RESULT_STATS:
        compose_stats(output, response);
        break;
    case RESULT_LINES:
        compose_lines(output, response);
        break;
    case RESULT_ROWS:
        compose_rows(output, response, now);
        break;
    case RESULT_BAD_ARGUMENT:
        compose_refusal(output, request, response);
        break;
    case RESULT_MISS:
        if (form->part) {
            break;
        }
        /* fall through */
    default:
        output_text(output, result_line(request, response->result));
    }
}

void text_refuse(struct output *output, uint64_t tag, const char *reply) {
    (void)tag;
    output_text(output, reply);
}

void text_lost(struct output *output, uint64_t tag) {
    (void)tag;
    output_text(output, READ_ONLY_LINE);
}
