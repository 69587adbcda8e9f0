#ifndef EXEC_SCHED_ATOMICS_H
#define EXEC_SCHED_ATOMICS_H

#include <stdatomic.h>

/* Every shared word of the dispatcher is touched through these, so that a simulator can take
 * another worker's turn before each access and charge for the cache line: it compiles the same
 * sources with SCHED_TOUCH defined in the header named by SCHED_RT_HEADER. In production a touch is
 * nothing.
 *
 * The order is sequential consistency. The dispatcher's proofs (deque.c, park.h) are about one
 * total order of all accesses, ThreadSanitizer knows no stand-alone fences, and a morsel of a
 * millisecond pays for an xchg; *_relaxed is for figures and hints that order nothing. */
#ifdef SCHED_RT_HEADER
#include SCHED_RT_HEADER
#endif
#ifndef SCHED_TOUCH
#define SCHED_TOUCH(word, writes) ((void)0)
#endif

#define at_load(word) (SCHED_TOUCH(word, 0), atomic_load_explicit((word), memory_order_seq_cst))
#define at_store(word, value) \
    (SCHED_TOUCH(word, 1), atomic_store_explicit((word), (value), memory_order_seq_cst))
#define at_add(word, value) \
    (SCHED_TOUCH(word, 1), atomic_fetch_add_explicit((word), (value), memory_order_seq_cst))
#define at_sub(word, value) \
    (SCHED_TOUCH(word, 1), atomic_fetch_sub_explicit((word), (value), memory_order_seq_cst))
#define at_or(word, value) \
    (SCHED_TOUCH(word, 1), atomic_fetch_or_explicit((word), (value), memory_order_seq_cst))
#define at_and(word, value) \
    (SCHED_TOUCH(word, 1), atomic_fetch_and_explicit((word), (value), memory_order_seq_cst))
#define at_exchange(word, value) \
    (SCHED_TOUCH(word, 1), atomic_exchange_explicit((word), (value), memory_order_seq_cst))
/* expected: pointer; takes the value found when the exchange fails. */
#define at_cas(word, expected, value)                                                           \
    (SCHED_TOUCH(word, 1),                                                                      \
     atomic_compare_exchange_strong_explicit((word), (expected), (value), memory_order_seq_cst, \
                                             memory_order_seq_cst))

#define at_load_relaxed(word) atomic_load_explicit((word), memory_order_relaxed)
#define at_store_relaxed(word, value) atomic_store_explicit((word), (value), memory_order_relaxed)
#define at_add_relaxed(word, value) atomic_fetch_add_explicit((word), (value), memory_order_relaxed)

#endif
