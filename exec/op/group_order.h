#ifndef EXEC_OP_GROUP_ORDER_H
#define EXEC_OP_GROUP_ORDER_H

#include "op/group_tuples.h"

/* The tuples a SET or BAG keeps for one group, in no order that matters; NULL at the end. */
struct tuple_cursor {
    const struct tuple_set *set; /* NULL: a bag */
    struct tuple_chunk *chunk;
    uint64_t at;
};
struct tuple_cursor tuple_cursor_begin(const struct group_aggregate *aggregate,
                                       const unsigned char *row);
unsigned char *tuple_cursor_next(const struct group_aggregate *aggregate,
                                 struct tuple_cursor *cursor);
uint64_t tuple_count(const struct group_aggregate *aggregate, const unsigned char *row);

/* The tuples of one group in order. */
struct tuple_list {
    unsigned char **tuples;
    uint64_t count;
};

/* Lists what the state of one group keeps, in the aggregate's order: of a SET each value once, of
 * a BAG every one. Memory from `scratch`, 32 bytes a tuple; the caller rewinds. EXEC_CANCELLED: the
 * job is stopping. EXEC_MEMORY_BUDGET: out of memory. */
enum exec_code group_order(const struct group *group, const struct group_aggregate *aggregate,
                           const unsigned char *row, struct nu_arena *scratch,
                           struct tuple_list *list_out);

#endif
