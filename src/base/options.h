/* SPDX-License-Identifier: BSD-3-Clause */
/* options: every setting of the server, from src/tbl/options.h: one row one option.
 *
 * The table generates the struct, the command line and configuration file parsers, --help, `stats settings`'
 * own part and the sample configuration; a test compares them.  Parsed once at start; constant afterwards. */
#ifndef COFFER_BASE_OPTIONS_H
#define COFFER_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/base/buffer.h"
#include "src/base/status.h"
#include "src/tbl/options.h"

struct options {
#define X(field, type, letter, name, initial, least, most, argument, help) OPTION_TYPE_##type field;
    OPTION_TABLE(X)
#undef X
};

/* Row numbers, for options_name and options_value. */
enum option_row {
#define X(field, type, letter, name, initial, least, most, argument, help) OPTION_##field,
    OPTION_TABLE(X)
#undef X
        OPTION_COUNT
};

enum options_action {
    OPTIONS_RUN,
#define X(action, letter, name, help) OPTIONS_##action,
    OPTION_ACTIONS(X)
#undef X
};

/* The table's defaults.  memory and threads are 0 until options_parse has found out what 0 means here. */
void options_init(struct options *options);
void options_free(struct options *options);

/* Command line over configuration file (--config) over defaults, on options after options_init.  On ST_INVALID
 * `message` says what to do about it.  Warnings (accepted, ignored options) are appended to `warnings`, a line each.
 * For OPTIONS_HELP, _VERSION and _SAMPLE nothing else is looked at. */
enum status options_parse(struct options *options, int argc, char **argv, enum options_action *action,
                          struct buffer *message, struct buffer *warnings) MUST_CHECK;

void options_help(FILE *out);
void options_sample(FILE *out); /* a configuration file with every option at its default and a comment */

/* A row's long name, and its value as a configuration file would say it (sizes in bytes), appended to text. */
const char *options_name(enum option_row row);
enum status options_value(const struct options *options, enum option_row row, struct buffer *text) MUST_CHECK;

/* A bytes value: digits with an optional k, m, g or t (powers of 1024). */
enum status options_parse_size(const char *text, uint64_t *bytes) MUST_CHECK;

/* Memory this process may use: the smaller of physical memory and the cgroup's limit. */
uint64_t options_available_memory(void);

#endif
