/* SPDX-License-Identifier: BSD-3-Clause */
/* status: how an operation inside Coffer ended.  One enum for all modules; results must be looked at. */
#ifndef COFFER_BASE_STATUS_H
#define COFFER_BASE_STATUS_H

#include "src/tbl/statuses.h"

enum status {
#define X(name, text) ST_##name,
    STATUS_TABLE(X)
#undef X
};

#define MUST_CHECK __attribute__((warn_unused_result))

/* A constant text for people, never NULL. */
const char *status_text(enum status status);

/* ENOSPC and EDQUOT are ST_NO_SPACE, ENOMEM is ST_NO_MEMORY, EWOULDBLOCK ST_AGAIN, the rest ST_IO. */
enum status status_from_errno(int error);

#endif
