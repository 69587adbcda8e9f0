#ifndef CLIENT_SQL_SELECT_QUERY_H
#define CLIENT_SQL_SELECT_QUERY_H

#include "select_plan.h"
#include "select_tree.h"
#include "sql_expr.h"
#include "sql_node.h"

#include <string.h>

/* One SELECT while it is lowered.
 *
 * Every column of every input has an id of its own. Names (select_name) lead to ids; a frame says
 * at which position of a relation an id is. Joins, filters and semi joins keep ids, groups keep
 * those of plain column keys: so an expression may be lowered over any frame that holds the ids it
 * names, and a subquery's expression may name columns of the query around it. Joins append their
 * right side's columns, so a subquery inside an expression may join itself to the frame without
 * moving what was lowered before. */

enum { SELECT_DEPTH_MAX = 32, SELECT_INPUTS_MAX = 64, SELECT_VALUES_MAX = 1000 };

struct frame_column {
    uint32_t id;
    struct exec_type type; /* kind EXEC_TYPE_NONE: not known here */
};

struct select_frame {
    uint32_t rel;
    struct frame_column *columns;
    uint32_t count, room;
};

struct select_name {
    const char *qualifier; /* NULL: none */
    const char *name;
    uint32_t id;
    bool qualified_only; /* hidden by USING: found as t.k, not as k nor by * */
};

struct select_names {
    struct select_name *items;
    uint32_t count, room;
};

/* WITH names, innermost first; a scope ends with its query. */
struct select_cte {
    const struct select_cte *next;
    const char *name;
    json_t *body;                     /* SelectStmt */
    json_t *columns;                  /* aliascolnames, or NULL */
    const struct select_cte *visible; /* what its own text sees */
};

/* One statement. */
struct select_run {
    struct plan_builder *plan;
    const struct select_catalog *catalog;
    const struct sql_text *text;
    struct exec_error *err;
    uint32_t id_count;
    uint32_t depth;
    uint32_t try_count; /* of select_try_again */
};

struct select_domain; /* select_domain.c */

/* A group key or an aggregate call: its text and the column that holds it behind the grouping. */
struct select_value {
    json_t *tree;
    uint32_t id;
    bool is_count; /* no row: 0, not NULL */
};

struct select_query {
    struct select_run *run;
    struct sql_lowering lowering;
    struct select_query *outer; /* NULL: none, or not to be seen */
    const struct select_cte *ctes;
    struct select_names names;
    struct select_frame *frame; /* what expressions are lowered over */
    bool frame_fixed;           /* no subquery may join itself to the frame now */
    bool grouped;               /* `frame` is behind the grouping */
    bool misses_groups;         /* ... and may lack a row for a group: a count is 0 there */
    struct select_value *keys, *calls;
    uint32_t key_count, call_count;
    const struct exec_grouping_set *sets; /* NULL: one of all keys */
    uint32_t set_count;
    uint32_t set_id;              /* the column of set numbers behind the grouping */
    struct select_value *windows; /* calls with OVER, once they are columns of the frame */
    uint32_t window_count;
    const struct select_domain *domain;       /* the first input of FROM; NULL: none */
    const struct select_domain *inner_domain; /* what a subquery gets as its domain now */
    json_t *correlated; /* conjuncts of WHERE that name columns of `outer` (owned array) */
};

/* What a SELECT gives: a frame of exactly its columns, and their names. */
struct select_output {
    struct select_frame frame;
    const char **names;
    bool one_row; /* at most one row, whatever the data */
};

/* ---- select_names.c */

void frame_add(struct plan_builder *plan, struct select_frame *frame, uint32_t id,
               const struct exec_type *type);
void frame_append(struct plan_builder *plan, struct select_frame *to,
                  const struct select_frame *from);
uint32_t frame_position(const struct select_frame *frame, uint32_t id); /* from 1; 0: not there */
void names_add(struct plan_builder *plan, struct select_names *names, const char *qualifier,
               const char *name, uint32_t id, bool qualified_only);
void names_append(struct plan_builder *plan, struct select_names *to,
                  const struct select_names *from);
uint32_t select_new_id(struct select_run *run);

/* The column a ColumnRef names, here or (outward) in the queries around; 0 and lowering->err.
 * *query_out (may be NULL) is the query whose name it is. */
uint32_t select_resolve(struct select_query *query, json_t *column_ref,
                        struct select_query **query_out);

/* The same without an error: 0 when there is no such column or more than one. */
uint32_t select_resolve_quietly(struct select_query *query, json_t *column_ref,
                                struct select_query **query_out);

bool select_same_column(void *query, json_t *a, json_t *b);

void select_query_init(struct select_query *query, struct select_run *run,
                       struct select_query *outer, const struct select_cte *ctes);
void select_query_fini(struct select_query *query);

/* ---- select_expr.c */

/* The lowering's hook: what sql_expr.c cannot know. */
bool select_hook(struct sql_lowering *lowering, json_t *node, uint32_t *expr_out);
uint32_t select_expr(struct select_query *query, json_t *node);
struct exec_type select_type(const struct select_query *query, uint32_t expr);
uint32_t select_column(struct select_query *query, uint32_t id, long location);

struct select_input {
    struct select_frame frame;
    struct select_names names;
};

/* ---- select_from.c */

/* FROM and WHERE: query->names, and *query->frame. */
enum exec_code select_from(struct select_query *query, json_t *select);

/* left JOIN right, as a frame; key_count 0: every row with every row. Columns of the right side are
 * kept unless the kind is a semi or anti join; a mark join's column is the last and has id
 * `mark_id`. */
struct select_join {
    enum exec_join_kind kind;
    uint32_t left_keys[EXEC_KEYS_MAX], right_keys[EXEC_KEYS_MAX];
    uint32_t key_count, residual, mark_id;
    bool nulls_equal; /* of all keys, or of one */
    bool key_nulls_equal[EXEC_KEYS_MAX];
};
void select_join_frames(struct select_query *query, struct select_frame *left,
                        const struct select_frame *right, const struct select_join *join);
enum exec_code select_join_key(struct select_query *query, struct select_join *join, uint32_t left,
                               uint32_t right, long location);

/* LATERAL (SELECT ...): its rows for those of `left` as `right`, and the keys that join them. */
bool select_is_lateral(json_t *node);
enum exec_code select_lateral(struct select_query *query, json_t *node, struct select_input *left,
                              struct select_input *right, struct select_join *join);
enum exec_code select_lower_item(struct select_query *query, json_t *node,
                                 struct select_frame *frame, struct select_names *names);

/* ---- select_join.c */

/* A JoinExpr. */
enum exec_code select_join_expr(struct select_query *query, json_t *body,
                                struct select_frame *frame, struct select_names *names);

/* ---- select_where.c */

void select_filter(struct select_query *query, struct select_frame *frame, uint32_t predicate);
uint32_t select_both(struct select_query *query, uint32_t left, uint32_t right); /* 0: none */

enum exec_code select_where(struct select_query *query, struct select_input *inputs,
                            uint32_t input_count, json_t *where, struct select_frame *out);

/* A conjunct of WHERE or HAVING over *query->frame, subqueries and all. */
enum exec_code select_conjunct(struct select_query *query, json_t *conjunct);

/* ---- select_group.c */

struct select_target {
    const char *name;
    bool named;
    json_t *tree; /* NULL: the column `id` */
    uint32_t id;
    long location;
};

struct select_targets {
    struct select_target *items;
    uint32_t count, room;
};

/* Groups *query->frame when the SELECT does. */
enum exec_code select_group(struct select_query *query, json_t *select,
                            const struct select_targets *targets);

/* Groups *query->frame by `keys` (expressions over it) with the aggregate calls in `trees`. Key
 * columns get the ids in key_ids. */
enum exec_code select_aggregate(struct select_query *query, const uint32_t *keys,
                                const uint32_t *key_ids, uint32_t key_count, json_t *trees);

struct select_keys {
    uint32_t exprs[EXEC_KEYS_MAX], ids[EXEC_KEYS_MAX];
    uint32_t count;
};

/* A plain item of GROUP BY, its position (from 0) among the keys. */
enum exec_code select_add_key(struct select_query *query, struct select_keys *keys, json_t *item,
                              const struct select_targets *targets, uint32_t *position_out);

/* ---- select_sets.c */

/* Any item of GROUP BY: keys, and query->sets where there are grouping sets. */
enum exec_code select_group_item(struct select_query *query, struct select_keys *keys, json_t *item,
                                 const struct select_targets *targets);
void select_distinct_sets(struct select_query *query); /* GROUP BY DISTINCT */

/* grouping(a, b): a bit an argument, the last one lowest; set where the key is not in the set. */
uint32_t select_grouping(struct select_query *query, json_t *args, long location);

/* ---- select_setop.c */

enum exec_code select_set(struct select_query *query, json_t *select, struct select_output *out);

/* ---- select_window.c */

/* Keys and functions of one window relation; indices of expressions. */
struct select_window {
    const uint32_t *partition;
    uint32_t partition_count;
    const struct exec_sort_key *order;
    uint32_t order_count;
    const struct exec_named_window *functions;
    uint32_t function_count;
    int64_t limit; /* -1: none */
};
uint32_t select_window_rel(struct select_query *query, uint32_t input,
                           const struct select_window *window);

/* Every call with OVER in select list, DISTINCT ON and ORDER BY becomes a column of *query->frame.
 */
enum exec_code select_windows(struct select_query *query, json_t *select,
                              const struct select_targets *targets);
uint32_t select_window_value(struct select_query *query, json_t *node, long location);

/* DISTINCT ON: of the rows of *query->frame with equal keys the first stays. */
enum exec_code select_first_rows(struct select_query *query, const uint32_t *keys,
                                 uint32_t key_count, const struct exec_sort_key *order,
                                 uint32_t order_count, long location);

/* A column more: the how-many-th a row is of those equal to it. */
void select_number_equal_rows(struct select_query *query, struct select_frame *frame);

/* ---- select_sublink.c */

/* A subquery as a value. */
uint32_t select_sublink_value(struct select_query *query, json_t *sublink);

/* [NOT] EXISTS, [NOT] IN as a condition: a semi or anti join. False: not of that shape. */
bool select_sublink_condition(struct select_query *query, json_t *conjunct,
                              enum exec_code *code_out);

/* ---- select_limit.c */

/* LIMIT, OFFSET and FETCH of the rows of `frame`, *query->frame or the output's, whose sort is the
 * last relation made; within a domain for each of its rows. Sets out->one_row when one is the most.
 */
enum exec_code select_limit(struct select_query *query, json_t *select, struct select_frame *frame,
                            struct select_output *out);

/* ---- select_domain.c */

/* Distinct values of outer columns: `frame` has them under their ids. */
struct select_domain {
    struct select_frame frame;
    uint32_t ids[EXEC_KEYS_MAX];
    uint32_t count;
};

/* The domain of a subquery: the columns of *outer->frame it may name. NULL: it names none. */
const struct select_domain *select_domain_of(struct select_query *outer, json_t *select);

/* Lowers the subquery within it: the last `count` columns of the output are the domain's, under ids
 * of their own, and out->one_row is meant for each of its rows. */
enum exec_code select_domain_lower(struct select_query *outer, json_t *select,
                                   const struct select_domain *domain, struct select_output *out);

/* Keys that join *outer->frame with such an output, whose columns of the domain begin at
 * first_column (from 1); the same as a residual. */
enum exec_code select_domain_join(struct select_query *outer, const struct select_domain *domain,
                                  uint32_t first_column, struct select_join *join);
void select_domain_residual(struct select_query *outer, const struct select_domain *domain,
                            uint32_t first_column, struct select_join *join);

/* What the parts of a query with a domain do: the first input of FROM; the columns, as group keys
 * that are not yet among `ids`, and as expressions of the output (their number); a row for each of
 * its rows behind a grouping without keys. */
void select_domain_input(struct select_query *query, struct select_frame *frame);
enum exec_code select_domain_keys(struct select_query *query, uint32_t *exprs, uint32_t *ids,
                                  uint32_t *count);
uint32_t select_domain_exprs(struct select_query *query, uint32_t *exprs_out);
enum exec_code select_domain_fill(struct select_query *query);

/* Lowering something in one way and, when that ends in EXEC_NOT_IMPLEMENTED, in another: the plan
 * and *query->frame are as they were at the mark. False: the failure stays. */
struct select_mark {
    uint32_t rel_count, expr_count, id_count;
    struct select_frame frame;
};
struct select_mark select_mark(const struct select_query *query);
bool select_try_again(struct select_query *query, const struct select_mark *mark);

/* ---- select_plan.c */

enum exec_code select_lower(struct select_run *run, json_t *select, struct select_query *outer,
                            const struct select_cte *ctes, struct select_output *out);
void select_distinct(struct select_query *query, struct select_frame *frame);
enum exec_code select_with(struct select_query *query, json_t *select);
enum exec_direction select_direction(json_t *sort_by); /* the body of a SortBy */

/* ---- select_values.c */

/* A relation of `count` rows with one column, the row's number from 0; adds it to the frame. */
uint32_t select_rows(struct select_run *run, struct select_frame *frame, int64_t count);
enum exec_code select_values(struct select_query *query, json_t *lists, struct select_output *out);

/* A projection of `exprs` (over *query->frame) as the output. */
void select_project(struct select_query *query, const uint32_t *exprs, const char **names,
                    uint32_t count, struct select_output *out);
bool select_is_null(json_t *node); /* the constant NULL */

#endif
