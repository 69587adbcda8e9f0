#ifndef CLIENT_SQL_SQL_NODE_H
#define CLIENT_SQL_SQL_NODE_H

#include "sql_expr.h"

/* Inside of the lowering of expressions: one file a kind of node. Every function returns the index
 * of an expression, or 0 and lowering->err; those that take expressions pass a 0 on. `location` is
 * what messages and origins point at. */

/* ---- sql_expr.c */

const char *sql_string(json_t *node); /* {"String": {"sval": ...}} */
bool sql_is_null(json_t *node);       /* the constant NULL */
uint32_t sql_call1(struct sql_lowering *lowering, const char *function, uint32_t arg,
                   long location);
uint32_t sql_call2(struct sql_lowering *lowering, const char *function, uint32_t left,
                   uint32_t right, long location);
/* A call of all members of a list. */
uint32_t sql_call_list(struct sql_lowering *lowering, const char *function, json_t *list,
                       long location);
/* Of `count` expressions, NULL included as it is. */
uint32_t sql_call_many(struct sql_lowering *lowering, const char *function, const uint32_t *args,
                       uint32_t count, long location);
uint32_t sql_bool(struct sql_lowering *lowering, bool value);
uint32_t sql_int(struct sql_lowering *lowering, int64_t value);

/* ---- sql_predicate.c */

uint32_t sql_lower_a_expr(struct sql_lowering *lowering, json_t *body, long location);
uint32_t sql_lower_bool_expr(struct sql_lowering *lowering, json_t *body, long location);
uint32_t sql_lower_null_test(struct sql_lowering *lowering, json_t *body, long location);
uint32_t sql_lower_boolean_test(struct sql_lowering *lowering, json_t *body, long location);

/* ---- sql_compare.c */

/* left op right for "=", "<>", "<", "<=", ">", ">=": of values, of rows (a, b) of one length, or of
 * a difference of times with an interval. `function` is the engine's. */
uint32_t sql_compare(struct sql_lowering *lowering, const char *function, json_t *left,
                     json_t *right, long location);
/* A left side of several comparisons, lowered once: 0 with EXEC_OK for rows, whose values are
 * lowered for each. */
uint32_t sql_compared_once(struct sql_lowering *lowering, json_t *left);
uint32_t sql_compare_again(struct sql_lowering *lowering, const char *function, uint32_t once,
                           json_t *left, json_t *right, long location);
/* The engine's function of a comparison operator; NULL: it is none. */
const char *sql_comparison(const char *op);

/* ---- sql_choice.c */

uint32_t sql_lower_case(struct sql_lowering *lowering, json_t *body, long location);
uint32_t sql_lower_nullif(struct sql_lowering *lowering, json_t *left, json_t *right,
                          long location);

/* ---- sql_function.c */

uint32_t sql_lower_function(struct sql_lowering *lowering, json_t *body, long location);

/* ---- sql_interval.c */

/* An INTERVAL constant, or such in sums and products. */
bool sql_is_interval(json_t *node);
/* base + interval, or base - interval when negated. */
uint32_t sql_add_interval(struct sql_lowering *lowering, uint32_t base, json_t *interval,
                          bool negated, long location);

#endif
