#ifndef EXEC_SCHED_DEQUE_H
#define EXEC_SCHED_DEQUE_H

#include "sched/sched.h"

/* Chase and Lev's deque on a fixed ring: the owner pushes and pops ranges at the bottom, thieves
 * take the oldest at the top. Ranges are halved lazily, so DEQUE_RANGES are plenty and the ring
 * never grows; when it is full, push says so and the range goes to an inject queue.
 *
 * Indices only grow and are signed: bottom - top is a count that may be -1 for a moment inside pop.
 * Entries are relaxed atomic words: a thief may read one while the owner writes a newer range over
 * it, but then top has moved on and the thief's compare-and-swap fails. */
#ifndef DEQUE_RANGES
#define DEQUE_RANGES 64 /* a power of two; tests make it smaller */
#endif
enum { DEQUE_WORDS = 5 };

struct deque {
    _Alignas(128) _Atomic int64_t top;    /* thieves and the owner's last entry */
    _Alignas(128) _Atomic int64_t bottom; /* written by the owner only */
    _Alignas(128) _Atomic uint64_t entries[DEQUE_RANGES][DEQUE_WORDS];
};

/* Owner only. False: full. */
bool deque_push(struct deque *deque, const struct sched_range *range);
/* Owner only. False: empty. */
bool deque_pop(struct deque *deque, struct sched_range *range_out);

enum deque_stolen {
    DEQUE_STOLEN,
    DEQUE_EMPTY,
    DEQUE_LOST /* another was faster: try again or not */
};
/* Any thread. */
enum deque_stolen deque_steal(struct deque *deque, struct sched_range *range_out);

/* Any thread; exact only for the owner, who sees at least what is there. */
int64_t deque_count(struct deque *deque);
/* Units of the oldest range, a hint for thieves: it may be gone. 0: empty. */
uint64_t deque_oldest_units(struct deque *deque);

#endif
