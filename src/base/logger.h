/* SPDX-License-Identifier: BSD-3-Clause */
/* logger: time-stamped lines for the operator, to standard error or a file.
 *
 * A line is one write(2) of "2026-11-30T23:59:59.123Z level text\n" in append mode, so lines of threads never
 * mix and rotation by rename + logger_reopen, or by copytruncate, loses none.
 *
 * Any thread.  Never called with client data that holds control bytes: %s arguments are escaped by the caller. */
#ifndef COFFER_BASE_LOGGER_H
#define COFFER_BASE_LOGGER_H

#include "src/base/status.h"

enum logger_level { LOGGER_ERROR, LOGGER_WARN, LOGGER_INFO, LOGGER_DEBUG };

struct logger;

/* path NULL or "" means standard error.  Lines above `level` are dropped. */
enum status logger_open(struct logger **logger, const char *path, enum logger_level level) MUST_CHECK;
void logger_close(struct logger **logger);

/* Opens the path again (SIGHUP); keeps the old file when that fails. */
enum status logger_reopen(struct logger *logger) MUST_CHECK;
void logger_set_level(struct logger *logger, enum logger_level level);

/* logger may be NULL: then nothing is written (unit tests). */
void logger_line(struct logger *logger, enum logger_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(logger, ...) logger_line(logger, LOGGER_ERROR, __VA_ARGS__)
#define log_warn(logger, ...) logger_line(logger, LOGGER_WARN, __VA_ARGS__)
#define log_info(logger, ...) logger_line(logger, LOGGER_INFO, __VA_ARGS__)
#define log_debug(logger, ...) logger_line(logger, LOGGER_DEBUG, __VA_ARGS__)

#endif
