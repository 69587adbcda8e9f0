#ifndef EXEC_OP_GROUP_DENSE_OUTPUT_H
#define EXEC_OP_GROUP_DENSE_OUTPUT_H

#include "op/group_dense.h"

/* One unit of output: its places, added up over the workers. */
struct dense_output {
    const struct group *group;
    struct pipe_run *run;
    const struct dense_worker *states; /* to be added up */
    uint32_t state_count;
    const uint64_t *packed; /* keys by place; NULL: the place says */
    uint32_t first;         /* place */
    uint32_t place_count;
    __int128 *sums;    /* by field, then place of the unit */
    uint16_t *present; /* places of the unit that are groups */
    uint32_t count;
    struct dense_gathered *kept; /* by kept input */
};

/* Gathers what is kept for the unit. false: out of memory, or the job is stopping. */
bool dense_output_gather(struct dense_output *output);

/* The column of measure m over the groups that are there; memory from the run's scratch. */
enum push_result dense_output_measure(const struct dense_output *output, uint32_t m,
                                      struct vec *out);

#endif
