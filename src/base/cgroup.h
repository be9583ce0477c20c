/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup: how much memory a container allows its processes, for both versions of Linux control groups.
 *
 * Any thread. */
#ifndef COFFER_BASE_CGROUP_H
#define COFFER_BASE_CGROUP_H

#include <stdint.h>

/* membership: normally /proc/self/cgroup; mount: normally /sys/fs/cgroup.  The smallest limit from the process's own
 * group up to the root; UINT64_MAX when there is none.  Inside a container the path of membership may name groups that
 * cannot be seen; the root of the mount is then the container's own group. */
uint64_t cgroup_memory_limit(const char *membership, const char *mount);

#endif
