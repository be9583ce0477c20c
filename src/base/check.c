/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* write(2), not stdio: the failing thread may hold stdio's lock. */
void check_failed(const char *file, int line, const char *expression) {
    char text[512];
    int n = snprintf(text, sizeof text, "%s:%d: check failed: %s\n", file, line, expression);
    if (n >= (int)sizeof text) {
        n = (int)sizeof text - 1;
    }
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0) {
        abort(); /* nowhere left to say it */
    }
    abort();
}
