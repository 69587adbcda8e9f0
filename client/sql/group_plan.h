#ifndef CLIENT_SQL_GROUP_PLAN_H
#define CLIENT_SQL_GROUP_PLAN_H

#include "sql_scope.h"

/* `morsel group` as a plan: scan, filter, aggregate, filter, sort, limit, project. */

struct group_request {
    uint32_t rel;                       /* the scan, already in the plan */
    const char *name;                   /* "flights": its qualifier */
    const char *by;                     /* NULL: one group of all rows */
    const char *agg;                    /* "n = count(), total = sum(amount)" */
    const char *where, *having, *order; /* NULL: none */
    int64_t limit;                      /* -1: none */
};

/* The columns of the result are the keys, then the items of `agg`; an item may compute with
 * aggregates. `having` and `order` see keys and items by name, and may call aggregates of their
 * own. The scan's columns are not known here: a wrong name is the engine's to refuse. */
enum exec_code group_plan_make(struct plan_builder *plan, const struct group_request *request,
                               struct exec_error *err);

#endif
