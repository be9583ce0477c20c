/* SPDX-License-Identifier: BSD-3-Clause */
/* --help and --sample-config, from the table. */
#include <string.h>

#include "src/base/options_rows.h"

enum { HELP_COLUMN = 30, HELP_WIDTH = 80, COMMENT_WIDTH = 78 };

/* A blank that no line ends at. */
#define GLUE "\a"

static void print_word(FILE *out, const char *word, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fputc(word[i] == GLUE[0] ? ' ' : word[i], out);
    }
}

/* Prints words from column `at` on, wrapped, further lines beginning with `indent`. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t width, const char *indent) {
    size_t column = at;
    bool first = true;
    while (*text != '\0') {
        size_t n = strcspn(text, " ");
        if (!first && column + 1 + n > width) {
            fprintf(out, "\n%s", indent);
            column = strlen(indent);
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        print_word(out, text, n);
        column += n;
        first = false;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_entry(FILE *out, char letter, const char *name, const char *argument, const char *help) {
    char left[HELP_WIDTH];
    char indent[HELP_COLUMN + 1];
    char dash[] = {letter != 0 ? '-' : ' ', letter != 0 ? letter : ' ', letter != 0 ? ',' : ' ', '\0'};
    int n = snprintf(left, sizeof left, "  %s --%s%s%s", dash, name, argument[0] != '\0' ? "=" : "", argument);
    memset(indent, ' ', HELP_COLUMN);
    indent[HELP_COLUMN] = '\0';
    if (n < HELP_COLUMN) {
        fprintf(out, "%-*s", HELP_COLUMN, left);
    } else {
        fprintf(out, "%s\n%s", left, indent);
    }
    print_wrapped(out, help, HELP_COLUMN, HELP_WIDTH, indent);
}

static void print_option(FILE *out, const struct option_fact *fact) {
    char help[512];
    bool plain = fact->initial[0] != '\0' && fact->argument[0] != '\0' && strcmp(fact->initial, "0") != 0;
    snprintf(help, sizeof help, "%s%s%s%s", fact->help, plain ? " (default" GLUE : "", plain ? fact->initial : "",
             plain ? ")" : "");
    print_entry(out, fact->letter, fact->name, fact->argument, help);
}

void options_help(FILE *out) {
    static const struct {
        char letter;
        const char *name, *help;
    } actions[] = {
#define X(action, letter, name, help) {letter, name, help},
        OPTION_ACTIONS(X)
#undef X
    };
    const char *section = "";
    fputs("cofferd: a memcached server that keeps what it is given.\n\nUsage: cofferd [options]\n", out);
    for (enum option_row row = 0; row < OPTION_COUNT; row++) {
        if (strcmp(section, option_facts[row].section) != 0) {
            section = option_facts[row].section;
            fprintf(out, "\n%s:\n", section);
        }
        print_option(out, &option_facts[row]);
    }
    fputs("\nInstead of serving:\n", out);
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        print_entry(out, actions[i].letter, actions[i].name, "", actions[i].help);
    }
    fputs("\n"
          "Long names are the names in a configuration file, too; the command line wins.\n"
          "Sizes take k, m, g or t.  Started as root without --user, cofferd warns and\n"
          "stays root.  SIGTERM and SIGINT stop it, all acknowledged changes kept, within\n"
          "10 seconds; a second one ends it at once.  SIGHUP opens the log file again.\n"
          "\n"
          "Exit status: 0 stopped as asked, 1 could not start, 2 wrong option or\n"
          "configuration, 3 the data directory or an address is in use by another process,\n"
          "4 the data are damaged.\n",
          out);
}

static bool in_sample(enum option_row row) {
    return row != OPTION_config && row != OPTION_udp_port && row != OPTION_extended;
}

/* Each default stands behind '#', so that a file made today follows the defaults of a later version. */
void options_sample(FILE *out) {
    const char *section = "";
    fputs("# Configuration of cofferd, the Coffer server: cofferd --config THIS-FILE\n"
          "#\n"
          "# Every option with its default.  Take away the '#' before a name to change it.\n"
          "# The command line wins over this file.  Made by cofferd --sample-config.\n",
          out);
    for (enum option_row row = 0; row < OPTION_COUNT; row++) {
        const struct option_fact *fact = &option_facts[row];
        if (!in_sample(row)) {
            continue;
        }
        if (strcmp(section, fact->section) != 0) {
            section = fact->section;
            fprintf(out, "\n# ---- %s ----\n", section);
        }
        fputs("\n# ", out);
        print_wrapped(out, fact->help, strlen("# "), COMMENT_WIDTH, "# ");
        fprintf(out, "#%s =%s%s\n", fact->name, fact->initial[0] != '\0' ? " " : "", fact->initial);
    }
}
