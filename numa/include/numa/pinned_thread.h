#ifndef NUMA_PINNED_THREAD_H
#define NUMA_PINNED_THREAD_H

#include "numa/topology.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* A thread that runs on one CPU only, with its memory policy set to that CPU's node. */
struct nu_thread {
    pthread_t handle;
    int os_cpu; /* where it is pinned; -1 when pinning was refused */
};

/* name: at most 15 characters, shown by ps and gdb. cpu: index into topology->cpus.
 * Returns 0 or a negative errno; a refused pin is not an error (thread->os_cpu is -1 then). All
 * signals are blocked in the new thread. */
int nu_thread_start(struct nu_thread *thread, const struct nu_topology *topology, uint32_t cpu,
                    const char *name, void *(*main)(void *), void *argument);
void nu_thread_join(struct nu_thread *thread);

/* A word one thread sleeps on and any thread wakes (futex). A wake before the park is not lost:
 * park returns at once when `word` no longer holds `expected`. */
struct nu_parker {
    _Alignas(64) _Atomic uint32_t word;
};
/* timeout_ns: 0 waits for ever. Returns 0 when woken or the word differs, -ETIMEDOUT. */
int nu_park(struct nu_parker *parker, uint32_t expected, uint64_t timeout_ns);
void nu_unpark(struct nu_parker *parker); /* increments the word (release) and wakes */

#endif
