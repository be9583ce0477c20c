/* SPDX-License-Identifier: BSD-3-Clause */
/* What a connection does with what its client sends, in which order, and with clients that do not read. */
#include "tests/unit/support_stage.h"

/* ---- plain service ---- */

static void test_pipeline(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a\r\nset x 0 0 1\r\n1\r\nget b miss a\r\nnonsense\r\nset y 0 0 1 noreply\r\n1\r\nversion\r\n");
    expect(f->client, A END "STORED\r\n" B A END "ERROR\r\nVERSION 1.6.45\r\n");
}

static void test_byte_by_byte(void **state) {
    struct fixture *f = *state;
    const char *text = "get a\r\nset x 0 0 3\r\n111\r\nset x 0 x 3\r\n111\r\nget b a\r\n";
    for (size_t i = 0; i < strlen(text); i++) {
        send_bytes(f->client, text + i, 1);
        if (i % 3 == 0) {
            int other = new_client(f); /* makes the worker turn to somebody else in between */
            ask(other, "version\r\n");
            expect(other, "VERSION 1.6.45\r\n");
            close(other);
        }
    }
    expect(f->client, A END "STORED\r\nCLIENT_ERROR bad command line format\r\n" B A END);
}

static void test_large_values(void **state) {
    struct fixture *f = *state;
    const size_t sizes[] = {2000, 20000, 70000, 300000, 1 << 20};
    char *body = malloc(1 << 20);
    assert_non_null(body);
    memset(body, 'x', 1 << 20);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char line[64];
        snprintf(line, sizeof line, "set x 0 0 %zu\r\n", sizes[i]);
        ask(f->client, line);
        send_bytes(f->client, body, sizes[i]);
        ask(f->client, "\r\nget a\r\n");
        expect(f->client, "STORED\r\n" A END);
    }
    ask(f->client, "get big1 a big2\r\n");
    expect(f->client, HIT("big1", "100000"));
    read_bytes(f->client, body, 100002);
    assert_memory_equal(body + 99999, "v\r\n", 3);
    expect(f->client, A HIT("big2", "100000"));
    read_bytes(f->client, body, 100002);
    expect(f->client, END);
    free(body);
}

static void test_too_large_value_is_swallowed(void **state) {
    struct fixture *f = *state;
    size_t n = (1 << 20) + 1;
    char *body = calloc(1, n);
    assert_non_null(body);
    for (int i = 0; i < 2; i++) {
        ask(f->client, i == 0 ? "set x 0 0 1048577\r\n" : "set x 0 0 1048577 noreply\r\n");
        send_bytes(f->client, body, n);
        ask(f->client, "\r\n");
    }
    ask(f->client, "get a\r\n");
    expect(f->client, "SERVER_ERROR object too large for cache\r\n" A END);
    expect_journal("set x;set x;get a;");
    free(body);
}

/* Four clients with a megabyte announced each use up what may be in flight; a fifth is refused, and stays in step. */
static void test_bodies_in_flight_are_bounded(void **state) {
    struct fixture *f = *state;
    int others[4];
    char *body = calloc(1, 1 << 20);
    assert_non_null(body);
    for (int i = 0; i < 4; i++) {
        others[i] = new_client(f);
        ask(others[i], i == 3 ? "set x 0 0 1000000\r\n" : "set x 0 0 1048576\r\n");
    }
    expect_nothing(f, others[3]);
    ask(f->client, "set y 0 0 1048576\r\n");
    send_bytes(f->client, body, 1 << 20);
    ask(f->client, "\r\nset z 0 0 1\r\n1\r\n");
    expect(f->client, "SERVER_ERROR out of memory storing object\r\nSTORED\r\n");
    send_bytes(others[0], body, 1 << 20);
    ask(others[0], "\r\n");
    expect(others[0], "STORED\r\n");
    ask(f->client, "set y 0 0 1000000\r\n");
    send_bytes(f->client, body, 1000000);
    ask(f->client, "\r\n");
    expect(f->client, "STORED\r\n");
    for (int i = 0; i < 4; i++) {
        close(others[i]);
    }
    free(body);
}

static void test_bad_data_block(void **state) {
    struct fixture *f = *state;
    ask(f->client, "set x 0 0 3\r\nabcXXget a\r\nset x 0 0 3 noreply\r\nabcXXget b\r\n");
    expect(f->client, "CLIENT_ERROR bad data chunk\r\n" A END B END);
    expect_journal("get a;get b;");
}

static void test_quit_closes_behind_its_replies(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a\r\nquit\r\n");
    expect(f->client, A END);
    expect_end(f->client);
}

static void test_half_closed_client_is_answered(void **state) {
    struct fixture *f = *state;
    struct buffer requests;
    buffer_init(&requests);
    for (int i = 0; i < 1000; i++) {
        assert_ok(buffer_printf(&requests, "get a\r\n"));
    }
    assert_ok(buffer_printf(&requests, "get cold1\r\nget partial"));
    send_bytes(f->client, buffer_head(&requests), buffer_length(&requests));
    assert_int_equal(shutdown(f->client, SHUT_WR), 0);
    for (int i = 0; i < 1000; i++) {
        expect(f->client, A END);
    }
    wait_parked(1);
    release("cold1");
    expect(f->client, COLD1 END);
    expect_end(f->client);
    buffer_free(&requests);
}

/* Writes without reply, and then nobody there any more. */
static void test_requests_of_a_gone_client_are_executed(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get cold1\r\nset x 0 0 1 noreply\r\n1\r\nset y 0 0 1\r\n1\r\n");
    wait_parked(1);
    close(f->client);
    release("cold1");
    f->client = new_client(f);
    ask(f->client, "get a\r\n");
    expect(f->client, A END);
    expect_journal("get cold1;set x;set y;get a;");
}

/* ---- order ---- */

static void test_reads_run_side_by_side(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get cold1 a cold2 b\r\nget b\r\n");
    wait_parked(2);
    expect_nothing(f, f->client);
    expect_journal("get a;get b;get b;");
    release("cold2");
    expect_nothing(f, f->client);
    release("cold1");
    expect(f->client, COLD1 A COLD2 B END B END);
}

static void test_write_waits_behind_parked_read(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get cold1\r\nget b\r\nset x 0 0 1\r\n1\r\nget a\r\n");
    wait_parked(1);
    expect_nothing(f, f->client);
    expect_journal("get b;");
    release("cold1");
    expect(f->client, COLD1 END B END "STORED\r\n" A END);
    expect_journal("get b;get cold1;set x;get a;");
}

static void test_read_waits_behind_parked_read_of_the_same_key(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get cold1\r\nget cold2\r\nget cold1\r\nget a\r\n");
    wait_parked(2);
    expect_nothing(f, f->client);
    expect_journal("");
    release("cold1");
    wait_parked(2);
    release("cold1");
    release("cold2");
    expect(f->client, COLD1 END COLD2 END COLD1 END A END);
}

static void test_everything_waits_behind_parked_write(void **state) {
    struct fixture *f = *state;
    ask(f->client, "set coldw 0 0 1\r\n1\r\nget a\r\nversion\r\n");
    wait_parked(1);
    expect_nothing(f, f->client);
    expect_journal("");
    release("coldw");
    expect(f->client, "STORED\r\n" A END "VERSION 1.6.45\r\n");
    expect_journal("set coldw;get a;");
}

static void test_touching_reads_wait_for_each_other(void **state) {
    struct fixture *f = *state;
    ask(f->client, "gat 1 cold1 cold2\r\n");
    wait_parked(1);
    expect_nothing(f, f->client);
    release("cold1");
    wait_parked(1);
    release("cold2");
    expect(f->client, COLD1 COLD2 END);
}

/* One line of many cold keys: bounded, in order, whatever order they come back in. */
static void test_cold_multi_get_is_bounded(void **state) {
    enum { KEYS = 3000 };
    struct fixture *f = *state;
    struct buffer line;
    buffer_init(&line);
    assert_ok(buffer_printf(&line, "get"));
    for (int i = 0; i < KEYS; i++) {
        assert_ok(buffer_printf(&line, " cold%d", i));
    }
    assert_ok(buffer_printf(&line, "\r\n"));
    send_bytes(f->client, buffer_head(&line), buffer_length(&line));
    for (int i = 0; i < KEYS; i++) {
        on_stage();
        while (stage.parked_count == 0) {
            pthread_cond_wait(&stage.changed, &stage.mutex);
        }
        char key[STORE_KEY_MAX + 1] = "";
        struct slice any = stage.parked[(unsigned)(i * 7919) % stage.parked_count]->request.key;
        memcpy(key, any.p, any.n);
        off_stage();
        release(key);
    }
    for (int i = 0; i < KEYS; i++) {
        char value[128];
        int n = snprintf(NULL, 0, "cold%d", i);
        snprintf(value, sizeof value, "VALUE cold%d 0 %d\r\n%.*s\r\n", i, n, n, "vvvvvvvvvv");
        expect(f->client, value);
    }
    expect(f->client, END);
    assert_in_range(stage.parked_most, 32, HOME_SLOTS_MAX);
    buffer_free(&line);
}

static void test_error_in_a_multi_get_ends_the_reply(void **state) {
    struct fixture *f = *state;
    ask(f->client, "get a cold1 bad1 b\r\nget b\r\n");
    wait_parked(1);
    release("cold1");
    expect(f->client, A COLD1 "SERVER_ERROR read failed: damaged data\r\n" B END);
}

/* ---- clients that do not read ---- */

static void test_unread_replies_are_bounded(void **state) {
    struct fixture *f = *state;
    unsigned sent = 0;
    int other = new_client(f);
    assert_int_equal(fcntl(f->client, F_SETFL, O_NONBLOCK), 0);
    /* The server stops reading at its bound, then the socket fills, then we are stopped. */
    for (unsigned stopped = 0; stopped < 100;) {
        static const char request[] = "get big1\r\n";
        ssize_t n = send(f->client, request, sizeof request - 1, MSG_NOSIGNAL);
        assert_true(n < 0 || n == sizeof request - 1);
        if (n > 0) {
            sent++;
            stopped = 0;
        } else {
            stopped++;
            ask(other, "version\r\n");
            expect(other, "VERSION 1.6.45\r\n");
        }
    }
    close(other);
    on_stage();
    size_t executed = buffer_length(&stage.journal) / strlen("get big1;");
    off_stage();
    assert_in_range(executed, HOME_UNSENT_MAX / 100000, HOME_UNSENT_MAX / 100000 + 10); /* and the socket's own room */
    assert_int_equal(fcntl(f->client, F_SETFL, 0), 0);
    char *body = malloc(100002);
    assert_non_null(body);
    for (unsigned i = 0; i < sent; i++) {
        expect(f->client, HIT("big1", "100000"));
        read_bytes(f->client, body, 100002);
        expect(f->client, END);
    }
    free(body);
}

static void test_dump_goes_on_as_it_is_read(void **state) {
    struct fixture *f = *state;
    const char *row = "key=0123456789012345678901234567890123456789 exp=-1 la=1000 cas=0 fetch=no cls=1 size=0\r\n";
    ask(f->client, "lru_crawler metadump all\r\nget a\r\n");
    for (unsigned page = 0; page < DUMP_PAGES; page++) {
        wait_parked(1);
        release("");
        for (unsigned i = 0; i < DUMP_ROWS; i++) {
            expect(f->client, row);
        }
    }
    expect(f->client, END A END);
}

static void test_dump_is_given_up_when_nobody_reads(void **state) {
    struct fixture *f = *state;
    ask(f->client, "lru_crawler metadump all\r\n");
    wait_parked(1);
    close(f->client);
    release("");
    f->client = new_client(f);
    ask(f->client, "get a\r\n");
    expect(f->client, A END);
    on_stage();
    unsigned parked = stage.parked_count;
    off_stage();
    if (parked > 0) {
        release(""); /* the next page was asked for before the loss was noticed */
    }
}

/* ---- from outside ---- */

static void test_listing(void **state) {
    struct fixture *f = *state;
    struct buffer text;
    buffer_init(&text);
    ask(f->client, "get a\r\n");
    expect(f->client, A END);
    assert_ok(worker_list(f->worker, 1007, &text));
    const char *colon = memchr(buffer_head(&text), ':', buffer_length(&text));
    assert_non_null(colon);
    assert_string_equal(colon, ":addr");
    for (size_t i = 0; i < buffer_length(&text); i++) {
        char *byte = buffer_head(&text) + i;
        *byte = *byte == '\0' ? ' ' : *byte;
    }
    assert_ok(buffer_append(&text, "", 1));
    assert_non_null(strstr(buffer_head(&text), ":state conn_read"));
    assert_non_null(strstr(buffer_head(&text), ":secs_since_last_cmd 7"));
    buffer_free(&text);
}

static void test_stop_answers_what_has_arrived(void **state) {
    struct fixture *f = *state;
    struct buffer requests;
    buffer_init(&requests);
    assert_ok(buffer_printf(&requests, "get cold1\r\n"));
    for (int i = 0; i < 3000; i++) {
        assert_ok(buffer_printf(&requests, "get a\r\n"));
    }
    send_bytes(f->client, buffer_head(&requests), buffer_length(&requests));
    wait_parked(1);
    worker_stop(f->worker, clock_micros() + 10 * 1000 * 1000);
    release("cold1");
    expect(f->client, COLD1 END);
    for (int i = 0; i < 3000; i++) {
        expect(f->client, A END);
    }
    expect_end(f->client);
    worker_join(f->worker);
    buffer_free(&requests);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_pipeline),
        TEST(test_byte_by_byte),
        TEST(test_large_values),
        TEST(test_too_large_value_is_swallowed),
        TEST(test_bodies_in_flight_are_bounded),
        TEST(test_bad_data_block),
        TEST(test_quit_closes_behind_its_replies),
        TEST(test_half_closed_client_is_answered),
        TEST(test_requests_of_a_gone_client_are_executed),
        TEST(test_reads_run_side_by_side),
        TEST(test_write_waits_behind_parked_read),
        TEST(test_read_waits_behind_parked_read_of_the_same_key),
        TEST(test_everything_waits_behind_parked_write),
        TEST(test_touching_reads_wait_for_each_other),
        TEST(test_cold_multi_get_is_bounded),
        TEST(test_error_in_a_multi_get_ends_the_reply),
        TEST(test_unread_replies_are_bounded),
        TEST(test_dump_goes_on_as_it_is_read),
        TEST(test_dump_is_given_up_when_nobody_reads),
        TEST(test_listing),
        TEST(test_stop_answers_what_has_arrived),
    };
    return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
