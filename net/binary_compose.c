/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/binary_compose.h"

#include "net/binary_format.h"
#include "net/compose.h"
#include "src/cmd/command.h"

enum { FLAGS_BYTES = 4, NUMBER_BYTES = 8 };

_Static_assert(BINARY_HEADER + FLAGS_BYTES + STORE_KEY_MAX <= (int)OUTPUT_ROOM_MAX, "a packet's head fits");

/* What stands in a packet in front of its value. */
struct head {
    uint64_t tag;
    enum binary_status status;
    uint64_t cas;
    bool has_flags;
    uint32_t flags;
    struct slice key; /* at most STORE_KEY_MAX bytes; empty, it may have no address */
};

static void put_head(struct output *output, const struct head *head, size_t value_n) {
    size_t extras_n = head->has_flags ? FLAGS_BYTES : 0;
    char *to = output_room(output, BINARY_HEADER + extras_n + head->key.n);
    if (to == NULL) {
        return;
    }
    memset(to, 0, BINARY_HEADER);
    to[BINARY_AT_MAGIC] = (char)BINARY_RESPONSE;
    to[BINARY_AT_OPCODE] = (char)binary_tag_opcode(head->tag);
    to[BINARY_AT_EXTRAS] = (char)extras_n;
    binary_write(to + BINARY_AT_KEY, head->key.n, 2);
    binary_write(to + BINARY_AT_STATUS, head->status, 2);
    binary_write(to + BINARY_AT_BODY, extras_n + head->key.n + value_n, 4);
    binary_write(to + BINARY_AT_OPAQUE, binary_tag_opaque(head->tag), 4);
    binary_write(to + BINARY_AT_CAS, head->cas, 8);
    if (head->has_flags) {
        binary_write(to + BINARY_HEADER, head->flags, FLAGS_BYTES);
    }
    if (head->key.n > 0) {
        put(to + BINARY_HEADER + extras_n, head->key.p, head->key.n);
    }
    output_added(output, BINARY_HEADER + extras_n + head->key.n);
}

static void put_packet(struct output *output, const struct head *head, struct slice value) {
    put_head(output, head, value.n);
    output_bytes(output, value.p, value.n);
}

/* ---- errors ---- */

struct error {
    enum binary_status status;
    const char *text;
};

static const struct error errors[RESULT_COUNT] = {
    [RESULT_MISS] = {BINARY_NOT_FOUND, "Not found"},
    [RESULT_NOT_STORED] = {BINARY_NOT_STORED, "Not stored."},
    [RESULT_EXISTS] = {BINARY_EXISTS, "Data exists for key."},
    [RESULT_NOT_NUMERIC] = {BINARY_NOT_NUMERIC, "Non-numeric server-side value for incr or decr"},
    [RESULT_BAD_DELTA] = {BINARY_INVALID, "Invalid arguments"},
    [RESULT_TOO_LARGE] = {BINARY_TOO_LARGE, "Too large."},
    [RESULT_NO_MEMORY] = {BINARY_NO_MEMORY, "Out of memory"},
    [RESULT_DISK_FULL] = {BINARY_NO_MEMORY, "Out of disk space"},
    [RESULT_READ_ONLY] = {BINARY_INTERNAL, "Write failed: the store is read-only"},
    [RESULT_DAMAGED] = {BINARY_INTERNAL, "Read failed: damaged data"},
    [RESULT_DISABLED] = {BINARY_UNKNOWN, "Unknown command"},
    [RESULT_BAD_ARGUMENT] = {BINARY_NOT_FOUND, "Not found"}, /* of a stats group, which is all that can have one */
    [RESULT_UNKNOWN] = {BINARY_NOT_FOUND, "Not found"},
};

/* What an add found, and what a replace did not. */
static enum result reason(const struct request *request, enum result result) {
    if (result == RESULT_NOT_STORED && request->mode == MODE_ADD) {
        return RESULT_EXISTS;
    }
    return result == RESULT_NOT_STORED && request->mode == MODE_REPLACE ? RESULT_MISS : result;
}

static bool tells_key(uint64_t tag) {
    uint8_t opcode = binary_tag_opcode(tag);
    return opcode == BINARY_GETK || opcode == BINARY_GETKQ || opcode == BINARY_GATK || opcode == BINARY_GATKQ;
}

static void compose_error(struct output *output, const struct request *request, uint64_t tag, enum result result) {
    const struct error *error = &errors[reason(request, result)];
    struct head head = {.tag = tag, .status = error->status};
    /* A miss names its key instead of a reason. */
    bool key = result == RESULT_MISS && tells_key(tag);
    if (key) {
        head.key = request->key;
    }
    put_packet(output, &head, slice_str(key ? "" : error->text));
}

/* ---- stats ---- */

/* A packet a value, and one without a name at the end. */
static void compose_stats(struct output *output, const struct response *response, uint64_t tag) {
    struct slice rest = response_text(response);
    struct head head = {.tag = tag};
    while (rest.n > 0) {
        head.key = next_text(&rest);
        put_packet(output, &head, next_text(&rest));
    }
    head.key.n = 0;
    put_head(output, &head, 0);
}

/* Lines as memcached has those of `detail dump`: together, as the value of one name. */
static void compose_lines(struct output *output, const struct request *request, const struct response *response,
                          uint64_t tag) {
    struct slice rest = response_text(response);
    struct head head = {.tag = tag};
    size_t total = strlen("END\r\n");
    for (struct slice lines = rest; lines.n > 0;) {
        total += next_text(&lines).n + 2;
    }
    bool detail = slice_equal(request->words[0], slice_str("detail"));
    head.key = detail ? slice_str("detailed") : request->words[0];
    put_head(output, &head, total);
    while (rest.n > 0) {
        struct slice line = next_text(&rest);
        output_bytes(output, line.p, line.n);
        output_bytes(output, "\r\n", 2);
    }
    output_text(output, "END\r\n");
    head.key.n = 0;
    put_head(output, &head, 0);
}

/* ---- the rest ---- */

/* A hit; of a touch, the flags alone. */
static void compose_found(struct output *output, const struct request *request, const struct response *response,
                          uint64_t tag) {
    struct head head = {.tag = tag, .cas = response->cas, .has_flags = true};
    struct item_view view;
    item_look(response->item, &view);
    head.flags = view.flags;
    if (tells_key(tag)) {
        head.key = request->key;
    }
    if (response->result == RESULT_TOUCHED) {
        put_head(output, &head, 0);
    } else {
        put_head(output, &head, view.value.n);
        compose_item(output, response->item, view.value);
    }
}

static void compose_number(struct output *output, const struct response *response, uint64_t tag) {
    struct head head = {.tag = tag, .cas = response->cas};
    char number[NUMBER_BYTES];
    binary_write(number, response->number, NUMBER_BYTES);
    put_packet(output, &head, slice_of(number, NUMBER_BYTES));
}

/* Quiet reads leave misses unsaid, other quiet requests their success. */
static bool is_expected(const struct request *request, enum result result) {
    if (request->command == CMD_GET) {
        return result == RESULT_MISS;
    }
    return errors[result].text == NULL;
}

void binary_compose(struct output *output, const struct request *request, const struct response *response,
                    const struct reply_form *form, int64_t now) {
    struct head head = {.tag = form->tag, .cas = response->cas};
    (void)now;
    if (form->quiet && is_expected(request, response->result)) {
        return;
    }
    if (errors[response->result].text != NULL) {
        compose_error(output, request, form->tag, response->result);
        return;
    }
    switch (response->result) {
    case RESULT_HIT:
    case RESULT_TOUCHED:
        compose_found(output, request, response, form->tag);
        break;
    case RESULT_NUMBER:
        compose_number(output, response, form->tag);
        break;
    case RESULT_STATS:
        compose_stats(output, response, form->tag);
        break;
    case RESULT_LINES:
        compose_lines(output, request, response, form->tag);
        break;
    case RESULT_VERSION:
        put_packet(output, &head, slice_str(COMMAND_MEMCACHED_VERSION));
        break;
    default:
        put_head(output, &head, 0);
    }
}

void binary_refuse(struct output *output, uint64_t tag, const char *reply) {
    struct head head = {.tag = tag, .status = binary_tag_refusal(tag)};
    put_packet(output, &head, slice_str(reply));
}

void binary_lost(struct output *output, uint64_t tag) {
    struct head head = {.tag = tag, .status = errors[RESULT_READ_ONLY].status};
    put_packet(output, &head, slice_str(errors[RESULT_READ_ONLY].text));
}
