#ifndef CLIENT_SQL_SELECT_TREE_H
#define CLIENT_SQL_SELECT_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Parse trees as such: walking them, comparing them, taking conjunctions apart. */

/* Called for every node object, {"ColumnRef": {...}}; false: not into its members. */
typedef bool tree_visit_fn(void *owner, const char *kind, json_t *body);
void tree_walk(json_t *tree, tree_visit_fn *visit, void *owner);

/* Whether a ColumnRef body names the same column as another. */
typedef bool tree_same_column_fn(void *owner, json_t *a, json_t *b);

/* The same expression, places in the text aside. */
bool tree_equal(json_t *a, json_t *b, tree_same_column_fn *same_column, void *owner);

bool tree_has(json_t *tree, const char *kind);

/* An aggregate call that is not a window function's; not inside subqueries. */
bool tree_has_aggregate(json_t *tree);

/* The members of a conjunction (or, with "OR_EXPR", a disjunction) appended to the array `parts`.
 */
void tree_flatten(json_t *tree, const char *boolop, json_t *parts);

const char *tree_string(json_t *node); /* {"String": {"sval": ...}} */

/* "=", "+" of a binary A_Expr of kind AEXPR_OP; NULL: no such node. */
const char *tree_operator(json_t *node, json_t **left_out, json_t **right_out);

/* The body of the node when it is of that kind; NULL: it is not. */
json_t *tree_body(json_t *node, const char *kind);

/* The last part of a FuncCall's name. */
const char *tree_function(json_t *func_call);

#endif
