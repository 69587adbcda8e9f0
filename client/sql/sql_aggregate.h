#ifndef CLIENT_SQL_SQL_AGGREGATE_H
#define CLIENT_SQL_SQL_AGGREGATE_H

#include "sql_expr.h"

/* Aggregate calls inside expressions. Each call becomes a measure; the call itself is replaced by a
 * reference to the measure's column in the aggregate's output (keys first, then measures). */

enum { SQL_MEASURES_MAX = 1024 };

struct sql_aggregates {
    const struct sql_scope *input; /* what names inside a call mean */
    uint32_t key_count;            /* fixed before the first call is lowered */
    struct exec_measure *measures;
    uint32_t measure_count, measure_room;
};

bool sql_is_aggregate(const char *name);

const char *sql_aggregate_name(uint32_t index); /* NULL: no more */

/* The index of an expression over the aggregate's output, or 0. */
uint32_t sql_lower_aggregate(struct sql_lowering *lowering, const char *name, json_t *body,
                             long location);

#endif
