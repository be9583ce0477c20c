/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/cgroup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/base/number.h"

enum { LINE_ROOM = PATH_MAX + 64, LIMIT_ROOM = 64 };

/* The number in a file; UINT64_MAX when it has none ("max") or is not there. */
static uint64_t read_limit(const char *path) {
    char text[LIMIT_ROOM];
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return UINT64_MAX;
    }
    if (fgets(text, sizeof text, file) == NULL ||
        !number_u64(slice_of(text, strcspn(text, "\n")), &limit)) {
        limit = UINT64_MAX;
    }
    fclose(file);
    return limit;
}

/* The smallest limit of group and all above it; group begins with '/' and is cut on the way. */
static uint64_t walk_up(const char *mount, char *group, const char *file) {
    char path[PATH_MAX];
    uint64_t smallest = UINT64_MAX;
    for (;;) {
        int n = snprintf(path, sizeof path, "%s%s/%s", mount, group, file);
        uint64_t limit = n > 0 && (size_t)n < sizeof path ? read_limit(path) : UINT64_MAX;
        smallest = limit < smallest ? limit : smallest;
        char *slash = strrchr(group, '/');
        if (slash == NULL) {
            return smallest;
        }
        *slash = '\0';
    }
}

/* "4:cpu,memory:/group": is `memory` among the controllers? */
static bool names_memory(const char *controllers, size_t n) {
    while (n > 0) {
        size_t word = strcspn(controllers, ",:");
        if (word == strlen("memory") && strncmp(controllers, "memory", word) == 0) {
            return true;
        }
        if (word >= n) {
            return false;
        }
        controllers += word + 1;
        n -= word + 1;
    }
    return false;
}

static uint64_t limit_of_line(char *line, const char *mount) {
    char controller[PATH_MAX];
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) {
        return UINT64_MAX;
    }
    controllers++;
    size_t n = (size_t)(group - controllers);
    group++;
    group[strcspn(group, "\n")] = '\0';
    if (n == 0) {
        return walk_up(mount, group, "memory.max");
    }
    int length = snprintf(controller, sizeof controller, "%s/memory", mount);
    if (!names_memory(controllers, n) || length < 0 || (size_t)length >= sizeof controller) {
        return UINT64_MAX;
    }
    return walk_up(controller, group, "memory.limit_in_bytes");
}

uint64_t cgroup_memory_limit(const char *membership, const char *mount) {
    char line[LINE_ROOM];
    uint64_t smallest = UINT64_MAX;
    FILE *file = fopen(membership, "re");
    if (file == NULL) {
        return UINT64_MAX;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        uint64_t limit = limit_of_line(line, mount);
        smallest = limit < smallest ? limit : smallest;
    }
    fclose(file);
    return smallest;
}
