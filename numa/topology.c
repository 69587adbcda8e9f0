#include "numa/topology.h"

#include "cgroup_limits.h"
#include "fake_topology.h"
#include "sysfs.h"

#include <errno.h>
#include <inttypes.h>
#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CPU_DIR "/sys/devices/system/cpu/cpu%u"
#define NODE_DIR "/sys/devices/system/node/node%u"

enum { KERNEL_CPUS_MAX = 8192 }; /* room of the affinity mask: NR_CPUS of large kernels */

/* ---- what this process may use -------------------------------------------------------------- */

static void topology_allowed_cpus(const struct cgroup_limits *limits, bool *allowed)
{
    static const size_t mask_bytes = CPU_ALLOC_SIZE(KERNEL_CPUS_MAX);
    cpu_set_t *mask = CPU_ALLOC(KERNEL_CPUS_MAX);

    memset(allowed, 0, NU_CPUS_MAX * sizeof *allowed);
    if (mask == NULL || sched_getaffinity(0, mask_bytes, mask) != 0) {
        allowed[0] = true;
        CPU_FREE(mask);
        return;
    }
    uint32_t both = 0;
    for (uint32_t cpu = 0; cpu < NU_CPUS_MAX; cpu++) {
        allowed[cpu] = CPU_ISSET_S(cpu, mask_bytes, mask) != 0;
        both += allowed[cpu] && (!limits->has_cpus || limits->cpus[cpu]);
    }
    /* The kernel cuts affinity down by the cpuset, so an empty intersection means a cpuset file
     * that is not about this process; affinity alone decides then. */
    for (uint32_t cpu = 0; both != 0 && limits->has_cpus && cpu < NU_CPUS_MAX; cpu++) {
        allowed[cpu] = allowed[cpu] && limits->cpus[cpu];
    }
    CPU_FREE(mask);
}

static uint64_t topology_physical_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
}

/* ---- CPUs and caches ------------------------------------------------------------------------ */

/* Lowest CPU of the last-level cache of `cpu`: its identity. Falls back to the socket. */
static uint16_t topology_l3_of(uint32_t cpu, uint16_t socket)
{
    for (uint32_t index = 0; index < 8; index++) {
        uint64_t level;
        char list[1024];
        uint32_t first;
        if (sysfs_read_number(&level, CPU_DIR "/cache/index%u/level", cpu, index) && level == 3 &&
            sysfs_read(list, sizeof list, CPU_DIR "/cache/index%u/shared_cpu_list", cpu, index) >
                0 &&
            sysfs_list_first(list, &first)) {
            return (uint16_t)first;
        }
    }
    return (uint16_t)(UINT16_MAX - socket);
}

static uint64_t topology_cache_bytes(uint32_t cpu, uint64_t wanted_level)
{
    for (uint32_t index = 0; index < 8; index++) {
        uint64_t level, bytes;
        char size[32];
        if (sysfs_read_number(&level, CPU_DIR "/cache/index%u/level", cpu, index) &&
            level == wanted_level &&
            sysfs_read(size, sizeof size, CPU_DIR "/cache/index%u/size", cpu, index) > 0 &&
            sysfs_parse_size(size, &bytes)) {
            return bytes;
        }
    }
    return 0;
}

/* Cores are named by their lowest SMT sibling, so the number is unique on the machine. */
static struct nu_cpu topology_cpu(uint32_t cpu, uint16_t node)
{
    uint64_t socket = 0;
    char list[256];
    uint32_t core = cpu;

    (void)sysfs_read_number(&socket, CPU_DIR "/topology/physical_package_id", cpu);
    if (sysfs_read(list, sizeof list, CPU_DIR "/topology/thread_siblings_list", cpu) > 0) {
        (void)sysfs_list_first(list, &core);
    }
    return (struct nu_cpu){.os_cpu = (uint16_t)cpu,
                           .node = node,
                           .core = (uint16_t)core,
                           .l3 = topology_l3_of(cpu, (uint16_t)socket),
                           .socket = (uint16_t)socket};
}

static int topology_compare_cpus(const void *left, const void *right)
{
    const struct nu_cpu *a = left, *b = right;
    if (a->node != b->node) {
        return a->node < b->node ? -1 : 1;
    }
    if (a->socket != b->socket) {
        return a->socket < b->socket ? -1 : 1;
    }
    if (a->core != b->core) {
        return a->core < b->core ? -1 : 1;
    }
    return a->os_cpu < b->os_cpu ? -1 : a->os_cpu > b->os_cpu;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Appends the usable CPUs of kernel node `os_node`; a node without any is left out. A node whose
 * memory the cpuset forbids keeps its CPUs and has 0 bytes. */
static void topology_add_node(struct nu_topology *topology, uint32_t os_node, const bool *allowed,
                              bool memory_allowed)
{
    char list[4096];
    bool members[NU_CPUS_MAX];
    const uint32_t cpus_before = topology->cpu_count;

    if (topology->node_count == NU_NODES_MAX ||
        sysfs_read(list, sizeof list, NODE_DIR "/cpulist", os_node) <= 0 ||
        !sysfs_parse_list(list, members, NU_CPUS_MAX)) {
        return;
    }
    for (uint32_t cpu = 0; cpu < NU_CPUS_MAX; cpu++) {
        if (members[cpu] && allowed[cpu]) {
            topology->cpus[topology->cpu_count++] =
                topology_cpu(cpu, (uint16_t)topology->node_count);
        }
    }
    if (topology->cpu_count == cpus_before) {
        return;
    }
    const long long bytes = memory_allowed ? numa_node_size64((int)os_node, NULL) : 0;
    topology->nodes[topology->node_count++] = (struct nu_node){
        .os_node = (uint16_t)os_node, .memory_bytes = bytes > 0 ? (uint64_t)bytes : 0};
}

/* Reads nodes through libnuma and sysfs. Returns NULL, or why the machine cannot be seen as nodes.
 */
static const char *topology_read_nodes(struct nu_topology *topology, const bool *allowed,
                                       const struct cgroup_limits *limits)
{
    char list[1024];
    bool online[NU_NODES_MAX];

    if (numa_available() < 0) {
        return "the kernel has no NUMA interface";
    }
    if (sysfs_read(list, sizeof list, "/sys/devices/system/node/online") <= 0 ||
        !sysfs_parse_list(list, online, NU_NODES_MAX)) {
        return "/sys/devices/system/node is hidden";
    }
    for (uint32_t os_node = 0; os_node < NU_NODES_MAX; os_node++) {
        if (online[os_node]) {
            topology_add_node(topology, os_node, allowed,
                              !limits->has_nodes || limits->nodes[os_node]);
        }
    }
    if (topology->cpu_count == 0) {
        return "no usable CPU belongs to a node";
    }
    for (uint32_t a = 0; a < topology->node_count; a++) {
        for (uint32_t b = 0; b < topology->node_count; b++) {
            const int distance =
                numa_distance(topology->nodes[a].os_node, topology->nodes[b].os_node);
            const int unknown = a == b ? NU_DISTANCE_LOCAL : 2 * NU_DISTANCE_LOCAL;
            topology->distance[a][b] =
                (uint8_t)(distance >= NU_DISTANCE_LOCAL && distance < 255 ? distance : unknown);
        }
    }
    return NULL;
}

/* The one place where the machine is degraded to a single node. */
static void topology_degrade(struct nu_topology *topology, const bool *allowed)
{
    topology->cpu_count = 0;
    for (uint32_t cpu = 0; cpu < NU_CPUS_MAX; cpu++) {
        if (allowed[cpu]) {
            topology->cpus[topology->cpu_count++] = topology_cpu(cpu, 0);
        }
    }
    if (topology->cpu_count == 0) {
        topology->cpus[topology->cpu_count++] = topology_cpu(0, 0);
    }
    topology->node_count = 1;
    topology->nodes[0] = (struct nu_node){.memory_bytes = topology->memory_limit_bytes};
    topology->distance[0][0] = NU_DISTANCE_LOCAL;
}

/* Containers often forbid mbind by seccomp: one page tells. */
static bool topology_mbind_works(const struct nu_topology *topology)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    unsigned long mask[NU_NODES_MAX / (8 * sizeof(unsigned long))] = {0};
    const uint32_t os_node = topology->nodes[0].os_node;

    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return false;
    }
    mask[os_node / (8 * sizeof mask[0])] |= 1UL << (os_node % (8 * sizeof mask[0]));
    const long refused = mbind(page, bytes, MPOL_PREFERRED, mask, NU_NODES_MAX + 1, 0);
    munmap(page, bytes);
    return refused == 0;
}

/* ---- the line for the log ------------------------------------------------------------------- */

static void topology_summarise(struct nu_topology *topology, const char *source,
                               const char *degraded)
{
    char quota[48] = "";
    const char *binding = topology->fake             ? "memory not bound (fake topology)"
                          : topology->can_bind       ? "memory bound to nodes"
                          : topology->node_count > 1 ? "memory not bound (mbind refused)"
                                                     : "memory not bound (one node)";
    if (topology->cpu_quota > 0) {
        snprintf(quota, sizeof quota, ", cgroup quota %.2f CPUs", topology->cpu_quota);
    }
    snprintf(topology->summary, sizeof topology->summary,
             "%" PRIu32 " CPU%s on %" PRIu32 " node%s from %s%s, %.1f GiB memory, %s%s%s",
             topology->cpu_count, topology->cpu_count == 1 ? "" : "s", topology->node_count,
             topology->node_count == 1 ? "" : "s", source, quota,
             (double)topology->memory_limit_bytes / (double)(1 << 30), binding,
             degraded != NULL ? "; degraded to one node: " : "", degraded != NULL ? degraded : "");
}

/* ---- the door ------------------------------------------------------------------------------- */

int nu_topology_read(struct nu_topology *topology, const char *fake_path, char *why,
                     size_t why_bytes)
{
    struct cgroup_limits limits;
    bool allowed[NU_CPUS_MAX];
    const char *degraded = NULL;
    const bool unified = access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0;

    memset(topology, 0, sizeof *topology);
    cgroup_limits_read("/proc/self/cgroup", unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified",
                       &limits);
    topology->cpu_quota = limits.cpu_quota;
    topology->memory_limit_bytes = topology_physical_bytes();
    if (limits.memory_bytes < topology->memory_limit_bytes) {
        topology->memory_limit_bytes = limits.memory_bytes;
    }
    topology_allowed_cpus(&limits, allowed);
    if (fake_path != NULL) {
        const int failed = fake_topology_read(topology, fake_path, why, why_bytes);
        if (failed != 0) {
            return failed;
        }
        topology->cpu_quota = 0; /* a fake machine has the CPUs it says */
    } else {
        degraded = topology_read_nodes(topology, allowed, &limits);
        if (degraded != NULL) {
            topology_degrade(topology, allowed);
        }
        topology->l2_bytes = topology_cache_bytes(topology->cpus[0].os_cpu, 2);
        topology->l3_bytes = topology_cache_bytes(topology->cpus[0].os_cpu, 3);
        topology->can_bind = topology->node_count > 1 && topology_mbind_works(topology);
    }
    qsort(topology->cpus, topology->cpu_count, sizeof topology->cpus[0], topology_compare_cpus);
    topology_summarise(topology, fake_path != NULL ? fake_path : "sysfs", degraded);
    return 0;
}

enum nu_level nu_topology_level(const struct nu_topology *topology, uint32_t a, uint32_t b)
{
    const struct nu_cpu *left = &topology->cpus[a], *right = &topology->cpus[b];
    if (left->node != right->node) {
        return NU_LEVEL_REMOTE;
    }
    if (left->socket == right->socket && left->core == right->core) {
        return NU_LEVEL_SMT;
    }
    return left->l3 == right->l3 ? NU_LEVEL_L3 : NU_LEVEL_NODE;
}

const char *nu_level_name(enum nu_level level)
{
    static const char *const names[NU_LEVEL_COUNT] = {"smt", "l3", "node", "remote"};
    return level < NU_LEVEL_COUNT ? names[level] : "unknown";
}

uint32_t nu_topology_default_workers(const struct nu_topology *topology)
{
    uint32_t workers = topology->cpu_count;
    if (topology->cpu_quota > 0 && topology->cpu_quota < workers) {
        const uint32_t whole = (uint32_t)topology->cpu_quota;
        workers = whole + ((double)whole < topology->cpu_quota);
    }
    return workers > 0 ? workers : 1;
}
