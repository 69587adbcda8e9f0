#ifndef TESTS_SIM_SIM_MODEL_H
#define TESTS_SIM_SIM_MODEL_H

#include "exec/job_spec.h"
#include "sim_core.h"

/* Jobs in the virtual world, run by the dispatcher of exec/sched, and what must hold of them. */

enum sim_input {
    SIM_UNIFORM, /* every unit costs the same */
    SIM_ZIPF,    /* unit i costs 1 / (1 + i / 64): heavy at one end */
    SIM_GIANT,   /* one unit costs as much as ten morsels, the others the same */
    SIM_INPUT_COUNT
};
const char *sim_input_name(enum sim_input input);

/* What a run was like. */
struct sim_result {
    uint64_t makespan_ns; /* start of the first job to finish of the last */
    uint64_t bound_ns;    /* max(T1 / P, longest unit): no schedule is faster */
    uint64_t work_ns;     /* T1 */
    uint64_t morsels, steals, units_local, units_remote, parks;
    uint64_t trace_hash;
    char failure[200]; /* the first invariant that did not hold; empty: all held */
};

/* One pipeline over rows spread over all nodes, 100 morsels a core. */
struct sim_race {
    uint64_t seed;
    uint32_t cores, nodes;
    enum exec_policy policy;
    enum sim_input input;
    bool skewed; /* all rows on node 0 */
};
void sim_race(const struct sim_race *race, struct sim_result *result);

/* Everything at once, drawn from the seed: machine, policy, several jobs of chained pipelines of
 * all inputs that start, block, come back, stop and are cancelled at any moment; caps, priorities,
 * slow cores, preemption, late wakes. */
void sim_chaos(uint64_t seed, struct sim_result *result);

#endif
