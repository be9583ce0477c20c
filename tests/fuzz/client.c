/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/client.h"

#include <stdlib.h>

#include "src/base/buffer.h"
#include "src/base/check.h"
#include "src/base/hash.h"
#include "tests/fuzz/invent.h"

enum { ITEM_MAX = 20000, MARK = 6, STAMPS = 8, PARTS = 64, EXACT_MAX = 512 };

struct client {
    const struct protocol *protocol;
    size_t kept_max;
    uint64_t seed;
    struct parser parser;
    struct buffer input;
    struct output_pools pools;
    struct output output;
    struct buffer replies;
    uint64_t requests;
    bool closed;

    /* The request whose body, or dropped bytes, are to come. */
    enum parse_verdict waiting; /* PARSE_MORE: none */
    struct request request;
    struct reply_form form;
    char key[STORE_KEY_MAX];
    const char *reply;
    uint64_t left; /* bytes, with the line end */
    struct buffer body;
};

static void must(enum status status) {
    CHECK(status == ST_OK);
}

static struct slice bytes_of(const struct buffer *buffer) {
    return slice_of(buffer->data + buffer->start, buffer->end - buffer->start);
}

/* ---- replies ---- */

static void take_replies(struct client *client, size_t limit) {
    while (limit > 0) {
        struct iovec parts[PARTS];
        size_t moved = 0;
        int count = output_gather(&client->output, limit, parts, PARTS);
        for (int i = 0; i < count; i++) {
            must(buffer_append(&client->replies, parts[i].iov_base, parts[i].iov_len));
            moved += parts[i].iov_len;
        }
        output_sent(&client->output, moved);
        limit -= moved;
    }
}

/* Some replies are held, and lost at the end. */
static void give_reply(struct client *client, const struct response *response) {
    const struct reply_form *form = &client->form;
    struct output_reply reply = {.start = client->output.end,
                                 .stamp = invent_number(client->seed, client->requests) % STAMPS,
                                 .quiet = form->noreply,
                                 .part = form->part,
                                 .last = form->last,
                                 .line = form->line,
                                 .tag = form->tag};
    if (response != NULL) {
        client->protocol->compose(&client->output, &client->request, response, form, INVENT_NOW);
    } else if (!form->noreply) {
        client->protocol->refuse(&client->output, form->tag, client->reply);
    }
    output_fence(&client->output, &reply, MARK);
    take_replies(client, output_ready(&client->output, MARK));
    client->requests++;
    client->closed = form->closes || (response != NULL && response->result == RESULT_CLOSE);
}

static void execute(struct client *client) {
    struct response response;
    invent_response(&client->request, invent_number(client->seed, client->requests), &response);
    give_reply(client, &response);
    invent_free(&response);
    item_unref(&client->request.item);
}

/* ---- input ---- */

/* What is to come has come. */
static void finish_waiting(struct client *client) {
    size_t line_end = client->protocol->line_end;
    struct slice body = bytes_of(&client->body);
    enum parse_verdict what = client->waiting;
    client->waiting = PARSE_MORE;
    if (what == PARSE_REPLY) {
        give_reply(client, NULL);
        return;
    }
    if (client->request.refusal == REFUSE_NOTHING) {
        must(item_create(&client->request.item, client->request.key, body.n - line_end));
        if (body.n > 0) {
            memcpy(item_body(client->request.item), body.p, body.n);
        }
        if (memcmp(item_body(client->request.item) + body.n - line_end, "\r\n", line_end) != 0) {
            item_unref(&client->request.item);
            client->reply = client->protocol->bad_body;
            give_reply(client, NULL);
            return;
        }
    }
    execute(client);
}

static void take_waiting(struct client *client) {
    struct slice input = bytes_of(&client->input);
    size_t n = input.n < client->left ? input.n : (size_t)client->left;
    if (n > 0 && client->waiting == PARSE_BODY && client->request.refusal == REFUSE_NOTHING) {
        must(buffer_append(&client->body, input.p, n));
    }
    client->left -= n;
    buffer_consume(&client->input, n);
    if (client->left == 0) {
        finish_waiting(client);
        buffer_consume(&client->body, buffer_length(&client->body));
    }
}

static void wait_for(struct client *client, const struct parsed *parsed, enum parse_verdict verdict) {
    client->waiting = verdict;
    client->reply = parsed->reply;
    client->left = parsed->skip;
    if (verdict == PARSE_BODY) {
        client->left = parsed->body + client->protocol->line_end;
        client->request.refusal = parsed->body > ITEM_MAX ? REFUSE_TOO_LARGE : REFUSE_NOTHING;
    }
}

/* The request outlives the input, as in a slot. */
static void keep_key(struct client *client) {
    struct request *request = &client->request;
    CHECK(request->key.n <= sizeof client->key);
    if (request->key.n > 0 && request->key.p != client->key) {
        memcpy(client->key, request->key.p, request->key.n);
        request->key.p = client->key;
    }
}

static enum parse_verdict parse(struct client *client, struct slice input) {
    client->request = (struct request){.command = 0};
    struct parsed parsed = {.request = &client->request, .key_room = client->key};
    struct slice keys[8];
    if (client->protocol->peek != NULL) {
        CHECK(client->protocol->peek(&client->parser, input, keys, 8) <= 8);
    }
    enum parse_verdict verdict = client->protocol->parse(&client->parser, input, &parsed);
    CHECK(parsed.consumed <= input.n);
    client->form = parsed.form;
    if (verdict == PARSE_REQUEST || verdict == PARSE_BODY) {
        keep_key(client);
    }
    if (verdict == PARSE_REQUEST) {
        execute(client);
    } else if (verdict != PARSE_MORE) {
        wait_for(client, &parsed, verdict);
    }
    buffer_consume(&client->input, parsed.consumed);
    return verdict;
}

/* The parser sees short inputs in memory of just their length, so that a look behind the end is found. */
static bool parse_one(struct client *client) {
    struct slice input = bytes_of(&client->input);
    if (input.n > EXACT_MAX) {
        return parse(client, input) != PARSE_MORE;
    }
    char *exact = malloc(input.n);
    CHECK(exact != NULL);
    memcpy(exact, input.p, input.n);
    enum parse_verdict verdict = parse(client, slice_of(exact, input.n));
    free(exact);
    return verdict != PARSE_MORE;
}

static void feed(struct client *client, struct slice piece) {
    must(buffer_append(&client->input, piece.p, piece.n));
    while (!client->closed) {
        if (client->waiting != PARSE_MORE) {
            if (client->left > 0 && buffer_length(&client->input) == 0) {
                return;
            }
            take_waiting(client);
        } else if (buffer_length(&client->input) == 0 || !parse_one(client)) {
            CHECK(buffer_length(&client->input) <= client->kept_max);
            return;
        }
    }
}

/* ---- a whole run ---- */

/* With an address also while it is empty. */
static void open_buffer(struct buffer *buffer) {
    buffer_init(buffer);
    must(buffer_reserve(buffer, 1));
}

static void open_client(struct client *client, const struct protocol *protocol, size_t kept_max, uint64_t seed) {
    *client = (struct client){.protocol = protocol, .kept_max = kept_max, .seed = seed};
    open_buffer(&client->input);
    open_buffer(&client->replies);
    open_buffer(&client->body);
    output_pools_init(&client->pools);
    output_init(&client->output, &client->pools);
}

static void close_client(struct client *client) {
    output_clear(&client->output);
    output_pools_free(&client->pools);
    buffer_free(&client->input);
    buffer_free(&client->replies);
    buffer_free(&client->body);
}

static void end_client(struct client *client) {
    struct output_loss loss;
    output_fail(&client->output, MARK, client->protocol->lost, &loss);
    CHECK(!client->output.failed);
    take_replies(client, output_ready(&client->output, MARK));
    CHECK(output_unsent(&client->output) == 0);
}

/* Pieces of up to 1, 2, 4, ... bytes, as the seed says. */
static void feed_pieces(struct client *client, struct slice stream) {
    for (uint64_t round = 0; stream.n > 0; round++) {
        uint64_t number = invent_number(~client->seed, round);
        size_t most = (size_t)1 << (number & 7);
        size_t n = 1 + (size_t)(number >> 8) % most;
        n = n < stream.n ? n : stream.n;
        feed(client, slice_of(stream.p, n));
        stream = slice_of(stream.p + n, stream.n - n);
    }
}

void client_run(const struct protocol *protocol, struct slice stream, size_t kept_max,
              void (*check)(struct slice replies)) {
    uint64_t seed = hash_key(stream.p, stream.n, 0);
    struct client whole;
    struct client pieces;
    if (stream.n == 0) {
        return;
    }
    open_client(&whole, protocol, kept_max, seed);
    open_client(&pieces, protocol, kept_max, seed);
    feed(&whole, stream);
    feed_pieces(&pieces, stream);
    end_client(&whole);
    end_client(&pieces);
    CHECK(whole.requests == pieces.requests);
    CHECK(slice_equal(bytes_of(&whole.replies), bytes_of(&pieces.replies)));
    check(bytes_of(&whole.replies));
    close_client(&whole);
    close_client(&pieces);
}
