/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/status.h"

#include <errno.h>
#include <stddef.h>

const char *status_text(enum status status) {
    static const char *const texts[] = {
#define X(name, text) [ST_##name] = text,
        STATUS_TABLE(X)
#undef X
    };
    size_t i = (size_t)status;
    return i < sizeof texts / sizeof texts[0] ? texts[i] : "unknown status";
}

enum status status_from_errno(int error) {
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return ST_NO_SPACE;
    case ENOMEM:
        return ST_NO_MEMORY;
    case EWOULDBLOCK:
        return ST_AGAIN;
    default:
        return ST_IO;
    }
}
