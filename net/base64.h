/* SPDX-License-Identifier: BSD-3-Clause */
/* base64: keys of any bytes as words of the meta protocol (RFC 4648, with padding).
 *
 * Any thread. */
#ifndef COFFER_NET_BASE64_H
#define COFFER_NET_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/slice.h"

#define BASE64_LENGTH(n) (((n) + 2) / 3 * 4)

/* Writes BASE64_LENGTH(bytes.n) characters; returns how many. */
size_t base64_encode(char *out, struct slice bytes);

/* False when the text is empty, is no base64, or stands for more than `room` bytes. */
bool base64_decode(char *out, size_t room, struct slice text, size_t *length);

#endif
