#ifndef TESTS_SIM_SIM_CORE_H
#define TESTS_SIM_SIM_CORE_H

#include "numa/topology.h"

#include <stdbool.h>
#include <stdint.h>

/* Virtual cores in virtual time. Every core is a coroutine with a clock of its own; the one whose
 * clock is behind runs. All chance comes from one seed, so a seed is a run.
 *
 * Costs are nanoseconds measured on the development machine or taken from the literature; they are
 * parameters of the model, not claims about a machine. */
struct sim_costs {
    uint32_t line_own_ns, line_near_ns,
        line_far_ns; /* cache line: mine, another core's, another node's */
    uint32_t clock_ns, pause_ns, give_way_ns;
    uint32_t wake_call_ns;             /* of the waker: the futex call */
    uint32_t wake_min_ns, wake_max_ns; /* until the woken runs */
    uint32_t preempt_per_million;      /* chance at an access */
    uint32_t preempt_ns;               /* at most */
};

enum { SIM_CORES_MAX = 576 }; /* 512 workers and some clients */

/* A fresh world; the old one is forgotten. */
void sim_begin(uint64_t seed, const struct sim_costs *costs);

/* A core that is no worker and runs `main` from virtual time start_ns on: clients, completions. */
void sim_spawn(void (*main)(void *argument), void *argument, uint64_t start_ns);

/* Runs until no core can go on. Cores asleep without a timeout are left asleep. */
void sim_run(void);

/* ---- from a core ------------------------------------------------------------------------------
 */

void sim_work(uint64_t ns); /* the core is busy */
uint64_t sim_now_ns(void);  /* the clock of the core; outside: of the last event */
uint64_t sim_random(void);
/* Speed of worker cores in per cent, by order of creation; 100 unless set. */
void sim_set_speed(uint32_t worker, uint32_t per_cent);

/* While set, accesses cost nothing and nobody else runs: to look at the world without disturbing
 * it. */
void sim_freeze(bool frozen);

/* One event into the trace: hashed with its core and time, printed when the trace is on. */
void sim_trace(const char *event, uint64_t detail);
uint64_t sim_trace_hash(void);
void sim_print_trace(bool on);

#endif
