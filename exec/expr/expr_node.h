#ifndef EXEC_EXPR_EXPR_NODE_H
#define EXEC_EXPR_EXPR_NODE_H

#include "expr/expr.h"
#include "vec/vec.h"

#include <stddef.h>

/* Inside of expr/: what a bound node is, and how strict functions meet their rows. */

enum {
    EXPR_DEPTH_MAX = 500,   /* of one bound expression: evaluation recurses */
    EXPR_NODES_MAX = 20000, /* of one bound expression: shared operands are copied */
    EXPR_VALUE_TEXT_BYTES = 96,
};

enum expr_kind {
    EXPR_COLUMN,
    EXPR_LITERAL,
    EXPR_CALL,
    EXPR_CAST,
    EXPR_IN_LIST,
    EXPR_CASE, /* args: when, then, when, then, ..., otherwise */
};

struct expr_call;
struct expr_function;

typedef enum exec_code expr_eval_fn(const struct expr *expr, const struct batch *in,
                                    struct nu_arena *scratch, struct vec *out,
                                    struct exec_error *err);
typedef enum exec_code expr_kernel_fn(struct expr_call *call, struct exec_error *err);

/* Children are always in args, so that walks need not know the kind. */
struct expr {
    enum expr_kind kind;
    uint32_t index; /* 1-based in the spec; 0: made by the engine */
    struct exec_type type;
    bool can_raise;
    expr_eval_fn *eval;
    expr_kernel_fn *kernel; /* of strict nodes: those that are null when an argument is */
    const struct expr_function *function; /* EXPR_CALL */
    struct expr **args;
    uint32_t arg_count;
    uint32_t column;    /* EXPR_COLUMN, 0-based */
    struct vec literal; /* EXPR_LITERAL, constant form */
    const void *list;   /* EXPR_IN_LIST: list_count values of args[0]'s type, ascending */
    uint32_t list_count;
    const void *prepared; /* what the rule made of a literal argument: the kernel's own */
    bool list_has_null;
    bool negated;         /* EXPR_IN_LIST; is_not_distinct_from */
    bool null_on_failure; /* EXPR_CAST */
    uint32_t variant;     /* which of several things the kernel does; the kernel's own */
    int32_t digits;       /* behind the point, of rounding */
};

/* One strict node meeting one batch. The kernel writes `out` at the rows of the selection; where it
 * is cheap and cannot fault it may write all rows 0..row_count-1 (what lies in rows outside of the
 * selection or under nulls is anything, views included). */
struct expr_call {
    const struct expr *expr;
    const struct vec *args;
    uint32_t arg_count;
    const uint16_t *sel; /* NULL: rows 0..count-1 */
    uint32_t count;
    uint32_t row_count;
    const uint64_t *valid; /* rows where every argument is present; NULL: all */
    uint64_t *own_valid;   /* the same bits once the kernel has made some of its own null */
    void *out;
    struct nu_arena *scratch;
};

expr_eval_fn expr_eval_strict;
expr_eval_fn expr_eval_and, expr_eval_or, expr_eval_not;
expr_eval_fn expr_eval_is_null; /* is_not_null: variant 1 */
expr_eval_fn expr_eval_distinct;
expr_eval_fn expr_eval_case, expr_eval_coalesce;
expr_eval_fn expr_eval_single_value, expr_eval_hash;
expr_eval_fn expr_eval_relabel; /* a cast that leaves the bytes as they are */

static inline uint32_t expr_call_row(const struct expr_call *call, uint32_t position)
{
    return call->sel == NULL ? position : call->sel[position];
}

static inline bool expr_call_present(const struct expr_call *call, uint32_t row)
{
    return call->valid == NULL || bitmap_get(call->valid, row);
}

/* Dense loops over all rows beat loops over a selection unless it is sparse. */
static inline bool expr_call_dense(const struct expr_call *call)
{
    return call->sel == NULL || call->count >= call->row_count / 4;
}

/* Makes one row null; false: out of memory. */
bool expr_call_clear(struct expr_call *call, uint32_t row);

static inline uint32_t expr_arg_row(const struct vec *arg, uint32_t row)
{
    return arg->constant ? 0 : row;
}

static inline const struct string_view *expr_arg_view(const struct vec *arg, uint32_t row)
{
    return (const struct string_view *)arg->data + expr_arg_row(arg, row);
}

/* EXEC_MEMORY_BUDGET, naming who refused. */
enum exec_code expr_no_memory(const struct nu_arena *arena, struct exec_error *err);

/* One value as text for messages and explain, cut to fit; text_bytes >= 8. */
void expr_value_text(const struct exec_type *type, const void *value, char *text_out,
                     size_t text_bytes);
/* The value of an argument in a row, as text. */
const char *expr_arg_text(const struct expr_call *call, uint32_t arg, uint32_t row,
                          char text_out[EXPR_VALUE_TEXT_BYTES]);

const char *expr_function_name(const struct expr_function *function);

#endif
