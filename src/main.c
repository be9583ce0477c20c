/* SPDX-License-Identifier: BSD-3-Clause */
/* cofferd: reads the options, starts the server, and waits for signals.
 *
 * All signals are blocked before the first thread starts; the main thread alone takes them, with sigwait, so nothing
 * runs in a signal handler.  A helper thread opens the store and, later, stops the server, while the main thread goes
 * on waiting: SIGTERM or SIGINT during a long recovery, and a second one during a stop, end the process at once. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/logger.h"
#include "src/base/options.h"
#include "src/base/thread.h"
#include "src/cmd/command.h"
#include "src/process.h"
#include "src/server.h"

/* See the end of --help. */
enum { EXIT_STOPPED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_BUSY = 3, EXIT_DAMAGED = 4 };

/* Sent by the helper thread to the main thread when it is done. */
enum { SIGNAL_DONE = SIGUSR2 };

enum phase { PHASE_OPENING, PHASE_SERVING, PHASE_STOPPING, PHASE_ENDED };

struct program {
    struct options options;
    struct buffer warnings; /* of the options, a line each */
    struct buffer message;  /* what is wrong, for standard error; empty when it was logged */
    sigset_t signals;
    int report; /* to the process that waits in the foreground; -1: none */
    bool background;
    struct logger *logger;
    enum phase phase;

    pthread_t main_thread, helper;
    /* The helper's while it runs. */
    struct server *server;
    enum status status; /* of opening and starting */
};

static int exit_status_of(enum status status) {
    switch (status) {
    case ST_OK:
        return EXIT_STOPPED;
    case ST_INVALID:
        return EXIT_USAGE;
    case ST_BUSY:
        return EXIT_BUSY;
    case ST_CORRUPT:
        return EXIT_DAMAGED;
    default:
        return EXIT_FAILED;
    }
}

/* On standard error, unless the log says it there anyway. */
static void complain(const struct program *program, enum status status) {
    const struct buffer *message = &program->message;
    if (message->end > message->start) {
        fprintf(stderr, "cofferd: %.*s\n", (int)buffer_length(message), message->data + message->start);
    } else if (program->logger == NULL || program->options.log_file[0] != '\0') {
        fprintf(stderr, "cofferd: %s\n", status_text(status));
    }
}

/* ---- signals ---- */

static void take_signals(struct program *program) {
    static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGNAL_DONE};
    sigemptyset(&program->signals);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        sigaddset(&program->signals, taken[i]);
    }
    pthread_sigmask(SIG_BLOCK, &program->signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
}

/* ---- the helper thread ---- */

static void *run_open(void *arg) {
    struct program *program = arg;
    program->status = server_open(&program->server, &program->options, program->logger);
    pthread_kill(program->main_thread, SIGNAL_DONE);
    return NULL;
}

static void *run_stop(void *arg) {
    struct program *program = arg;
    server_stop(&program->server);
    pthread_kill(program->main_thread, SIGNAL_DONE);
    return NULL;
}

static void begin_open(struct program *program) {
    program->main_thread = pthread_self();
    program->phase = PHASE_OPENING;
    enum status status = thread_start(&program->helper, "opener", run_open, program);
    if (status != ST_OK) {
        program->status = status;
        program->phase = PHASE_ENDED;
    }
}

static void begin_stop(struct program *program) {
    program->phase = PHASE_STOPPING;
    if (thread_start(&program->helper, "stopper", run_stop, program) != ST_OK) {
        server_stop(&program->server); /* a second signal will have to wait */
        program->phase = PHASE_ENDED;
    }
}

/* The store is open: serve, and tell the world. */
static void begin_service(struct program *program) {
    const struct options *options = &program->options;
    program->status = server_serve(program->server);
    if (program->status == ST_OK && options->pid_file[0] != '\0') {
        program->status = process_write_pid(options->pid_file, &program->message);
    }
    if (program->status != ST_OK) {
        begin_stop(program); /* what is wrong is told at the end */
        return;
    }
    program->phase = PHASE_SERVING;
    if (program->background) {
        process_redirect(options->log_file);
    }
    process_report(&program->report, EXIT_STOPPED);
}

static void end_help(struct program *program) {
    if (program->phase != PHASE_OPENING && program->phase != PHASE_STOPPING) {
        return; /* a SIGUSR2 from elsewhere */
    }
    thread_join(program->helper);
    if (program->phase == PHASE_OPENING && program->status == ST_OK) {
        begin_service(program);
    } else {
        program->phase = PHASE_ENDED;
    }
}

/* Everything acknowledged is in the log, as the sync mode promises: leaving is safe, the next start does the rest. */
_Noreturn static void leave_at_once(struct program *program) {
    log_warn(program->logger, program->phase == PHASE_OPENING
                                  ? "leaving before the start is complete, the next one begins anew"
                                  : "second signal: leaving at once, the next start will replay the log");
    process_remove_pid(program->options.pid_file);
    pthread_detach(program->helper); /* nobody will join it */
    _exit(EXIT_STOPPED);
}

static void reopen_log(struct program *program) {
    if (logger_reopen(program->logger) != ST_OK) {
        log_error(program->logger, "cannot open %s again: going on with the old file", program->options.log_file);
    }
    if (program->background && program->phase == PHASE_SERVING) {
        process_redirect(program->options.log_file);
    }
    log_info(program->logger, "log file opened again: SIGHUP");
}

static void take_one_signal(struct program *program, int number) {
    if (number == SIGHUP) {
        reopen_log(program);
    } else if (number == SIGNAL_DONE) {
        end_help(program);
    } else if (program->phase == PHASE_SERVING) {
        log_info(program->logger, "stopping: %s", number == SIGINT ? "SIGINT" : "SIGTERM");
        begin_stop(program);
    } else {
        leave_at_once(program);
    }
}

/* ---- serving ---- */

static void log_warnings(struct program *program) {
    char *rest = buffer_length(&program->warnings) > 0 ? buffer_head(&program->warnings) : NULL;
    for (char *line = strsep(&rest, "\n"); line != NULL && rest != NULL; line = strsep(&rest, "\n")) {
        log_warn(program->logger, "%s", line);
    }
    if (geteuid() == 0) {
        log_warn(program->logger, "running as root: give --user to serve as somebody else");
    }
    if (program->background && program->options.log_file[0] == '\0') {
        log_warn(program->logger, "in the background without --log-file: log lines end here");
    }
}

/* What must be done before there is a second thread. */
static enum status prepare(struct program *program) {
    const struct options *options = &program->options;
    enum status status = ST_OK;
    if (!options->enable_debug) {
        process_forbid_core();
    }
    if (options->daemonize) {
        status = process_daemonize(&program->report);
        program->background = true;
    }
    if (status == ST_OK && options->user[0] != '\0') {
        status = process_become(options->user, options->data_dir, options->log_file, &program->message);
    }
    if (status == ST_OK) {
        status = logger_open(&program->logger, options->log_file, command_log_level(options->verbose));
        if (status != ST_OK) {
            enum status written = buffer_printf(&program->message, "cannot write to %s: give another --log-file",
                                                options->log_file);
            return written == ST_OK ? status : written;
        }
        log_warnings(program);
    }
    return status;
}

static int serve(struct program *program) {
    int number;
    program->status = prepare(program);
    if (program->status == ST_OK) {
        begin_open(program);
        while (program->phase != PHASE_ENDED) {
            if (sigwait(&program->signals, &number) == 0) {
                take_one_signal(program, number);
            }
        }
    }
    if (program->status == ST_OK) {
        log_info(program->logger, "stopped");
        process_remove_pid(program->options.pid_file);
    } else {
        complain(program, program->status);
    }
    process_report(&program->report, exit_status_of(program->status));
    logger_close(&program->logger);
    return exit_status_of(program->status);
}

/* What the options ask for instead of serving. */
static int act(struct program *program, enum options_action action) {
    switch (action) {
    case OPTIONS_HELP:
        options_help(stdout);
        break;
    case OPTIONS_VERSION:
        printf("cofferd %s (answers clients as memcached %s)\n", COFFER_VERSION, COMMAND_MEMCACHED_VERSION);
        break;
    case OPTIONS_SAMPLE:
        options_sample(stdout);
        break;
    case OPTIONS_CHECK:
        fprintf(stderr, "%.*s", (int)buffer_length(&program->warnings), program->warnings.data);
        printf("cofferd: options and configuration are fine\n");
        break;
    case OPTIONS_RUN:
        return serve(program);
    }
    return fflush(stdout) == 0 ? EXIT_STOPPED : EXIT_FAILED;
}

int main(int argc, char **argv) {
    struct program program = {.report = -1};
    enum options_action action;
    int exit_status;
    process_open_standard();
    take_signals(&program);
    options_init(&program.options);
    buffer_init(&program.warnings);
    buffer_init(&program.message);
    enum status status =
        options_parse(&program.options, argc, argv, &action, &program.message, &program.warnings);
    if (status == ST_OK) {
        exit_status = act(&program, action);
    } else {
        complain(&program, status);
        exit_status = exit_status_of(status);
    }
    buffer_free(&program.message);
    buffer_free(&program.warnings);
    options_free(&program.options);
    return exit_status;
}
