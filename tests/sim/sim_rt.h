#ifndef TESTS_SIM_SIM_RT_H
#define TESTS_SIM_SIM_RT_H

/* The world of exec/sched as the simulator makes it (see exec/sched/rt.h and atomics.h). */

#include "numa/pinned_thread.h"

#include <stdint.h>

#define SCHED_RT_REPLACED 1
#define SCHED_TOUCH(word, writes) sim_touch((uintptr_t)(word), (writes))

/* An access to a shared word: charges the core for the cache line and may let other cores go first.
 */
void sim_touch(uintptr_t word, int writes);

uint64_t rt_now_ns(void);
void rt_park(struct nu_parker *parker, uint32_t expected, uint64_t timeout_ns);
void rt_wake(struct nu_parker *parker);
void rt_pause(void);
void rt_give_way(void);
void *rt_self(void);
void rt_set_self(void *self);
uint64_t rt_random(uint64_t *state);
int rt_thread_start(struct nu_thread *thread, const struct nu_topology *topology, uint32_t cpu,
                    const char *name, void *(*main)(void *), void *argument);
void rt_thread_join(struct nu_thread *thread);

#endif
