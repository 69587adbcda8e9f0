#include "explore_rt.h"

#include "explore.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 5 };
static const uint64_t READING_NS = 30000; /* longer than a search's busy waiting */
static uint64_t clock_ns[THREADS_MAX];
static void *self[THREADS_MAX];

void explore_rt_begin(void)
{
    memset(clock_ns, 0, sizeof clock_ns);
    memset(self, 0, sizeof self);
}

/* Of its own: a thread is to be determined by what its accesses return. */
uint64_t rt_now_ns(void)
{
    return clock_ns[explore_self()] += READING_NS;
}

/* Timeouts never come: whatever must happen must happen without. */
void rt_park(struct nu_parker *parker, uint32_t expected, uint64_t timeout_ns)
{
    (void)timeout_ns;
    (void)explore_access(EXPLORE_PARK, &parker->word, sizeof parker->word, expected);
}

void rt_wake(struct nu_parker *parker)
{
    (void)explore_access(EXPLORE_ADD, &parker->word, sizeof parker->word, 1);
}

void rt_pause(void)
{
}

void rt_give_way(void)
{
}

void *rt_self(void)
{
    return self[explore_self()];
}

void rt_set_self(void *of_thread)
{
    self[explore_self()] = of_thread;
}

uint64_t rt_random(uint64_t *state)
{
    return ++*state;
}

/* Threads are the scenario's. */
int rt_thread_start(struct nu_thread *thread, const struct nu_topology *topology, uint32_t cpu,
                    const char *name, void *(*main)(void *), void *argument)
{
    (void)thread, (void)topology, (void)cpu, (void)name, (void)main, (void)argument;
    abort();
}

void rt_thread_join(struct nu_thread *thread)
{
    (void)thread;
    abort();
}
