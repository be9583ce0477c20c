/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/meta_compose.h"

#include "net/base64.h"
#include "net/compose.h"

/* What an item takes beside key and value, about, for `me`; as `stats sizes` counts. */
enum { ITEM_OVERHEAD = 48 };

/* Of a line: c and t are of 64 bits; f, l, s and the size in front of 32; h is one digit. */
enum {
    DIGITS_32 = 10,
    KEY_MAX = sizeof " k b" + BASE64_LENGTH(STORE_KEY_MAX),
    OPAQUE_MAX = sizeof " O" + META_OPAQUE_MAX,
    NUMBERS_MAX = sizeof " c t f l s h1" + 2 * NUMBER_DIGITS + 3 * DIGITS_32,
    LINE_MAX = sizeof "VA  W X Z\r\n" + DIGITS_32 + NUMBERS_MAX + KEY_MAX + OPAQUE_MAX,
};

_Static_assert((int)LINE_MAX <= (int)OUTPUT_ROOM_MAX, "a reply's line fits the output's room");

/* A reply being made: its result, and the item it is about, if any. */
struct reply {
    const struct request *request;
    const struct response *response;
    const struct meta_form *form;
    struct item_view item; /* zero without one */
    int64_t now;
};

/* ---- flags ---- */

static char *put_key(char *to, const struct reply *reply) {
    struct slice key = reply->request->key;
    if (!reply->form->base64) {
        return put(to, key.p, key.n);
    }
    return to + base64_encode(to, key);
}

static char *put_key_flag(char *to, const struct reply *reply) {
    to = put_key(put(to, " k", 2), reply);
    return reply->form->base64 ? put(to, " b", 2) : to;
}

/* -1: for ever.  What the request itself let expire has no time left. */
static int64_t remaining(const struct reply *reply) {
    int64_t exptime = reply->item.exptime;
    return exptime == 0 ? -1 : exptime > reply->now ? exptime - reply->now : 0;
}

static char *put_flag(char *to, const struct reply *reply, char flag) {
    const struct response *response = reply->response;
    if (flag == 'k') {
        return put_key_flag(to, reply);
    }
    *to++ = ' ';
    *to++ = flag;
    switch (flag) {
    case 'O':
        return put(to, reply->form->opaque, reply->form->opaque_length);
    case 'c':
        return put_number(to, response->cas);
    case 'f':
        return put_number(to, reply->item.flags);
    case 'h':
        return put_number(to, response->was_fetched);
    case 'l':
        return put_number(to, response->idle);
    case 's':
        return put_number(to, reply->item.value.n);
    default:
        return put_signed(to, remaining(reply));
    }
}

/* `which`: those that this reply can tell. */
static char *put_flags(char *to, const struct reply *reply, const char *which) {
    for (size_t i = 0; i < META_SHOWN_MAX && reply->form->shown[i] != '\0'; i++) {
        if (strchr(which, reply->form->shown[i]) != NULL) {
            to = put_flag(to, reply, reply->form->shown[i]);
        }
    }
    return to;
}

static char *put_marks(char *to, const struct response *response) {
    to = response->win_taken ? put(to, " Z", 2) : to;
    to = response->stale ? put(to, " X", 2) : to;
    return response->won ? put(to, " W", 2) : to;
}

/* ---- replies ---- */

static void compose_line(struct output *output, const struct reply *reply, const char *code, const char *which) {
    char *line = output_room(output, LINE_MAX);
    if (line != NULL) {
        char *to = put_flags(put_text(line, code), reply, which);
        to = put(to, "\r\n", 2);
        output_added(output, (size_t)(to - line));
    }
}

static void compose_hit(struct output *output, const struct reply *reply) {
    const struct request *request = reply->request;
    bool known = request->compare_cas && request->cas == reply->response->cas;
    bool value = reply->form->value && !known;
    char *line = output_room(output, LINE_MAX);
    if (line == NULL) {
        return;
    }
    char *to = value ? put_number(put(line, "VA ", 3), reply->item.value.n) : put(line, "HD", 2);
    to = put_flags(to, reply, "kOstcflh");
    to = put_marks(to, reply->response);
    to = put(to, "\r\n", 2);
    output_added(output, (size_t)(to - line));
    if (value) {
        /* The item's memory goes on with a line end. */
        compose_item(output, reply->response->item, slice_of(reply->item.value.p, reply->item.value.n + 2));
    }
}

static void compose_number(struct output *output, const struct reply *reply) {
    char digits[NUMBER_DIGITS];
    size_t n = number_print(digits, reply->response->number);
    if (!reply->form->value) {
        compose_line(output, reply, "HD", "kOtc");
        return;
    }
    char *line = output_room(output, LINE_MAX);
    if (line != NULL) {
        char *to = put_number(put(line, "VA ", 3), n);
        to = put_flags(to, reply, "kOtc");
        to = put(to, "\r\n", 2);
        output_added(output, (size_t)(to - line));
        output_bytes(output, digits, n);
        output_bytes(output, "\r\n", 2);
    }
}

static void compose_debug(struct output *output, const struct reply *reply) {
    char *line = output_room(output, OUTPUT_ROOM_MAX);
    if (line == NULL) {
        return;
    }
    char *to = put_key(put(line, "ME ", 3), reply);
    to = put_signed(put_text(to, " exp="), remaining(reply));
    to = put_number(put_text(to, " la="), reply->response->idle);
    to = put_number(put_text(to, " cas="), reply->response->cas);
    to = put_text(to, reply->response->was_fetched ? " fetch=yes" : " fetch=no");
    to = put_number(put_text(to, " cls=1 size="), reply->item.key.n + reply->item.value.n + ITEM_OVERHEAD);
    to = put(to, "\r\n", 2);
    output_added(output, (size_t)(to - line));
}

/* A key that would not come through as a word is shown in base64. */
static bool is_word(struct slice key) {
    for (size_t i = 0; i < key.n; i++) {
        unsigned char byte = (unsigned char)key.p[i];
        if (byte <= ' ' || byte == 0x7f) {
            return false;
        }
    }
    return true;
}

static void compose_dump(struct output *output, const struct response *response) {
    for (unsigned i = 0; i < response->row_count; i++) {
        struct item_view view;
        char *line = output_room(output, LINE_MAX);
        if (line == NULL) {
            return;
        }
        item_look(response->rows[i].item, &view);
        bool word = is_word(view.key);
        char *to = put(line, "mg ", 3);
        to = word ? put(to, view.key.p, view.key.n) : put(to + base64_encode(to, view.key), " b", 2);
        to = put(to, "\r\n", 2);
        output_added(output, (size_t)(to - line));
    }
    if (!response->more) {
        output_text(output, "EN\r\n");
    }
}

/* ---- which reply ---- */

/* What goes unsaid with q: a miss of mg, a success of the others. */
static bool is_expected(const struct meta_form *form, enum result result) {
    switch (result) {
    case RESULT_MISS:
        return form->verb == 'g';
    case RESULT_STORED:
    case RESULT_DELETED:
    case RESULT_NUMBER:
        return true;
    default:
        return false;
    }
}

/* The code of a reply that is no more than a line; NULL: it is more, or none of meta's. */
static const char *code_of(const struct meta_form *form, enum result result) {
    switch (result) {
    case RESULT_MISS:
        return form->verb == 'g' || form->verb == 'e' ? "EN" : "NF";
    case RESULT_STORED:
    case RESULT_DELETED:
        return "HD";
    case RESULT_NOT_STORED:
        return "NS";
    case RESULT_EXISTS:
        return "EX";
    default:
        return NULL;
    }
}

static bool compose_reply(struct output *output, const struct reply *reply) {
    const char *code = code_of(reply->form, reply->response->result);
    if (code != NULL) {
        compose_line(output, reply, code, reply->form->verb == 's' ? "kOcs" : "kO");
        return true;
    }
    switch (reply->response->result) {
    case RESULT_HIT:
        (reply->form->verb == 'e' ? compose_debug : compose_hit)(output, reply);
        return true;
    case RESULT_NUMBER:
        compose_number(output, reply);
        return true;
    case RESULT_OK:
        output_text(output, "MN\r\n");
        return true;
    case RESULT_ROWS:
        compose_dump(output, reply->response);
        return true;
    default:
        return false;
    }
}

bool meta_compose(struct output *output, const struct request *request, const struct response *response,
                  const struct reply_form *form, int64_t now) {
    struct reply reply = {.request = request, .response = response, .form = &form->meta, .now = now};
    if (form->quiet && is_expected(&form->meta, response->result)) {
        return true;
    }
    if (response->item != NULL) {
        item_look(response->item, &reply.item);
    }
    return compose_reply(output, &reply);
}
