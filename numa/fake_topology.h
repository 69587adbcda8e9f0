#ifndef NUMA_FAKE_TOPOLOGY_H
#define NUMA_FAKE_TOPOLOGY_H

#include "numa/topology.h"

#include <stdio.h>

/* Reads a topology from a text file (format: numa/topology.h). `topology` comes zeroed. Fills
 * nodes, cpus (in file order), distances and `fake`; a distance not given is 10 to itself and 20 to
 * others, one given for A B holds for B A unless that is given too. Node numbers of the file may
 * have holes. Returns 0, or -EINVAL or the errno of the file with `why` filled in. */
int fake_topology_read(struct nu_topology *topology, const char *path, char *why, size_t why_bytes);

#endif
