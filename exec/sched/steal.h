#ifndef EXEC_SCHED_STEAL_H
#define EXEC_SCHED_STEAL_H

#include "numa/topology.h"
#include "sched/sched.h"

struct worker;

/* The price list: what taking work from another place costs, in idle time. A worker tries a place
 * only when it has been without work for as long as the place's price, so that near work is taken
 * at once and far work only when nothing nearer comes. Made once from the topology. */
struct steal_place {
    uint64_t price_ns;
    uint32_t victim; /* worker */
    uint8_t level;   /* enum nu_level */
};
struct steal_list {
    struct steal_place *places; /* every other worker, cheapest first */
    uint32_t place_count;
    uint64_t *node_price_ns; /* by node: price of its inject queues */
};

/* From another node only ranges of at least so many of the victim's morsels are taken. */
enum { STEAL_REMOTE_MORSELS = 4 };
static inline uint64_t steal_remote_units(uint64_t morsel_units)
{
    return STEAL_REMOTE_MORSELS * morsel_units;
}

/* cpu: worker -> index into topology->cpus. Returns 0 or -ENOMEM. */
int steal_list_make(struct steal_list *list, const struct nu_topology *topology,
                    const uint32_t *cpu, uint32_t worker_count, uint32_t worker);
void steal_list_free(struct steal_list *list);

/* Look for a range outside the worker's own deque and own queue, at places whose price is at most
 * idle_ns. The worker's deque is empty; on success it has a seat in the range's slot, otherwise in
 * any or none. */
bool steal_range(struct worker *worker, uint64_t idle_ns, struct sched_range *range_out);

/* Price of the cheapest place where steal_range, or the worker's own queues, would find work now; 0
 * for its own queues, UINT64_MAX for none. Same rules as steal_range, nothing is taken. */
uint64_t steal_cheapest(struct worker *worker);

#endif
