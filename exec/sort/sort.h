#ifndef EXEC_SORT_SORT_H
#define EXEC_SORT_SORT_H

#include "exec/job_spec.h"
#include "expr/expr.h"
#include "op/pipe.h"

/* Sort and top-n as pipes: input -> sort sink (rows kept per worker; top-n keeps offset + limit of
 * them in a heap); then the run pipe (one unit a run of at most 262,144 rows: sort it; NULL for
 * top-n); then the ordered source (serial: one worker at a time, in order) -> downstream. A limit +
 * offset of more than 8,192 rows is a sort that stops early, with a run pipe. Rows equal on all
 * keys come in the order of their columns from left to right, ascending, nulls last, so that the
 * result does not depend on the number of workers. */

struct sort;

struct sort_key {
    struct expr *expr;
    enum exec_direction direction; /* NaN sorts above every number, -0.0 equals 0.0 */
};

struct sort_plan {
    uint32_t rel;
    const struct exec_type *types; /* of the input's columns, which are also the output's */
    uint32_t column_count;
    const struct sort_key *keys;
    uint32_t key_count;
    int64_t limit;  /* -1: none */
    int64_t offset; /* rows skipped first */
    /* For windows; zero for a sort. Leading keys that only have to bring equal rows together: the
     * order begins with their hash. */
    uint32_t hashed_key_count, hash_bits_kept;
    bool prefix_is_keys; /* equal keys have equal prefixes */
};

enum exec_code sort_create(struct job_context *job, const struct sort_plan *plan,
                           struct sort **sort_out, struct exec_error *err);
struct op_sink *sort_sink(struct sort *sort);
struct op_source *sort_run_source(struct sort *sort); /* NULL: no run pipe */
struct op_source *sort_ordered_source(struct sort *sort);

#endif
