#ifndef EXEC_EXPR_EXPR_H
#define EXEC_EXPR_EXPR_H

#include "exec/error.h"
#include "exec/job_spec.h"
#include "numa/arena.h"
#include "vec/batch.h"

/* Expressions: bound once to typed nodes (names resolved, casts made explicit, constants folded),
 * then evaluated batch by batch. Bound expressions are immutable and shared by workers. */

struct expr; /* a bound expression, owned by the arena it was bound in */

/* What names and column numbers refer to: one input, or the two of a join residual (side 1, 2;
 * columns of the right side follow those of the left in the batch it is evaluated on). */
struct expr_scope {
    const struct exec_schema *inputs[2];
    uint32_t input_count;
};

/* Bind spec->exprs[index - 1]. Fails with EXEC_COLUMN_NOT_FOUND (also an ambiguous name: says so),
 * EXEC_TYPE_MISMATCH, EXEC_NOT_IMPLEMENTED (names the function) or EXEC_BAD_SPEC; err->expr is set,
 * the caller fills err->rel. A folded constant that raises stays unfolded and raises when (and only
 * if) a row is evaluated. */
enum exec_code expr_bind(struct nu_arena *arena, const struct exec_job_spec *spec, uint32_t index,
                         const struct expr_scope *scope, struct expr **expr_out,
                         struct exec_error *err);

/* A column of the input as an expression; for plans the engine makes itself. NULL: out of memory.
 */
struct expr *expr_column(struct nu_arena *arena, uint32_t column, const struct exec_type *type);

/* A call of a function of signatures.def over bound expressions, likewise. Fails as expr_bind does.
 */
enum exec_code expr_call(struct nu_arena *arena, const char *function, struct expr *const *args,
                         uint32_t arg_count, struct expr **expr_out, struct exec_error *err);

/* Wrap in a cast; the expression itself when the type is equal already. EXEC_TYPE_MISMATCH when no
 * such cast exists. */
enum exec_code expr_cast(struct nu_arena *arena, struct expr *expr, const struct exec_type *to,
                         struct expr **expr_out, struct exec_error *err);

/* The type both sides of a comparison, join key or CASE branch are cast to, by value: int/int
 * widens, int/float compares by value, decimals take the larger scale, date/timestamp go to the
 * timestamp. False: not comparable. */
bool expr_common_type(const struct exec_type *a, const struct exec_type *b,
                      struct exec_type *common_out);

const struct exec_type *expr_type(const struct expr *expr);
bool expr_is_column(const struct expr *expr, uint32_t *column_out); /* 0-based */
/* What a cast casts; NULL: it is no cast, or one that turns failures into nulls. */
const struct expr *expr_cast_argument(const struct expr *expr);
/* Whether it is a call of that function; then its arguments. */
bool expr_is_call(const struct expr *expr, const char *function, struct expr *const **args_out,
                  uint32_t *arg_count_out);
/* Whether it is a literal number, date or timestamp that is not null; then about which. */
bool expr_is_number(const struct expr *expr, double *number_out);
/* Whether both are built alike, so that they give the same for every row. false may be an
 * oversight.
 */
bool expr_equal(const struct expr *a, const struct expr *b);
bool expr_can_raise(const struct expr *expr); /* may end in an error for some row */
bool expr_any_raises(struct expr *const *exprs, uint32_t count); /* one of them may */
void expr_mark_columns(const struct expr *expr, bool *used);     /* sets used[c] for columns read */

/* The same expression over a batch whose columns moved: new column = map[old column]. A copy. */
struct expr *expr_remap(struct nu_arena *arena, const struct expr *expr, const uint32_t *map);

/* SQL-like text for explain: "(dep_delay > 10) and origin = 'JFK'". Truncated to fit. */
void expr_text(const struct expr *expr, const struct exec_schema *input, char *text_out,
               size_t text_bytes);

/* Evaluate over the selected rows of `in`. *out is valid for those rows only, borrows from `in` and
 * `scratch` (the caller marks and rewinds), may be constant. A branch of CASE, COALESCE, AND, OR is
 * evaluated on its own rows only. Fails with EXEC_OVERFLOW, EXEC_BAD_ARGUMENT (1/0), EXEC_BAD_DATA
 * (a cast) naming the expression, or EXEC_MEMORY_BUDGET. */
enum exec_code expr_eval(const struct expr *expr, const struct batch *in, struct nu_arena *scratch,
                         struct vec *out, struct exec_error *err);

/* Narrow the selection of `in` to the rows where a boolean expression is true (not null, not
 * false). sel_out has room for in->sel_count rows and may not be in->sel. */
enum exec_code expr_select(const struct expr *expr, const struct batch *in,
                           struct nu_arena *scratch, uint16_t *sel_out, uint32_t *count_out,
                           struct exec_error *err);

#endif
