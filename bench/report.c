/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/complain.h"
#include "bench/figures.h"

enum { NUMBER_TEXT = 32, ROWS_MAX = OP_COUNT + 1 };

/* ---- The rows of a phase: one an operation, and one for all when there are several. */

struct rows {
    unsigned count;
    const char *name[ROWS_MAX];
    struct tally_row row[ROWS_MAX];
    struct histogram all;
};

static void collect_rows(const struct tally *tally, struct rows *rows) {
    rows->count = 0;
    for (unsigned i = 0; i < OP_COUNT; i++) {
        if (tally->row[i].requests > 0) {
            rows->name[rows->count] = operation_text(i);
            rows->row[rows->count++] = tally->row[i];
        }
    }
    if (rows->count != 1) {
        rows->name[rows->count] = "all";
        tally_total(tally, &rows->row[rows->count++], &rows->all);
    }
}

/* ---- The table. */

/* Digits in groups of three. */
static const char *grouped(char text[NUMBER_TEXT], double value) {
    char digits[NUMBER_TEXT];
    char *out = text;
    int n = snprintf(digits, sizeof digits, "%.0f", value);
    for (int i = 0; i < n; i++) {
        *out++ = digits[i];
        if ((n - i) % 3 == 1 && i < n - 1) {
            *out++ = ',';
        }
    }
    *out = '\0';
    return text;
}

static const char *megabytes(char text[NUMBER_TEXT], double bytes) {
    snprintf(text, NUMBER_TEXT, "%.1f MB", bytes / 1e6);
    return text;
}

static const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

static void print_title(const struct report *report, FILE *out) {
    const struct settings *settings = report->settings;
    char keys[NUMBER_TEXT];
    fprintf(out, "%s%s%s, protocol %s: %llu thread%s, %llu connection%s, depth %llu", settings->label,
            settings->label[0] == '\0' ? "" : ": ", report->endpoint->name, settings->protocol->name,
            (unsigned long long)settings->threads, plural(settings->threads),
            (unsigned long long)settings->connections, plural(settings->connections),
            (unsigned long long)settings->depth);
    if (settings->multi > 1) {
        fprintf(out, ", %llu keys a get", (unsigned long long)settings->multi);
    }
    if (settings->rate > 0) {
        fprintf(out, ", %s requests/s asked", grouped(keys, settings->rate));
    }
    fprintf(out, "\n%s keys, %s; values of %s bytes%s\n\n", grouped(keys, (double)settings->keys),
            settings->distribution_text, settings->size,
            settings->verify ? ", each one read is checked" : "");
}

static void print_row(const char *phase, const char *name, const struct figures *figures, FILE *out) {
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT], d[NUMBER_TEXT], e[NUMBER_TEXT];
    fprintf(out, "%-7s %-6s %12s %10s %12s %11s %7s %9.0f %8.0f %8.0f %8.0f %8.0f\n", phase, name,
            grouped(a, figures->requests), grouped(b, figures->requests_per_s), grouped(c, figures->hits),
            grouped(d, figures->misses), grouped(e, figures->errors), figures->p50_us, figures->p95_us,
            figures->p99_us, figures->p999_us, figures->max_us);
}

static void print_usage(const struct report *report, const struct figures *figures, FILE *out) {
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    double client = figures->client_cpu_us * figures->requests_per_s / 1e6;
    if (report->settings->multi > 1) {
        fprintf(out, "        keys    %s a second\n", grouped(a, figures->keys_per_s));
    }
    if (isfinite(figures->server_cpu_us)) {
        fprintf(out,
                "        server  %.2f us CPU a request (%.2f user, %.2f system), %.2f cores; %s resident (%s "
                "anonymous)\n",
                figures->server_cpu_us, figures->server_user_us, figures->server_system_us,
                figures->server_cores, megabytes(a, figures->server_resident),
                megabytes(b, figures->server_anonymous));
    }
    if (isfinite(figures->device_written)) {
        fprintf(out, "        device  %s written, by anybody\n", megabytes(a, figures->device_written));
    }
    fprintf(out, "        client  %.2f us CPU a request, %.2f cores%s\n", figures->client_cpu_us, client,
            client > 0.95 * (double)report->settings->threads
                ? ": the generator was the limit, more --threads may show more"
                : "");
}

static void print_troubles(const struct outcome *outcome, const struct figures *figures, FILE *out) {
    char text[NUMBER_TEXT];
    if (figures->wrong > 0) {
        fprintf(out, "        WRONG   %s values were not what they must be\n", grouped(text, figures->wrong));
    }
    if (figures->refused > 0) {
        fprintf(out, "        refused %s requests (such as the delete of a missing key)\n",
                grouped(text, figures->refused));
    }
    if (figures->unsent > 0) {
        fprintf(out,
                "        late    %s requests were due and not sent before the end: the rate was not kept\n",
                grouped(text, figures->unsent));
    }
    if (outcome->tally->first[0] != '\0') {
        fprintf(out, "        first   %s\n", outcome->tally->first);
    }
}

static void print_phase(const struct report *report, const struct outcome *outcome, FILE *out) {
    struct rows rows;
    struct figures figures;
    collect_rows(outcome->tally, &rows);
    for (unsigned i = 0; i < rows.count; i++) {
        figures_fill(&figures, outcome, &rows.row[i]);
        print_row(i == 0 ? outcome->phase : "", rows.name[i], &figures, out);
    }
    /* The last row stands for all requests. */
    print_usage(report, &figures, out);
    print_troubles(outcome, &figures, out);
}

void report_table(const struct report *report, FILE *out) {
    print_title(report, out);
    fprintf(out, "%-7s %-6s %12s %10s %12s %11s %7s %9s %8s %8s %8s %8s\n", "", "", "requests", "requests/s",
            "hits", "misses", "errors", "p50 us", "p95", "p99", "p99.9", "max");
    for (unsigned i = 0; i < report->count; i++) {
        print_phase(report, &report->outcomes[i], out);
    }
}

/* ---- CSV and JSON. */

static enum status open_output(const char *path, const char *mode, FILE **out) {
    *out = strcmp(path, "-") == 0 ? stdout : fopen(path, mode);
    if (*out == NULL) {
        complain("%s: %s", path, strerror(errno));
        return status_from_errno(errno);
    }
    return ST_OK;
}

static enum status close_output(const char *path, FILE *out) {
    bool failed = ferror(out) != 0;
    if ((out == stdout ? fflush(out) : fclose(out)) != 0 || failed) {
        complain("%s: cannot be written", path);
        return ST_IO;
    }
    return ST_OK;
}

/* Quotes as both CSV and JSON understand them when the text has neither quotes nor backslashes nor control
 * bytes, which become blanks. */
static void print_quoted(const char *text, FILE *out) {
    putc('"', out);
    for (; *text != '\0'; text++) {
        putc(*text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    putc('"', out);
}

static void csv_names(FILE *out) {
    fputs("label,phase,operation,server,protocol,threads,connections,depth,multi,rate,keys,distribution,size",
          out);
    for (unsigned i = 0; i < FIGURES_COUNT; i++) {
        fprintf(out, ",%s", figures_name(i));
    }
    putc('\n', out);
}

static void csv_row(const struct report *report, const char *phase, const char *operation,
                    const struct figures *figures, FILE *out) {
    const struct settings *settings = report->settings;
    print_quoted(settings->label, out);
    fprintf(out, ",%s,%s,%s,%s,%llu,%llu,%llu,%llu,%.0f,%llu,%s,%s", phase, operation, report->endpoint->name,
            settings->protocol->name, (unsigned long long)settings->threads,
            (unsigned long long)settings->connections, (unsigned long long)settings->depth,
            (unsigned long long)settings->multi, settings->rate, (unsigned long long)settings->keys,
            settings->distribution_text, settings->size);
    for (unsigned i = 0; i < FIGURES_COUNT; i++) {
        putc(',', out);
        figures_print(figures, i, "", out);
    }
    putc('\n', out);
}

enum status report_csv(const struct report *report, const char *path) {
    FILE *out;
    struct rows rows;
    struct figures figures;
    enum status status = open_output(path, "ae", &out);
    if (status != ST_OK) {
        return status;
    }
    if (out == stdout || ftello(out) == 0) {
        csv_names(out);
    }
    for (unsigned i = 0; i < report->count; i++) {
        collect_rows(report->outcomes[i].tally, &rows);
        for (unsigned j = 0; j < rows.count; j++) {
            figures_fill(&figures, &report->outcomes[i], &rows.row[j]);
            csv_row(report, report->outcomes[i].phase, rows.name[j], &figures, out);
        }
    }
    return close_output(path, out);
}

static void json_settings(const struct report *report, FILE *out) {
    const struct settings *settings = report->settings;
    fputs("  \"label\": ", out);
    print_quoted(settings->label, out);
    fputs(",\n  \"server\": ", out);
    print_quoted(report->endpoint->name, out);
    fprintf(out,
            ",\n  \"protocol\": \"%s\", \"threads\": %llu, \"connections\": %llu, \"depth\": %llu, "
            "\"multi\": %llu,\n"
            "  \"rate\": %.0f, \"keys\": %llu, \"distribution\": \"%s\", \"size\": \"%s\",\n",
            settings->protocol->name, (unsigned long long)settings->threads,
            (unsigned long long)settings->connections, (unsigned long long)settings->depth,
            (unsigned long long)settings->multi, settings->rate, (unsigned long long)settings->keys,
            settings->distribution_text, settings->size);
}

static void json_row(const char *name, const struct outcome *outcome, const struct tally_row *row,
                     FILE *out) {
    static const double percents[] = {1,  5,    10,   25,    50,    75,     90, 95,
                                      99, 99.5, 99.9, 99.95, 99.99, 99.999, 100};
    struct figures figures;
    figures_fill(&figures, outcome, row);
    fprintf(out, "      \"%s\": {", name);
    for (unsigned i = 0; i < FIGURES_COUNT; i++) {
        fprintf(out, "\"%s\": ", figures_name(i));
        figures_print(&figures, i, "null", out);
        fputs(", ", out);
    }
    fputs("\n        \"percentiles_us\": [", out);
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        fprintf(out, "%s[%g, %.1f]", i == 0 ? "" : ", ", percents[i],
                (double)histogram_percentile(row->latency, percents[i]) / 1e3);
    }
    fputs("]}", out);
}

static void json_phase(const struct outcome *outcome, FILE *out) {
    struct rows rows;
    collect_rows(outcome->tally, &rows);
    fprintf(out, "    {\"phase\": \"%s\", \"trouble\": ", outcome->phase);
    print_quoted(outcome->tally->first, out);
    fputs(", \"operations\": {\n", out);
    for (unsigned i = 0; i < rows.count; i++) {
        json_row(rows.name[i], outcome, &rows.row[i], out);
        fputs(i + 1 < rows.count ? ",\n" : "\n", out);
    }
    fputs("    }}", out);
}

enum status report_json(const struct report *report, const char *path) {
    FILE *out;
    enum status status = open_output(path, "we", &out);
    if (status != ST_OK) {
        return status;
    }
    fputs("{\n", out);
    json_settings(report, out);
    fputs("  \"phases\": [\n", out);
    for (unsigned i = 0; i < report->count; i++) {
        json_phase(&report->outcomes[i], out);
        fputs(i + 1 < report->count ? ",\n" : "\n", out);
    }
    fputs("  ]\n}\n", out);
    return close_output(path, out);
}
