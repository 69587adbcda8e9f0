#include "expr/compare.h"

#include "kernel/kernel.h"

#define K_TEMPLATE "expr/compare.tmpl.h"
#include "vec/each_type.h"
#undef K_TEMPLATE

static const struct {
    kernel_binary_fn *eq, *ne, *lt, *le, *least, *greatest;
} loops[VEC_STORAGE_COUNT] = {
#define COMPARE_ROW(TAG, tag)                                      \
    [VEC_##TAG] = {loop_eq_##tag, loop_ne_##tag,    loop_lt_##tag, \
                   loop_le_##tag, loop_least_##tag, loop_greatest_##tag},
#define VEC_INTEGER(TAG, tag, c_type) COMPARE_ROW(TAG, tag)
#define VEC_FLOAT(TAG, tag, c_type) COMPARE_ROW(TAG, tag)
#define VEC_VIEW(TAG, tag, c_type) COMPARE_ROW(TAG, tag)
#include "vec/vec_types.def"
};

/* Views outside of the selection may be anything: never read them. */
static void run(const struct expr_call *call, kernel_binary_fn *loop, const struct vec *x,
                const struct vec *y)
{
    const bool dense = expr_call_dense(call) && vec_storage(x->kind) != VEC_VIEW;

    (void)loop(x->data, x->constant, y->data, y->constant, dense ? NULL : call->sel,
               dense && call->sel != NULL ? call->row_count : call->count, call->out);
}

enum exec_code compare_same(struct expr_call *call, struct exec_error *err)
{
    const enum vec_storage storage = vec_storage(call->args[0].kind);
    const struct vec *x = &call->args[0];
    const struct vec *y = &call->args[1];

    (void)err;
    switch ((enum compare_op)call->expr->variant) {
        case COMPARE_EQ: run(call, loops[storage].eq, x, y); break;
        case COMPARE_NE: run(call, loops[storage].ne, x, y); break;
        case COMPARE_LT: run(call, loops[storage].lt, x, y); break;
        case COMPARE_LE: run(call, loops[storage].le, x, y); break;
        case COMPARE_GT: run(call, loops[storage].lt, y, x); break;
        case COMPARE_GE: run(call, loops[storage].le, y, x); break;
    }
    return EXEC_OK;
}

enum exec_code compare_extreme(struct expr_call *call, struct exec_error *err)
{
    const enum vec_storage storage = vec_storage(call->args[0].kind);

    (void)err;
    run(call, call->expr->variant == 1 ? loops[storage].greatest : loops[storage].least,
        &call->args[0], &call->args[1]);
    return EXEC_OK;
}

/* -1, 0, 1 for an integer below, equal to, above a double. Beyond 2^53 neither converts into the
 * other without loss, so whole parts are compared as integers, then what is behind the point. */
static int order_i64(int64_t integer, double number)
{
    if (number != number || number >= 9223372036854775808.0) {
        return -1;
    }
    if (number < -9223372036854775808.0) {
        return 1;
    }
    const int64_t whole = (int64_t)number;
    if (integer != whole) {
        return integer < whole ? -1 : 1;
    }
    const double rest = number - (double)whole;
    return (rest < 0) - (rest > 0);
}

static int order_u64(uint64_t integer, double number)
{
    if (number != number || number >= 18446744073709551616.0) {
        return -1;
    }
    if (number < 0) {
        return 1;
    }
    const uint64_t whole = (uint64_t)number;
    if (integer != whole) {
        return integer < whole ? -1 : 1;
    }
    return -(number > (double)whole);
}

enum exec_code compare_mixed(struct expr_call *call, struct exec_error *err)
{
    static const uint8_t truth[][3] = {
        [COMPARE_EQ] = {0, 1, 0}, [COMPARE_NE] = {1, 0, 1}, [COMPARE_LT] = {1, 0, 0},
        [COMPARE_LE] = {1, 1, 0}, [COMPARE_GT] = {0, 0, 1}, [COMPARE_GE] = {0, 1, 1},
    };
    const uint8_t *answer = truth[call->expr->variant];
    const struct vec *x = &call->args[0];
    const double *numbers = call->args[1].data;
    const bool is_signed = vec_storage(x->kind) == VEC_I64;
    uint8_t *out = call->out;

    (void)err;
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const double number = numbers[expr_arg_row(&call->args[1], row)];
        const uint32_t at = expr_arg_row(x, row);
        const int order = is_signed ? order_i64(((const int64_t *)x->data)[at], number)
                                    : order_u64(((const uint64_t *)x->data)[at], number);
        out[row] = answer[order + 1];
    }
    return EXEC_OK;
}
