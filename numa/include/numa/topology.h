#ifndef NUMA_TOPOLOGY_H
#define NUMA_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NU_NODES_MAX = 64,
    NU_CPUS_MAX = 1024,
    NU_DISTANCE_LOCAL = 10, /* ACPI SLIT: a node's distance to itself */
};

/* One CPU this process may use. Nodes are numbered 0..node_count-1 here, without the holes of the
 * kernel's numbering; `os_node` of struct nu_node translates back. */
struct nu_cpu {
    uint16_t os_cpu; /* the kernel's number, for affinity */
    uint16_t node;
    uint16_t core; /* CPUs with the same (socket, core) are SMT siblings */
    uint16_t l3;   /* CPUs with the same l3 share a last-level cache */
    uint16_t socket;
};

struct nu_node {
    uint16_t os_node;
    uint64_t memory_bytes;
};

/* How far two CPUs are apart: the levels of stealing, cheapest first. */
enum nu_level {
    NU_LEVEL_SMT,    /* same core */
    NU_LEVEL_L3,     /* same last-level cache */
    NU_LEVEL_NODE,   /* same node */
    NU_LEVEL_REMOTE, /* another node; by distance inside the level */
    NU_LEVEL_COUNT
};

/* The machine as this process may use it: sysfs cut down by sched_getaffinity() and by the whole
 * cgroup path (the smallest limit on the way to the root wins). Immutable after nu_topology_read.
 */
struct nu_topology {
    uint32_t node_count; /* >= 1; nodes with at least one usable CPU */
    uint32_t cpu_count;  /* >= 1 */
    struct nu_node nodes[NU_NODES_MAX];
    struct nu_cpu
        cpus[NU_CPUS_MAX]; /* sorted by node, then core; SMT siblings of one core adjacent */
    uint8_t distance[NU_NODES_MAX][NU_NODES_MAX];
    double cpu_quota;            /* CPUs' worth of time allowed by cpu.max; 0: no limit */
    uint64_t memory_limit_bytes; /* the smaller of physical memory and the cgroup limits */
    uint64_t l2_bytes, l3_bytes; /* of the first CPU; 0 when unknown */
    bool fake;                   /* read from a file: placement is bookkeeping only */
    bool can_bind;               /* more than one real node and mbind() allowed */
    char summary[256]; /* one line for the log: what was found, from where, what degraded */
};

/* fake_path  NULL: the real machine. Else a text file: lines "node N memory BYTES", "cpu C node N
 *            core K l3 L socket S", "distance A B D", '#' starts a comment. Threads then pin to
 *            the real CPU c % real count, and memory is not bound.
 * why        on failure, a sentence naming file and line.
 *
 * Returns 0 or a negative errno. Any thread; reads files, so only at start-up. Degrades instead of
 * failing where the real machine hides its topology: one node, said in `summary`. */
int nu_topology_read(struct nu_topology *topology, const char *fake_path, char *why,
                     size_t why_bytes);

/* Level between two entries of topology->cpus (indices). a == b gives NU_LEVEL_SMT. */
enum nu_level nu_topology_level(const struct nu_topology *topology, uint32_t a, uint32_t b);
const char *nu_level_name(enum nu_level level); /* "smt", "l3", "node", "remote" */

/* Workers when nobody says otherwise: min(usable CPUs, ceil(cpu_quota)), at least 1. */
uint32_t nu_topology_default_workers(const struct nu_topology *topology);

#endif
