#ifndef TESTS_EXEC_SCHED_PROBE_TOPOLOGY_H
#define TESTS_EXEC_SCHED_PROBE_TOPOLOGY_H

#include "numa/topology.h"

#include <string.h>

/* node_count nodes of cpus_per_node CPUs, no SMT, one L3 and one socket a node, distance 20. */
static inline void probe_topology(struct nu_topology *topology, uint32_t node_count,
                                  uint32_t cpus_per_node)
{
    memset(topology, 0, sizeof *topology);
    topology->fake = true;
    topology->node_count = node_count;
    for (uint32_t node = 0; node < node_count; node++) {
        for (uint32_t other = 0; other < node_count; other++) {
            topology->distance[node][other] = node == other ? 10 : 20;
        }
        for (uint32_t i = 0; i < cpus_per_node; i++) {
            const uint16_t cpu = (uint16_t)topology->cpu_count++;
            topology->cpus[cpu] = (struct nu_cpu){.os_cpu = cpu,
                                                  .node = (uint16_t)node,
                                                  .core = cpu,
                                                  .l3 = (uint16_t)node,
                                                  .socket = (uint16_t)node};
        }
    }
}

#endif
