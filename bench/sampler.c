/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sampler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TEXT = 8192 };

/* The whole file as a string. */
static enum status read_file(pid_t pid, const char *name, char text[TEXT]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return ST_NOT_FOUND;
    }
    size_t n = fread(text, 1, TEXT - 1, file);
    text[n] = '\0';
    fclose(file);
    return n == 0 ? ST_NOT_FOUND : ST_OK;
}

/* The number behind a name that begins a line, 0 if it is not there. */
static uint64_t field(const char *text, const char *name) {
    uint64_t value = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, strlen(name)) == 0) {
            sscanf(line + strlen(name), "%" SCNu64, &value);
            break;
        }
    }
    return value;
}

/* User and system time are the 14th and 15th field; the second, the command's name, may have blanks and
 * brackets. */
static enum status read_times(const char *stat, struct sample *sample) {
    uint64_t user, system;
    const char *rest = strrchr(stat, ')');
    if (rest == NULL || sscanf(rest + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64,
                               &user, &system) != 2) {
        return ST_CORRUPT;
    }
    double ticks = (double)sysconf(_SC_CLK_TCK);
    sample->user = (double)user / ticks;
    sample->system = (double)system / ticks;
    return ST_OK;
}

enum status sampler_read(pid_t pid, struct sample *sample) {
    char text[TEXT];
    memset(sample, 0, sizeof *sample);
    enum status status = read_file(pid, "stat", text);
    if (status == ST_OK) {
        status = read_times(text, sample);
    }
    if (status == ST_OK) {
        status = read_file(pid, "status", text);
    }
    if (status == ST_OK) {
        sample->resident = field(text, "VmRSS:") * 1024;
        sample->anonymous = field(text, "RssAnon:") * 1024;
        sample->io_known = read_file(pid, "io", text) == ST_OK;
        sample->written = sample->io_known ? field(text, "write_bytes:") : 0;
    }
    return status;
}

double sampler_own_cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}
