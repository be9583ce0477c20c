/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/run.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "bench/complain.h"
#include "bench/driver.h"
#include "bench/progress.h"
#include "bench/report.h"
#include "src/base/check.h"
#include "src/base/thread.h"

enum { PHASES_MAX = 2, SHOW_MILLIS = 200 };
/* Loading is not measured at --depth, but as fast as goes: so many requests, or so many bytes, at once. */
enum { LOAD_DEPTH = 32, LOAD_BYTES = 256 * 1024 };

struct run;

/* A driver and the thread that runs it. */
struct hand {
    struct run *run;
    struct driver *driver;
    pthread_t thread;
    enum status status;
};

struct run {
    const struct settings *settings;
    struct endpoint endpoint;
    struct dataset *dataset;
    struct hand *hands; /* as many as threads */
    int *idle;          /* descriptors of connections that do nothing */
    unsigned idle_count;
    int finished;     /* eventfd: a thread has ended */
    int signals;      /* signalfd */
    atomic_bool stop; /* set by the main thread, seen by all */
    pthread_barrier_t gate;
    struct phase phase; /* the one that runs */
    struct outcome outcomes[PHASES_MAX];
    unsigned count;
};

/* ---- Opening and closing. */

static unsigned load_depth(const struct run *run) {
    size_t fit = LOAD_BYTES / protocol_request_max(run->dataset, 1);
    return fit < 1 ? 1 : fit > LOAD_DEPTH ? LOAD_DEPTH : (unsigned)fit;
}

/* Every connection is a descriptor; the usual limit of 1024 is only a default. */
static void raise_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static enum status open_signals(struct run *run) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    run->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    run->finished = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (run->signals < 0 || run->finished < 0) {
        complain("eventfd: %s", strerror(errno));
        return status_from_errno(errno);
    }
    return ST_OK;
}

static enum status open_dataset(struct run *run) {
    const struct settings *settings = run->settings;
    struct dataset_config config = {
        .prefix = settings->prefix,
        .key_size = settings->key_size,
        .hashed = settings->hashed,
        .value_min = settings->size_min,
        .value_max = settings->size_max,
        .compressible = (unsigned)settings->compressible,
        .keys = settings->keys,
        .seed = settings->seed,
    };
    enum status status = dataset_create(&run->dataset, &config);
    if (status == ST_OK && dataset_key_max(run->dataset) > settings->protocol->key_max) {
        status = ST_LIMIT;
    }
    if (status == ST_LIMIT) {
        complain("prefix and number do not fit --key-size, or keys are longer than the protocol's %zu bytes",
                 settings->protocol->key_max);
    } else if (status != ST_OK) {
        complain("%s", status_text(status));
    }
    return status;
}

static enum status open_hands(struct run *run) {
    const struct settings *settings = run->settings;
    unsigned threads = (unsigned)settings->threads, connections = (unsigned)settings->connections;
    unsigned depth = settings->load ? load_depth(run) : 1;
    struct driver_config config = {
        .lane = {.endpoint = &run->endpoint,
                 .protocol = settings->protocol,
                 .dataset = run->dataset,
                 .depth = depth > settings->depth ? depth : (unsigned)settings->depth,
                 .multi = (unsigned)settings->multi,
                 .expire = (uint32_t)settings->expire,
                 .verify = settings->verify},
        .drivers = threads,
        .keys = settings->keys,
        .seed = settings->seed,
        .timeout = settings->timeout,
    };
    enum status status = ST_OK;
    run->hands = calloc(threads, sizeof *run->hands);
    if (run->hands == NULL) {
        return ST_NO_MEMORY;
    }
    for (unsigned i = 0; i < threads && status == ST_OK; i++) {
        config.index = i;
        config.lanes = connections / threads + (i < connections % threads);
        run->hands[i].run = run;
        status = driver_open(&run->hands[i].driver, &config);
    }
    return status;
}

static enum status open_idle(struct run *run) {
    enum status status = ST_OK;
    run->idle = calloc(run->settings->idle + 1, sizeof *run->idle);
    if (run->idle == NULL) {
        return ST_NO_MEMORY;
    }
    while (status == ST_OK && run->idle_count < run->settings->idle) {
        status = endpoint_connect(&run->endpoint, &run->idle[run->idle_count]);
        run->idle_count += status == ST_OK;
    }
    return status;
}

static enum status open_run(struct run *run) {
    const struct settings *settings = run->settings;
    raise_descriptors();
    CHECK(pthread_barrier_init(&run->gate, NULL, (unsigned)settings->threads + 1) == 0);
    enum status status = open_signals(run);
    if (status == ST_OK) {
        status = settings->socket[0] != '\0'
                     ? endpoint_unix(&run->endpoint, settings->socket)
                     : endpoint_tcp(&run->endpoint, settings->host, (unsigned)settings->port);
    }
    if (status == ST_OK) {
        status = open_dataset(run);
    }
    if (status == ST_OK) {
        status = open_hands(run);
    }
    return status == ST_OK ? open_idle(run) : status;
}

static void close_run(struct run *run) {
    for (unsigned i = 0; i < run->idle_count; i++) {
        close(run->idle[i]);
    }
    for (unsigned i = 0; run->hands != NULL && i < run->settings->threads; i++) {
        driver_close(&run->hands[i].driver);
    }
    for (unsigned i = 0; i < PHASES_MAX; i++) {
        tally_destroy(&run->outcomes[i].tally);
    }
    dataset_destroy(&run->dataset);
    if (run->signals >= 0) {
        close(run->signals);
    }
    if (run->finished >= 0) {
        close(run->finished);
    }
    pthread_barrier_destroy(&run->gate);
    free(run->idle);
    free(run->hands);
}

/* ---- A phase. */

static void *hand_main(void *arg) {
    struct hand *hand = arg;
    uint64_t one = 1;
    pthread_barrier_wait(&hand->run->gate);
    hand->status = driver_run(hand->driver, &hand->run->phase);
    if (hand->status != ST_OK) {
        atomic_store(&hand->run->stop, true); /* the others need not go on */
    }
    CHECK(write(hand->run->finished, &one, sizeof one) == sizeof one);
    return NULL;
}

static uint64_t done_so_far(const struct run *run) {
    uint64_t done = 0;
    for (unsigned i = 0; i < run->settings->threads; i++) {
        done += driver_done(run->hands[i].driver);
    }
    return done;
}

/* Shows progress until all threads have ended. */
static void watch(struct run *run) {
    struct progress progress;
    uint64_t ended = 0, some;
    progress_begin(&progress, run->phase.name, run->phase.requests, run->phase.seconds, run->settings->quiet);
    while (ended < run->settings->threads) {
        struct pollfd fds[] = {{.fd = run->finished, .events = POLLIN},
                               {.fd = run->signals, .events = POLLIN}};
        poll(fds, 2, SHOW_MILLIS);
        progress_show(&progress, done_so_far(run));
        if (fds[0].revents != 0 && read(run->finished, &some, sizeof some) == sizeof some) {
            ended += some;
        }
        struct signalfd_siginfo info;
        if (fds[1].revents != 0 && read(run->signals, &info, sizeof info) == sizeof info) {
            atomic_store(&run->stop, true);
        }
    }
    progress_end(&progress);
}

/* Runs run->phase on all threads. */
static enum status run_threads(struct run *run) {
    unsigned threads = (unsigned)run->settings->threads;
    enum status status = ST_OK;
    for (unsigned i = 0; i < threads; i++) {
        if (thread_start(&run->hands[i].thread, "bench", hand_main, &run->hands[i]) != ST_OK) {
            /* Those that wait at the gate would wait for ever. */
            complain("cannot start %u threads", threads);
            exit(EXIT_FAILURE);
        }
    }
    pthread_barrier_wait(&run->gate);
    watch(run);
    for (unsigned i = 0; i < threads; i++) {
        thread_join(run->hands[i].thread);
        status = status == ST_OK ? run->hands[i].status : status;
    }
    return status;
}

static enum status sample_server(const struct run *run, struct sample *sample) {
    if (run->settings->pid == 0) {
        return ST_OK;
    }
    enum status status = sampler_read((pid_t)run->settings->pid, sample);
    if (status != ST_OK) {
        complain("process %llu: cannot read its use of CPU and memory",
                 (unsigned long long)run->settings->pid);
    }
    return status;
}

/* Outside the measured time: it waits for the filesystem to write everything. */
static enum status sample_device(const struct run *run, uint64_t *written) {
    const char *directory = run->settings->device_of;
    if (directory[0] == '\0') {
        return ST_OK;
    }
    enum status status = sampler_device(directory, written);
    if (status != ST_OK) {
        complain("%s: cannot tell what its device has written (no such directory, or no one device)", directory);
    }
    return status;
}

/* The tally and time of all threads together. */
static enum status collect(struct run *run, struct outcome *outcome) {
    enum status status = tally_create(&outcome->tally);
    uint64_t longest = 0;
    for (unsigned i = 0; i < run->settings->threads && status == ST_OK; i++) {
        uint64_t elapsed = driver_elapsed(run->hands[i].driver);
        longest = elapsed > longest ? elapsed : longest;
        tally_merge(outcome->tally, driver_tally(run->hands[i].driver));
    }
    outcome->seconds = (double)longest / 1e9;
    return status;
}

static enum status measure(struct run *run, const struct phase *phase) {
    struct outcome *outcome = &run->outcomes[run->count];
    run->phase = *phase;
    run->phase.stop = &run->stop;
    outcome->phase = phase->name;
    outcome->sampled = run->settings->pid != 0;
    outcome->device_known = run->settings->device_of[0] != '\0';
    enum status status = sample_device(run, &outcome->device_before);
    double cpu = sampler_own_cpu();
    if (status == ST_OK) {
        status = sample_server(run, &outcome->before);
    }
    if (status == ST_OK) {
        status = run_threads(run);
    }
    outcome->client_cpu = sampler_own_cpu() - cpu;
    if (status == ST_OK) {
        status = sample_server(run, &outcome->after);
    }
    if (status == ST_OK) {
        status = sample_device(run, &outcome->device_after);
    }
    if (status == ST_OK) {
        status = collect(run, outcome);
        run->count++;
    }
    return status;
}

/* ---- All phases. */

static enum status run_load(struct run *run) {
    struct phase phase = {
        .name = "load",
        .distribution = PICKER_SEQUENTIAL,
        .shares[OP_SET] = 1,
        .depth = load_depth(run),
        .multi = 1,
        .requests = run->settings->keys,
    };
    return measure(run, &phase);
}

static enum status run_measured(struct run *run) {
    const struct settings *settings = run->settings;
    struct phase phase = {
        .name = "warm-up",
        .distribution = settings->distribution,
        .theta = settings->theta,
        .depth = (unsigned)settings->depth,
        .multi = (unsigned)settings->multi,
        .sliding = settings->sliding,
        .seconds = settings->warm_up,
        .rate = settings->rate,
    };
    enum status status = ST_OK;
    memcpy(phase.shares, settings->shares, sizeof phase.shares);
    if (settings->warm_up > 0) {
        run->phase = phase;
        run->phase.stop = &run->stop;
        status = run_threads(run);
    }
    if (status == ST_OK && !atomic_load(&run->stop)) {
        phase.name = "run";
        phase.requests = settings->requests;
        phase.seconds = settings->requests > 0 ? 0 : settings->seconds;
        status = measure(run, &phase);
    }
    return status;
}

static enum status report(const struct run *run) {
    const struct settings *settings = run->settings;
    struct report all = {settings, &run->endpoint, run->outcomes, run->count};
    enum status status = ST_OK;
    if (strcmp(settings->csv, "-") != 0 && strcmp(settings->json, "-") != 0) {
        report_table(&all, stdout);
    }
    if (settings->csv[0] != '\0') {
        status = report_csv(&all, settings->csv);
    }
    if (status == ST_OK && settings->json[0] != '\0') {
        status = report_json(&all, settings->json);
    }
    return status;
}

/* Whether the server answered as it must. */
static enum status judge(const struct run *run) {
    enum status status = ST_OK;
    for (unsigned i = 0; i < run->count; i++) {
        for (unsigned j = 0; j < OP_COUNT; j++) {
            const struct tally_row *row = &run->outcomes[i].tally->row[j];
            if (row->wrong > 0) {
                return ST_CORRUPT;
            }
            status = row->failed > 0 ? ST_INVALID : status;
        }
    }
    return status;
}

enum status run(const struct settings *settings) {
    struct run run = {.settings = settings, .finished = -1, .signals = -1};
    enum status status = open_run(&run);
    if (status == ST_OK && settings->load) {
        status = run_load(&run);
    }
    if (status == ST_OK && !atomic_load(&run.stop) && (settings->seconds > 0 || settings->requests > 0)) {
        status = run_measured(&run);
    }
    if (status == ST_OK) {
        status = report(&run);
    }
    if (status == ST_OK) {
        status = judge(&run);
    }
    close_run(&run);
    return status;
}
