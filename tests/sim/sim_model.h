#ifndef TESTS_SIM_SIM_MODEL_H
#define TESTS_SIM_SIM_MODEL_H

#include "exec/job_spec.h"
#include "sim_input.h"

#include <stdbool.h>
#include <stdint.h>

/* Jobs in the virtual world, run by the dispatcher of exec/sched, and what must hold of them. */

/* What a run was like. */
struct sim_result {
    uint64_t makespan_ns; /* start of the first job to finish of the last */
    uint64_t bound_ns;    /* sum over the phases of max(T1 / P, longest unit): none is faster */
    uint64_t work_ns;     /* T1, every row at home */
    uint64_t longest_ns;  /* T_inf: sum over the phases of the longest unit */
    uint64_t morsels, steals, units_local, units_remote, parks;
    uint64_t cancel_max_ns; /* from a cancel to the job's end, the longest */
    uint64_t trace_hash;
    char failure[200]; /* the first invariant that did not hold; empty: all held */
};

/* One job of four phases, as a join with an aggregate: build and directory (partitions), probe (100
 * morsels a core), merge (partitions). Alone on the machine. */
struct sim_race {
    uint64_t seed;
    uint32_t cores, nodes;
    enum exec_policy policy;
    enum sim_input input;
    bool skewed;                  /* all rows on node 0 */
    uint32_t work_scale;          /* per cent of the usual work; 0: 100 */
    uint32_t remote_row_per_cent; /* time of a row of another node; 0: as sim_measured_costs says */
    bool phases_print;            /* says where the time went */
};
void sim_race(const struct sim_race *race, struct sim_result *result);

/* Everything at once, drawn from the seed: machine, policy, several jobs of chained pipelines of
 * all inputs that start, block, come back, stop and are cancelled at any moment; caps, priorities,
 * slow cores, preemption, late wakes. */
void sim_chaos(uint64_t seed, struct sim_result *result);

/* Fairness on 8 cores of 2 nodes. Equal jobs submitted at once: when the slowest ends, and when all
 * would if they shared evenly. A short job that comes when a long one has run for 200 ms, and the
 * same alone. A job cancelled beside another: until it has ended. */
void sim_fair_equal(uint64_t seed, uint32_t jobs, double *slowest_ms, double *fair_ms,
                    struct sim_result *result);
void sim_fair_short(uint64_t seed, double *beside_ms, double *alone_ms, struct sim_result *result);
void sim_cancel(uint64_t seed, double *latency_ms, struct sim_result *result);

#endif
