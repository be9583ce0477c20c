/* SPDX-License-Identifier: BSD-3-Clause */
/* Reply texts are memcached's.  Where its versions differ, the newer one is followed: a refused data block whose length
 * is known is dropped with the command, so that one bad request gets one answer and the next command its own. */
#include "net/text_parse.h"

#include <string.h>

#include "net/meta_parse.h"
#include "net/words.h"
#include "src/base/number.h"

/* parser.state: 0 is the start of a command line. */
enum { AT_LINE, AT_KEY, IN_SKIPPED_LINE };

enum { WORDS_MAX = 12 };

static const char error_unknown[] = "ERROR\r\n";
static const char error_format[] = "CLIENT_ERROR bad command line format\r\n";
static const char error_line[] = "CLIENT_ERROR line too long\r\n";
static const char error_exptime[] = "CLIENT_ERROR invalid exptime argument\r\n";
static const char error_delta[] = "CLIENT_ERROR invalid numeric delta argument\r\n";
static const char error_delete[] = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
static const char error_class[] = "BADCLASS invalid class id\r\n";

struct words {
    struct slice at[WORDS_MAX];
    unsigned count; /* of all words; those beyond WORDS_MAX are only counted */
};

/* One command line being looked at.  kind is the verb's, see the table. */
struct line {
    struct parser *parser;
    struct parsed *parsed;
    struct words words;
    int kind;
};

static enum parse_verdict answer(struct parsed *parsed, const char *reply) {
    parsed->reply = reply;
    parsed->refused = true;
    return PARSE_REPLY;
}

/* A word of a table or a comparison, its length counted by the compiler. */
#define WORD(text) {text, sizeof text - 1}

static bool word_is(struct slice word, const char *text) {
    return slice_equal(word, slice_str(text));
}

static void split_words(struct words *words, struct slice text) {
    words->count = 0;
    for (struct slice word = next_word(&text); word.n > 0; word = next_word(&text)) {
        if (words->count < WORDS_MAX) {
            words->at[words->count] = word;
        }
        words->count++;
    }
}

/* Like memcached: the last word decides, whatever the command makes of it. */
static bool ask_noreply(struct line *line) {
    unsigned count = line->words.count;
    line->parsed->form.noreply = count <= WORDS_MAX && word_is(line->words.at[count - 1], "noreply");
    return line->parsed->form.noreply;
}

static bool take_key(struct line *line) {
    line->parsed->request->key = line->words.at[1];
    return line->words.at[1].n <= STORE_KEY_MAX;
}

/* ---- one function for each shape of command ---- */

static enum parse_verdict refuse_block(struct line *line, const char *reply) {
    line->parsed->skip = line->parsed->body + 2;
    return answer(line->parsed, reply);
}

enum { KIND_CAS = MODE_PREPEND + 1 };

/* set add replace append prepend cas: key flags exptime bytes [cas] [noreply] */
static enum parse_verdict parse_store(struct line *line) {
    struct request *request = line->parsed->request;
    const struct slice *word = line->words.at;
    bool cas = line->kind == KIND_CAS;
    unsigned least = cas ? 6 : 5;
    if (line->words.count < least) {
        return answer(line->parsed, error_unknown);
    }
    ask_noreply(line);
    if (!number_u64(word[4], &line->parsed->body) || line->parsed->body > TEXT_BODY_MAX) {
        return answer(line->parsed, error_format);
    }
    if (line->words.count > least + 1) {
        line->parsed->form.noreply = false;
        return refuse_block(line, error_unknown);
    }
    request->command = CMD_STORE;
    request->mode = cas ? MODE_SET : (enum request_mode)line->kind;
    request->compare_cas = request->count_as_cas = cas;
    if (!take_key(line) || !number_u32(word[2], &request->flags) || !number_i64(word[3], &request->exptime) ||
        (cas && !number_u64(word[5], &request->cas))) {
        return refuse_block(line, error_format);
    }
    return PARSE_BODY;
}

/* delete key [0] [noreply]: the 0 is a time from long ago */
static enum parse_verdict parse_delete(struct line *line) {
    const struct slice *word = line->words.at;
    unsigned count = line->words.count;
    bool noreply = ask_noreply(line);
    bool sane = count == 2 || (count == 3 && (noreply || word_is(word[2], "0"))) ||
                (count == 4 && noreply && word_is(word[2], "0"));
    if (!sane) {
        return answer(line->parsed, error_delete);
    }
    line->parsed->request->command = CMD_DELETE;
    return take_key(line) ? PARSE_REQUEST : answer(line->parsed, error_format);
}

/* incr decr: key delta [noreply] */
static enum parse_verdict parse_arith(struct line *line) {
    struct request *request = line->parsed->request;
    ask_noreply(line);
    request->command = CMD_ARITH;
    request->decrement = line->kind;
    if (!take_key(line)) {
        return answer(line->parsed, error_format);
    }
    return number_u64(line->words.at[2], &request->delta) ? PARSE_REQUEST : answer(line->parsed, error_delta);
}

/* touch: key exptime [noreply] */
static enum parse_verdict parse_touch(struct line *line) {
    struct request *request = line->parsed->request;
    ask_noreply(line);
    request->command = CMD_TOUCH;
    if (!take_key(line)) {
        return answer(line->parsed, error_format);
    }
    return number_i64(line->words.at[2], &request->exptime) ? PARSE_REQUEST : answer(line->parsed, error_exptime);
}

/* flush_all [delay] [noreply] */
static enum parse_verdict parse_flush(struct line *line) {
    struct request *request = line->parsed->request;
    bool noreply = ask_noreply(line);
    request->command = CMD_FLUSH;
    if (line->words.count == 1 || (line->words.count == 2 && noreply)) {
        return PARSE_REQUEST;
    }
    return number_i64(line->words.at[1], &request->exptime) ? PARSE_REQUEST : answer(line->parsed, error_exptime);
}

/* Commands of one or more words that the command layer reads itself. */
static enum parse_verdict pass_words(struct line *line, unsigned count) {
    struct request *request = line->parsed->request;
    if (count > REQUEST_WORDS + 1) {
        return answer(line->parsed, error_unknown);
    }
    for (unsigned i = 1; i < count; i++) {
        request->words[i - 1] = line->words.at[i];
    }
    request->word_count = count - 1;
    request->command = (enum command_code)line->kind;
    return PARSE_REQUEST;
}

static enum parse_verdict parse_words(struct line *line) {
    return pass_words(line, line->words.count);
}

static enum parse_verdict parse_bare(struct line *line) {
    line->parsed->request->command = (enum command_code)line->kind;
    return PARSE_REQUEST;
}

/* verbosity, cache_memlimit: number [noreply] */
static enum parse_verdict parse_number(struct line *line) {
    uint64_t number;
    ask_noreply(line);
    if (!number_u64(line->words.at[1], &number)) {
        return answer(line->parsed, line->kind == CMD_VERBOSITY ? error_format : error_unknown);
    }
    return pass_words(line, 2);
}

/* lru_crawler metadump|mgdump all; everything that lives is in class 1 */
static enum parse_verdict parse_crawler(struct line *line) {
    struct slice *word = line->words.at;
    bool meta = word_is(word[1], "mgdump");
    if (!meta && !word_is(word[1], "metadump")) {
        return answer(line->parsed, error_unknown);
    }
    if (!word_is(word[2], "all") && !word_is(word[2], "hash") && !word_is(word[2], "1")) {
        return answer(line->parsed, error_class);
    }
    line->parsed->request->command = CMD_DUMP;
    line->parsed->form.meta.verb = meta ? META_DUMP : '\0';
    return PARSE_REQUEST;
}

struct verb {
    struct slice word;
    enum parse_verdict (*parse)(struct line *line);
    int kind;
    unsigned least, most; /* words, the command's own included; others get ERROR */
};

enum { ANY = 1 << 20 };

/* The first ones are asked for most. */
static const struct verb verbs[] = {
    {WORD("set"), parse_store, MODE_SET, 1, ANY},
    {WORD("incr"), parse_arith, false, 3, 4},
    {WORD("decr"), parse_arith, true, 3, 4},
    {WORD("delete"), parse_delete, 0, 2, 4},
    {WORD("add"), parse_store, MODE_ADD, 1, ANY},
    {WORD("cas"), parse_store, KIND_CAS, 1, ANY},
    {WORD("replace"), parse_store, MODE_REPLACE, 1, ANY},
    {WORD("append"), parse_store, MODE_APPEND, 1, ANY},
    {WORD("prepend"), parse_store, MODE_PREPEND, 1, ANY},
    {WORD("touch"), parse_touch, 0, 3, 4},
    {WORD("version"), parse_bare, CMD_VERSION, 1, ANY},
    {WORD("stats"), parse_words, CMD_STATS, 1, ANY},
    {WORD("quit"), parse_bare, CMD_QUIT, 1, ANY},
    {WORD("flush_all"), parse_flush, 0, 1, 3},
    {WORD("verbosity"), parse_number, CMD_VERBOSITY, 2, 3},
    {WORD("cache_memlimit"), parse_number, CMD_MEMLIMIT, 2, 3},
    {WORD("lru_crawler"), parse_crawler, 0, 3, 3},
    {WORD("shutdown"), parse_words, CMD_SHUTDOWN, 1, ANY},
    {WORD("debug"), parse_words, CMD_DEBUG, 1, ANY},
};

static enum parse_verdict parse_verb(struct line *line, struct slice text) {
    split_words(&line->words, text);
    if (line->words.count == 0) {
        return answer(line->parsed, error_unknown);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        const struct verb *verb = &verbs[i];
        if (slice_equal(line->words.at[0], verb->word)) {
            if (line->words.count < verb->least || line->words.count > verb->most) {
                break;
            }
            line->kind = verb->kind;
            return verb->parse(line);
        }
    }
    return answer(line->parsed, error_unknown);
}

/* ---- get gets gat gats ---- */

static enum parse_verdict skip_rest(struct parser *parser, struct parsed *parsed, const char *reply) {
    parser->state = IN_SKIPPED_LINE;
    return answer(parsed, reply);
}

static void fill_part(const struct parser *parser, struct parsed *parsed) {
    parsed->form.part = true;
    parsed->form.with_cas = parser->with_cas;
    parsed->form.line = parser->line;
}

static enum parse_verdict end_keys(struct parser *parser, struct parsed *parsed) {
    parser->state = AT_LINE;
    parsed->form.last = true;
    if (!parser->keys_seen) {
        return answer(parsed, error_unknown);
    }
    parsed->reply = "END\r\n";
    return PARSE_REPLY;
}

static enum parse_verdict refuse_key(struct parser *parser, struct parsed *parsed) {
    parsed->form.last = true;
    return skip_rest(parser, parsed, error_format);
}

/* The key that begins at text, whose end may not have arrived.  *line_end: it is the line's last word, and `n` bytes of
 * text end the line.  False: wait for more. */
static bool find_key(struct slice text, struct slice *key, bool *line_end, size_t *n) {
    size_t look = text.n < STORE_KEY_MAX + 2 ? text.n : STORE_KEY_MAX + 2;
    size_t i = 0;
    while (i < look && text.p[i] != ' ' && text.p[i] != '\n') {
        i++;
    }
    *line_end = i < look && text.p[i] == '\n';
    *n = i;
    *key = slice_of(text.p, i);
    if (*line_end) {
        *n = i + 1;
        key->n -= i > 0 && text.p[i - 1] == '\r';
    }
    /* Without an end in sight it is too long when even a line end in front of us would not help. */
    return i < look || i > STORE_KEY_MAX + 1 || (i > STORE_KEY_MAX && text.p[i - 1] != '\r');
}

static enum parse_verdict parse_key(struct parser *parser, struct slice input, struct parsed *parsed) {
    size_t blanks = 0;
    while (blanks < input.n && input.p[blanks] == ' ') {
        blanks++;
    }
    struct slice rest = slice_of(input.p + blanks, input.n - blanks);
    struct slice key;
    bool line_end;
    size_t n;
    parsed->consumed = blanks;
    if (!find_key(rest, &key, &line_end, &n)) {
        return PARSE_MORE;
    }
    fill_part(parser, parsed);
    if (key.n > STORE_KEY_MAX) {
        return refuse_key(parser, parsed);
    }
    if (key.n == 0) {
        parsed->consumed += n;
        return end_keys(parser, parsed);
    }
    /* The line end stays for the next call, which answers END. */
    parsed->consumed += key.n;
    parser->keys_seen = true;
    parsed->request->command = CMD_GET;
    parsed->request->key = key;
    parsed->request->touch = parser->touch;
    parsed->request->touch_ttl = parser->touch_ttl;
    return PARSE_REQUEST;
}

struct key_verb {
    struct slice word;
    bool with_cas, touch;
};

static const struct key_verb *find_key_verb(struct slice word) {
    static const struct key_verb key_verbs[] = {
        {WORD("get"), false, false},
        {WORD("gets"), true, false},
        {WORD("gat"), false, true},
        {WORD("gats"), true, true},
    };
    for (size_t i = 0; i < sizeof key_verbs / sizeof key_verbs[0]; i++) {
        if (slice_equal(word, key_verbs[i].word)) {
            return &key_verbs[i];
        }
    }
    return NULL;
}

/* Of a line that is whole, a bad key is found before the first one is answered. */
static bool has_long_key(struct slice text) {
    if (text.n <= STORE_KEY_MAX) {
        return false;
    }
    for (struct slice word = next_word(&text); word.n > 0; word = next_word(&text)) {
        if (word.n > STORE_KEY_MAX) {
            return true;
        }
    }
    return false;
}

/* text: the line behind the command word, without its end when it is `whole`; input: from the same byte on. */
static enum parse_verdict begin_keys(struct parser *parser, const struct key_verb *verb, struct slice text, bool whole,
                                     struct slice input, struct parsed *parsed) {
    size_t behind = text.n;
    parser->with_cas = verb->with_cas;
    parser->touch = verb->touch;
    parser->keys_seen = false;
    parser->line++;
    if (verb->touch) {
        struct slice exptime = next_word(&text);
        if (!whole && text.n == 0) {
            return skip_rest(parser, parsed, error_line);
        }
        if (exptime.n == 0) {
            return skip_rest(parser, parsed, error_unknown);
        }
        if (!number_i64(exptime, &parser->touch_ttl)) {
            return skip_rest(parser, parsed, error_exptime);
        }
    }
    size_t consumed = behind - text.n;
    parser->state = AT_KEY;
    fill_part(parser, parsed);
    if (whole && has_long_key(text)) {
        return refuse_key(parser, parsed);
    }
    enum parse_verdict verdict =
        parse_key(parser, slice_of(input.p + consumed, input.n - consumed), parsed);
    parsed->consumed += consumed;
    return verdict;
}

/* ---- lines ---- */

/* The start of a line that is longer than a command may be. */
static enum parse_verdict parse_long_line(struct parser *parser, struct slice input, struct parsed *parsed) {
    struct slice rest = slice_of(input.p, TEXT_LINE_MAX + 1);
    struct slice word = next_word(&rest);
    const struct key_verb *verb = rest.n > 0 ? find_key_verb(word) : NULL;
    if (verb == NULL) {
        return skip_rest(parser, parsed, error_line);
    }
    size_t consumed = (size_t)(rest.p - input.p);
    enum parse_verdict verdict =
        begin_keys(parser, verb, rest, false, slice_of(rest.p, input.n - consumed), parsed);
    parsed->consumed += consumed;
    return verdict;
}

static enum parse_verdict parse_line(struct parser *parser, struct slice input, struct parsed *parsed) {
    size_t look = input.n < TEXT_LINE_MAX + 1 ? input.n : TEXT_LINE_MAX + 1;
    const char *newline = look > 0 ? memchr(input.p, '\n', look) : NULL;
    if (newline == NULL) {
        return look > TEXT_LINE_MAX ? parse_long_line(parser, input, parsed) : PARSE_MORE;
    }
    struct slice text = slice_of(input.p, (size_t)(newline - input.p));
    if (text.n > 0 && text.p[text.n - 1] == '\r') {
        text.n--;
    }
    struct slice rest = text;
    struct slice word = next_word(&rest);
    if (meta_owns(word)) {
        parsed->consumed = (size_t)(newline - input.p) + 1;
        return meta_parse(word.p[1], rest, parsed);
    }
    const struct key_verb *verb = find_key_verb(word);
    if (verb != NULL) {
        size_t consumed = (size_t)(rest.p - input.p);
        enum parse_verdict verdict =
            begin_keys(parser, verb, rest, true, slice_of(rest.p, input.n - consumed), parsed);
        parsed->consumed += consumed;
        return verdict;
    }
    parsed->consumed = (size_t)(newline - input.p) + 1;
    struct line line = {.parser = parser, .parsed = parsed};
    return parse_verb(&line, text);
}

/* Returns how many bytes of the input belong to the line that is being skipped. */
static size_t skip_line(struct parser *parser, struct slice input) {
    const char *newline = input.n > 0 ? memchr(input.p, '\n', input.n) : NULL;
    if (newline == NULL) {
        return input.n;
    }
    parser->state = AT_LINE;
    return (size_t)(newline - input.p) + 1;
}

enum parse_verdict text_parse(struct parser *parser, struct slice input, struct parsed *parsed) {
    size_t skipped = 0;
    if (parser->state == IN_SKIPPED_LINE) {
        skipped = skip_line(parser, input);
        input = slice_of(input.p + skipped, input.n - skipped);
    }
    enum parse_verdict verdict = PARSE_MORE;
    if (parser->state == AT_KEY) {
        verdict = parse_key(parser, input, parsed);
    } else if (parser->state == AT_LINE) {
        verdict = parse_line(parser, input, parsed);
    }
    parsed->consumed += skipped;
    return verdict;
}

bool text_parse_in_keys(const struct parser *parser) {
    return parser->state == AT_KEY;
}
