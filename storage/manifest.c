/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/manifest.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "src/base/check.h"
#include "src/base/io.h"
#include "src/base/number.h"
#include "src/base/slice.h"

enum { TEXT_MAX = 256 };

#define HEAD "coffer manifest 1\ngeneration "

void manifest_tree_name(uint64_t generation, char name[MANIFEST_TREE_NAME]) {
    int n = snprintf(name, MANIFEST_TREE_NAME, "%08" PRIx64 ".mdb", generation);
    CHECK(n > 0 && n < MANIFEST_TREE_NAME);
}

static size_t compose(const struct manifest *manifest, const struct hash_secret *secret, char text[TEXT_MAX]) {
    char name[MANIFEST_TREE_NAME];
    manifest_tree_name(manifest->generation, name);
    int n = snprintf(text, TEXT_MAX, HEAD "%" PRIu64 "\ntree tree/%s\n", manifest->generation, name);
    CHECK(n > 0 && n < TEXT_MAX);
    int more = snprintf(text + n, TEXT_MAX - (size_t)n, "sum %016" PRIx64 "\n", hash_sum(secret, text, (size_t)n));
    CHECK(more > 0 && n + more < TEXT_MAX);
    return (size_t)(n + more);
}

/* There is only one text for a generation, so finding the number is all the parsing: the rest is a comparison. */
static bool parse(struct slice text, const struct hash_secret *secret, struct manifest *manifest) {
    char expected[TEXT_MAX];
    struct slice head = slice_str(HEAD);

    if (text.n < head.n || !slice_equal(slice_of(text.p, head.n), head))
        return false;
    const char *digits = text.p + head.n;
    const char *end = memchr(digits, '\n', text.n - head.n);
    if (end == NULL || !number_u64(slice_of(digits, (size_t)(end - digits)), &manifest->generation))
        return false;
    size_t n = compose(manifest, secret, expected);
    return manifest->generation != 0 && slice_equal(text, slice_of(expected, n));
}

enum status manifest_read(int dir, const struct hash_secret *secret, struct manifest *manifest) {
    char text[TEXT_MAX];
    size_t got = 0;
    int fd;
    enum status status = io_open(NULL, FAULT_MANIFEST_WRITE, dir, MANIFEST_NAME, O_RDONLY, 0, &fd);

    if (status != ST_OK)
        return status;
    status = io_pread(NULL, FAULT_MANIFEST_WRITE, fd, text, sizeof text, 0, &got);
    if (status == ST_OK && !parse(slice_of(text, got), secret, manifest))
        status = ST_CORRUPT;
    io_close(&fd);
    return status;
}

enum status manifest_write(int dir, const struct hash_secret *secret, struct faults *faults,
                           const struct manifest *manifest) {
    char text[TEXT_MAX];
    size_t n = compose(manifest, secret, text);
    return io_replace(faults, FAULT_MANIFEST_WRITE, FAULT_MANIFEST_RENAME, dir, MANIFEST_NAME, text, n);
}
