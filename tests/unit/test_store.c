/* SPDX-License-Identifier: BSD-3-Clause */
/* The store as its users see it: operations, restarts, kills, flushes, budgets. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/store.h"
#include "tests/unit/support_cmocka.h"
#include "tests/unit/support_dir.h"

struct fixture {
    struct test_dir dir;
    struct clock *clock;
    struct faults *faults;
    struct store_config config;
    struct store *store;
    struct inbox *inbox;
    struct session *session;
    unsigned delivered;
};

struct test_op {
    struct store_op op; /* first */
    bool delivered;
    uint64_t add;
    const char *suffix;
    struct slice suffix_slice;
    enum store_verdict wish;
    bool only_absent;
};

static void delivered(struct ticket *ticket) {
    ((struct test_op *)ticket)->delivered = true;
}

static void no_mark(void *arg) {
    struct fixture *fixture = arg;
    fixture->delivered++;
}

static void wait_inbox(struct fixture *f) {
    struct pollfd poll_fd = {.fd = inbox_fd(f->inbox), .events = POLLIN};
    assert_true(poll(&poll_fd, 1, 20000) == 1);
    inbox_drain(f->inbox);
}

static void run(struct fixture *f, struct test_op *t) {
    t->op.ticket.deliver = delivered;
    session_tick(f->session);
    while (store_run(f->session, &t->op) == STORE_PARKED) {
        t->delivered = false;
        while (!t->delivered)
            wait_inbox(f);
    }
    session_commit(f->session);
}

static void open_store(struct fixture *f) {
    assert_int_equal(store_open(&f->store, &f->config), ST_OK);
    assert_int_equal(session_open(&f->session, f->store, f->inbox, no_mark, f), ST_OK);
}

static void close_store(struct fixture *f) {
    session_close(&f->session);
    store_close(&f->store, 5);
}

static void restart(struct fixture *f) {
    close_store(f);
    open_store(f);
}

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    test_dir_make(&f->dir);
    f->clock = clock_create();
    assert_int_equal(faults_create(&f->faults, NULL), ST_OK);
    store_config_init(&f->config);
    f->config.dir = f->dir.path;
    f->config.clock = f->clock;
    f->config.faults = f->faults;
    f->config.log_segment = 4 << 20;
    f->config.log_max = 16 << 20;
    f->config.item_max = 1 << 20;
    f->config.readers = 4;
    assert_int_equal(inbox_create(&f->inbox), ST_OK);
    open_store(f);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    if (f->store)
        close_store(f);
    inbox_destroy(&f->inbox);
    faults_destroy(&f->faults);
    clock_destroy(&f->clock);
    test_dir_remove(&f->dir);
    free(f);
    return 0;
}

/* ---- small verbs ---- */

static enum store_verdict decide_wish(struct store_op *op, const struct item *old) {
    struct test_op *t = (struct test_op *)op;
    if (t->only_absent)
        return old ? STORE_KEEP : t->wish;
    return t->wish;
}

static enum store_verdict decide_present(struct store_op *op, const struct item *old) {
    return old ? ((struct test_op *)op)->wish : STORE_KEEP;
}

static struct item *make(const char *key, const char *value, size_t n, uint32_t flags, int64_t exptime) {
    struct item *item;
    assert_int_equal(item_create(&item, slice_str(key), n), ST_OK);
    memcpy(item_body(item), value, n);
    item_set(item, flags, exptime, 0);
    return item;
}

static struct test_op set_n(struct fixture *f, const char *key, const char *value, size_t n, uint32_t flags,
                            int64_t exptime) {
    struct test_op t = {.op = {.key = slice_str(key), .decide = decide_wish, .blind = true}, .wish = STORE_PUT};
    t.op.fresh = make(key, value, n, flags, exptime);
    run(f, &t);
    return t;
}

/* Another thread may have been writing when the session wanted to. */
static void wait_mark(struct fixture *f, uint64_t stamp) {
    unsigned before = f->delivered;

    if (store_mark(f->store) >= stamp)
        return;
    session_await(f->session, stamp);
    while (f->delivered == before)
        wait_inbox(f);
    assert_true(store_mark(f->store) >= stamp);
}

static uint64_t set(struct fixture *f, const char *key, const char *value) {
    struct test_op t = set_n(f, key, value, strlen(value), 7, 0);
    assert_int_equal(t.op.status, ST_OK);
    wait_mark(f, t.op.stamp);
    return t.op.cas;
}

static enum store_verdict delete(struct fixture *f, const char *key) {
    struct test_op t = {.op = {.key = slice_str(key), .decide = decide_present}, .wish = STORE_DELETE};
    run(f, &t);
    assert_int_equal(t.op.status, ST_OK);
    return t.op.verdict;
}

/* The item, which the caller unrefs; NULL on a miss. */
static struct item *get(struct fixture *f, const char *key) {
    struct test_op t = {.op = {.key = slice_str(key)}};
    run(f, &t);
    assert_int_equal(t.op.status, ST_OK);
    return t.op.item;
}

static void expect(struct fixture *f, const char *key, const char *value) {
    struct item *item = get(f, key);
    struct item_view view;
    assert_non_null(item);
    item_look(item, &view);
    assert_int_equal(view.value.n, strlen(value));
    assert_memory_equal(view.value.p, value, view.value.n);
    assert_memory_equal(view.value.p + view.value.n, "\r\n", 2);
    item_unref(&item);
}

static void expect_miss(struct fixture *f, const char *key) {
    assert_null(get(f, key));
}

static void flush_at(struct fixture *f, int64_t when) {
    struct test_op t = {0};
    t.op.ticket.deliver = delivered;
    session_tick(f->session);
    while (store_flush(f->session, &t.op, when) == STORE_PARKED) {
        t.delivered = false;
        while (!t.delivered)
            wait_inbox(f);
    }
    assert_int_equal(t.op.status, ST_OK);
    session_commit(f->session);
}

static struct store_figures figures(struct fixture *f) {
    struct store_figures now;
    store_figures(f->store, &now);
    return now;
}

/* ---- tests ---- */

static void test_values_survive_a_restart(void **state) {
    struct fixture *f = *state;
    uint64_t cas = set(f, "a", "one");
    struct item *item;
    struct item_view view;

    set(f, "empty", "");
    set_n(f, "late", "x", 1, 4294967295u, INT64_MAX);
    restart(f);
    expect(f, "a", "one");
    expect(f, "empty", "");
    item = get(f, "a");
    item_look(item, &view);
    assert_int_equal(view.cas, cas);
    assert_int_equal(view.flags, 7);
    item_unref(&item);
    item = get(f, "late");
    item_look(item, &view);
    assert_int_equal(view.flags, 4294967295u);
    assert_true(view.exptime == INT64_MAX);
    item_unref(&item);
    expect_miss(f, "b");
    assert_true(set(f, "a", "two") > cas);
}

static void test_delete_is_durable_in_ram_and_tree(void **state) {
    struct fixture *f = *state;
    set(f, "a", "1");
    assert_int_equal(delete (f, "a"), STORE_DELETE);
    assert_int_equal(delete (f, "a"), STORE_KEEP);
    set(f, "b", "2");
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    assert_int_equal(delete (f, "b"), STORE_DELETE);
    expect_miss(f, "b");
    restart(f);
    expect_miss(f, "a");
    expect_miss(f, "b");
    assert_int_equal(figures(f).items, 0);
}

static void test_add_reads_the_tree(void **state) {
    struct fixture *f = *state;
    struct test_op t = {.op = {.key = slice_str("a"), .decide = decide_wish}, .wish = STORE_PUT, .only_absent = true};

    set(f, "a", "1");
    restart(f); /* now only the tree has it */
    t.op.fresh = make("a", "2", 1, 0, 0);
    run(f, &t);
    assert_int_equal(t.op.verdict, STORE_KEEP);
    assert_null(t.op.fresh);
    expect(f, "a", "1");
}

static enum status build_append(struct store_op *op, const struct item *old) {
    struct test_op *t = (struct test_op *)op;
    struct item_view view;
    enum status status;

    item_look(old, &view);
    status = item_create(&op->fresh, op->key, view.value.n + t->suffix_slice.n);
    if (status == ST_OK) {
        memcpy(item_body(op->fresh), view.value.p, view.value.n);
        memcpy(item_body(op->fresh) + view.value.n, t->suffix_slice.p, t->suffix_slice.n);
        item_set(op->fresh, view.flags, view.exptime, 0);
    }
    return status;
}

static void append(struct fixture *f, const char *key, const char *suffix) {
    struct test_op t = {.op = {.key = slice_str(key), .decide = decide_present, .build = build_append},
                        .suffix_slice = slice_str(suffix),
                        .wish = STORE_PUT};
    run(f, &t);
    assert_int_equal(t.op.status, ST_OK);
    assert_int_equal(t.op.verdict, STORE_PUT);
}

static void test_append_small_and_large_cold_and_hot(void **state) {
    struct fixture *f = *state;
    size_t n = 300000;
    char *big = malloc(n + 3);
    struct item *item;
    struct item_view view;

    memset(big, 'x', n);
    memcpy(big + n, "yy", 3);
    set(f, "s", "a");
    set_n(f, "b", big, n, 3, 0);
    append(f, "s", "b");
    append(f, "b", "y");
    restart(f);
    append(f, "s", "c");
    append(f, "b", "y");
    expect(f, "s", "abc");
    item = get(f, "b");
    item_look(item, &view);
    assert_int_equal(view.value.n, n + 2);
    assert_memory_equal(view.value.p, big, n + 2);
    assert_int_equal(view.flags, 3);
    item_unref(&item);
    free(big);
}

static void test_expired_items_are_misses_and_are_freed(void **state) {
    struct fixture *f = *state;
    int64_t now = clock_wall(f->clock);

    set_n(f, "short", "x", 1, 0, now + 50);
    set_n(f, "long", "y", 1, 0, now + 5000);
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    assert_int_equal(figures(f).tree_items, 2);
    clock_advance(f->clock, 100);
    expect_miss(f, "short");
    expect(f, "long", "y");
    clock_advance(f->clock, 100); /* past the end of the bucket too */
    while (figures(f).tree_items != 1)
        assert_int_equal(store_checkpoint(f->store), ST_OK);
    assert_int_equal(figures(f).items, 1);
    assert_int_equal(figures(f).reclaimed, 1);
}

static void test_flush_kills_the_past_only(void **state) {
    struct fixture *f = *state;
    set(f, "tree", "1");
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    set(f, "dirty", "1");
    flush_at(f, 0);
    expect_miss(f, "tree");
    expect_miss(f, "dirty");
    assert_int_equal(figures(f).items, 0);
    set(f, "new", "2");
    assert_int_equal(figures(f).items, 1);
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    assert_int_equal(figures(f).tree_generation, 2);
    expect_miss(f, "tree");
    restart(f);
    expect_miss(f, "tree");
    expect_miss(f, "dirty");
    expect(f, "new", "2");
    assert_int_equal(figures(f).items, 1);
}

static void test_delayed_flush_fires_also_after_a_restart(void **state) {
    struct fixture *f = *state;
    int64_t now = clock_wall(f->clock);

    set(f, "before", "1");
    flush_at(f, now + 100);
    set(f, "after", "1");
    expect(f, "before", "1");
    restart(f);
    expect(f, "before", "1");
    clock_advance(f->clock, 200);
    expect_miss(f, "before");
    expect_miss(f, "after");
    set(f, "late", "1");
    expect(f, "late", "1");
    restart(f);
    expect(f, "late", "1");
    expect_miss(f, "before");
}

static void test_overdue_flush_fires_before_the_first_request(void **state) {
    struct fixture *f = *state;
    set(f, "before", "1");
    flush_at(f, clock_wall(f->clock) + 100);
    close_store(f);
    clock_advance(f->clock, 200);
    open_store(f);
    expect_miss(f, "before");
}

/* More than the DIRTY budget and the log hold: writers wait for checkpoints and all goes through. */
static void test_writing_more_than_memory_and_log(void **state) {
    struct fixture *f = *state;
    char key[32], value[2001];
    unsigned n = 20000;

    close_store(f);
    f->config.memory = 8 << 20;
    open_store(f);
    memset(value, 'v', sizeof value);
    for (unsigned i = 0; i < n; i++) {
        snprintf(key, sizeof key, "key-%06u", i * 7919 % n);
        memcpy(value, key, 10);
        struct test_op t = set_n(f, key, value, 2000, i, 0);
        assert_int_equal(t.op.status, ST_OK);
    }
    assert_true(figures(f).checkpoints > 0);
    assert_true(figures(f).log_bytes <= f->config.log_max);
    restart(f);
    assert_int_equal(figures(f).items, n);
    for (unsigned i = 0; i < n; i += 37) {
        struct item *item;
        struct item_view view;
        snprintf(key, sizeof key, "key-%06u", i);
        item = get(f, key);
        assert_non_null(item);
        item_look(item, &view);
        assert_int_equal(view.value.n, 2000);
        assert_memory_equal(view.value.p, key, 10);
        item_unref(&item);
    }
    assert_true(figures(f).bytes_ram <= f->config.memory);
}

/* In a child that is killed: everything that the mark had reached is there afterwards. */
static void test_kill_loses_nothing_that_was_written(void **state) {
    struct fixture *f = *state;
    int status;
    pid_t child;

    close_store(f);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        open_store(f);
        for (int i = 0; i < 5000; i++) {
            char key[32];
            snprintf(key, sizeof key, "k%d", i % 500);
            set(f, key, key);
            if (i == 2500 && store_checkpoint(f->store) != ST_OK)
                _exit(3);
        }
        delete (f, "k7");
        kill(getpid(), SIGKILL);
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    open_store(f);
    for (int i = 0; i < 500; i++) {
        char key[32];
        snprintf(key, sizeof key, "k%d", i);
        if (i == 7)
            expect_miss(f, key);
        else
            expect(f, key, key);
    }
    assert_true(figures(f).recovered_records > 0);
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    assert_int_equal(figures(f).items, 499);
}

/* The child's store checkpoints "a", and meanwhile flushes; it dies before the flush reaches the log file. */
static void flush_in_a_checkpoint_and_die(struct fixture *f) {
    struct test_op flush = {0};
    uint64_t lsn;

    f->config.sync_ms = 1;
    open_store(f);
    set(f, "a", "1");
    lsn = figures(f).lsn;
    while (figures(f).lsn_durable < lsn)
        usleep(1000);
    if (faults_set(f->faults, "CHECKPOINT_WAIT:1:sleep=300000,CHECKPOINT_END:1:kill") != ST_OK)
        _exit(3);
    store_checkpoint_soon(f->store);
    while (fault_reached(f->faults, FAULT_CHECKPOINT_WAIT) == 0)
        usleep(1000);
    session_tick(f->session);
    if (store_flush(f->session, &flush.op, 0) != STORE_DONE || flush.op.status != ST_OK)
        _exit(4);
    for (;;)
        pause();
}

static void test_flush_that_is_lost_has_killed_nothing(void **state) {
    struct fixture *f = *state;
    int status;
    pid_t child;

    close_store(f);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        flush_in_a_checkpoint_and_die(f);
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    open_store(f);
    expect(f, "a", "1");
}

/* The new tree cannot be made yet, so the dead one is still there. */
static void test_items_are_counted_right_after_a_flush(void **state) {
    struct fixture *f = *state;
    struct test_op t = {.op = {.key = slice_str("a"), .decide = decide_wish}, .wish = STORE_PUT, .only_absent = true};

    set(f, "a", "1");
    restart(f);
    assert_int_equal(faults_set(f->faults, "TREE_CREATE:*:eio"), ST_OK);
    flush_at(f, 0);
    t.op.fresh = make("a", "2", 1, 0, 0);
    run(f, &t);
    assert_int_equal(t.op.verdict, STORE_PUT);
    assert_int_equal(figures(f).items, 1);
    assert_int_equal(faults_set(f->faults, ""), ST_OK);
}

static void test_failed_commit_is_tried_again(void **state) {
    struct fixture *f = *state;
    set(f, "a", "1");
    assert_int_equal(faults_set(f->faults, "TREE_COMMIT:*:eio"), ST_OK);
    assert_int_not_equal(store_checkpoint(f->store), ST_OK);
    expect(f, "a", "1");
    assert_int_equal(faults_set(f->faults, ""), ST_OK);
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    assert_int_equal(figures(f).tree_items, 1);
}

/* Each try walks over all that is DIRTY, so workers must not bring it on by asking again and again. */
static void test_failing_checkpoint_is_not_tried_all_the_time(void **state) {
    struct fixture *f = *state;
    uint64_t begun = clock_micros();
    char value[1000];

    memset(value, 'v', sizeof value);
    assert_int_equal(store_set_memory(f->store, 1 << 20), ST_OK);
    assert_int_equal(faults_set(f->faults, "TREE_COMMIT:*:eio"), ST_OK);
    for (int i = 0; i < 400; i++) {
        char key[32];
        snprintf(key, sizeof key, "key-%d", i);
        set_n(f, key, value, sizeof value, 0, 0);
    }
    while (clock_micros() - begun < 500 * 1000) {
        session_commit(f->session);
        usleep(1000); /* a pass of a worker */
    }
    assert_true(figures(f).checkpoint_failures > 0);
    assert_true(figures(f).checkpoint_failures < 10);
    assert_int_equal(faults_set(f->faults, ""), ST_OK);
}

/* Its time is up while a checkpoint is running: that one ends with its chunk, and the rest is replayed. */
static void test_closing_does_not_wait_for_a_running_checkpoint(void **state) {
    struct fixture *f = *state;
    unsigned n = 20000;
    uint64_t begun;

    for (unsigned i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof key, "key-%06u", i);
        set(f, key, key);
    }
    assert_int_equal(faults_set(f->faults, "TREE_COMMITTED:*:sleep=1000000"), ST_OK);
    store_checkpoint_soon(f->store);
    while (fault_reached(f->faults, FAULT_TREE_COMMITTED) == 0)
        usleep(1000);
    begun = clock_micros();
    session_close(&f->session);
    store_close(&f->store, 1);
    assert_true(clock_micros() - begun < 3500 * 1000);
    assert_int_equal(faults_set(f->faults, ""), ST_OK);
    open_store(f);
    expect(f, "key-019999", "key-019999");
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    assert_int_equal(figures(f).items, n);
}

static void test_hurry_ends_the_waiting_for_room(void **state) {
    struct fixture *f = *state;
    struct test_op t;
    char key[32], value[1000];
    int n = 0;

    memset(value, 'v', sizeof value);
    assert_int_equal(store_set_memory(f->store, 1 << 20), ST_OK);
    assert_int_equal(faults_set(f->faults, "CHECKPOINT_WAIT:*:sleep=2000000"), ST_OK);
    for (;;) {
        snprintf(key, sizeof key, "key-%d", n++);
        t = (struct test_op){.op = {.key = slice_str(key), .decide = decide_wish, .blind = true}, .wish = STORE_PUT};
        t.op.ticket.deliver = delivered;
        t.op.fresh = make(key, value, sizeof value, 0, 0);
        if (store_run(f->session, &t.op) == STORE_PARKED)
            break;
        assert_int_equal(t.op.status, ST_OK);
        session_commit(f->session);
    }
    uint64_t begun = clock_micros();
    store_hurry(f->store);
    while (!t.delivered)
        wait_inbox(f);
    assert_int_equal(store_run(f->session, &t.op), STORE_DONE);
    assert_int_equal(t.op.status, ST_BUSY);
    assert_true(clock_micros() - begun < 1000 * 1000);
    assert_int_equal(faults_set(f->faults, ""), ST_OK);
}

/* The tree remembers the time although nothing is written for two days, so a start after them trusts the clock. */
static void test_quiet_days_are_no_wrong_clock(void **state) {
    struct fixture *f = *state;
    enum { DAYS = 2 * 24 * 3600 };
    int status;
    pid_t child;

    close_store(f);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t before;
        open_store(f);
        set(f, "a", "1");
        if (store_checkpoint(f->store) != ST_OK)
            _exit(3);
        before = figures(f).checkpoints;
        clock_advance(f->clock, DAYS);
        while (figures(f).checkpoints == before)
            usleep(10000);
        kill(getpid(), SIGKILL);
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    clock_advance(f->clock, DAYS);
    open_store(f);
    set_n(f, "short", "x", 1, 0, clock_wall(f->clock) + 50);
    clock_advance(f->clock, 100);
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    assert_int_equal(figures(f).tree_items, 1);
}

static void test_failed_sync_makes_it_read_only(void **state) {
    struct fixture *f = *state;
    struct test_op t;

    set(f, "a", "1");
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    set(f, "b", "1");
    assert_int_equal(faults_set(f->faults, "LOG_SYNC:1:eio"), ST_OK);
    assert_int_not_equal(store_checkpoint(f->store), ST_OK);
    t = set_n(f, "c", "1", 1, 0, 0);
    assert_int_equal(t.op.status, ST_READ_ONLY);
    expect(f, "a", "1");
    assert_int_equal(store_health(f->store), ST_READ_ONLY);
}

/* What was acknowledged last was in it: starting empty would lose it without a word. */
static void test_lost_log_is_refused(void **state) {
    struct fixture *f = *state;
    char command[400];

    set(f, "a", "1");
    close_store(f);
    snprintf(command, sizeof command, "rm %s/log/*", f->dir.path);
    assert_int_equal(system(command), 0);
    assert_int_equal(store_open(&f->store, &f->config), ST_CORRUPT);
    assert_null(f->store);
}

static void test_second_open_is_refused(void **state) {
    struct fixture *f = *state;
    struct store *second = NULL;
    assert_int_equal(store_open(&second, &f->config), ST_BUSY);
    assert_null(second);
}

static void scan_delivered(struct ticket *ticket) {
    (void)ticket;
}

static void test_scan_merges_ram_and_tree_in_order(void **state) {
    struct fixture *f = *state;
    struct store_scan scan = {.limit = 7, .values = true};
    char last[16] = "", key[16];
    unsigned seen = 0, pages = 0;

    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "k%03d", i);
        set(f, key, "tree");
    }
    assert_int_equal(store_checkpoint(f->store), ST_OK);
    for (int i = 1; i < 100; i += 2) {
        snprintf(key, sizeof key, "k%03d", i);
        if (i % 3 == 0)
            delete (f, key);
        else
            set(f, key, "ram");
    }
    scan.ticket.deliver = scan_delivered;
    do {
        store_scan_page(f->session, &scan);
        wait_inbox(f);
        assert_int_equal(scan.status, ST_OK);
        for (unsigned i = 0; i < scan.count; i++) {
            struct item_view view;
            int number;
            item_look(scan.rows[i].item, &view);
            memcpy(key, view.key.p, view.key.n);
            key[view.key.n] = 0;
            assert_true(strcmp(last, key) < 0);
            strcpy(last, key);
            number = atoi(key + 1);
            assert_false(number % 2 == 1 && number % 3 == 0);
            assert_memory_equal(view.value.p, number % 2 ? "ram" : "tree", view.value.n);
            seen++;
        }
        store_scan_free(&scan);
        pages++;
    } while (scan.more);
    assert_int_equal(seen, 100 - 17);
    assert_true(pages >= 100 / 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(test_values_survive_a_restart),
        T(test_delete_is_durable_in_ram_and_tree),
        T(test_add_reads_the_tree),
        T(test_append_small_and_large_cold_and_hot),
        T(test_expired_items_are_misses_and_are_freed),
        T(test_flush_kills_the_past_only),
        T(test_delayed_flush_fires_also_after_a_restart),
        T(test_overdue_flush_fires_before_the_first_request),
        T(test_writing_more_than_memory_and_log),
        T(test_kill_loses_nothing_that_was_written),
        T(test_flush_that_is_lost_has_killed_nothing),
        T(test_items_are_counted_right_after_a_flush),
        T(test_failed_commit_is_tried_again),
        T(test_failing_checkpoint_is_not_tried_all_the_time),
        T(test_closing_does_not_wait_for_a_running_checkpoint),
        T(test_hurry_ends_the_waiting_for_room),
        T(test_quiet_days_are_no_wrong_clock),
        T(test_failed_sync_makes_it_read_only),
        T(test_lost_log_is_refused),
        T(test_second_open_is_refused),
        T(test_scan_merges_ram_and_tree_in_order),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
