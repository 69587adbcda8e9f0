#ifndef EXEC_OP_GROUP_TUPLES_H
#define EXEC_OP_GROUP_TUPLES_H

#include "op/group_state.h"

/* States that keep rows of arguments and sort keys ("tuples", in the aggregate's tuple layout).
 * Tuples live in the arena of the table whose state took them in, and stay there: combining states
 * moves pointers. All-zero bytes are the state of no rows. */

struct tuple_best { /* BEST: the tuple that comes first in the aggregate's order */
    unsigned char *tuple;
};

/* SET: each value once. Open addressing at half full at most; a tuple starts with its hash; of a
 * TALLY how often it was there follows. */
struct tuple_set {
    unsigned char **slots;
    uint64_t count;
    uint32_t slot_bits; /* 0: no slots yet */
    uint32_t unused;
};

enum { TALLY_PREFIX_BYTES = 16 };
static inline uint64_t *tuple_tally(unsigned char *tuple)
{
    return (uint64_t *)(void *)(tuple + sizeof(uint64_t));
}

struct tuple_chunk {
    struct tuple_chunk *next;
    uint32_t count, capacity;
    _Alignas(16) unsigned char rows[];
};
struct tuple_bag { /* BAG: every value, in chunks that double */
    struct tuple_chunk *first, *last;
    uint64_t count;
};

/* The aggregate's order between two tuples: the keys given, then the argument itself, so that
 * equal tuples are equal in every respect that matters. */
int tuple_order(const struct group_aggregate *aggregate, const unsigned char *a,
                const unsigned char *b);

#endif
