#ifndef NUMA_THREAD_CLOCK_H
#define NUMA_THREAD_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds for whoever reads it for every morsel: between two system readings
 * about a millisecond apart it is told by the CPU's time stamp counter, where that counter is
 * invariant (a third of the price); elsewhere every reading is the system's.
 *
 * Any thread. Never goes back on one thread; apart from CLOCK_MONOTONIC, and so from other threads,
 * by no more than the counter's rate drifts in a millisecond, a fraction of a microsecond. */
uint64_t nu_thread_clock_ns(void);

#endif
