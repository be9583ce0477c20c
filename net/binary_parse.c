/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/binary_parse.h"

#include "net/binary_format.h"
#include "net/words.h"

/* The expiry with which incr and decr do not make a missing item. */
enum { DO_NOT_CREATE = 0xffffffff };

struct packet {
    uint8_t opcode;
    uint32_t opaque;
    uint64_t cas;
    size_t key_n, extras_n;
    uint64_t body_n;
    const char *extras;
    struct slice key;
};

/* ---- what an opcode asks for ---- */

static void fill_get(struct request *request, const struct packet *packet) {
    request->command = CMD_GET;
    request->touch = packet->extras_n > 0;
    request->touch_ttl = request->touch ? (int64_t)binary_read(packet->extras, 4) : 0;
}

static void fill_touch(struct request *request, const struct packet *packet) {
    request->command = CMD_TOUCH;
    request->exptime = (int64_t)binary_read(packet->extras, 4);
}

/* A condition makes set, add and replace the same: over that version, and no other. */
static void fill_store(struct request *request, const struct packet *packet, enum request_mode mode) {
    request->command = CMD_STORE;
    request->count_as_cas = packet->cas != 0;
    request->mode = request->count_as_cas ? MODE_SET : mode;
    request->flags = (uint32_t)binary_read(packet->extras, 4);
    request->exptime = (int64_t)binary_read(packet->extras + 4, 4);
}

static void fill_set(struct request *request, const struct packet *packet) {
    fill_store(request, packet, MODE_SET);
}

static void fill_add(struct request *request, const struct packet *packet) {
    fill_store(request, packet, MODE_ADD);
}

static void fill_replace(struct request *request, const struct packet *packet) {
    fill_store(request, packet, MODE_REPLACE);
}

static void fill_append(struct request *request, const struct packet *packet) {
    (void)packet;
    request->command = CMD_STORE;
    request->mode = MODE_APPEND;
}

static void fill_prepend(struct request *request, const struct packet *packet) {
    (void)packet;
    request->command = CMD_STORE;
    request->mode = MODE_PREPEND;
}

static void fill_delete(struct request *request, const struct packet *packet) {
    (void)packet;
    request->command = CMD_DELETE;
}

static void fill_increment(struct request *request, const struct packet *packet) {
    uint64_t exptime = binary_read(packet->extras + 16, 4);
    request->command = CMD_ARITH;
    request->delta = binary_read(packet->extras, 8);
    request->initial = binary_read(packet->extras + 8, 8);
    request->create = exptime != DO_NOT_CREATE;
    request->exptime = (int64_t)exptime;
}

static void fill_decrement(struct request *request, const struct packet *packet) {
    fill_increment(request, packet);
    request->decrement = true;
}

static void fill_flush(struct request *request, const struct packet *packet) {
    request->command = CMD_FLUSH;
    request->exptime = packet->extras_n > 0 ? (int64_t)binary_read(packet->extras, 4) : 0;
}

static void fill_noop(struct request *request, const struct packet *packet) {
    (void)packet;
    request->command = CMD_NOOP;
}

static void fill_version(struct request *request, const struct packet *packet) {
    (void)packet;
    request->command = CMD_VERSION;
}

static void fill_quit(struct request *request, const struct packet *packet) {
    (void)packet;
    request->command = CMD_QUIT;
}

/* The command layer reads a word; which of the higher levels does not matter to it. */
static void fill_verbosity(struct request *request, const struct packet *packet) {
    bool quiet = packet->extras_n == 0 || binary_read(packet->extras, 4) == 0;
    request->command = CMD_VERBOSITY;
    request->words[0] = slice_str(quiet ? "0" : "1");
    request->word_count = 1;
}

/* The key is a group and its arguments, as the text protocol has them. */
static void fill_stat(struct request *request, const struct packet *packet) {
    struct slice rest = packet->key;
    request->command = CMD_STATS;
    request->key = slice_of("", 0);
    for (struct slice word = next_word(&rest); word.n > 0 && request->word_count < REQUEST_WORDS;
         word = next_word(&rest)) {
        request->words[request->word_count++] = word;
    }
}

struct operation {
    void (*fill)(struct request *request, const struct packet *packet); /* NULL: an opcode that we do not know */
    unsigned char extras;
    enum { WITHOUT_KEY, WITH_KEY, PERHAPS_KEY } key;
    bool perhaps_extras; /* none will do */
    bool value;
    bool quiet;
};

#define PLAIN(function, ...) {.fill = (function), __VA_ARGS__}
#define QUIET(function, ...) {.fill = (function), .quiet = true, __VA_ARGS__}
#define GETS .key = WITH_KEY
#define TOUCHES .key = WITH_KEY, .extras = 4
#define STORES .key = WITH_KEY, .extras = 8, .value = true
#define JOINS .key = WITH_KEY, .value = true
#define COUNTS .key = WITH_KEY, .extras = 20
#define BARE .key = WITHOUT_KEY
#define BARE_NUMBER .key = WITHOUT_KEY, .extras = 4, .perhaps_extras = true

static const struct operation operations[] = {
    [BINARY_GET] = PLAIN(fill_get, GETS),
    [BINARY_GETQ] = QUIET(fill_get, GETS),
    [BINARY_GETK] = PLAIN(fill_get, GETS),
    [BINARY_GETKQ] = QUIET(fill_get, GETS),
    [BINARY_GAT] = PLAIN(fill_get, TOUCHES),
    [BINARY_GATQ] = QUIET(fill_get, TOUCHES),
    [BINARY_GATK] = PLAIN(fill_get, TOUCHES),
    [BINARY_GATKQ] = QUIET(fill_get, TOUCHES),
    [BINARY_TOUCH] = PLAIN(fill_touch, TOUCHES),
    [BINARY_SET] = PLAIN(fill_set, STORES),
    [BINARY_SETQ] = QUIET(fill_set, STORES),
    [BINARY_ADD] = PLAIN(fill_add, STORES),
    [BINARY_ADDQ] = QUIET(fill_add, STORES),
    [BINARY_REPLACE] = PLAIN(fill_replace, STORES),
    [BINARY_REPLACEQ] = QUIET(fill_replace, STORES),
    [BINARY_APPEND] = PLAIN(fill_append, JOINS),
    [BINARY_APPENDQ] = QUIET(fill_append, JOINS),
    [BINARY_PREPEND] = PLAIN(fill_prepend, JOINS),
    [BINARY_PREPENDQ] = QUIET(fill_prepend, JOINS),
    [BINARY_DELETE] = PLAIN(fill_delete, GETS),
    [BINARY_DELETEQ] = QUIET(fill_delete, GETS),
    [BINARY_INCREMENT] = PLAIN(fill_increment, COUNTS),
    [BINARY_INCREMENTQ] = QUIET(fill_increment, COUNTS),
    [BINARY_DECREMENT] = PLAIN(fill_decrement, COUNTS),
    [BINARY_DECREMENTQ] = QUIET(fill_decrement, COUNTS),
    [BINARY_FLUSH] = PLAIN(fill_flush, BARE_NUMBER),
    [BINARY_FLUSHQ] = QUIET(fill_flush, BARE_NUMBER),
    [BINARY_VERBOSITY] = PLAIN(fill_verbosity, BARE_NUMBER),
    [BINARY_NOOP] = PLAIN(fill_noop, BARE),
    [BINARY_VERSION] = PLAIN(fill_version, BARE),
    [BINARY_STAT] = PLAIN(fill_stat, .key = PERHAPS_KEY),
    [BINARY_QUIT] = PLAIN(fill_quit, BARE),
    [BINARY_QUITQ] = QUIET(fill_quit, BARE),
};

/* ---- packets ---- */

static void read_header(struct packet *packet, const char *header) {
    packet->opcode = (uint8_t)header[BINARY_AT_OPCODE];
    packet->key_n = binary_read(header + BINARY_AT_KEY, 2);
    packet->extras_n = (unsigned char)header[BINARY_AT_EXTRAS];
    packet->body_n = binary_read(header + BINARY_AT_BODY, 4);
    packet->opaque = (uint32_t)binary_read(header + BINARY_AT_OPAQUE, 4);
    packet->cas = binary_read(header + BINARY_AT_CAS, 8);
    packet->extras = header + BINARY_HEADER;
    packet->key = slice_of(packet->extras + packet->extras_n, packet->key_n);
}

static const struct operation *find_operation(const struct packet *packet) {
    size_t count = sizeof operations / sizeof operations[0];
    bool known = packet->opcode < count && operations[packet->opcode].fill != NULL;
    return known ? &operations[packet->opcode] : NULL;
}

static bool fits(const struct operation *operation, const struct packet *packet) {
    bool extras = packet->extras_n == operation->extras || (operation->perhaps_extras && packet->extras_n == 0);
    bool key = operation->key == PERHAPS_KEY || (packet->key_n > 0) == (operation->key == WITH_KEY);
    bool value = operation->value || packet->body_n == packet->extras_n + packet->key_n;
    return extras && key && value;
}

static enum parse_verdict refuse(struct parsed *parsed, const struct packet *packet, enum binary_status status,
                                 const char *text) {
    parsed->form.tag = binary_tag(packet->opcode, packet->opaque, status);
    parsed->reply = text;
    parsed->refused = true;
    return PARSE_REPLY;
}

static enum parse_verdict refuse_framing(struct parsed *parsed, const struct packet *packet, size_t consumed) {
    parsed->consumed = consumed;
    parsed->form.closes = true;
    return refuse(parsed, packet, BINARY_INVALID, "Invalid arguments");
}

static enum parse_verdict take(struct parsed *parsed, const struct operation *operation, const struct packet *packet) {
    struct request *request = parsed->request;
    size_t read = packet->extras_n + packet->key_n;
    parsed->consumed = BINARY_HEADER + read;
    parsed->form.quiet = operation->quiet;
    parsed->form.tag = binary_tag(packet->opcode, packet->opaque, BINARY_NO_MEMORY);
    request->key = packet->key;
    request->compare_cas = packet->cas != 0;
    request->cas = packet->cas;
    operation->fill(request, packet);
    if (operation->value) {
        parsed->body = packet->body_n - read;
        return PARSE_BODY;
    }
    return PARSE_REQUEST;
}

enum parse_verdict binary_parse(struct parser *parser, struct slice input, struct parsed *parsed) {
    struct packet packet = {.opcode = 0};
    (void)parser;
    if (input.n > 0 && (unsigned char)input.p[BINARY_AT_MAGIC] != BINARY_REQUEST) {
        return refuse_framing(parsed, &packet, 1);
    }
    if (input.n < BINARY_HEADER) {
        return PARSE_MORE;
    }
    read_header(&packet, input.p);
    size_t head = BINARY_HEADER + packet.extras_n + packet.key_n;
    if (packet.key_n > STORE_KEY_MAX || packet.extras_n + packet.key_n > packet.body_n) {
        return refuse_framing(parsed, &packet, BINARY_HEADER);
    }
    const struct operation *operation = find_operation(&packet);
    if (operation == NULL) {
        parsed->consumed = BINARY_HEADER;
        parsed->skip = packet.body_n;
        return refuse(parsed, &packet, BINARY_UNKNOWN, "Unknown command");
    }
    if (!fits(operation, &packet)) {
        return refuse_framing(parsed, &packet, BINARY_HEADER);
    }
    return input.n < head ? PARSE_MORE : take(parsed, operation, &packet);
}

unsigned binary_peek(const struct parser *parser, struct slice input, struct slice *keys, unsigned max) {
    unsigned count = 0;
    (void)parser;
    while (count < max && input.n >= BINARY_HEADER) {
        struct packet packet;
        read_header(&packet, input.p);
        size_t head = BINARY_HEADER + packet.extras_n + packet.key_n;
        if (head > input.n) {
            break;
        }
        if (packet.key_n > 0 && packet.key_n <= STORE_KEY_MAX) {
            keys[count++] = packet.key;
        }
        uint64_t whole = BINARY_HEADER + packet.body_n;
        if (whole > input.n) {
            break;
        }
        input = slice_of(input.p + whole, input.n - whole);
    }
    return count;
}
