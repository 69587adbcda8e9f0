#ifndef TESTS_EXPLORE_EXPLORE_RT_H
#define TESTS_EXPLORE_EXPLORE_RT_H

/* The world of exec/sched as the explorer makes it (see exec/sched/rt.h and atomics.h). */

#include "numa/pinned_thread.h"

#include <stdbool.h>
#include <stdint.h>

#define SCHED_RT_REPLACED 1
#define SCHED_ATOMICS_REPLACED 1

enum explore_access {
    EXPLORE_LOAD,
    EXPLORE_STORE,
    EXPLORE_ADD,
    EXPLORE_EXCHANGE,
    EXPLORE_LOAD_RELAXED,
    EXPLORE_STORE_RELAXED,
    EXPLORE_ADD_RELAXED,
    EXPLORE_PARK, /* until the word differs from the operand */
};

/* One step of the calling thread on a word of `bytes` bytes; returns what was there before. */
uint64_t explore_access(enum explore_access access, const volatile void *word, uint32_t bytes,
                        uint64_t operand);
/* Returns what was there. */
uint64_t explore_cas(volatile void *word, uint32_t bytes, uint64_t expected, uint64_t value);

/* The comma makes it a value: the type without _Atomic. */
#define EXPLORE_TYPE(word) __typeof__(((void)0, *(word)))
/* A statement expression may go unused without a warning, a cast not. */
#define EXPLORE(access, word, operand)                                             \
    __extension__({                                                                \
        (EXPLORE_TYPE(word))                                                       \
            explore_access((access), (word), sizeof *(word), (uint64_t)(operand)); \
    })

#define at_load(word) EXPLORE(EXPLORE_LOAD, (word), 0)
#define at_store(word, value) ((void)EXPLORE(EXPLORE_STORE, (word), (value)))
#define at_add(word, value) EXPLORE(EXPLORE_ADD, (word), (value))
#define at_sub(word, value) EXPLORE(EXPLORE_ADD, (word), -(uint64_t)(value))
#define at_exchange(word, value) EXPLORE(EXPLORE_EXCHANGE, (word), (value))
#define at_cas(word, expected, value)                                                            \
    __extension__({                                                                              \
        const uint64_t wanted_ = (uint64_t) * (expected);                                        \
        const EXPLORE_TYPE(word) found_ =                                                        \
            (EXPLORE_TYPE(word))explore_cas((word), sizeof *(word), wanted_, (uint64_t)(value)); \
        const bool swapped_ = (uint64_t)found_ == wanted_;                                       \
        *(expected) = swapped_ ? *(expected) : found_;                                           \
        swapped_;                                                                                \
    })
#define at_load_relaxed(word) EXPLORE(EXPLORE_LOAD_RELAXED, (word), 0)
#define at_store_relaxed(word, value) ((void)EXPLORE(EXPLORE_STORE_RELAXED, (word), (value)))
#define at_add_relaxed(word, value) EXPLORE(EXPLORE_ADD_RELAXED, (word), (value))

/* Before every run. */
void explore_rt_begin(void);

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
