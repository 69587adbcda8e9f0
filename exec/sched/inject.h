#ifndef EXEC_SCHED_INJECT_H
#define EXEC_SCHED_INJECT_H

#include "sched/sched.h"

/* Where work starts and where it goes that a deque does not hold: a first-in first-out queue of
 * ranges for every (job slot, lane). A lane is a node (policies numa and steal), a worker (static)
 * or the one queue of all (shared, lane 0). Unbounded up to INJECT_RANGES_MAX for the whole engine:
 * slab nodes come from address space reserved once, so a push allocates nothing and cannot
 * fail. */
enum { INJECT_RANGES_MAX = 1 << 22, INJECT_BATCH = 16 };

/* A list of slab nodes: of a lane, or of a job that waits for a slot. 0: empty. */
struct range_list {
    uint32_t head, tail;
};

/* Slab nodes kept for the next pushes: up to a batch, and a whole batch behind it or none. */
struct range_spare {
    uint32_t head, count, full;
};

struct inject_lane {
    _Alignas(128) _Atomic uint32_t lock;
    struct range_list list;
    struct range_spare spare;
    _Atomic uint32_t count;
    /* Pipeline of the first range, for comparing only: it may have ended; plus 1 when that range is
     * urgent. 0: empty. */
    _Atomic uintptr_t front;
};

struct range_node;
struct inject {
    uint32_t lane_count;
    struct inject_lane *lanes; /* [slot][lane] */
    size_t lanes_bytes;
    struct range_node *nodes;         /* INJECT_RANGES_MAX of address space; node 0 is never used */
    struct range_spare waiting_spare; /* for inject_list_append, under its caller's lock */
    /* Stack of free batches: tag << 32 | first node; the tag defeats reuse in between. Lanes come
     * here once in INJECT_BATCH pushes or pops, for it is one word for all of them. */
    _Alignas(128) _Atomic uint64_t free_head;
    _Alignas(128) _Atomic uint32_t node_count; /* nodes ever used */
};

/* Returns 0 or a negative errno. */
int inject_init(struct inject *inject, uint32_t slot_count, uint32_t lane_count);
void inject_fini(struct inject *inject);

enum inject_end { INJECT_BACK, INJECT_FRONT };
void inject_push(struct inject *inject, uint32_t slot, uint32_t lane,
                 const struct sched_range *range, enum inject_end end);
/* False: empty. */
bool inject_pop(struct inject *inject, uint32_t slot, uint32_t lane, struct sched_range *range_out);
uint32_t inject_count(struct inject *inject, uint32_t slot, uint32_t lane);
/* Something else than more of `pipeline` waits first in line: another pipeline's range, or an
 * urgent one. A hint. */
bool inject_offers(struct inject *inject, uint32_t slot, uint32_t lane,
                   const struct sched_pipeline *pipeline);

/* Lists of ranges outside the lanes; the caller holds a lock over all such lists. A range
 * remembers its lane. */
void inject_list_append(struct inject *inject, struct range_list *list, uint32_t lane,
                        const struct sched_range *range);
/* Moves a whole list to the lanes of `slot`; returns how many. */
uint32_t inject_list_to_lanes(struct inject *inject, struct range_list *list, uint32_t slot);

#endif
