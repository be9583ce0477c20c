/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/cgroup.h"
#include "src/base/check.h"
#include "src/base/number.h"
#include "src/base/options_rows.h"

enum { SYNC_ALWAYS, SYNC_INTERVAL, SYNC_OS, SYNC_MS_DEFAULT = 100, SYNC_MS_MAX = 60000, MASK_MAX = 0777 };

const struct option_fact option_facts[OPTION_COUNT] = {
#define X(field, type, letter, name, initial, least, most, argument, help)                                            \
    {SECTION, OPTION_IS_##type, letter, name, initial, least, most, argument, help, offsetof(struct options, field)},
#define SECTION "Listening"
    OPTIONS_LISTENING(X)
#undef SECTION
#define SECTION "Storing"
    OPTIONS_STORING(X)
#undef SECTION
#define SECTION "Running"
    OPTIONS_RUNNING(X)
#undef SECTION
#define SECTION "Other"
    OPTIONS_OTHER(X)
#undef SECTION
#undef X
};

static void *field_of(struct options *options, enum option_row row) {
    CHECK(row < OPTION_COUNT);
    return (char *)options + option_facts[row].offset;
}

/* ---- strings: a field points at the table's own default, or at a copy of its own ---- */

static bool is_default(const char *text, enum option_row row) {
    return text == option_facts[row].initial;
}

static enum status copy_text(char **field, enum option_row row, const char *text) {
    char *copy = strdup(text);
    if (copy == NULL) {
        return ST_NO_MEMORY;
    }
    if (!is_default(*field, row)) {
        free(*field);
    }
    *field = copy;
    return ST_OK;
}

static void clear_list(struct option_list *list, enum option_row row) {
    for (unsigned i = 0; i < list->count; i++) {
        if (!is_default(list->item[i], row)) {
            free(list->item[i]);
        }
    }
    list->count = 0;
}

void option_clear(struct options *options, enum option_row row) {
    if (option_facts[row].type == OPTION_IS_LIST) {
        clear_list(field_of(options, row), row);
    } else if (option_facts[row].type == OPTION_IS_COUNT) {
        *(unsigned *)field_of(options, row) = 0;
    }
}

/* ---- one value from text ---- */

static enum status refuse(struct buffer *why, const char *text, const char *wanted) {
    enum status status = buffer_printf(why, "'%s' is not %s", text, wanted);
    return status == ST_OK ? ST_INVALID : status;
}

/* As people write it: 64m, not 67108864. */
static enum status print_bound(struct buffer *text, const struct option_fact *fact, uint64_t bound) {
    static const char units[] = "kmgt";
    int unit = -1;
    while (fact->type != OPTION_IS_NUMBER && bound > 0 && bound % 1024 == 0 && unit < 3) {
        bound /= 1024;
        unit++;
    }
    return buffer_printf(text, "%" PRIu64 "%.*s", bound, unit >= 0, unit >= 0 ? units + unit : "");
}

static enum status refuse_range(struct buffer *why, const char *text, const struct option_fact *fact) {
    enum status status = buffer_printf(why, "'%s' is out of range; give ", text);
    if (status == ST_OK) {
        status = print_bound(why, fact, fact->least);
    }
    if (status == ST_OK) {
        status = buffer_printf(why, " to ");
    }
    if (status == ST_OK) {
        status = print_bound(why, fact, fact->most);
    }
    return status == ST_OK ? ST_INVALID : status;
}

static enum status set_number(uint64_t *field, const struct option_fact *fact, const char *text, struct buffer *why) {
    uint64_t value;
    bool plain = number_u64(slice_str(text), &value);
    if (fact->type == OPTION_IS_NUMBER && !plain) {
        return refuse(why, text, "a whole number");
    }
    if (!plain && !number_size(slice_str(text), &value)) {
        return refuse(why, text, "a size; give a number with an optional k, m or g, like 64m");
    }
    if (fact->type == OPTION_IS_MEGABYTES && plain) {
        value = value > UINT64_MAX >> 20 ? UINT64_MAX : value << 20;
    }
    if (value < fact->least || (fact->most > 0 && value > fact->most)) {
        return refuse_range(why, text, fact);
    }
    *field = value;
    return ST_OK;
}

static enum status set_flag(bool *field, const char *text, struct buffer *why) {
    static const char *const words[] = {"no", "yes", "off", "on", "false", "true", "0", "1"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *field = i % 2 == 1;
            return ST_OK;
        }
    }
    return refuse(why, text, "yes or no");
}

static enum status set_sync(struct option_sync *field, const char *text, struct buffer *why) {
    static const char interval[] = "interval=";
    uint64_t millis;
    if (strcmp(text, "always") == 0) {
        *field = (struct option_sync){SYNC_ALWAYS, 0};
    } else if (strcmp(text, "os") == 0) {
        *field = (struct option_sync){SYNC_OS, 0};
    } else if (strcmp(text, "interval") == 0) {
        *field = (struct option_sync){SYNC_INTERVAL, SYNC_MS_DEFAULT};
    } else if (strncmp(text, interval, strlen(interval)) == 0 &&
               number_u64(slice_str(text + strlen(interval)), &millis) && millis >= 1 && millis <= SYNC_MS_MAX) {
        *field = (struct option_sync){SYNC_INTERVAL, (unsigned)millis};
    } else {
        return refuse(why, text, "a sync mode; give always, interval=MS with 1 to 60000 milliseconds, or os");
    }
    return ST_OK;
}

static enum status set_mask(char **field, enum option_row row, const char *text, struct buffer *why) {
    char *end;
    unsigned long mask = strtoul(text, &end, 8);
    if (*text < '0' || *text > '7' || *end != '\0' || mask > MASK_MAX) {
        return refuse(why, text, "an access mask; give octal digits like 700");
    }
    return copy_text(field, row, text);
}

static enum status add_item(struct option_list *list, const char *text, size_t n, struct buffer *why) {
    if (n == 0) {
        return refuse(why, "", "an address; leave no empty place between commas");
    }
    if (list->count == OPTION_LIST_MAX) {
        enum status status = buffer_printf(why, "more than %d are given; leave some out", OPTION_LIST_MAX);
        return status == ST_OK ? ST_INVALID : status;
    }
    char *copy = strndup(text, n);
    if (copy == NULL) {
        return ST_NO_MEMORY;
    }
    list->item[list->count++] = copy;
    return ST_OK;
}

static enum status set_list(struct option_list *list, const char *text, struct buffer *why) {
    for (;;) {
        size_t n = strcspn(text, ",");
        enum status status = add_item(list, text, n, why);
        if (status != ST_OK || text[n] == '\0') {
            return status;
        }
        text += n + 1;
    }
}

static enum status set_count(unsigned *field, const char *text, struct buffer *why) {
    uint32_t value;
    if (text == NULL) {
        *field += 1;
        return ST_OK;
    }
    if (!number_u32(slice_str(text), &value)) {
        return refuse(why, text, "a whole number");
    }
    *field = value;
    return ST_OK;
}

enum status option_set(struct options *options, enum option_row row, const char *text, struct buffer *why) {
    const struct option_fact *fact = &option_facts[row];
    void *field = field_of(options, row);
    switch (fact->type) {
    case OPTION_IS_TEXT:
        return copy_text(field, row, text);
    case OPTION_IS_MASK:
        return set_mask(field, row, text, why);
    case OPTION_IS_LIST:
        return set_list(field, text, why);
    case OPTION_IS_NUMBER:
    case OPTION_IS_SIZE:
    case OPTION_IS_MEGABYTES:
        return set_number(field, fact, text, why);
    case OPTION_IS_FLAG:
        return set_flag(field, text == NULL ? "yes" : text, why);
    case OPTION_IS_COUNT:
        return set_count(field, text, why);
    case OPTION_IS_SYNC:
        return set_sync(field, text, why);
    }
    CHECK(false); /* the type is none of the enum */
    return ST_INVALID;
}

/* ---- the whole ---- */

void options_init(struct options *options) {
    struct buffer why;
    buffer_init(&why);
    memset(options, 0, sizeof *options);
    for (enum option_row row = 0; row < OPTION_COUNT; row++) {
        const struct option_fact *fact = &option_facts[row];
        void *field = field_of(options, row);
        if (fact->type == OPTION_IS_TEXT || fact->type == OPTION_IS_MASK) {
            *(char **)field = (char *)fact->initial;
        } else if (fact->type == OPTION_IS_LIST) {
            *(struct option_list *)field = (struct option_list){.item = {(char *)fact->initial}, .count = 1};
        } else {
            CHECK(option_set(options, row, fact->initial, &why) == ST_OK); /* the table's defaults can be parsed */
        }
    }
    buffer_free(&why);
}

void options_free(struct options *options) {
    for (enum option_row row = 0; row < OPTION_COUNT; row++) {
        void *field = field_of(options, row);
        if (option_facts[row].type == OPTION_IS_LIST) {
            clear_list(field, row);
        } else if (option_facts[row].type == OPTION_IS_TEXT || option_facts[row].type == OPTION_IS_MASK) {
            char *text = *(char **)field;
            if (!is_default(text, row)) {
                free(text);
            }
            *(char **)field = NULL;
        }
    }
}

const char *options_name(enum option_row row) {
    CHECK(row < OPTION_COUNT);
    return option_facts[row].name;
}

static enum status print_list(const struct option_list *list, struct buffer *text) {
    enum status status = ST_OK;
    for (unsigned i = 0; i < list->count && status == ST_OK; i++) {
        status = buffer_printf(text, "%s%s", i > 0 ? "," : "", list->item[i]);
    }
    return status;
}

static enum status print_sync(const struct option_sync *sync, struct buffer *text) {
    switch (sync->mode) {
    case SYNC_ALWAYS:
        return buffer_printf(text, "always");
    case SYNC_OS:
        return buffer_printf(text, "os");
    default:
        return buffer_printf(text, "interval=%u", sync->millis);
    }
}

enum status options_value(const struct options *options, enum option_row row, struct buffer *text) {
    CHECK(row < OPTION_COUNT);
    const struct option_fact *fact = &option_facts[row];
    const void *field = (const char *)options + fact->offset;
    switch (fact->type) {
    case OPTION_IS_TEXT:
    case OPTION_IS_MASK:
        return buffer_printf(text, "%s", *(char *const *)field);
    case OPTION_IS_LIST:
        return print_list(field, text);
    case OPTION_IS_NUMBER:
    case OPTION_IS_SIZE:
        return buffer_printf(text, "%" PRIu64, *(const uint64_t *)field);
    case OPTION_IS_MEGABYTES: /* a plain number would be taken for megabytes */
        return buffer_printf(text, "%" PRIu64 "k", *(const uint64_t *)field >> 10);
    case OPTION_IS_FLAG:
        return buffer_printf(text, "%s", *(const bool *)field ? "yes" : "no");
    case OPTION_IS_COUNT:
        return buffer_printf(text, "%u", *(const unsigned *)field);
    case OPTION_IS_SYNC:
        return print_sync(field, text);
    }
    CHECK(false); /* the type is none of the enum */
    return ST_INVALID;
}

enum status options_parse_size(const char *text, uint64_t *bytes) {
    return number_size(slice_str(text), bytes) ? ST_OK : ST_INVALID;
}

uint64_t options_available_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    uint64_t physical = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    uint64_t limit = cgroup_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");
    return limit < physical ? limit : physical;
}
