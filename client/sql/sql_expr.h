#ifndef CLIENT_SQL_SQL_EXPR_H
#define CLIENT_SQL_SQL_EXPR_H

#include "plan_builder.h"
#include "sql_parser.h"
#include "sql_scope.h"

/* PostgreSQL expression trees to entries of a plan. What cannot be said in a plan ends in
 * EXEC_NOT_IMPLEMENTED naming it, with its place in the text. */

struct sql_aggregates; /* sql_aggregate.h */

struct sql_lowering {
    struct plan_builder *plan;
    const struct sql_scope *scope;
    const struct sql_text *text;
    struct sql_aggregates *aggregates; /* NULL: an aggregate call is an error here */
    struct exec_error *err;
    uint32_t depth;
    /* Asked first about every node: true when it lowered the node (0: it failed) into *expr_out.
     * NULL: none. */
    bool (*hook)(struct sql_lowering *lowering, json_t *node, uint32_t *expr_out);
    void *hook_owner;
    bool exact_literals; /* 0.1 is a decimal, not a float64 */
};

/* The index of the expression, or 0 and lowering->err. */
uint32_t sql_lower_expr(struct sql_lowering *lowering, json_t *node);

/* The one member of a node object, {"ColumnRef": {...}}: its kind and its body. */
const char *sql_node_kind(json_t *node, json_t **body_out);

/* Where a node starts; the place of its first operand for operators. */
long sql_node_location(json_t *node);

/* A ColumnRef's parts; false: not a plain [qualifier.]name. A star has *name_out NULL. */
bool sql_column_parts(json_t *column_ref, const char **qualifier_out, const char **name_out);

struct plan_origin sql_origin(const struct sql_lowering *lowering, long location);

/* A TypeName of the tree; false and lowering->err. */
bool sql_lower_type(struct sql_lowering *lowering, json_t *type_name, struct exec_type *type_out);

/* A literal of the tree (A_Const body). */
bool sql_lower_literal(struct sql_lowering *lowering, json_t *body, struct exec_literal *out);

/* Fails with a place; returns 0. */
uint32_t sql_refuse(struct sql_lowering *lowering, long location, enum exec_code code,
                    const char *fmt, ...) EXEC_PRINTF(4, 5);

#endif
