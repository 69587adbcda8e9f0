#ifndef CLIENT_SQL_SELECT_PLAN_H
#define CLIENT_SQL_SELECT_PLAN_H

#include "plan_builder.h"
#include "sql_parser.h"

/* A SELECT statement as a plan. */

/* A table the statement may name: its columns, and the scan that reads it. Each mention in the text
 * becomes a scan of its own. */
struct select_table {
    struct exec_schema schema;
    struct exec_rel scan;
};

struct select_catalog {
    /* The table of that name, living as long as the plan. NULL and err: there is none, or its
     * columns cannot be learnt. */
    const struct select_table *(*find)(void *owner, const char *name, struct exec_error *err);
    void *owner;
};

/* Adds the statement's plan; the plan's last relation is its root. On failure err->column is the
 * byte in the text, from 1. */
enum exec_code select_plan_make(struct plan_builder *plan, const struct select_catalog *catalog,
                                const struct sql_text *text, struct exec_error *err);

#endif
