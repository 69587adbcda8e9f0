#ifndef EXEC_SCHED_ATOMICS_H
#define EXEC_SCHED_ATOMICS_H

#include <stdatomic.h>

/* Every shared word of the dispatcher is touched through these, so that a simulator can take
 * another worker's turn before each access and charge for the cache line, and an explorer can try
 * every order: they compile the same sources with the SCHED_TOUCH and SCHED_CHARGE macros, or all
 * of these operations (SCHED_ATOMICS_REPLACED), defined in the header named by SCHED_RT_HEADER. In
 * production a touch is nothing.
 *
 * The order is sequential consistency. The dispatcher's proofs (deque.c, park.h) are about one
 * total order of all accesses, ThreadSanitizer knows no stand-alone fences, and a morsel of a
 * millisecond pays for an xchg; *_relaxed is for figures and hints that order nothing. */
#ifdef SCHED_RT_HEADER
#include SCHED_RT_HEADER
#endif
#ifndef SCHED_ATOMICS_REPLACED
#ifndef SCHED_TOUCH_LOAD
#define SCHED_TOUCH_LOAD(word) ((void)0)
#define SCHED_TOUCH_EXCHANGE(word) ((void)0)
#define SCHED_CHARGE_LOAD(word) ((void)0)
#define SCHED_CHARGE_STORE(word) ((void)0)
#define SCHED_CHARGE_EXCHANGE(word) ((void)0)
#endif

#define at_load(word) (SCHED_TOUCH_LOAD(word), atomic_load_explicit((word), memory_order_seq_cst))
#define at_store(word, value) \
    (SCHED_TOUCH_EXCHANGE(word), atomic_store_explicit((word), (value), memory_order_seq_cst))
#define at_add(word, value) \
    (SCHED_TOUCH_EXCHANGE(word), atomic_fetch_add_explicit((word), (value), memory_order_seq_cst))
#define at_sub(word, value) \
    (SCHED_TOUCH_EXCHANGE(word), atomic_fetch_sub_explicit((word), (value), memory_order_seq_cst))
#define at_or(word, value) \
    (SCHED_TOUCH_EXCHANGE(word), atomic_fetch_or_explicit((word), (value), memory_order_seq_cst))
#define at_and(word, value) \
    (SCHED_TOUCH_EXCHANGE(word), atomic_fetch_and_explicit((word), (value), memory_order_seq_cst))
#define at_exchange(word, value) \
    (SCHED_TOUCH_EXCHANGE(word), atomic_exchange_explicit((word), (value), memory_order_seq_cst))
/* expected: pointer; takes the value found when the exchange fails. */
#define at_cas(word, expected, value)                                                           \
    (SCHED_TOUCH_EXCHANGE(word),                                                                \
     atomic_compare_exchange_strong_explicit((word), (expected), (value), memory_order_seq_cst, \
                                             memory_order_seq_cst))

#define at_load_relaxed(word) \
    (SCHED_CHARGE_LOAD(word), atomic_load_explicit((word), memory_order_relaxed))
#define at_store_relaxed(word, value) \
    (SCHED_CHARGE_STORE(word), atomic_store_explicit((word), (value), memory_order_relaxed))
#define at_add_relaxed(word, value) \
    (SCHED_CHARGE_EXCHANGE(word), atomic_fetch_add_explicit((word), (value), memory_order_relaxed))
#endif

#endif
