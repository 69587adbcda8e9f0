#include "cgroup_limits.h"

#include "sysfs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The path after "0::" in /proc/self/cgroup; "" for the root. False when there is no such line. */
static bool cgroup_own_path(const char *self_path, char *path_out, size_t path_bytes)
{
    char text[8192];
    if (sysfs_read(text, sizeof text, "%s", self_path) < 0) {
        return false;
    }
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (strncmp(line, "0::/", 4) != 0) {
            continue;
        }
        /* A group outside this cgroup namespace shows as "/..": only the root is visible then. */
        const char *path = strncmp(line + 3, "/..", 3) == 0 ? "" : line + 3;
        const int length = snprintf(path_out, path_bytes, "%s", path);
        if (length < 0 || (size_t)length >= path_bytes) {
            return false;
        }
        while (path_out[0] != '\0' && path_out[strlen(path_out) - 1] == '/') {
            path_out[strlen(path_out) - 1] = '\0';
        }
        return true;
    }
    return false;
}

static void cgroup_take_memory(struct cgroup_limits *limits, const char *group, const char *file)
{
    uint64_t bytes; /* "max" is no number and no limit */
    if (sysfs_read_number(&bytes, "%s/%s", group, file) && bytes < limits->memory_bytes) {
        limits->memory_bytes = bytes;
    }
}

static void cgroup_take_cpu_max(struct cgroup_limits *limits, const char *group)
{
    char text[64];
    if (sysfs_read(text, sizeof text, "%s/cpu.max", group) <= 0) {
        return;
    }
    double quota_us, period_us;
    if (sscanf(text, "%lf %lf", &quota_us, &period_us) != 2 || quota_us <= 0 || period_us <= 0) {
        return; /* "max 100000" */
    }
    const double cpus = quota_us / period_us;
    if (limits->cpu_quota <= 0 || cpus < limits->cpu_quota) {
        limits->cpu_quota = cpus;
    }
}

static void cgroup_take_set(const char *group, const char *file, bool *set, size_t set_count,
                            bool *has_set)
{
    char text[4096];
    bool here[NU_CPUS_MAX];
    if (sysfs_read(text, sizeof text, "%s/%s", group, file) <= 0 ||
        !sysfs_parse_list(text, here, set_count)) {
        return;
    }
    for (size_t i = 0; i < set_count; i++) {
        set[i] = here[i] && (set[i] || !*has_set);
    }
    *has_set = true;
}

void cgroup_limits_read(const char *self_path, const char *mount_path, struct cgroup_limits *limits)
{
    char path[PATH_MAX];

    *limits = (struct cgroup_limits){.memory_bytes = UINT64_MAX};
    if (!cgroup_own_path(self_path, path, sizeof path)) {
        return;
    }
    for (;;) {
        char group[2 * PATH_MAX];
        const int length = snprintf(group, sizeof group, "%s%s", mount_path, path);
        if (length < 0 || (size_t)length >= sizeof group) {
            return;
        }
        cgroup_take_memory(limits, group, "memory.max");
        cgroup_take_memory(limits, group, "memory.high");
        cgroup_take_cpu_max(limits, group);
        cgroup_take_set(group, "cpuset.cpus.effective", limits->cpus, NU_CPUS_MAX,
                        &limits->has_cpus);
        cgroup_take_set(group, "cpuset.mems.effective", limits->nodes, NU_NODES_MAX,
                        &limits->has_nodes);
        limits->level_count++;
        char *last = strrchr(path, '/');
        if (last == NULL) {
            return; /* that was the root */
        }
        *last = '\0';
    }
}
