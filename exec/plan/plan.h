#ifndef EXEC_PLAN_PLAN_H
#define EXEC_PLAN_PLAN_H

#include "exec/exec.h"
#include "expr/expr.h"
#include "op/group.h"
#include "op/job_context.h"
#include "op/join.h"
#include "op/pipe_life.h"
#include "op/scan_files.h"
#include "sort/sort.h"
#include "sort/window.h"
#include "table/table.h"

/* From a checked spec to wired pipes, on one worker, in the job's plan arena:
 *
 *   plan_create -> plan_open (files start opening) -> ... opened ... -> plan_bind (names, types)
 *   -> plan_rewrite (filters down, limits into sorts, build sides, unused columns) -> plan_lower
 *
 * Expressions of a relation refer to the columns of its inputs' schemas until lowering, which knows
 * where each column really is in the batches. */

enum { PLAN_ROWS_UNKNOWN = -1 };

/* What is known of a column's values; min and max also of dates and timestamps. */
struct column_estimate {
    double distinct; /* 0: unknown */
    bool has_bounds;
    double min, max;
    /* Of the table column whose values these are, some perhaps missing, some perhaps more than
     * once; NULL: not from a table alone. Exact, unlike the rest. */
    const struct column_stats *stats;
    bool gains_nulls; /* on the way from there, by an outer join */
};

struct plan_rel {
    uint32_t index; /* 1-based, of the spec */
    const struct exec_rel *spec;
    struct plan_rel **inputs;
    uint32_t input_count;
    struct exec_schema schema;       /* of the output, unused columns included */
    double rows;                     /* estimate, or PLAN_ROWS_UNKNOWN */
    bool rows_exact;                 /* the estimate is a count */
    double rows_base;                /* before predicates; what a key refers to */
    struct column_estimate *columns; /* of the output */

    /* Over the relation's own output, evaluated right behind it: a filter's own predicates, a
     * scan's filter, and what was pushed here from above. */
    struct expr **predicates;
    uint32_t predicate_count, pushed_count;

    struct expr **exprs; /* project: columns; aggregate, distinct: keys; sort: keys; join: left
                           keys; window: partition keys, then order keys */
    struct expr **right_keys;
    uint32_t key_count; /* join: of both; not the spec's, see bind_join.c */
    bool *nulls_equal;
    struct expr *residual;   /* over left columns, then right columns: */
    struct expr *verdict;    /* mark, null-aware anti: likewise; see op/join.h */
    struct exec_schema both; /* join: that schema */
    bool is_exists;          /* mark: false, never unknown, without a match */
    struct group_measure *measures;
    bool groups_first;          /* grouping sets: made out of the groups of all keys */
    struct expr ***union_exprs; /* of each input: its columns cast to the common types */

    struct table *table;      /* scan of a table: a reference, until lowered */
    struct scan_files *files; /* scan of files: open, until lowered */
    uint32_t *source_columns; /* scan: where each column of the schema is in table or file */

    enum exec_join_kind join_kind;   /* join: the spec's, but INNER for CROSS */
    bool builds_left;                /* join: the left input is in the hash table */
    bool is_ordered, is_reordered;   /* join: its cluster has been looked at; made by it */
    bool emits_build;                /* join: semi, anti, mark of the build side's rows */
    enum exec_join_kind probe_kind;  /* join: seen from the probe side */
    int64_t sort_limit, sort_offset; /* sort: with the limit above it folded in; -1: none */
    int64_t window_limit;            /* window: rows where `limited` is at most this; -1: all */
    enum exec_window_function limited;
    bool is_folded; /* limit: done by the sort below */
    bool *needed;   /* output columns somebody above or a predicate reads */

    /* After lowering, for explain --analyze: counters whose sum is the output before and after the
     * predicates. NULL: the same rows as the input's. */
    const _Atomic uint64_t *rows_out[2], *rows_filtered;
    struct join *join;
    struct group *group;
};

struct plan {
    struct job_context *job;
    const struct exec_job_spec *spec;
    /* In the order of the spec; a relation with several users is there once for each, as are those
     * below it, so that the plan is a tree. Scans that were added (reduce.c, at most one a
     * relation) stand behind. */
    struct plan_rel *rels;
    uint32_t rel_count;
    struct plan_rel **ordered; /* what hangs below the root, inputs before users */
    uint32_t ordered_count;
    struct plan_rel *root;
    struct pipe **pipes; /* all of them, in an order in which they could run one after another */
    uint32_t pipe_count, pipe_capacity;
    pipe_ended_fn *ended;
    uint32_t morsel_rows; /* 0: adaptive */
    double rows_total;    /* of all scans; 0: unknown */
};

/* Where rows are while a plan is lowered: pipes that still lack a sink, and where each column of
 * the relation's schema is in their batches. */
struct stream {
    struct pipe **pipes;
    uint32_t pipe_count;
    uint32_t *map; /* schema column -> batch column; UINT32_MAX: not there */
    struct exec_type *types;
    uint32_t column_count; /* of the batches */
    bool is_ordered;       /* rows arrive in order, one worker at a time */
};

/* NULL: out of memory. */
struct plan *plan_create(struct job_context *job, const struct exec_job_spec *spec,
                         uint32_t morsel_rows, pipe_ended_fn *ended);

/* Takes hold of every table, starts opening every file and reading the time zones it may need.
 * `opened` runs once a file scan and, with files NULL, once for all zones, on io's threads. Returns
 * how many will come (rel_count + 1 at most), or UINT32_MAX when memory ran out (some may come all
 * the same: *started_out of them). */
uint32_t plan_open(struct plan *plan, scan_files_opened_fn *opened, void *owner,
                   uint32_t *started_out);

/* zones.c: zones not known yet; `opened` will run when *started_out. Or EXEC_MEMORY_BUDGET. */
enum exec_code plan_load_zones(struct plan *plan, scan_files_opened_fn *opened, void *owner,
                               bool *started_out, struct exec_error *err);

/* Both fill err with rel and, where one is meant, expr. */
enum exec_code plan_bind(struct plan *plan, struct exec_error *err);
enum exec_code plan_rewrite(struct plan *plan, struct exec_error *err);

/* Wires every pipe; the last ones (*root_out) end in no sink yet. When it fails, pipes made so far
 * are in plan->pipes and must be launched all the same, in a failed job, so that they close what
 * they hold. */
enum exec_code plan_lower(struct plan *plan, struct stream *root_out, struct exec_error *err);

/* Gives back what the plan itself still holds (files, table references) and no pipe has taken over.
 */
void plan_abandon(struct plan *plan);

/* ---- between the files of this folder
 * ------------------------------------------------------------ */

/* From the plan arena, zeroed; NULL with *err filled in. */
void *plan_calloc(struct plan *plan, size_t count, size_t width, struct exec_error *err);
enum exec_code plan_no_memory(struct plan *plan, struct exec_error *err);
/* Fills in err->rel where it is still 0; returns err->code. */
enum exec_code plan_fail_rel(const struct plan_rel *rel, struct exec_error *err);
enum exec_code plan_bind_expr(struct plan *plan, const struct plan_rel *rel, uint32_t index,
                              const struct exec_schema *input, struct expr **out,
                              struct exec_error *err);
enum exec_code plan_need_bool(const struct expr *expr, uint32_t index, const char *field,
                              struct exec_error *err);
/* Expressions in exprs and right_keys of a join: behind the keys the values of an as-of join. */
static inline uint32_t plan_key_exprs(const struct plan_rel *rel)
{
    return rel->key_count + (rel->join_kind == EXEC_JOIN_ASOF);
}
enum exec_code plan_bind_join(struct plan *plan, struct plan_rel *rel, struct exec_error *err);
/* Sets rel->both from its inputs. */
enum exec_code plan_join_both(struct plan *plan, struct plan_rel *rel, struct exec_error *err);
/* Conjuncts of a join's residual that equate the sides become hash keys. */
enum exec_code plan_join_keys(struct plan *plan, struct plan_rel *rel, struct exec_error *err);
/* The conjunction; either may be NULL. */
enum exec_code plan_and(struct plan *plan, struct expr *a, struct expr *b, struct expr **out,
                        struct exec_error *err);
/* The predicates over the columns [first, end) alone that a disjunction over column_count columns
 * implies; *count_out may be 0. */
enum exec_code plan_implied(struct plan *plan, struct expr *predicate, uint32_t column_count,
                            uint32_t first, uint32_t end, struct expr ***list_out,
                            uint32_t *count_out, struct exec_error *err);
enum exec_code plan_bind_scan(struct plan *plan, struct plan_rel *rel, struct exec_error *err);
enum exec_code plan_bind_predicate(struct plan *plan, struct plan_rel *rel, uint32_t expr,
                                   const struct exec_schema *input, struct exec_error *err);
enum exec_code plan_bind_measure(struct plan *plan, struct plan_rel *rel, uint32_t measure,
                                 struct exec_error *err);
enum exec_code plan_bind_window(struct plan *plan, struct plan_rel *rel, struct exec_error *err);
/* A predicate over a window's output: whether it goes to the input (where its columns have the same
 * numbers), as it reads plain partition keys only; and whether the window's limit now does what it
 * asks for. Where it asks for a single number the limit is set all the same, and it stays. */
bool plan_window_passes(struct plan *plan, const struct plan_rel *rel, const struct expr *predicate,
                        struct exec_error *err);
bool plan_window_limits(struct plan_rel *rel, const struct expr *predicate);
enum exec_code plan_add_predicate(struct plan *plan, struct plan_rel *rel, struct expr *predicate,
                                  struct exec_error *err);
/* Conjuncts a join gets from above: a key where it equates the sides, else part of the residual. */
enum exec_code plan_join_condition(struct plan *plan, struct plan_rel *rel, struct expr *condition,
                                   struct exec_error *err);
void plan_estimate(struct plan_rel *rel);
/* Orders, estimates and prunes anew, after the tree has changed. */
enum exec_code plan_look_again(struct plan *plan, struct exec_error *err);
/* Semi joins where they save most; see reduce.c. */
enum exec_code plan_reduce(struct plan *plan, struct exec_error *err);
enum exec_code plan_order_joins(struct plan *plan, struct exec_error *err);
/* Of the columns somebody needs. */
double plan_row_bytes(const struct plan_rel *rel);
/* Groups of one grouping set of an aggregate whose input's rows are known. */
double plan_set_rows(const struct plan_rel *rel, const struct exec_grouping_set *set);
/* Distinct values of an expression over rel's output; 0: unknown. */
double plan_distinct(const struct plan_rel *rel, const struct expr *expr);

/* One side of a join's keys: distinct values of each (0: unknown), and rows before predicates. */
struct key_side {
    const double *distinct;
    double rows;
};
/* Which share of all pairs of rows agrees in the keys. */
double plan_keys_selectivity(const struct key_side *left, const struct key_side *right,
                             uint32_t key_count);
#define PLAN_SELECTIVITY_UNKNOWN (1.0 / 3) /* of a predicate nothing is known of */
enum exec_code plan_prune(struct plan *plan, struct exec_error *err);

/* Appends to the detail which columns of its input the expression err->expr of relation err->rel
 * reads, four at most; nothing where it reads none. */
void plan_name_columns(const struct plan *plan, struct exec_error *err);

struct pipe *plan_add_pipe(struct plan *plan, struct op_source *source, struct exec_error *err);
enum exec_code plan_append(struct plan *plan, const struct stream *stream, struct operator* op,
                           struct exec_error *err);
enum exec_code plan_lower_rel(struct plan *plan, struct plan_rel *rel, struct stream *out,
                              struct exec_error *err);
/* The input's stream with the columns somebody needs and no others: for those who keep rows. */
enum exec_code plan_lower_narrow(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                 struct exec_error *err);
enum exec_code plan_lower_window(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                 struct exec_error *err);
enum exec_code plan_lower_join(struct plan *plan, struct plan_rel *rel, struct stream *out,
                               struct exec_error *err);
enum exec_code plan_lower_group(struct plan *plan, struct plan_rel *rel, struct stream *out,
                                struct exec_error *err);
/* A stream of one pipe from `source` that waits for all pipes of `before`; its column c is schema
 * column c of the relation. */
enum exec_code plan_new_stream(struct plan *plan, const struct plan_rel *rel,
                               struct op_source *source, const struct stream *before,
                               struct stream *out, struct exec_error *err);
void plan_end_stream(const struct stream *stream, struct op_sink *sink);
struct expr *plan_remap(struct plan *plan, const struct expr *expr, const uint32_t *map,
                        struct exec_error *err);
/* All of them; NULL with *err filled in. */
struct expr **plan_remap_all(struct plan *plan, struct expr *const *exprs, uint32_t count,
                             const uint32_t *map, struct exec_error *err);

#endif
