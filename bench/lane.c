/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/complain.h"
#include "src/base/buffer.h"
#include "src/base/check.h"

enum { LANE_MAGIC = 0x6c616e65 };

struct request {
    uint64_t start;
    enum operation operation;
    unsigned keys;
};

struct lane {
    unsigned magic;
    int fd;
    struct lane_config config;
    struct parser parser;
    struct request *ring; /* `depth` of them; the oldest at `head` */
    uint64_t *ids;        /* `multi` for each */
    unsigned head, in_flight;
    /* The reply being read. */
    unsigned seen; /* keys of the request that the reply has gone past */
    unsigned hits;
    uint64_t id; /* whose value it is */
    size_t offset;
    bool wrong;
    /* Kept between calls. */
    struct buffer unsent;
    size_t kept_size;
    char kept[LANE_KEPT];
};

uint64_t lane_clock(void) {
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum status lane_open(struct lane **lane, const struct lane_config *config) {
    enum status status = ST_NO_MEMORY;
    struct lane *made = calloc(1, sizeof *made);
    *lane = made;
    if (made == NULL) {
        goto out;
    }
    made->magic = LANE_MAGIC;
    made->fd = -1;
    made->config = *config;
    buffer_init(&made->unsent);
    made->ring = calloc(config->depth, sizeof *made->ring);
    made->ids = calloc((size_t)config->depth * config->multi, sizeof *made->ids);
    if (made->ring == NULL || made->ids == NULL) {
        goto out;
    }
    status = endpoint_connect(config->endpoint, &made->fd);
out:
    if (status != ST_OK) {
        lane_close(lane);
    }
    return status;
}

void lane_close(struct lane **lane) {
    if (*lane != NULL) {
        CHECK_OBJ(*lane, LANE_MAGIC);
        (*lane)->magic = 0;
        if ((*lane)->fd >= 0) {
            close((*lane)->fd);
        }
        buffer_free(&(*lane)->unsent);
        free((*lane)->ring);
        free((*lane)->ids);
        free(*lane);
        *lane = NULL;
    }
}

int lane_fd(const struct lane *lane) {
    return lane->fd;
}

unsigned lane_in_flight(const struct lane *lane) {
    return lane->in_flight;
}

/* ---- Requests. */

char *lane_queue(struct lane *lane, enum operation operation, const uint64_t *ids, unsigned n, uint64_t start,
                 char *out) {
    const struct lane_config *config = &lane->config;
    CHECK(lane->in_flight < config->depth && n <= config->multi);
    unsigned slot = lane->head + lane->in_flight;
    slot -= slot < config->depth ? 0 : config->depth;
    lane->in_flight++;
    lane->ring[slot] = (struct request){.start = start, .operation = operation, .keys = n};
    memcpy(lane->ids + (size_t)slot * config->multi, ids, n * sizeof *ids);
    switch (operation) {
    case OP_SET:
        return config->protocol->set(config->dataset, ids[0], config->expire, out);
    case OP_DELETE:
        return config->protocol->delete (config->dataset, ids[0], out);
    default:
        return config->protocol->get(config->dataset, ids, n, out);
    }
}

static enum status lost(const char *doing, int error) {
    complain("%s: %s", doing, error == 0 ? "the server closed the connection" : strerror(error));
    return ST_IO;
}

/* How many of the bytes the socket takes. */
static enum status send_some(int fd, const char *bytes, size_t n, size_t *sent) {
    ssize_t done = send(fd, bytes, n, MSG_NOSIGNAL);
    *sent = done < 0 ? 0 : (size_t)done;
    return done >= 0 || errno == EAGAIN || errno == EINTR ? ST_OK : lost("sending", errno);
}

enum status lane_send(struct lane *lane, const char *bytes, size_t n, bool *more) {
    size_t sent = 0;
    enum status status = ST_OK;
    if (buffer_length(&lane->unsent) == 0) {
        status = send_some(lane->fd, bytes, n, &sent);
    }
    if (status == ST_OK && sent < n) {
        status = buffer_append(&lane->unsent, bytes + sent, n - sent);
    }
    *more = buffer_length(&lane->unsent) > 0;
    return status;
}

enum status lane_flush(struct lane *lane, bool *more) {
    size_t sent;
    enum status status = send_some(lane->fd, buffer_head(&lane->unsent), buffer_length(&lane->unsent), &sent);
    buffer_consume(&lane->unsent, sent);
    *more = buffer_length(&lane->unsent) > 0;
    return status;
}

/* ---- Replies. */

static const uint64_t *asked(const struct lane *lane) {
    return lane->ids + (size_t)lane->head * lane->config.multi;
}

/* Replies come in the order of the keys asked for; protocols that repeat the key are silent about misses. */
static void begin_value(struct lane *lane, const struct reply *reply, struct tally *tally) {
    const struct request *request = &lane->ring[lane->head];
    const struct dataset *dataset = lane->config.dataset;
    lane->hits++;
    lane->offset = 0;
    lane->wrong = false;
    if (!lane->config.verify) {
        return;
    }
    if (reply->text.n > 0) {
        while (lane->seen < request->keys && !dataset_is_key(dataset, asked(lane)[lane->seen], reply->text)) {
            lane->seen++;
        }
    }
    if (lane->seen == request->keys) {
        lane->wrong = true;
        tally_note(tally, "a key that was not asked for, or out of turn", reply->text);
        return;
    }
    lane->id = asked(lane)[lane->seen++];
    if (reply->size != dataset_value_size(dataset, lane->id)) {
        lane->wrong = true;
        tally_note(tally, "a value of another size than was set, key", reply->text);
    }
}

static void next_piece(struct lane *lane, const struct reply *reply, struct tally *tally) {
    if (!lane->config.verify) {
        return;
    }
    if (!lane->wrong && !dataset_is_value(lane->config.dataset, lane->id, lane->offset, reply->text)) {
        char key[DATASET_KEY_MAX + 32];
        lane->wrong = true;
        tally_note(tally, "a value that is not its key's, key",
                   slice_of(key, dataset_key(lane->config.dataset, lane->id, key) - key));
    }
    lane->offset += reply->text.n;
    tally->row[OP_GET].wrong += reply->last && lane->wrong;
}

static void count_answer(struct lane *lane, const struct reply *reply, struct tally *tally, uint64_t now) {
    const struct request *request = &lane->ring[lane->head];
    struct tally_row *row = &tally->row[request->operation];
    row->requests++;
    row->keys += request->keys;
    histogram_record(row->latency, now > request->start ? now - request->start : 0);
    if (reply->result == RESULT_FAILED) {
        row->failed++;
        tally_note(tally, "an error", reply->text);
    } else if (reply->result == RESULT_REFUSED) {
        row->refused++;
    } else if (request->operation == OP_GET) {
        row->hits += lane->hits;
        row->misses += lane->hits < request->keys ? request->keys - lane->hits : 0;
    }
    lane->hits = 0;
    lane->seen = 0;
    lane->head = lane->head + 1 < lane->config.depth ? lane->head + 1 : 0;
    lane->in_flight--;
}

static enum status out_of_step(const struct lane *lane, struct slice in) {
    struct tally scratch = {.first = ""};
    tally_note(&scratch, "a reply that makes no sense", slice_of(in.p, in.n < 80 ? in.n : 80));
    complain("%s (protocol %s)", scratch.first, lane->config.protocol->name);
    return ST_CORRUPT;
}

/* Takes all whole replies; `in` becomes what is left. */
static enum status parse(struct lane *lane, struct slice *in, struct tally *tally, uint64_t now) {
    struct reply reply = {.kind = REPLY_DONE};
    while (reply.kind != REPLY_MORE) {
        if (lane->in_flight == 0) {
            return in->n == 0 ? ST_OK : out_of_step(lane, *in);
        }
        lane->parser.operation = lane->ring[lane->head].operation;
        lane->parser.keys = lane->ring[lane->head].keys;
        size_t used = lane->config.protocol->next(&lane->parser, *in, &reply);
        *in = slice_of(in->p + used, in->n - used);
        switch (reply.kind) {
        case REPLY_VALUE:
            begin_value(lane, &reply, tally);
            break;
        case REPLY_PIECE:
            next_piece(lane, &reply, tally);
            break;
        case REPLY_ABSENT:
            lane->seen++;
            break;
        case REPLY_DONE:
            count_answer(lane, &reply, tally, now);
            break;
        case REPLY_BROKEN:
            return out_of_step(lane, *in);
        case REPLY_MORE:
            break;
        }
    }
    return ST_OK;
}

enum status lane_read(struct lane *lane, char *buffer, struct tally *tally, uint64_t *now) {
    CHECK_OBJ(lane, LANE_MAGIC);
    char *received = buffer + LANE_KEPT;
    ssize_t n = recv(lane->fd, received, LANE_RECEIVED, 0);
    *now = lane_clock();
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return ST_OK;
    }
    if (n <= 0) {
        return lost("receiving", n == 0 ? 0 : errno);
    }
    struct slice in = {received - lane->kept_size, lane->kept_size + (size_t)n};
    memcpy(received - lane->kept_size, lane->kept, lane->kept_size);
    enum status status = parse(lane, &in, tally, *now);
    if (status == ST_OK) {
        CHECK(in.n <= LANE_KEPT);
        memcpy(lane->kept, in.p, in.n);
        lane->kept_size = in.n;
    }
    return status;
}
