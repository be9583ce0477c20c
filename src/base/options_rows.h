/* SPDX-License-Identifier: BSD-3-Clause */
/* options_rows: the option table as data, for the files of options alone. */
#ifndef COFFER_BASE_OPTIONS_ROWS_H
#define COFFER_BASE_OPTIONS_ROWS_H

#include <stddef.h>

#include "src/base/options.h"

enum option_type {
    OPTION_IS_TEXT,
    OPTION_IS_MASK,
    OPTION_IS_LIST,
    OPTION_IS_NUMBER,
    OPTION_IS_SIZE,
    OPTION_IS_MEGABYTES,
    OPTION_IS_FLAG,
    OPTION_IS_COUNT,
    OPTION_IS_SYNC,
};

struct option_fact {
    const char *section; /* of the help text */
    enum option_type type;
    char letter;
    const char *name, *initial;
    uint64_t least, most;
    const char *argument, *help;
    size_t offset; /* in struct options */
};

extern const struct option_fact option_facts[OPTION_COUNT];

/* Sets one field from text.  A LIST is added to; a COUNT is added to when text is NULL.  ST_INVALID: `why` has become
 * half a sentence that names the text and says what is wanted. */
enum status option_set(struct options *options, enum option_row row, const char *text,
                       struct buffer *why) MUST_CHECK;
/* Empties a LIST, sets a COUNT to 0; nothing for others. */
void option_clear(struct options *options, enum option_row row);

#endif
