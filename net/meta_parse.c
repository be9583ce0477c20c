/* SPDX-License-Identifier: BSD-3-Clause */
/* As in memcached every command knows every flag and ignores those that mean nothing to it; unknown and repeated ones
 * are refused. */
#include "net/meta_parse.h"

#include <string.h>

#include "net/base64.h"
#include "net/text_parse.h"
#include "net/words.h"
#include "src/base/number.h"

static const char error_format[] = "CLIENT_ERROR bad command line format\r\n";
static const char error_flag[] = "CLIENT_ERROR invalid flag\r\n";
static const char error_duplicate[] = "CLIENT_ERROR duplicate flag\r\n";
static const char error_token[] = "CLIENT_ERROR bad token in command line format\r\n";
static const char error_delta[] = "CLIENT_ERROR invalid numeric delta argument\r\n";
static const char error_initial[] = "CLIENT_ERROR invalid numeric initial value\r\n";
static const char error_mode_length[] = "CLIENT_ERROR incorrect length for M token\r\n";
static const char error_store_mode[] = "CLIENT_ERROR invalid mode for ms M token\r\n";
static const char error_arith_mode[] = "CLIENT_ERROR invalid mode for ma M token\r\n";
static const char error_opaque[] = "CLIENT_ERROR opaque token too long\r\n";
static const char error_key[] = "CLIENT_ERROR error decoding key\r\n";

struct line {
    char verb;
    struct parsed *parsed;
    struct request *request;
    struct meta_form *form;
    unsigned shown;
    uint64_t seen; /* flags, one bit each */
};

bool meta_owns(struct slice word) {
    return word.n == 2 && word.p[0] == 'm' && memchr("gsdane", word.p[1], 6) != NULL;
}

static enum parse_verdict answer(struct parsed *parsed, const char *reply) {
    parsed->reply = reply;
    parsed->refused = true;
    return PARSE_REPLY;
}

/* ---- flags: each takes its token and returns NULL, or the answer to a bad one ---- */

/* Shown in the reply, if this command shows it; tokens of the response to other commands are left out. */
static const char *take_shown(struct line *line, char flag) {
    const char *all = line->verb == 'g' ? "kOstcflh" : line->verb == 's' ? "kOcs" : line->verb == 'a' ? "kOtc" : "kO";
    if (strchr(all, flag) != NULL) {
        line->form->shown[line->shown++] = flag;
    }
    return NULL;
}

static const char *take_time(struct slice token, int64_t *time) {
    return number_i64(token, time) ? NULL : error_token;
}

static const char *take_ttl(struct line *line, struct slice token) {
    struct request *request = line->request;
    request->touch = line->verb != 's';
    return take_time(token, line->verb == 's' ? &request->exptime : &request->touch_ttl);
}

static const char *take_vivify(struct line *line, struct slice token) {
    struct request *request = line->request;
    if (line->verb == 'a') {
        request->create = true;
        return take_time(token, &request->exptime);
    }
    request->vivify = true;
    return take_time(token, &request->vivify_ttl);
}

static const char *take_recache(struct line *line, struct slice token) {
    line->request->recache = true;
    return take_time(token, &line->request->recache_ttl);
}

static const char *take_cas(struct line *line, struct slice token) {
    line->request->compare_cas = true;
    return number_u64(token, &line->request->cas) ? NULL : error_token;
}

static const char *take_explicit_cas(struct line *line, struct slice token) {
    line->request->set_cas = true;
    return number_u64(token, &line->request->explicit_cas) ? NULL : error_token;
}

static const char *take_opaque(struct line *line, struct slice token) {
    if (token.n > META_OPAQUE_MAX) {
        return error_opaque;
    }
    memcpy(line->form->opaque, token.p, token.n);
    line->form->opaque_length = (unsigned char)token.n;
    return take_shown(line, 'O');
}

static const char *take_store_mode(struct request *request, char mode) {
    static const char modes[] = "SERAP"; /* in the order of the enum */
    const char *found = strchr(modes, mode & ~0x20);
    if (found == NULL || *found == '\0') {
        return error_store_mode;
    }
    request->mode = (enum request_mode)(found - modes);
    return NULL;
}

static const char *take_mode(struct line *line, struct slice token) {
    if (token.n != 1) {
        return error_mode_length;
    }
    char mode = token.p[0];
    if (line->verb == 's') {
        return take_store_mode(line->request, mode);
    }
    line->request->decrement = mode == 'D' || mode == 'd' || mode == '-';
    bool increment = mode == 'I' || mode == 'i' || mode == '+';
    return line->verb != 'a' || line->request->decrement || increment ? NULL : error_arith_mode;
}

static const char *take_flag(struct line *line, char flag, struct slice token) {
    struct request *request = line->request;
    switch (flag) {
    case 'b':
        line->form->base64 = true;
        return NULL;
    case 'q':
        line->parsed->form.quiet = true;
        return NULL;
    case 'v':
        line->form->value = true;
        return NULL;
    case 'u':
        request->no_bump = true;
        return NULL;
    case 'I':
        request->invalidate = true;
        return NULL;
    case 'x':
        request->drop_value = true;
        return NULL;
    case 'L': /* for proxies */
    case 'P':
        return NULL;
    case 'c':
    case 'f':
    case 'h':
    case 'k':
    case 'l':
    case 's':
    case 't':
        return take_shown(line, flag);
    case 'O':
        return take_opaque(line, token);
    case 'T':
        return take_ttl(line, token);
    case 'N':
        return take_vivify(line, token);
    case 'R':
        return take_recache(line, token);
    case 'C':
        return take_cas(line, token);
    case 'E':
        return take_explicit_cas(line, token);
    case 'M':
        return take_mode(line, token);
    case 'F':
        return number_u32(token, &request->flags) ? NULL : error_format;
    case 'D':
        return number_u64(token, &request->delta) ? NULL : error_delta;
    case 'J':
        return number_u64(token, &request->initial) ? NULL : error_initial;
    default:
        return error_flag;
    }
}

/* The first flag that is wrong decides the answer. */
static const char *take_flags(struct line *line, struct slice rest) {
    for (struct slice word = next_word(&rest); word.n > 0; word = next_word(&rest)) {
        unsigned bit = (unsigned char)word.p[0] - 'A';
        if (bit > 'z' - 'A') {
            return error_flag;
        }
        if (line->seen >> bit & 1) {
            return error_duplicate;
        }
        line->seen |= (uint64_t)1 << bit;
        const char *refusal = take_flag(line, word.p[0], slice_of(word.p + 1, word.n - 1));
        if (refusal != NULL) {
            return refusal;
        }
    }
    return NULL;
}

/* ---- commands ---- */

static const char *take_key(struct line *line, struct slice word) {
    if (!line->form->base64) {
        line->request->key = word;
        return word.n <= STORE_KEY_MAX ? NULL : error_format;
    }
    line->request->key.p = line->parsed->key_room;
    return base64_decode(line->parsed->key_room, STORE_KEY_MAX, word, &line->request->key.n) ? NULL : error_key;
}

/* How much to drop behind a ms line whose length is not where it belongs.  Clients of memcached 1.6.6 and before give
 * it as the token of a flag. */
static uint64_t old_length(struct slice rest) {
    uint64_t length;
    for (struct slice word = next_word(&rest); word.n > 0; word = next_word(&rest)) {
        if (word.p[0] == 'S' && number_u64(slice_of(word.p + 1, word.n - 1), &length) && length <= TEXT_BODY_MAX) {
            return length + 2;
        }
    }
    return 0;
}

static enum parse_verdict parse_store(struct line *line, struct slice key, struct slice rest) {
    struct parsed *parsed = line->parsed;
    struct slice words = rest;
    if (!number_u64(next_word(&rest), &parsed->body) || parsed->body > TEXT_BODY_MAX) {
        parsed->skip = old_length(words);
        return answer(parsed, error_format);
    }
    const char *refusal = take_flags(line, rest);
    if (refusal == NULL) {
        refusal = take_key(line, key);
    }
    if (refusal != NULL) {
        parsed->skip = parsed->body + 2;
        return answer(parsed, refusal);
    }
    return PARSE_BODY;
}

static void begin(struct line *line) {
    struct request *request = line->request;
    static const struct {
        char verb;
        enum command_code command;
    } commands[] = {{'g', CMD_GET}, {'s', CMD_STORE}, {'d', CMD_DELETE}, {'a', CMD_ARITH}, {'e', CMD_GET}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (commands[i].verb == line->verb) {
            request->command = commands[i].command;
        }
    }
    request->meta = true;
    request->delta = 1;
}

enum parse_verdict meta_parse(char verb, struct slice rest, struct parsed *parsed) {
    struct line line = {.verb = verb, .parsed = parsed, .request = parsed->request, .form = &parsed->form.meta};
    line.form->verb = verb;
    if (verb == 'n') {
        line.request->command = CMD_NOOP;
        return PARSE_REQUEST;
    }
    struct slice key = next_word(&rest);
    if (key.n == 0) {
        return answer(parsed, error_format);
    }
    begin(&line);
    if (verb == 's') {
        return parse_store(&line, key, rest);
    }
    const char *refusal = take_flags(&line, rest);
    if (refusal == NULL) {
        refusal = take_key(&line, key);
    }
    if (refusal != NULL) {
        return answer(parsed, refusal);
    }
    /* me looks at what mg would get, but leaves no trace and wins no token of a stale item, whatever its flags. */
    if (verb == 'e') {
        *line.request = (struct request){.command = CMD_GET, .key = line.request->key, .no_bump = true};
    }
    return PARSE_REQUEST;
}
