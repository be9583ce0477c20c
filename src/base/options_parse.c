/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line and configuration file, and what follows from them together.
 *
 * The command line is walked twice: first for what comes before everything else (an action, --config), then, after the
 * file was read, for all options.  Where both give a list, the command line's replaces the file's. */
#include <errno.h>
#include <getopt.h>
#include <ini.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/options_rows.h"

enum {
    ACTION_COUNT = OPTIONS_SAMPLE,
    /* getopt_long's value of a long option: above all letters. */
    VALUE_ROW = 0x1000,
    VALUE_ACTION = 0x2000,
    MEMORY_MIN = 64 << 20,
    MEMORY_SHARE = 8,
    SEGMENT_SLACK = 64 << 10, /* of a log segment beside its two largest values */
    SEGMENT_STEP = 64 << 10,
    SEGMENTS_MIN = 4,
    MEMORY_LEAST = 1 << 20,
};

enum source { SOURCE_DEFAULT, SOURCE_FILE, SOURCE_COMMAND_LINE };

struct parse {
    struct options *options;
    struct buffer *message, *warnings;
    enum options_action action;
    bool second_walk;
    enum source source[OPTION_COUNT]; /* who set each row last */
};

static const struct action_fact {
    char letter;
    const char *name;
} action_facts[] = {
#define X(action, letter, name, help) {letter, name},
    OPTION_ACTIONS(X)
#undef X
};

/* ---- messages ---- */

/* ST_INVALID, or what kept the message from being written. */
static enum status invalid(enum status written) {
    return written == ST_OK ? ST_INVALID : written;
}

/* Puts "where name: " before the reason that option_set left in the message. */
static enum status set_row(struct parse *parse, enum option_row row, const char *text, enum source source,
                           const char *where) {
    struct buffer why;
    if (source != parse->source[row]) {
        option_clear(parse->options, row);
        parse->source[row] = source;
    }
    buffer_init(&why);
    enum status status = option_set(parse->options, row, text, &why);
    if (status == ST_INVALID) {
        status = invalid(buffer_printf(parse->message, "%s%s: %.*s", where, option_facts[row].name,
                                       (int)buffer_length(&why), buffer_head(&why)));
    }
    buffer_free(&why);
    return status;
}

static enum status warn_ignored(struct parse *parse, enum option_row row, const char *text) {
    if (row == OPTION_extended) {
        return buffer_printf(parse->warnings, "--extended %s: ignored, it sets up what only memcached has\n", text);
    }
    if (strcmp(text, "0") == 0) {
        return buffer_printf(parse->warnings, "--udp-port 0: not needed, cofferd has no UDP\n");
    }
    return invalid(buffer_printf(parse->message, "--udp-port: cofferd has no UDP; give 0 or leave it out"));
}

/* ---- command line ---- */

/* The arrays that getopt_long reads, made of the table. */
struct getopt_tables {
    char letters[2 + 2 * (OPTION_COUNT + ACTION_COUNT)];
    struct option names[OPTION_COUNT + ACTION_COUNT + 1];
};

static bool takes_argument(const struct option_fact *fact) {
    return fact->type != OPTION_IS_FLAG && fact->type != OPTION_IS_COUNT;
}

static void fill_tables(struct getopt_tables *tables) {
    char *letter = tables->letters;
    size_t n = 0;
    memset(tables, 0, sizeof *tables);
    *letter++ = ':'; /* tell a missing argument from an unknown option */
    for (enum option_row row = 0; row < OPTION_COUNT; row++) {
        const struct option_fact *fact = &option_facts[row];
        bool argument = takes_argument(fact);
        if (fact->letter != 0) {
            *letter++ = fact->letter;
            *letter = ':';
            letter += argument;
        }
        tables->names[n++] = (struct option){fact->name, argument ? required_argument : optional_argument, NULL,
                                             VALUE_ROW + (int)row};
    }
    for (int i = 0; i < ACTION_COUNT; i++) {
        if (action_facts[i].letter != 0) {
            *letter++ = action_facts[i].letter;
        }
        tables->names[n++] = (struct option){action_facts[i].name, no_argument, NULL, VALUE_ACTION + i};
    }
    *letter = '\0';
}

static bool find_letter(int letter, int *value) {
    for (int i = 0; i < ACTION_COUNT; i++) {
        if (action_facts[i].letter == letter) {
            *value = VALUE_ACTION + i;
            return true;
        }
    }
    for (enum option_row row = 0; row < OPTION_COUNT; row++) {
        if (option_facts[row].letter == letter) {
            *value = VALUE_ROW + (int)row;
            return true;
        }
    }
    return false;
}

/* A word that getopt_long does not accept.  A letter is in optopt; a long name is the word before optind. */
static enum status refuse_word(struct parse *parse, char **argv, int value) {
    const char *word = argv[optind - 1];
    char letter[] = {'-', (char)optopt, '\0'};
    const char *name = optopt > 0 && optopt < VALUE_ROW ? letter : word;
    if (value == ':') {
        return invalid(buffer_printf(parse->message, "%s: needs a value; see cofferd --help", name));
    }
    if (optopt >= VALUE_ROW) {
        return invalid(buffer_printf(parse->message, "%s: takes no value; see cofferd --help", name));
    }
    return invalid(buffer_printf(parse->message, "%s: no such option; see cofferd --help", name));
}

/* What comes first: the earliest action and the configuration file. */
static enum status first_look(struct parse *parse, int value) {
    if (value >= VALUE_ACTION && parse->action == OPTIONS_RUN) {
        parse->action = (enum options_action)(OPTIONS_RUN + 1 + value - VALUE_ACTION);
    }
    if (value == VALUE_ROW + OPTION_config) {
        return set_row(parse, OPTION_config, optarg, SOURCE_COMMAND_LINE, "--");
    }
    return ST_OK;
}

static enum status second_look(struct parse *parse, int value) {
    if (value >= VALUE_ACTION) {
        return ST_OK;
    }
    enum option_row row = (enum option_row)(value - VALUE_ROW);
    enum status status = set_row(parse, row, optarg, SOURCE_COMMAND_LINE, "--");
    if (status == ST_OK && (row == OPTION_udp_port || row == OPTION_extended)) {
        status = warn_ignored(parse, row, optarg);
    }
    return status;
}

static enum status walk(struct parse *parse, int argc, char **argv) {
    struct getopt_tables tables;
    enum status status = ST_OK;
    int value;
    fill_tables(&tables);
    opterr = 0;
    optind = 0; /* glibc: begin anew */
    while (status == ST_OK && (value = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        if (value == '?' || value == ':') {
            return refuse_word(parse, argv, value);
        }
        if (value < VALUE_ROW && !find_letter(value, &value)) {
            return refuse_word(parse, argv, '?');
        }
        status = parse->second_walk ? second_look(parse, value) : first_look(parse, value);
    }
    if (status == ST_OK && optind < argc) {
        status = invalid(buffer_printf(parse->message, "'%s': not an option; see cofferd --help", argv[optind]));
    }
    return status;
}

/* ---- configuration file ---- */

struct file {
    struct parse *parse;
    FILE *stream;
    const char *path;
    unsigned line;
    bool too_long;
    enum status status; /* of the first error */
};

/* Like fgets, counting lines.  Leading blanks go: inih would take such a line for a continuation of the one before. */
static char *read_line(char *text, int room, void *stream) {
    struct file *file = stream;
    if (file->status != ST_OK || file->too_long || fgets(text, room, file->stream) == NULL) {
        return NULL;
    }
    file->line++;
    size_t n = strlen(text);
    file->too_long = n + 1 == (size_t)room && text[n - 1] != '\n';
    size_t blanks = strspn(text, " \t");
    memmove(text, text + blanks, n + 1 - blanks);
    return text;
}

static enum status refuse_line(struct file *file, const char *name, const char *why) {
    return invalid(buffer_printf(file->parse->message, "%s:%u: %s%s%s", file->path, file->line, name,
                                 name[0] != '\0' ? ": " : "", why));
}

static enum status set_from_file(struct file *file, const char *name, const char *value) {
    for (enum option_row row = 0; row < OPTION_COUNT; row++) {
        if (strcmp(option_facts[row].name, name) != 0) {
            continue;
        }
        if (row == OPTION_config || row == OPTION_udp_port || row == OPTION_extended) {
            return refuse_line(file, name, "belongs on the command line; take it away here");
        }
        char where[512];
        snprintf(where, sizeof where, "%s:%u: ", file->path, file->line);
        if (option_facts[row].type == OPTION_IS_COUNT) {
            option_clear(file->parse->options, row);
        }
        return set_row(file->parse, row, value, SOURCE_FILE, where);
    }
    return refuse_line(file, name, "no such option; cofferd --sample-config shows all");
}

/* inih's answer: 1 = go on. */
static int take_line(void *user, const char *section, const char *name, const char *value) {
    struct file *file = user;
    if (file->status == ST_OK) {
        file->status = section[0] != '\0' ? refuse_line(file, section, "there are no [sections]; take it away")
                                          : set_from_file(file, name, value);
    }
    return file->status == ST_OK;
}

static enum status read_file(struct parse *parse) {
    struct file file = {.parse = parse, .path = parse->options->config, .status = ST_OK};
    file.stream = fopen(file.path, "re");
    if (file.stream == NULL) {
        return invalid(buffer_printf(parse->message, "--config: cannot read %s: %s", file.path, strerror(errno)));
    }
    int result = ini_parse_stream(read_line, &file, take_line, &file);
    fclose(file.stream);
    if (file.too_long) {
        return refuse_line(&file, "", "the line is too long; write lists as several lines");
    }
    if (file.status != ST_OK) {
        return file.status;
    }
    if (result > 0) {
        file.line = (unsigned)result;
        return refuse_line(&file, "", "not understood; write name = value");
    }
    return result == 0 ? ST_OK : ST_NO_MEMORY;
}

/* ---- what follows ---- */

static uint64_t count_cores(void) {
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return (uint64_t)cores < option_facts[OPTION_threads].most ? (uint64_t)cores : option_facts[OPTION_threads].most;
}

static enum status settle_memory(struct parse *parse) {
    struct options *options = parse->options;
    if (options->memory == 0) {
        uint64_t share = options_available_memory() / MEMORY_SHARE;
        options->memory = share > MEMORY_MIN ? share : MEMORY_MIN;
    }
    if (options->memory < MEMORY_LEAST) {
        return invalid(buffer_printf(parse->message, "memory-limit: less than a megabyte; give 1m or more"));
    }
    return ST_OK;
}

static uint64_t round_up(uint64_t n, uint64_t step) {
    return (n + step - 1) / step * step;
}

/* A segment holds two of the largest values, the log at least four segments.  What was given stands, what was not
 * is fitted to it. */
static enum status settle_log(struct parse *parse) {
    struct options *options = parse->options;
    uint64_t least = round_up(2 * options->item_max + SEGMENT_SLACK, SEGMENT_STEP);
    bool segment_given = parse->source[OPTION_log_segment] != SOURCE_DEFAULT;
    if (!segment_given && options->log_segment > options->log_max / SEGMENTS_MIN) {
        options->log_segment = options->log_max / SEGMENTS_MIN / SEGMENT_STEP * SEGMENT_STEP;
    }
    if (options->log_segment < least && segment_given) {
        return invalid(buffer_printf(parse->message,
                                     "log-segment: too small for values of max-item-size; give %lluk or more",
                                     (unsigned long long)(least >> 10)));
    }
    options->log_segment = round_up(options->log_segment > least ? options->log_segment : least, SEGMENT_STEP);
    if (options->log_max / SEGMENTS_MIN >= options->log_segment) {
        return ST_OK;
    }
    if (parse->source[OPTION_log_max] != SOURCE_DEFAULT) {
        return invalid(buffer_printf(parse->message,
                                     "log-max: too small for four segments of %lluk (log-segment, max-item-size); "
                                     "give %lluk or more",
                                     (unsigned long long)(options->log_segment >> 10),
                                     (unsigned long long)(SEGMENTS_MIN * options->log_segment >> 10)));
    }
    options->log_max = SEGMENTS_MIN * options->log_segment;
    return ST_OK;
}

/* "host:port", "[v6]:port", but not a plain IPv6 address. */
static bool names_port(const char *address) {
    const char *colon = strrchr(address, ':');
    const char *bracket = strrchr(address, ']');
    return colon != NULL && (bracket != NULL ? colon > bracket : colon == strchr(address, ':'));
}

static bool listens_nowhere(const struct options *options) {
    bool nowhere = options->port == 0 && options->socket_path[0] == '\0';
    for (unsigned i = 0; i < options->listen.count; i++) {
        nowhere = nowhere && !names_port(options->listen.item[i]);
    }
    return nowhere;
}

static enum status settle(struct parse *parse) {
    struct options *options = parse->options;
    if (options->threads == 0) {
        options->threads = count_cores();
    }
    if (options->data_dir[0] == '\0') {
        return invalid(buffer_printf(parse->message, "data-dir: is empty; name a directory"));
    }
    if (listens_nowhere(options)) {
        return invalid(buffer_printf(parse->message, "port: 0 leaves nothing to listen on; give a port, an address "
                                                     "with one, or --unix-socket"));
    }
    if (options->fault_plan[0] != '\0' && !options->enable_debug) {
        return invalid(buffer_printf(parse->message, "fault-plan: is for tests; give --enable-debug, too"));
    }
    enum status status = settle_memory(parse);
    return status == ST_OK ? settle_log(parse) : status;
}

enum status options_parse(struct options *options, int argc, char **argv, enum options_action *action,
                          struct buffer *message, struct buffer *warnings) {
    struct parse parse = {.options = options, .message = message, .warnings = warnings, .action = OPTIONS_RUN};
    enum status status = walk(&parse, argc, argv);
    *action = parse.action;
    if (parse.action == OPTIONS_HELP || parse.action == OPTIONS_VERSION || parse.action == OPTIONS_SAMPLE) {
        return ST_OK;
    }
    if (status == ST_OK && options->config[0] != '\0') {
        status = read_file(&parse);
    }
    if (status == ST_OK) {
        parse.second_walk = true;
        status = walk(&parse, argc, argv);
    }
    return status == ST_OK ? settle(&parse) : status;
}
