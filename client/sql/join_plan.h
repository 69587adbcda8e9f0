#ifndef CLIENT_SQL_JOIN_PLAN_H
#define CLIENT_SQL_JOIN_PLAN_H

#include "sql_scope.h"

/* `morsel join` as a plan: scan, scan, join, filter, sort, limit, project. */

struct join_side {
    uint32_t rel;                     /* the scan, already in the plan */
    const struct exec_schema *schema; /* its columns */
    const char *name;                 /* "flights" for flights.csv: a qualifier beside l and r */
};

struct join_request {
    struct join_side left, right;
    enum exec_join_kind kind;
    const char *on;     /* "id, a = b" */
    const char *select; /* NULL: see join_plan_make */
    const char *where;  /* NULL: none */
    const char *order;  /* NULL: none */
    int64_t limit;      /* -1: none */
};

/* Adds the join to the plan; its root is the plan's last relation. Without `select` the columns are
 * those of the left side, then those of the right side but for keys of the same name; a name that
 * the left side has already gets "_right" behind it. A key of the same name on both sides of a
 * right or full join is whichever is there. Semi, anti and not-in joins show the left side only, a
 * mark join behind it a column "mark": whether the row has a partner (NULL: unknown for NULLs, as
 * IN). Columns of one name are refused. */
enum exec_code join_plan_make(struct plan_builder *plan, const struct join_request *request,
                              struct exec_error *err);

/* "inner", "left", ...; EXEC_JOIN_NONE: no such kind. */
enum exec_join_kind join_kind_of(const char *how);

#endif
