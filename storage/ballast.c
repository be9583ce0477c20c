/* SPDX-License-Identifier: BSD-3-Clause */
#include "storage/ballast.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/base/io.h"
#include "storage/store_internal.h"

enum {
    BALLAST_TREE = 16 << 20, /* for the tree, beside one log segment */
    PLENTY = 3,              /* times its size: what must be free before it is filled */
};

static const char name[] = "ballast";

static uint64_t ballast_bytes(const struct store *store) {
    return store->config.log_segment + BALLAST_TREE;
}

static bool is_filled(const struct store *store) {
    struct stat st;

    return fstatat(store->dir, name, &st, 0) == 0 && (uint64_t)st.st_size >= ballast_bytes(store);
}

static bool has_plenty(const struct store *store) {
    struct statvfs fs;

    return fstatvfs(store->dir, &fs) == 0 &&
           (uint64_t)fs.f_bavail * fs.f_frsize > PLENTY * ballast_bytes(store);
}

void ballast_look(struct store *store) {
    atomic_store(&store->ballast, is_filled(store));
}

void ballast_fill(struct store *store) {
    int fd = -1;

    if (is_filled(store) || !has_plenty(store))
        return;
    if (io_open(NULL, FAULT_LOG_OPEN, store->dir, name, O_WRONLY | O_CREAT, 0600, &fd) != ST_OK)
        return;
    /* Its content does not matter; without the room it stays empty and is tried again. */
    if (posix_fallocate(fd, 0, (off_t)ballast_bytes(store)) != 0 && ftruncate(fd, 0) != 0)
        log_warn(store->config.logger, "%s/%s: cannot be emptied: %s", store->dir_name, name, strerror(errno));
    io_close(&fd);
    ballast_look(store);
}

bool ballast_release(struct store *store) {
    struct stat st;

    if (fstatat(store->dir, name, &st, 0) != 0 || st.st_blocks == 0)
        return false;
    if (unlinkat(store->dir, name, 0) != 0)
        return false;
    atomic_store(&store->ballast, false);
    log_warn(store->config.logger, "%s: the disk is full; %llu MB held back for this are used now: make room",
             store->dir_name, (unsigned long long)((uint64_t)st.st_blocks * 512 >> 20));
    return true;
}
