/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/support_feed.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/buffer.h"

enum { EXACT_MAX = 4096 };

struct feed {
    const struct protocol *protocol;
    size_t kept_max;
    struct parser parser;
    struct buffer input;
    struct buffer transcript;
    uint64_t skip; /* bytes to drop, */
    bool replies;  /* then this is answered */
    const char *reply;
    struct reply_form form;
    bool in_body;  /* bytes of a data block with its line end are missing: */
    uint64_t body;
    struct buffer block;
    bool closed;
};

#define say(feed, ...) assert_ok(buffer_printf(&(feed)->transcript, __VA_ARGS__))

static void feed_init(struct feed *feed, const struct protocol *protocol, size_t kept_max) {
    *feed = (struct feed){.protocol = protocol, .kept_max = kept_max};
    buffer_init(&feed->input);
    buffer_init(&feed->transcript);
    buffer_init(&feed->block);
    /* An empty block has an address, too. */
    assert_ok(buffer_reserve(&feed->block, 1));
}

static void feed_free(struct feed *feed) {
    buffer_free(&feed->input);
    buffer_free(&feed->transcript);
    buffer_free(&feed->block);
}

static void say_key(struct feed *feed, struct slice key) {
    if (key.n > 40) {
        say(feed, " %zux%c", key.n, key.p[0]);
        return;
    }
    say(feed, " ");
    for (size_t i = 0; i < key.n; i++) {
        unsigned char byte = (unsigned char)key.p[i];
        if (byte > ' ' && byte < 0x7f) {
            say(feed, "%c", byte);
        } else {
            say(feed, "\\%02x", byte);
        }
    }
}

static void say_store(struct feed *feed, const struct request *request) {
    static const char *const modes[] = {"set", "add", "replace", "append", "prepend"};
    say(feed, " %s flags=%u exp=%lld", modes[request->mode], request->flags, (long long)request->exptime);
}

static void say_arith(struct feed *feed, const struct request *request) {
    say(feed, " %s%llu", request->decrement ? "-" : "+", (unsigned long long)request->delta);
    if (request->create) {
        say(feed, " create=%llu exp=%lld", (unsigned long long)request->initial, (long long)request->exptime);
    }
}

static void say_options(struct feed *feed, const struct request *request) {
    if (request->compare_cas) {
        bool counted = request->command != CMD_STORE || request->count_as_cas;
        say(feed, " cas=%llu%s", (unsigned long long)request->cas, counted ? "" : " uncounted");
    }
    if (request->touch) {
        say(feed, " touch=%lld", (long long)request->touch_ttl);
    }
    if (request->vivify) {
        say(feed, " vivify=%lld", (long long)request->vivify_ttl);
    }
    if (request->recache) {
        say(feed, " recache=%lld", (long long)request->recache_ttl);
    }
    if (request->set_cas) {
        say(feed, " new-cas=%llu", (unsigned long long)request->explicit_cas);
    }
    if (request->command == CMD_DELETE && request->flags != 0) {
        say(feed, " flags=%u", request->flags);
    }
    say(feed, "%s%s%s", request->invalidate ? " invalidate" : "", request->drop_value ? " drop-value" : "",
        request->no_bump ? " no-bump" : "");
}

static void say_meta(struct feed *feed, const struct meta_form *meta) {
    say(feed, " m%c", meta->verb);
    for (size_t i = 0; i < META_SHOWN_MAX && meta->shown[i] != '\0'; i++) {
        say(feed, " %c", meta->shown[i]);
        if (meta->shown[i] == 'O') {
            say(feed, "=%.*s", (int)meta->opaque_length, meta->opaque);
        }
    }
    say(feed, "%s%s", meta->value ? " v" : "", meta->base64 ? " b" : "");
}

static void say_form(struct feed *feed, const struct reply_form *form) {
    if (form->meta.verb != '\0') {
        say_meta(feed, &form->meta);
    }
    say(feed, "%s%s%s%s", form->with_cas ? " with-cas" : "", form->noreply ? " noreply" : "",
        form->quiet ? " quiet" : "", form->part && form->last ? " last" : "");
}

static void say_request(struct feed *feed, const struct request *request, const struct reply_form *form) {
    static const char *const names[CMD_COUNT] = {
#define X(name, writes) [CMD_##name] = #name,
        COMMAND_TABLE(X)
#undef X
    };
    say(feed, "%s", names[request->command]);
    if (request->key.n > 0) {
        say_key(feed, request->key);
    }
    if (request->command == CMD_STORE) {
        say_store(feed, request);
    } else if (request->command == CMD_ARITH) {
        say_arith(feed, request);
    } else if (request->exptime != 0) {
        say(feed, " exp=%lld", (long long)request->exptime);
    }
    say_options(feed, request);
    for (unsigned i = 0; i < request->word_count; i++) {
        say_key(feed, request->words[i]);
    }
    say_form(feed, form);
}

static void say_reply(struct feed *feed) {
    if (feed->form.noreply) {
        return;
    }
    say(feed, "> %.*s", (int)strcspn(feed->reply, "\r"), feed->reply);
    if (feed->form.tag != 0) {
        say(feed, " %016llx", (unsigned long long)feed->form.tag);
    }
    say(feed, "%s\n", feed->form.closes ? " close" : "");
    feed->closed = feed->form.closes;
}

static void end_block(struct feed *feed) {
    size_t line_end = feed->protocol->line_end;
    size_t length = buffer_length(&feed->block) - line_end;
    bool good = memcmp(buffer_head(&feed->block) + length, "\r\n", line_end) == 0;
    say(feed, " [%.*s]%s\n", (int)length, buffer_head(&feed->block), good ? "" : " bad");
    buffer_consume(&feed->block, length + line_end);
    feed->in_body = false;
}

/* Takes what belongs to a block or is to be dropped; false when there is nothing of the kind to do. */
static bool take_block(struct feed *feed) {
    size_t n = buffer_length(&feed->input);
    if (feed->in_body) {
        n = n < feed->body ? n : (size_t)feed->body;
        assert_ok(buffer_append(&feed->block, buffer_head(&feed->input), n));
        feed->body -= n;
        if (feed->body == 0) {
            end_block(feed);
        }
    } else if (feed->replies) {
        n = n < feed->skip ? n : (size_t)feed->skip;
        feed->skip -= n;
        if (feed->skip == 0) {
            say_reply(feed);
            feed->replies = false;
        }
    } else {
        return false;
    }
    buffer_consume(&feed->input, n);
    return true;
}

static enum parse_verdict parse(struct feed *feed, struct slice input) {
    char key_room[STORE_KEY_MAX];
    struct request request = {.command = 0};
    struct parsed parsed = {.request = &request, .key_room = key_room};
    enum parse_verdict verdict = feed->protocol->parse(&feed->parser, input, &parsed);
    assert_true(parsed.consumed <= input.n);
    switch (verdict) {
    case PARSE_REQUEST:
        say_request(feed, &request, &parsed.form);
        say(feed, "\n");
        break;
    case PARSE_BODY:
        say_request(feed, &request, &parsed.form);
        feed->in_body = true;
        feed->body = parsed.body + feed->protocol->line_end;
        break;
    case PARSE_REPLY:
        feed->reply = parsed.reply;
        feed->form = parsed.form;
        feed->skip = parsed.skip;
        feed->replies = true;
        break;
    case PARSE_MORE:
        break;
    }
    buffer_consume(&feed->input, parsed.consumed);
    return verdict;
}

/* The parser sees short inputs in memory of just their length, so that a sanitizer tells of a look behind the end. */
static bool parse_one(struct feed *feed) {
    struct slice input = slice_of(buffer_head(&feed->input), buffer_length(&feed->input));
    if (input.n > EXACT_MAX) {
        return parse(feed, input) != PARSE_MORE;
    }
    char *exact = malloc(input.n);
    assert_non_null(exact);
    memcpy(exact, input.p, input.n);
    enum parse_verdict verdict = parse(feed, slice_of(exact, input.n));
    free(exact);
    return verdict != PARSE_MORE;
}

/* Whether something can be done without another byte. */
static bool is_ripe(const struct feed *feed) {
    return (feed->in_body && feed->body == 0) || (feed->replies && feed->skip == 0);
}

static void feed_bytes(struct feed *feed, const char *bytes, size_t n) {
    assert_ok(buffer_append(&feed->input, bytes, n));
    do {
        while ((buffer_length(&feed->input) > 0 || is_ripe(feed)) && take_block(feed)) {
        }
    } while (buffer_length(&feed->input) > 0 && !feed->closed && parse_one(feed));
    if (feed->closed) {
        buffer_consume(&feed->input, buffer_length(&feed->input));
    }
    assert_true(buffer_length(&feed->input) <= feed->kept_max);
}

/* Fed `cut` bytes first, then every `step`. */
static void expect_parts(struct feed *feed, const char *input, size_t n, size_t cut, size_t step,
                         const char *expected) {
    feed_bytes(feed, input, cut);
    for (size_t at = cut; at < n; at += step) {
        feed_bytes(feed, input + at, n - at < step ? n - at : step);
    }
    assert_ok(buffer_append(&feed->transcript, "", 1));
    if (strcmp(buffer_head(&feed->transcript), expected) != 0) {
        fail_msg("cut at %zu, then every %zu of \"%.60s\":\n%s--- expected\n%s", cut, step, input,
                 buffer_head(&feed->transcript), expected);
    }
    feed_free(feed);
}

void feed_expect(const struct protocol *protocol, size_t kept_max, const char *input, size_t n,
                 const char *expected) {
    struct feed feed;
    feed_init(&feed, protocol, kept_max);
    expect_parts(&feed, input, n, n, n, expected);
    feed_init(&feed, protocol, kept_max);
    expect_parts(&feed, input, n, 0, 1, expected);
    size_t every = n / 300 + 1;
    for (size_t cut = 0; cut < n; cut += every) {
        feed_init(&feed, protocol, kept_max);
        expect_parts(&feed, input, n, cut, n, expected);
    }
}
