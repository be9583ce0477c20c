/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/server.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/net.h"
#include "src/base/check.h"
#include "src/base/clock.h"
#include "src/base/fault.h"
#include "src/cmd/command.h"
#include "src/cmd/prefixes.h"
#include "src/process.h"
#include "storage/store.h"

enum {
    SERVER_MAGIC = 0x73727672,
    DRAIN_SECONDS = 2,
    APPLY_SECONDS = 7,
    /* Descriptors beside those of clients: listeners, tree, directories, log files being made. */
    SPARE_DESCRIPTORS = 96,
    DESCRIPTORS_PER_WORKER = 4,
    MEGABYTE_SHIFT = 20,
};

struct server {
    unsigned magic;
    struct options *options;
    struct logger *logger;
    struct clock *clock;
    struct faults *faults; /* NULL without --enable-debug */
    struct store *store;
    struct prefixes *prefixes;
    struct command_env env;
    struct net *net;
};

/* The main thread is waiting for it and stops the server, so a client's wish takes the same path as an operator's. */
static void ask_to_stop(void *arg, bool graceful) {
    (void)arg;
    (void)graceful;
    (void)kill(getpid(), SIGTERM);
}

static void fit_connections(struct options *options, struct logger *logger) {
    uint64_t spare = SPARE_DESCRIPTORS + DESCRIPTORS_PER_WORKER * options->threads +
                     options->log_max / options->log_segment;
    uint64_t limit = process_raise_descriptors(options->max_connections + spare);
    if (limit >= options->max_connections + spare) {
        return;
    }
    uint64_t fits = limit > spare + 1 ? limit - spare : 1;
    log_warn(logger,
             "only %" PRIu64 " descriptors may be open (ulimit -n): room for %" PRIu64
             " clients instead of the %" PRIu64 " of --conn-limit",
             limit, fits, options->max_connections);
    options->max_connections = fits;
}

static enum status create_base(struct server *server) {
    server->clock = clock_create();
    if (server->clock == NULL) {
        return ST_NO_MEMORY;
    }
    if (server->options->enable_debug) {
        enum status status = faults_create(&server->faults, server->options->fault_plan);
        if (status != ST_OK) {
            log_error(server->logger, "--fault-plan: cannot be understood: %s", server->options->fault_plan);
            return status;
        }
    }
    return prefixes_create(&server->prefixes);
}

static enum status open_store(struct server *server) {
    const struct options *options = server->options;
    struct store_config config;
    store_config_init(&config);
    config.dir = options->data_dir;
    config.memory = options->memory;
    config.sync = (enum store_sync)options->sync.mode;
    config.sync_ms = options->sync.millis;
    config.log_max = options->log_max;
    config.log_segment = options->log_segment;
    config.item_max = options->item_max;
    config.readers = (unsigned)options->readers;
    config.checkpoint_seconds = (unsigned)options->checkpoint_seconds;
    config.sessions = (unsigned)options->threads;
    config.clock = server->clock;
    config.logger = server->logger;
    config.faults = server->faults;
    enum status status = store_open(&server->store, &config);
    if (status != ST_OK && status != ST_BUSY) { /* of that the store has said all */
        log_error(server->logger, "cannot open the data in %s: %s", options->data_dir, status_text(status));
    }
    return status;
}

static void log_ready(const struct server *server) {
    const struct options *options = server->options;
    struct buffer text;
    buffer_init(&text);
    enum status status = options->socket_path[0] != '\0' ? buffer_printf(&text, "%s", options->socket_path)
                                                          : options_value(options, OPTION_listen, &text);
    if (status == ST_OK && options->socket_path[0] == '\0') {
        status = buffer_printf(&text, " port %" PRIu64, options->port);
    }
    if (status == ST_OK) {
        status = buffer_printf(&text, ", sync ");
    }
    if (status == ST_OK) {
        status = options_value(options, OPTION_sync, &text);
    }
    if (status == ST_OK) {
        log_info(server->logger, "ready: coffer %s on %.*s, memory %" PRIu64 " MB, %" PRIu64 " workers", COFFER_VERSION,
                 (int)buffer_length(&text), buffer_head(&text), options->memory >> MEGABYTE_SHIFT, options->threads);
    }
    buffer_free(&text);
}

/* Whatever there is of it, in the opposite order. */
static void take_apart(struct server **server) {
    struct server *ending = *server;
    net_destroy(&ending->net);
    if (ending->store != NULL) {
        store_close(&ending->store, APPLY_SECONDS);
    }
    prefixes_destroy(&ending->prefixes);
    faults_destroy(&ending->faults);
    clock_destroy(&ending->clock);
    ending->magic = 0;
    free(ending);
    *server = NULL;
}

enum status server_open(struct server **server, struct options *options, struct logger *logger) {
    struct server *opening = calloc(1, sizeof *opening);
    *server = NULL;
    if (opening == NULL) {
        return ST_NO_MEMORY;
    }
    opening->magic = SERVER_MAGIC;
    opening->options = options;
    opening->logger = logger;
    fit_connections(options, logger);
    enum status status = create_base(opening);
    if (status == ST_OK) {
        status = open_store(opening);
    }
    if (status != ST_OK) {
        take_apart(&opening);
        return status;
    }
    *server = opening;
    return ST_OK;
}

enum status server_serve(struct server *server) {
    CHECK_OBJ(server, SERVER_MAGIC);
    server->env = (struct command_env){
        .store = server->store,
        .options = server->options,
        .clock = server->clock,
        .logger = server->logger,
        .prefixes = server->prefixes,
        .host = {.shutdown = ask_to_stop, .faults = server->faults},
        .started = clock_wall(server->clock),
    };
    enum status status = net_create(&server->net, &server->env);
    if (status == ST_OK) {
        status = net_start(server->net);
    }
    if (status == ST_OK) {
        log_ready(server);
    } else {
        net_destroy(&server->net);
    }
    return status;
}

void server_stop(struct server **server) {
    CHECK_OBJ(*server, SERVER_MAGIC);
    if ((*server)->net != NULL) {
        net_stop((*server)->net, DRAIN_SECONDS);
    }
    take_apart(server);
}
