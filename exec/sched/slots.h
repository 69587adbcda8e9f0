#ifndef EXEC_SCHED_SLOTS_H
#define EXEC_SCHED_SLOTS_H

#include "sched/inject.h"
#include "sched/sched.h"

/* Which jobs are in the running: 128 slots. A job takes a slot with its first queued range and
 * loses it when it has neither a queued range nor a worker: one whose ranges are all parked holds
 * none. When all slots are taken, jobs wait in line, their ranges in a list of their own.
 *
 * A slot's word counts queued ranges and seats (workers that hold ranges of the job, in hand or in
 * their deque, or look for one). Whether it is taken says its bit of `occupied`, which changes only
 * under the lock: whoever brings both counts to 0 takes the lock and, if they are 0 still, frees
 * it. So whoever holds a seat, or has a range queued, keeps the slot. A seat taken by mistake in a
 * free slot does no harm: it is given back, or is one in the slot's next job. Counts go up and down
 * by one addition each, not by compare-and-swap, for hundreds of workers may come at once. Nobody
 * follows slot -> job: the job may be gone while a worker still gets up from its seat. Job -> slot
 * goes by ticket: generation and slot in one number, compared with the slot's. */
enum { SLOTS_MAX = 128, SLOTS_DECAY_QUANTA = 64, SLOTS_PRIORITIES = 21 };

struct slot {
    _Alignas(128) _Atomic uint64_t word; /* generation << 48 | seats << 32 | queued ranges */
    _Atomic uint64_t consumed_ns;        /* worker time spent on the job since it took this slot */
    /* Of the job; written under the lock while the slot is free, hints to who has no seat. Read for
     * every morsel: not on the line of what all write. */
    _Alignas(128) _Atomic uint64_t ticket;
    _Atomic uint32_t seats_max;
    _Atomic uint32_t policy;
    _Atomic int32_t priority;
};

struct slots {
    struct inject *inject;
    uint32_t worker_count;
    enum exec_policy default_policy;
    double decay[SLOTS_DECAY_QUANTA]; /* by quanta of worker time consumed */
    double priority_weight[SLOTS_PRIORITIES];
    _Alignas(128) _Atomic uint64_t occupied[SLOTS_MAX / 64];
    _Alignas(128) _Atomic uint32_t lock;
    uint64_t generation;
    struct sched_job *waiting_head, *waiting_tail;
    struct slot slots[SLOTS_MAX];
};

void slots_init(struct slots *slots, struct inject *inject, uint32_t worker_count,
                enum exec_policy default_policy);

/* Queue a range of `job` in `lane`, whoever calls: the job gets a slot or waits for one. Returns
 * false when it waits. */
bool slots_push(struct slots *slots, struct sched_job *job, uint32_t lane,
                const struct sched_range *range);
/* Room for `count` ranges of a job at once: counts them as queued and returns the slot, which stays
 * the job's until they have been pushed (inject_push) and popped. SLOTS_MAX: none is free, push
 * them one by one. */
uint32_t slots_reserve(struct slots *slots, struct sched_job *job, uint32_t count);
/* The same for a worker with a seat in `slot`, which is the job's. */
void slots_push_seated(struct slots *slots, uint32_t slot, uint32_t lane,
                       const struct sched_range *range, enum inject_end end);
/* Takes a queued range; the caller has a seat in `slot`. */
bool slots_pop_seated(struct slots *slots, uint32_t slot, uint32_t lane,
                      struct sched_range *range_out);

enum slots_sat {
    SLOTS_SAT,
    SLOTS_NO_SEAT,  /* the slot is free, or every seat the job allows is taken */
    SLOTS_MISTAKEN, /* the same, but a seat has been taken: to be left at once */
};
enum slots_sat slots_sit(struct slots *slots, uint32_t slot);
bool slots_has_seat(struct slots *slots, uint32_t slot);

enum slots_left {
    SLOTS_LEFT,
    SLOTS_LEFT_ROOM, /* the job was at its worker cap: one may come in, if there is work */
    SLOTS_NEXT_JOB,  /* the slot was freed and a waiting job took it */
};
enum slots_left slots_leave(struct slots *slots, uint32_t slot);

/* True when `job` is the one in `slot`, in which the caller has a seat. */
bool slots_is_of(struct slots *slots, uint32_t slot, const struct sched_job *job);

/* The policy of a job: its own or the engine's. */
enum exec_policy slots_policy_of(const struct slots *slots, const struct sched_job *job);

/* Relative share of worker time: by priority, decaying with what the job has had. */
double slots_weight(struct slots *slots, uint32_t slot);
/* More than one job in the running. */
bool slots_contended(struct slots *slots);

#define SLOTS_EACH_OCCUPIED(slots, slot)                           \
    for (uint32_t slot = slots_next((slots), 0); slot < SLOTS_MAX; \
         slot = slots_next((slots), slot + 1))
/* First occupied slot >= from; SLOTS_MAX: none. */
uint32_t slots_next(struct slots *slots, uint32_t from);

#endif
