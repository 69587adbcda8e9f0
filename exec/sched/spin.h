#ifndef EXEC_SCHED_SPIN_H
#define EXEC_SCHED_SPIN_H

#include "sched/atomics.h"
#include "sched/rt.h"

/* A lock for a few instructions. Never held across a callback, a wake or a system call. */
enum { SPIN_PAUSES_MAX = 128, SPIN_PAUSES_STEP_MAX = 32 };

static inline void spin_lock(_Atomic uint32_t *lock)
{
    uint32_t pauses = 0, step = 1;
    while (at_exchange(lock, 1) != 0) {
        do {
            /* Longer and longer: every look at the lock delays its holder. */
            for (uint32_t i = 0; i < step; i++) {
                rt_pause();
            }
            pauses += step;
            step = step < SPIN_PAUSES_STEP_MAX ? step * 2 : step;
            if (pauses >= SPIN_PAUSES_MAX) {
                rt_give_way(); /* with more workers than cores the holder may be off CPU */
                pauses = 0;
            }
        } while (at_load(lock) != 0);
    }
}

static inline void spin_unlock(_Atomic uint32_t *lock)
{
    at_store(lock, 0);
}

#endif
