#ifndef TESTS_EXEC_OP_HARNESS_H
#define TESTS_EXEC_OP_HARNESS_H

#include "exec/types.h"
#include "expr/expr.h"
#include "op/job_context.h"
#include "op/pipe.h"

#include <stdint.h>

/* Runs operators without scheduler and pipes: tables of cells go in batch by batch, lines of text
 * come out. Any worker count is played by one thread or by real ones. The neighbours' functions an
 * operator calls (pipe_push, job_fail, ...) are the harness's own.
 *
 * Refusals: before it takes a batch, the end of the pipe answers PUSH_SUSPEND `refusals` times;
 * every suspended batch is pushed again on another worker. Time is up at every `time_every`-th
 * question. */

enum { CELL_TEXT_BYTES = 40 };

struct cell {
    bool null;
    __int128 integer; /* every integer type, bool, date32, timestamp, decimal */
    double real;      /* float32, float64 */
    char text[CELL_TEXT_BYTES];
    uint32_t text_bytes;
};

struct cells {
    uint32_t row_count, column_count;
    const struct exec_type *types;
    struct cell *at; /* row by row */
};

struct cells cells_make(uint32_t row_count, const struct exec_type *types, uint32_t column_count);
void cells_free(struct cells *cells);
static inline struct cell *cells_at(const struct cells *cells, uint32_t row, uint32_t column)
{
    return &cells->at[(size_t)row * cells->column_count + column];
}

/* splitmix64 */
uint64_t random_next(uint64_t *seed);

/* A value of the type out of `distinct` small ones; extremes and specials among them now and then.
 */
void cell_random(struct cell *cell, const struct exec_type *type, uint64_t distinct,
                 uint32_t null_percent, uint64_t *seed);

/* As SQL's IS NOT DISTINCT FROM. */
bool cell_equal(const struct cell *a, const struct cell *b, const struct exec_type *type);
int cell_compare(const struct cell *a, const struct cell *b, const struct exec_type *type);

struct lines {
    uint64_t count, capacity;
    char **at;
};
void lines_add(struct lines *lines, const struct cell *const *cells,
               const struct exec_type *const *types, uint32_t count);
void lines_sort(struct lines *lines);
void lines_free(struct lines *lines);
/* Fails the test with the first difference. Sorts both. */
void lines_assert_equal(struct lines *got, struct lines *wanted, const char *what);

struct harness {
    struct job_context job;
    struct exec_error failure;
    struct pipe_run *runs; /* one a worker */
    uint32_t refusals;
    uint32_t time_every;
    uint64_t batches_pushed;
    bool count_only; /* no lines: rows are counted */
    bool threads;    /* one real thread a worker */
    uint64_t rows_out;
    uint32_t rows_batch_max;
    uint32_t stop_after;             /* > 0: PUSH_STOP at that many rows */
    uint64_t cancel_after;           /* > 0: the job is stopped at that many rows */
    uint64_t cancel_after_questions; /* > 0: ... when the time has been asked that often */
    struct lines lines;
    const struct exec_type *out_types; /* of the batches that come out */
    /* By column of the cells that are fed: some batches bring their texts' codes; NULL: none. */
    const struct dictionary *const *dictionaries;
    void *internal;
};

void harness_init(struct harness *harness, uint32_t workers, uint32_t hash_bits_kept,
                  uint64_t limit_bytes);
void harness_fini(struct harness *harness);

/* Every row of `cells` goes into the sink or through the operator, in batches of odd sizes, some
 * with selection vectors and constant columns, dealt out over the workers. */
void harness_feed_sink(struct harness *harness, struct op_sink *sink, const struct cells *cells);
void harness_feed_operator(struct harness *harness, struct operator* op, const struct cells *cells);
/* Runs a source to its end. */
void harness_run_source(struct harness *harness, struct op_source *source);
enum exec_code harness_finish_sink(struct harness *harness, struct op_sink *sink);

struct expr *harness_column(struct harness *harness, uint32_t column, const struct exec_type *type);
/* left < right over two columns; null unless both are present. */
struct expr *harness_less(struct harness *harness, uint32_t left, uint32_t right);

#endif
