#ifndef EXEC_OP_GROUP_H
#define EXEC_OP_GROUP_H

#include "exec/job_spec.h"
#include "expr/expr.h"
#include "op/pipe.h"

/* Grouped and ungrouped aggregation as two pipes: input -> group sink (per-worker pre-aggregation,
 * misses to radix partitions); then group source (one unit a partition: merge, then push its
 * groups)
 * -> downstream. Without keys there is one group, also over no rows. */

struct group;
struct column_stats;

enum group_form {
    GROUP_KERNEL,
    GROUP_PAIR,
    GROUP_HASHED,
    GROUP_BEST,
    GROUP_SET,
    GROUP_BAG,
    GROUP_TALLY
};
enum group_takes {
    TAKES_ANY,
    TAKES_NUMBER,
    TAKES_REAL,
    TAKES_INTEGER,
    TAKES_BOOL,
    TAKES_TEXT,
    TAKES_PRINTED
};
enum group_gives { GIVES_SAME, GIVES_INT64, GIVES_FLOAT64, GIVES_SUM, GIVES_TEXT };
enum { AGG_ORDER = 1, AGG_FRACTION = 2, AGG_SEPARATOR = 4, AGG_ONCE = 8, AGG_OWN_ORDER = 16 };

/* States that hold rows: every one, or each value once; the latter as a set. */
static inline bool group_form_is_set(enum group_form form)
{
    return form == GROUP_SET || form == GROUP_TALLY;
}
static inline bool group_form_keeps(enum group_form form)
{
    return group_form_is_set(form) || form == GROUP_BAG;
}

/* A line of op/aggregate.def. */
struct group_function {
    const char *text; /* "count_star", "sum" */
    uint8_t argument_count, form, takes, gives, extras;
};
/* NULL: no such function. */
const struct group_function *group_function(enum exec_aggregate_function function);

struct group_measure {
    enum exec_aggregate_function function;
    struct expr *argument;   /* NULL for COUNT_STAR */
    uint32_t argument_index; /* 1-based in the spec; 0: none */
    struct expr *filter;     /* boolean; NULL: every row */
    struct exec_type type;   /* of the result, from group_measure_bind */
    bool distinct;
    struct expr **others; /* the second argument, then the keys of the order */
    uint32_t other_count;
    const enum exec_direction *directions; /* of `others`; a second argument's is not read */
    enum exec_direction own_direction;     /* of the argument, where the order ends; 0: ascending */
    double fraction;                       /* 0..1 */
    struct expr
        *state; /* FINAL: of binary states; then the arguments stand for their types alone */
    const char *separator;
    uint32_t separator_bytes;
};

/* What is known of a column of the input batches: all its values are among those the statistics
 * are of (NULL: nothing is known), but for nulls where it gains some. */
struct group_column {
    const struct column_stats *stats;
    bool gains_nulls;
};

/* Borrowed from the plan arena. Output columns: the keys, then the measures. */
struct group_plan {
    uint32_t rel;
    struct expr *const *keys;
    uint32_t key_count;
    const struct group_measure *measures;
    uint32_t measure_count;
    /* Grouping sets: the first key is the set's number; those of `totals` have no key, and so a
     * group also of no rows. */
    const int64_t *totals;
    uint32_t total_count;
    bool is_partial; /* binary states come out instead of results (op/group_phase.h) */
    const struct group_column *columns; /* NULL: nothing is known of the input */
    uint32_t column_count;
    double rows; /* of the input, estimated; negative: unknown */
};

/* Checks the arguments' types, casts them where the function wants it, settles what distinct means
 * and fills in the result's type. EXEC_TYPE_MISMATCH names function and type, EXEC_NOT_IMPLEMENTED
 * the function. Result types: counts int64; sum(int8..32, uint8..32) int64, sum(int64, uint64)
 * decimal128(38,0), sum(decimal(p,s)) decimal128(38,s), sum(float) float64; avg float64; min, max
 * the argument's type; which others, op/aggregate.def says. */
enum exec_code group_measure_bind(struct nu_arena *arena, struct group_measure *measure,
                                  struct exec_error *err);
enum group_form group_measure_form(const struct group_measure *measure);

/* The type alone, of functions of one argument. */
enum exec_code group_measure_type(enum exec_aggregate_function function,
                                  const struct exec_type *argument, struct exec_type *type_out,
                                  struct exec_error *err);
const char *group_function_name(enum exec_aggregate_function function); /* "count_star", "sum" */

enum exec_code group_create(struct job_context *job, const struct group_plan *plan,
                            struct group **group_out, struct exec_error *err);
struct op_sink *group_sink(struct group *group);
struct op_source *group_source(struct group *group);

/* For explain --analyze. */
struct group_figures {
    uint64_t groups, hot_hits, hot_misses, memory_bytes;
    uint32_t partitions, nodes; /* the partitions are merged on so many nodes */
};
void group_figures(const struct group *group, struct group_figures *out);

#endif
