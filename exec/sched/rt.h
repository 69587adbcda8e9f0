#ifndef EXEC_SCHED_RT_H
#define EXEC_SCHED_RT_H

#include "numa/pinned_thread.h"
#include "numa/thread_clock.h"

#include <sched.h>
#include <stdint.h>

/* The world as the dispatcher sees it: clock, sleep, wake, chance, pause. Nothing else in this
 * folder asks the system for anything but memory and threads at start-up. A simulator compiles the
 * same sources with SCHED_RT_HEADER naming a header that defines SCHED_RT_REPLACED and these
 * functions. */
#ifdef SCHED_RT_HEADER
#include SCHED_RT_HEADER
#endif
#ifndef SCHED_RT_REPLACED

static inline uint64_t rt_now_ns(void)
{
    return nu_thread_clock_ns();
}

/* Until the parker's word differs from `expected` or timeout_ns have passed (0: no timeout). */
static inline void rt_park(struct nu_parker *parker, uint32_t expected, uint64_t timeout_ns)
{
    (void)nu_park(parker, expected, timeout_ns);
}

static inline void rt_wake(struct nu_parker *parker)
{
    nu_unpark(parker);
}

/* One step of busy waiting, some ten nanoseconds. */
static inline void rt_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Busy waiting has lasted: whoever is waited for may need this CPU. */
static inline void rt_give_way(void)
{
    sched_yield();
}

/* Threads: started pinned, joined at the end. */
static inline int rt_thread_start(struct nu_thread *thread, const struct nu_topology *topology,
                                  uint32_t cpu, const char *name, void *(*main)(void *),
                                  void *argument)
{
    return nu_thread_start(thread, topology, cpu, name, main, argument);
}

static inline void rt_thread_join(struct nu_thread *thread)
{
    nu_thread_join(thread);
}

/* What the calling thread is to the dispatcher: its worker, or NULL. */
void *rt_self(void);
void rt_set_self(void *self);

static inline uint64_t rt_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
#endif
