#ifndef NUMA_CGROUP_LIMITS_H
#define NUMA_CGROUP_LIMITS_H

#include "numa/topology.h"

/* What the cgroup v2 path of this process allows: at every level from its own group up to the root
 * of the mount, the smallest memory.max, memory.high and cpu.max, and the CPUs and nodes that are
 * in every cpuset.*.effective. */
struct cgroup_limits {
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
    double cpu_quota;      /* CPUs' worth of time; 0: no limit */
    bool has_cpus, has_nodes;
    bool cpus[NU_CPUS_MAX];   /* by the kernel's CPU number; valid with has_cpus */
    bool nodes[NU_NODES_MAX]; /* by the kernel's node number; valid with has_nodes */
    uint32_t level_count;     /* groups looked at; 0: no cgroup v2 here */
};

/* self_path   the file that names the group: "/proc/self/cgroup".
 * mount_path  where cgroup2 is mounted: "/sys/fs/cgroup".
 * A file that is missing or unreadable is no limit. Never fails. */
void cgroup_limits_read(const char *self_path, const char *mount_path,
                        struct cgroup_limits *limits);

#endif
