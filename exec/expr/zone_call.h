#ifndef EXEC_EXPR_ZONE_CALL_H
#define EXEC_EXPR_ZONE_CALL_H

#include "expr/expr_node.h"
#include "vec/zone.h"

/* Timestamps in zones other than UTC: instants, whose calendar is that of the zone's clock. */

/* The rules of a timestamp's zone; NULL: it has none, or it is UTC. EXEC_BAD_ARGUMENT naming a zone
 * that is unknown, or EXEC_MEMORY_BUDGET. */
enum exec_code zone_of_type(struct nu_arena *arena, const struct exec_type *type,
                            const struct zone **zone_out, struct exec_error *err);

/* Kernels; expr->prepared is the struct zone. Where a clock is set back and shows a time twice,
 * a local time is read as the second; where it is set forward and leaves a time out, as if it had
 * not been: PostgreSQL's rule. */
expr_kernel_fn zone_call_local;   /* what the clock shows, as a timestamp without zone */
expr_kernel_fn zone_call_instant; /* the reverse */
expr_kernel_fn zone_call_shift;   /* months and days on the clock; none added changes nothing */

/* date_trunc to minutes or more: an hour or minute begins where the clock last showed its start, a
 * day or more where it first did; where it never did, when it was set forward. */
expr_kernel_fn zone_call_trunc;

#endif
