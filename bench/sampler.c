/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sampler.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 8192, SECTOR = 512 /* the unit of /sys, whatever the device */ };

/* The whole file as a string. */
static enum status read_file(const char *path, char text[TEXT]) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return ST_NOT_FOUND;
    }
    size_t n = fread(text, 1, TEXT - 1, file);
    text[n] = '\0';
    fclose(file);
    return n == 0 ? ST_NOT_FOUND : ST_OK;
}

static enum status read_process(pid_t pid, const char *name, char text[TEXT]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return read_file(path, text);
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

static enum status read_clock(pid_t pid, struct sample *sample) {
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        return ST_NOT_FOUND;
    }
    sample->cpu = (double)used.tv_sec + (double)used.tv_nsec / 1e9;
    return ST_OK;
}

enum status sampler_read(pid_t pid, struct sample *sample) {
    char text[TEXT];
    memset(sample, 0, sizeof *sample);
    enum status status = read_process(pid, "stat", text);
    if (status == ST_OK) {
        status = read_times(text, sample);
    }
    if (status == ST_OK) {
        status = read_clock(pid, sample);
    }
    if (status == ST_OK) {
        status = read_process(pid, "status", text);
    }
    if (status == ST_OK) {
        sample->resident = field(text, "VmRSS:") * 1024;
        sample->anonymous = field(text, "RssAnon:") * 1024;
    }
    return status;
}

/* Sectors written are the 7th field. */
static enum status read_sectors(dev_t device, uint64_t *written) {
    char path[64], text[TEXT];
    uint64_t sectors;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    enum status status = read_file(path, text);
    if (status != ST_OK) {
        return status;
    }
    if (sscanf(text, "%*s %*s %*s %*s %*s %*s %" SCNu64, &sectors) != 1) {
        return ST_CORRUPT;
    }
    *written = sectors * SECTOR;
    return ST_OK;
}

enum status sampler_device(const char *directory, uint64_t *written) {
    struct stat stat;
    *written = 0;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return ST_NOT_FOUND;
    }
    enum status status = syncfs(fd) == 0 && fstat(fd, &stat) == 0 ? ST_OK : ST_IO;
    close(fd);
    return status == ST_OK ? read_sectors(stat.st_dev, written) : status;
}

double sampler_own_cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}
