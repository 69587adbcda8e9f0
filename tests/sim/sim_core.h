#ifndef TESTS_SIM_SIM_CORE_H
#define TESTS_SIM_SIM_CORE_H

#include "numa/topology.h"

#include <stdbool.h>
#include <stdint.h>

/* Virtual cores in virtual time. Every core is a coroutine with a clock of its own; the one whose
 * clock is behind runs. All chance comes from one seed, so a seed is a run.
 *
 * Every access to a shared word is charged by who had its cache line; transfers of one line queue
 * up behind one another, so a line that many write costs each of them more. */
struct sim_costs {
    uint32_t load_ns, store_ns, exchange_ns; /* on a line this core has */
    uint32_t line_near_ns, line_far_ns;      /* from another core of the node; of another node */
    uint32_t clock_ns, pause_ns, give_way_ns;
    uint32_t wake_call_ns;             /* of the waker: the futex call */
    uint32_t sleep_call_ns;            /* of the sleeper, until it is off the core */
    uint32_t wake_min_ns, wake_max_ns; /* until the woken runs */
    uint32_t dispatch_ns; /* instructions of a morsel's dispatch that touch no shared line */
    uint32_t remote_row_per_cent; /* time of a row of another node against one at home */
    uint32_t preempt_per_million; /* chance at an access */
    uint32_t preempt_ns;          /* at most */
};

/* Nanoseconds as bench_costs prints them; what one machine cannot measure says so (sim_costs.c). */
extern const struct sim_costs sim_measured_costs;

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
