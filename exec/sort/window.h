#ifndef EXEC_SORT_WINDOW_H
#define EXEC_SORT_WINDOW_H

#include "sort/sort.h"

/* Row numbers and ranks within partitions, as pipes: input -> window sink (rows kept per worker);
 * then the run pipe of a sort (sort/sort.h), which puts the hash of the partition keys before the
 * order keys; then the window source: one unit a range of hashes merges the runs, tells partitions
 * of equal hash apart and counts -> downstream. Output: the input's columns, then one int64 for
 * each function. The order of the output rows is not defined, what is on them is: rows equal in all
 * order keys are numbered in the order of their columns, so that the result does not depend on the
 * number of workers.
 *
 * With a limit on row_number or rank the sink drops rows early: it knows of every partition the
 * first `limit` rows so far of this worker (window_top.c), so that memory follows partitions, not
 * rows. It gives that up where it does not pay, which only costs time. A row_number whose output
 * is the keys alone, of few values each, keeps no row at all (window_places.h). */

struct window;

/* What is known of a column of the input: is_bounded: integers lie between least and most, floats
 * are finite. */
struct window_column {
    bool is_bounded, may_be_null;
    int64_t least, most;
};

struct window_plan {
    uint32_t rel;
    const struct exec_type *types; /* of the input's columns */
    uint32_t column_count;
    const struct sort_key *keys; /* partition keys (any direction), then order keys */
    uint32_t partition_count, order_count;
    const enum exec_window_function *functions; /* borrowed; the output's */
    uint32_t function_count;
    enum exec_window_function limited;   /* rows where this is at most `limit` come out */
    int64_t limit;                       /* -1: all */
    const struct window_column *columns; /* column_count of them; NULL: nothing is known */
    double rows;                         /* of the input, estimated; negative: unknown */
};

enum exec_code window_create(struct job_context *job, const struct window_plan *plan,
                             struct window **window_out, struct exec_error *err);
struct op_sink *window_sink(struct window *window);
struct op_source *window_run_source(struct window *window);
struct op_source *window_source(struct window *window);

#endif
