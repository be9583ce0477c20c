/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/complain.h"

#include <stdarg.h>
#include <stdio.h>

void complain(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "coffer-bench: %s\n", line);
}
