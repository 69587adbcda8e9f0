#include "expr/arith.h"

#include "exec/error.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

static const vec_decimal ten_to_19 = (vec_decimal)10000000000000000000ULL;

bool arith_decimal_fits(vec_decimal value)
{
    const vec_decimal limit = ten_to_19 * ten_to_19; /* 10^38 < 2^127 */
    return (value < limit) & (value > -limit);
}

#define K_TEMPLATE "expr/arith_integer.tmpl.h"
#include "vec/each_integer.h"
#undef K_TEMPLATE
#define K_TEMPLATE "expr/arith_float.tmpl.h"
#include "vec/each_float.h"
#undef K_TEMPLATE

/* Decimals: unscaled values; the binder has brought both sides to one scale (multiply: has given
 * the result the sum of the scales). decimal_divide.c does division: op_divide is not reached. */
static inline bool op_add_decimal(vec_decimal x, vec_decimal y, vec_decimal *out)
{
    const bool overflow = __builtin_add_overflow(x, y, out);
    return overflow | !arith_decimal_fits(*out);
}

static inline bool op_subtract_decimal(vec_decimal x, vec_decimal y, vec_decimal *out)
{
    const bool overflow = __builtin_sub_overflow(x, y, out);
    return overflow | !arith_decimal_fits(*out);
}

static inline bool op_multiply_decimal(vec_decimal x, vec_decimal y, vec_decimal *out)
{
    const bool overflow = __builtin_mul_overflow(x, y, out);
    return overflow | !arith_decimal_fits(*out);
}

static inline bool op_divide_decimal(vec_decimal x, vec_decimal y, vec_decimal *out)
{
    *out = x;
    return y == 0;
}

static inline bool op_modulo_decimal(vec_decimal x, vec_decimal y, vec_decimal *out)
{
    const bool by_one = (y == 0) | (y == -1);
    *out = x % (by_one ? 1 : y);
    return y == 0;
}

static inline bool op_negate_decimal(vec_decimal x, vec_decimal *out)
{
    const bool overflow = __builtin_sub_overflow((vec_decimal)0, x, out);
    return overflow;
}

static inline bool op_abs_decimal(vec_decimal x, vec_decimal *out)
{
    *out = x;
    return x < 0 && op_negate_decimal(x, out);
}

#define K_TAG decimal
#define K_TYPE vec_decimal
#include "expr/arith_ops.tmpl.h"

struct arith_loops {
    kernel_binary_fn *binary[ARITH_OPS];
    kernel_unary_fn *negate, *abs;
};

static const struct arith_loops loops[VEC_STORAGE_COUNT] = {
#define ARITH_ROW(TAG, tag)                                                                      \
    [VEC_##TAG] = {{loop_add_##tag, loop_subtract_##tag, loop_multiply_##tag, loop_divide_##tag, \
                    loop_modulo_##tag},                                                          \
                   loop_negate_##tag,                                                            \
                   loop_abs_##tag},
#define VEC_INTEGER(TAG, tag, c_type) ARITH_ROW(TAG, tag)
#define VEC_FLOAT(TAG, tag, c_type) ARITH_ROW(TAG, tag)
#include "vec/vec_types.def"
};

static bool value_is_zero(const struct vec *vec, uint32_t row)
{
    static const unsigned char zero[16];
    const size_t width = exec_type_width(vec->kind);
    return memcmp((const char *)vec->data + expr_arg_row(vec, row) * width, zero, width) == 0;
}

enum exec_code arith_raise(const struct expr_call *call, uint32_t row, struct exec_error *err)
{
    static const char *const signs[ARITH_OPS] = {"+", "-", "*", "/", "%"};
    const char *name = expr_function_name(call->expr->function);
    char x[EXPR_VALUE_TEXT_BYTES];
    char y[EXPR_VALUE_TEXT_BYTES];
    char type[EXEC_TYPE_TEXT_BYTES];

    expr_arg_text(call, 0, row, x);
    exec_type_text(&call->expr->type, type);
    if (call->arg_count == 1) {
        return EXEC_FAIL(err, EXEC_OVERFLOW, "%s: %s has no counterpart in %s", name, x, type);
    }
    expr_arg_text(call, 1, row, y);
    if (call->expr->variant >= ARITH_DIVIDE && value_is_zero(&call->args[1], row)) {
        return EXEC_FAIL(err, EXEC_BAD_ARGUMENT, "%s: %s %s 0: division by zero", name, x,
                         signs[call->expr->variant]);
    }
    return EXEC_FAIL(err, EXEC_OVERFLOW, "%s: %s %s %s does not fit %s", name, x,
                     signs[call->expr->variant], y, type);
}

enum exec_code arith_binary(struct expr_call *call, struct exec_error *err)
{
    kernel_binary_fn *const loop =
        loops[vec_storage(call->expr->type.kind)].binary[call->expr->variant];
    const struct vec *x = &call->args[0];
    const struct vec *y = &call->args[1];
    const bool dense = expr_call_dense(call);

    if (!loop(x->data, x->constant, y->data, y->constant, dense ? NULL : call->sel,
              dense ? call->row_count : call->count, call->out)) {
        return EXEC_OK;
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint16_t row = (uint16_t)expr_call_row(call, p);
        if (expr_call_present(call, row) &&
            loop(x->data, x->constant, y->data, y->constant, &row, 1, call->out)) {
            return arith_raise(call, row, err);
        }
    }
    return EXEC_OK;
}

static enum exec_code arith_unary(struct expr_call *call, kernel_unary_fn *loop,
                                  struct exec_error *err)
{
    const void *x = call->args[0].data;
    const bool dense = expr_call_dense(call);

    if (!loop(x, dense ? NULL : call->sel, dense ? call->row_count : call->count, call->out)) {
        return EXEC_OK;
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint16_t row = (uint16_t)expr_call_row(call, p);
        if (expr_call_present(call, row) && loop(x, &row, 1, call->out)) {
            return arith_raise(call, row, err);
        }
    }
    return EXEC_OK;
}

enum exec_code arith_negate(struct expr_call *call, struct exec_error *err)
{
    return arith_unary(call, loops[vec_storage(call->expr->type.kind)].negate, err);
}

enum exec_code arith_abs(struct expr_call *call, struct exec_error *err)
{
    return arith_unary(call, loops[vec_storage(call->expr->type.kind)].abs, err);
}
