#ifndef TESTS_SIM_SIM_RT_H
#define TESTS_SIM_SIM_RT_H

/* The world of exec/sched as the simulator makes it (see exec/sched/rt.h and atomics.h). */

#include "numa/pinned_thread.h"

#include <stdint.h>

#define SCHED_RT_REPLACED 1

enum sim_access { SIM_LOAD, SIM_STORE, SIM_EXCHANGE };
/* An access to a shared word: charges the core for the cache line and may let other cores go first.
 */
void sim_touch(uintptr_t word, enum sim_access access);
/* One that orders nothing is only charged. */
void sim_charge(uintptr_t word, enum sim_access access);
#define SCHED_TOUCH_LOAD(word) sim_touch((uintptr_t)(word), SIM_LOAD)
#define SCHED_TOUCH_EXCHANGE(word) sim_touch((uintptr_t)(word), SIM_EXCHANGE)
#define SCHED_CHARGE_LOAD(word) sim_charge((uintptr_t)(word), SIM_LOAD)
#define SCHED_CHARGE_STORE(word) sim_charge((uintptr_t)(word), SIM_STORE)
#define SCHED_CHARGE_EXCHANGE(word) sim_charge((uintptr_t)(word), SIM_EXCHANGE)

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
