/* SPDX-License-Identifier: BSD-3-Clause */
/* complain: one line to standard error about what went wrong, with the program's name before it. */
#ifndef COFFER_BENCH_COMPLAIN_H
#define COFFER_BENCH_COMPLAIN_H

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
