/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/lane.h"

enum { WIDTH = 40 };

void progress_begin(struct progress *progress, const char *name, uint64_t requests, double seconds,
                    bool quiet) {
    *progress = (struct progress){.name = name, .requests = requests, .seconds = seconds};
    progress->shown = !quiet && isatty(STDERR_FILENO);
    progress->started = progress->last_time = lane_clock();
}

static double part_done(const struct progress *progress, uint64_t now, uint64_t done) {
    double part = progress->requests > 0 ? (double)done / (double)progress->requests
                                         : (double)(now - progress->started) / 1e9 / progress->seconds;
    return part < 1 ? part : 1;
}

void progress_show(struct progress *progress, uint64_t done) {
    static const char full[] = "########################################";
    if (!progress->shown) {
        return;
    }
    uint64_t now = lane_clock();
    double part = part_done(progress, now, done);
    double rate = now > progress->last_time
                      ? (double)(done - progress->last_done) * 1e9 / (double)(now - progress->last_time)
                      : 0;
    fprintf(stderr, "\r%-8s [%-*.*s] %3d %%  %6.1f s  %9.0f requests/s ", progress->name, WIDTH,
            (int)(part * WIDTH), full, (int)(part * 100), (double)(now - progress->started) / 1e9, rate);
    fflush(stderr);
    progress->last_time = now;
    progress->last_done = done;
}

void progress_end(struct progress *progress) {
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
