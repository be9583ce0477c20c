/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/check.h"
#include "src/base/lock.h"
#include "src/base/number.h"
#include "src/base/slice.h"

enum { FAULTS_MAGIC = 0x66617574, RULES_MAX = 16, SHORT_WRITE = -1 };

enum action { ACTION_KILL, ACTION_FAIL, ACTION_SLEEP };

struct rule {
    enum fault_point point;
    uint64_t first; /* acts from this time on ... */
    uint64_t last;  /* ... up to this one */
    uint64_t seen;  /* how often the point was reached under this plan */
    enum action action;
    int result;      /* ACTION_FAIL: what fault_hit returns */
    uint64_t micros; /* ACTION_SLEEP */
};

struct plan {
    size_t count;
    struct rule rules[RULES_MAX];
};

struct faults {
    unsigned magic;
    atomic_bool armed; /* a plan is set; the only field that is read without the lock */
    struct lock lock;  /* guards what follows */
    struct plan plan;
    uint64_t reached[FAULT_COUNT];
};

static bool find_point(struct slice text, enum fault_point *point) {
    static const char *const names[] = {
#define X(name, text) #name,
        FAULT_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        if (slice_equal(text, slice_str(names[i]))) {
            *point = (enum fault_point)i;
            return true;
        }
    }
    return false;
}

/* Cuts `text` at the first `mark`: the part before it is returned, the part behind it stays. */
static struct slice cut(struct slice *text, char mark) {
    const char *at = text->n > 0 ? memchr(text->p, mark, text->n) : NULL;
    size_t n = at != NULL ? (size_t)(at - text->p) : text->n;
    size_t behind = at != NULL ? n + 1 : n;
    struct slice head = slice_of(text->p, n);
    *text = slice_of(text->p + behind, text->n - behind);
    return head;
}

static bool parse_times(struct slice text, struct rule *rule) {
    if (slice_equal(text, slice_str("*"))) {
        rule->first = 1;
        rule->last = UINT64_MAX;
        return true;
    }
    bool onwards = text.n > 0 && text.p[text.n - 1] == '+';
    if (onwards) {
        text.n--;
    }
    if (!number_u64(text, &rule->first) || rule->first == 0) {
        return false;
    }
    rule->last = onwards ? UINT64_MAX : rule->first;
    return true;
}

static bool parse_action(struct slice text, struct rule *rule) {
    static const struct {
        const char *name;
        enum action action;
        int result;
    } actions[] = {
        {"kill", ACTION_KILL, 0},
        {"eio", ACTION_FAIL, EIO},
        {"enospc", ACTION_FAIL, ENOSPC},
        {"short", ACTION_FAIL, SHORT_WRITE},
    };
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (slice_equal(text, slice_str(actions[i].name))) {
            rule->action = actions[i].action;
            rule->result = actions[i].result;
            return true;
        }
    }
    rule->action = ACTION_SLEEP;
    return slice_equal(cut(&text, '='), slice_str("sleep")) && number_u64(text, &rule->micros);
}

static enum status parse_plan(const char *text, struct plan *plan) {
    struct slice rest = slice_str(text != NULL ? text : "");
    memset(plan, 0, sizeof *plan);
    while (rest.n > 0) {
        if (plan->count == RULES_MAX) {
            return ST_INVALID;
        }
        struct rule *rule = &plan->rules[plan->count++];
        struct slice one = cut(&rest, ',');
        struct slice point = cut(&one, ':');
        struct slice times = cut(&one, ':');
        if (!find_point(point, &rule->point) || !parse_times(times, rule) || !parse_action(one, rule)) {
            return ST_INVALID;
        }
    }
    return ST_OK;
}

enum status faults_create(struct faults **faults, const char *plan) {
    *faults = NULL;
    struct faults *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return ST_NO_MEMORY;
    }
    created->magic = FAULTS_MAGIC;
    lock_init(&created->lock, LOCK_LEAF);
    enum status status = faults_set(created, plan);
    if (status == ST_OK) {
        *faults = created;
    } else {
        faults_destroy(&created);
    }
    return status;
}

void faults_destroy(struct faults **faults) {
    if (*faults != NULL) {
        CHECK_OBJ(*faults, FAULTS_MAGIC);
        lock_destroy(&(*faults)->lock);
        (*faults)->magic = 0;
        free(*faults);
        *faults = NULL;
    }
}

enum status faults_set(struct faults *faults, const char *plan) {
    CHECK_OBJ(faults, FAULTS_MAGIC);
    struct plan parsed;
    enum status status = parse_plan(plan, &parsed);
    if (status == ST_OK) {
        lock_take(&faults->lock);
        faults->plan = parsed;
        atomic_store(&faults->armed, parsed.count > 0);
        lock_drop(&faults->lock);
    }
    return status;
}

/* What one visit to a point amounts to, when all rules of the plan have been asked. */
struct verdict {
    bool kill;
    int result;
    uint64_t micros;
};

static struct verdict judge(struct faults *faults, enum fault_point point) {
    struct verdict verdict = {false, 0, 0};
    lock_take(&faults->lock);
    faults->reached[point]++;
    for (size_t i = 0; i < faults->plan.count; i++) {
        struct rule *rule = &faults->plan.rules[i];
        if (rule->point != point) {
            continue;
        }
        rule->seen++;
        if (rule->seen < rule->first || rule->seen > rule->last) {
            continue;
        }
        switch (rule->action) {
        case ACTION_KILL:
            verdict.kill = true;
            break;
        case ACTION_FAIL:
            verdict.result = rule->result;
            break;
        case ACTION_SLEEP:
            verdict.micros += rule->micros;
            break;
        }
    }
    lock_drop(&faults->lock);
    return verdict;
}

static void sleep_micros(uint64_t micros) {
    struct timespec left = {(time_t)(micros / 1000000), (long)(micros % 1000000) * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
        continue;
    }
}

int fault_hit(struct faults *faults, enum fault_point point) {
    if (faults == NULL || !atomic_load_explicit(&faults->armed, memory_order_relaxed)) {
        return 0;
    }
    CHECK_OBJ(faults, FAULTS_MAGIC);
    CHECK(point < FAULT_COUNT);
    struct verdict verdict = judge(faults, point);
    if (verdict.micros > 0) {
        sleep_micros(verdict.micros);
    }
    if (verdict.kill) {
        kill(getpid(), SIGKILL);
        pause(); /* the signal may reach another thread first: nothing behind the point may run */
    }
    return verdict.result;
}

uint64_t fault_reached(const struct faults *faults, enum fault_point point) {
    CHECK_OBJ(faults, FAULTS_MAGIC);
    CHECK(point < FAULT_COUNT);
    struct lock *lock = (struct lock *)&faults->lock; /* the count is read-only, its lock is not */
    lock_take(lock);
    uint64_t reached = faults->reached[point];
    lock_drop(lock);
    return reached;
}
