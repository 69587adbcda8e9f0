#ifndef EXEC_SCHED_SPIN_H
#define EXEC_SCHED_SPIN_H

#include "sched/atomics.h"
#include "sched/rt.h"

/* A lock for a few instructions. Never held across a callback, a wake or a system call. */
enum { SPIN_PAUSES_MAX = 100 };

static inline void spin_lock(_Atomic uint32_t *lock)
{
    uint32_t pauses = 0;
    while (at_exchange(lock, 1) != 0) {
        do {
            /* With more workers than cores the holder may be off CPU. */
            if (++pauses % SPIN_PAUSES_MAX == 0) {
                rt_give_way();
            } else {
                rt_pause();
            }
        } while (at_load(lock) != 0);
    }
}

static inline void spin_unlock(_Atomic uint32_t *lock)
{
    at_store(lock, 0);
}

#endif
