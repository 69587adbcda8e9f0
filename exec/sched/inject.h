#ifndef EXEC_SCHED_INJECT_H
#define EXEC_SCHED_INJECT_H

#include "sched/sched.h"

/* Where work starts and where it goes that a deque does not hold: a first-in first-out queue of
 * ranges for every (job slot, lane). A lane is a node (policies numa and steal), a worker (static)
 * or the one queue of all (shared, lane 0). Unbounded up to INJECT_RANGES_MAX for the whole engine:
 * nodes come from a slab of address space reserved once, so a push allocates nothing and cannot
 * fail. */
enum { INJECT_RANGES_MAX = 1 << 22 };

/* A list of slab nodes: of a lane, or of a job that waits for a slot. 0: empty. */
struct range_list {
    uint32_t head, tail;
};

struct inject_lane {
    _Alignas(128) _Atomic uint32_t lock;
    struct range_list list;
    _Atomic uint32_t count;
    /* Pipeline of the first range, for comparing only: it may have ended. NULL: empty. */
    struct sched_pipeline *_Atomic front;
};

struct range_node;
struct inject {
    uint32_t lane_count;
    struct inject_lane *lanes; /* [slot][lane] */
    size_t lanes_bytes;
    struct range_node *nodes; /* INJECT_RANGES_MAX of address space; node 0 is never used */
    _Alignas(
        128) _Atomic uint64_t free_head; /* tag << 32 | node: the tag defeats reuse in between */
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
struct sched_pipeline *inject_front(struct inject *inject, uint32_t slot, uint32_t lane);

/* Lists of ranges outside the lanes; the caller holds a lock over `list`. A range remembers its
 * lane. */
void inject_list_append(struct inject *inject, struct range_list *list, uint32_t lane,
                        const struct sched_range *range);
/* Moves a whole list to the lanes of `slot`; returns how many. */
uint32_t inject_list_to_lanes(struct inject *inject, struct range_list *list, uint32_t slot);

#endif
