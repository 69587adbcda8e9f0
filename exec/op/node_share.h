#ifndef EXEC_OP_NODE_SHARE_H
#define EXEC_OP_NODE_SHARE_H

#include "op/job_context.h"
#include "op/pipe.h"

/* Units that belong to no node by themselves (radix partitions) are dealt out evenly: node n has
 * those from units * n / nodes on. One rule, so that whoever places a unit's memory and whoever
 * gives the unit out mean the same node. */

static inline uint32_t node_share_of(uint64_t units, uint32_t node_count, uint64_t unit)
{
    return (uint32_t)(((unit + 1) * node_count - 1) / units);
}

/* A range for every node that has a share of `units`. */
static inline void node_share_add_ranges(struct pipe *pipe, const struct job_context *job,
                                         uint64_t units)
{
    for (uint32_t n = 0; n < job->node_count; n++) {
        const uint64_t begin = units * n / job->node_count;
        const uint64_t end = units * (n + 1) / job->node_count;
        if (begin < end) {
            pipe_add_range(pipe, begin, end, n, false);
        }
    }
}

#endif
