/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/settings.h"

#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/complain.h"
#include "src/base/number.h"

enum type { TEXT, NUMBER, REAL, FLAG };

static const struct row {
    size_t field; /* its offset in struct settings */
    enum type type;
    int letter;
    const char *name, *initial, *argument, *help;
} rows[] = {
#define X(field, type, letter, name, initial, argument, help)                                                \
    {offsetof(struct settings, field), type, letter, name, initial, argument, help},
    SETTINGS_TABLE(X)
#undef X
};

enum { ROWS = sizeof rows / sizeof rows[0], LONG_ONLY = 256 /* + row: the value that getopt returns */ };

/* ---- One option. */

static bool parse_real(const char *text, double *value) {
    char *end;
    double parsed = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(parsed) || parsed < 0) {
        return false;
    }
    *value = parsed;
    return true;
}

static enum status set_row(struct settings *settings, const struct row *row, const char *text) {
    void *field = (char *)settings + row->field;
    bool good = true;
    switch (row->type) {
    case TEXT:
        *(const char **)field = text;
        break;
    case NUMBER:
        good = number_u64(slice_str(text), field);
        break;
    case REAL:
        good = parse_real(text, field);
        break;
    case FLAG:
        *(bool *)field = true;
        break;
    }
    if (!good) {
        complain("--%s=%s: not a number", row->name, text);
    }
    return good ? ST_OK : ST_INVALID;
}

static enum status set_defaults(struct settings *settings) {
    enum status status = ST_OK;
    memset(settings, 0, sizeof *settings);
    for (size_t i = 0; i < ROWS && status == ST_OK; i++) {
        if (rows[i].type != FLAG) {
            status = set_row(settings, &rows[i], rows[i].initial);
        }
    }
    return status;
}

static void describe_options(struct option options[ROWS + 1], char letters[3 * ROWS + 2]) {
    memset(options, 0, (ROWS + 1) * sizeof *options);
    *letters++ = ':';
    for (size_t i = 0; i < ROWS; i++) {
        bool argument = rows[i].type != FLAG;
        options[i] = (struct option){rows[i].name, argument ? required_argument : no_argument, NULL,
                                     LONG_ONLY + (int)i};
        if (rows[i].letter != 0) {
            *letters++ = (char)rows[i].letter;
            if (argument) {
                *letters++ = ':';
            }
        }
    }
    *letters = '\0';
}

static const struct row *row_of(int found) {
    if (found >= LONG_ONLY) {
        return &rows[found - LONG_ONLY];
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].letter == found) {
            return &rows[i];
        }
    }
    return NULL;
}

static enum status parse_arguments(struct settings *settings, int argc, char **argv) {
    struct option options[ROWS + 1];
    char letters[3 * ROWS + 2];
    int found;
    enum status status = ST_OK;
    describe_options(options, letters);
    opterr = 0;
    while (status == ST_OK && (found = getopt_long(argc, argv, letters, options, NULL)) != -1) {
        const struct row *row = row_of(found);
        if (row == NULL) {
            complain("%s: %s; --help lists all options", argv[optind - 1],
                     found == ':' ? "needs an argument" : "no such option");
            return ST_INVALID;
        }
        status = set_row(settings, row, optarg);
    }
    if (status == ST_OK && optind < argc) {
        complain("%s: not an option; --help lists all", argv[optind]);
        status = ST_INVALID;
    }
    return status;
}

/* ---- What the texts mean. */

static bool parse_shares(struct settings *settings) {
    uint64_t sets, gets;
    const char *colon = strchr(settings->ratio, ':');
    if (settings->operation[0] != '\0') {
        for (unsigned i = 0; i < OP_COUNT; i++) {
            settings->shares[i] = strcmp(settings->operation, operation_text(i)) == 0;
        }
        return settings->shares[OP_SET] + settings->shares[OP_GET] + settings->shares[OP_DELETE] > 0;
    }
    if (colon == NULL || !number_u64(slice_of(settings->ratio, colon - settings->ratio), &sets) ||
        !number_u64(slice_str(colon + 1), &gets) || sets + gets == 0) {
        return false;
    }
    settings->shares[OP_SET] = (double)sets / (double)(sets + gets);
    settings->shares[OP_GET] = 1 - settings->shares[OP_SET];
    return true;
}

static bool parse_distribution(struct settings *settings) {
    static const char *const names[] = {
#define X(name, text) text,
        PICKER_TABLE(X)
#undef X
    };
    const char *text = settings->distribution_text;
    const char *colon = strchr(text, ':');
    size_t n = colon == NULL ? strlen(text) : (size_t)(colon - text);
    settings->theta = 0.99;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (slice_equal(slice_of(text, n), slice_str(names[i]))) {
            settings->distribution = (enum picker_kind)i;
            return colon == NULL || (i == PICKER_ZIPF && parse_real(colon + 1, &settings->theta));
        }
    }
    return false;
}

static bool parse_size(struct settings *settings) {
    const char *dash = strchr(settings->size, '-');
    if (dash == NULL) {
        bool good = number_size(slice_str(settings->size), &settings->size_min);
        settings->size_max = settings->size_min;
        return good;
    }
    return number_size(slice_of(settings->size, dash - settings->size), &settings->size_min) &&
           number_size(slice_str(dash + 1), &settings->size_max) && settings->size_min <= settings->size_max;
}

/* ---- What can be run. */

static enum status within(const char *name, uint64_t value, uint64_t least, uint64_t most) {
    if (value < least || value > most) {
        complain("--%s must be %llu to %llu", name, (unsigned long long)least, (unsigned long long)most);
        return ST_INVALID;
    }
    return ST_OK;
}

static enum status check_ranges(const struct settings *settings) {
    const struct {
        const char *name;
        uint64_t value, least, most;
    } ranges[] = {
        {"port", settings->port, 0, 65535},
        {"threads", settings->threads, 1, 256},
        {"connections", settings->connections, settings->threads, 1000000},
        {"depth", settings->depth, 1, 100000},
        {"multi", settings->multi, 1, 1000000},
        {"keys", settings->keys, 1, UINT32_MAX},
        {"size", settings->size_max, 0, 1 << 30},
        {"compressible", settings->compressible, 0, 100},
        {"expire", settings->expire, 0, UINT32_MAX},
        {"idle", settings->idle, 0, 1000000},
        {"pid", settings->pid, 0, INT32_MAX},
        {"key-size", settings->key_size, 0, settings->protocol->key_max},
    };
    enum status status = ST_OK;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && status == ST_OK; i++) {
        status = within(ranges[i].name, ranges[i].value, ranges[i].least, ranges[i].most);
    }
    if (status == ST_OK && settings->seconds == 0 && settings->requests == 0 && !settings->load) {
        complain("nothing to do: --seconds or --requests must be given, or --load");
        status = ST_INVALID;
    }
    return status;
}

static enum status interpret(struct settings *settings) {
    settings->protocol = protocol_find(settings->protocol_name);
    const struct {
        bool good;
        const char *name, *text, *expected;
    } checks[] = {
        {settings->protocol != NULL, "protocol", settings->protocol_name, protocol_names()},
        {parse_shares(settings), settings->operation[0] != '\0' ? "op" : "ratio",
         settings->operation[0] != '\0' ? settings->operation : settings->ratio,
         "set, get, delete; SETS:GETS"},
        {parse_distribution(settings), "distribution", settings->distribution_text,
         "uniform, zipf, zipf:THETA, sequential"},
        {parse_size(settings), "size", settings->size, "BYTES or FROM-TO"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (!checks[i].good) {
            complain("--%s=%s: expected %s", checks[i].name, checks[i].text, checks[i].expected);
            return ST_INVALID;
        }
    }
    if (settings->port == 0) {
        settings->port = settings->protocol->port;
    }
    return check_ranges(settings);
}

enum status settings_parse(struct settings *settings, int argc, char **argv) {
    enum status status = set_defaults(settings);
    if (status == ST_OK) {
        status = parse_arguments(settings, argc, argv);
    }
    return status == ST_OK && !settings->help ? interpret(settings) : status;
}

void settings_help(void) {
    printf("coffer-bench: load for a memcached-compatible or Redis server, measured.\n\n"
           "usage: coffer-bench [options]\n\n");
    for (size_t i = 0; i < ROWS; i++) {
        char left[64], letter[8] = "    ";
        const struct row *row = &rows[i];
        if (row->letter != 0) {
            snprintf(letter, sizeof letter, "-%c, ", (char)row->letter);
        }
        snprintf(left, sizeof left, "%s--%s%s%s", letter, row->name, row->argument[0] == '\0' ? "" : " ",
                 row->argument);
        bool shown = row->initial[0] != '\0' && strcmp(row->initial, "0") != 0;
        printf("  %-27s %s%s%s%s\n", left, row->help, shown ? " [" : "", shown ? row->initial : "",
               shown ? "]" : "");
    }
    printf("\nexample: a million keys, then ten seconds of one set to nine gets, every value checked:\n"
           "  coffer-bench --load --verify --seconds 10 --pid $(pidof cofferd)\n");
}
