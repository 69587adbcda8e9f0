#include "expr/real_math.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

/* floor, ceil, round and trunc, at any digit. expr->digits counts digits behind the point;
 * negative: before it. */

static double round_one(enum math_op op, double value)
{
    switch (op) {
        case MATH_FLOOR: return floor(value);
        case MATH_CEIL: return ceil(value);
        case MATH_TRUNC: return trunc(value);
        default: return round(value);
    }
}

/* At a digit that is not the last before the point. Where scaling leaves the range of a double, or
 * all of its digits are before that one, the value is rounded already. */
static double round_at(enum math_op op, double value, int digits)
{
    const double scale = pow(10, digits < 0 ? -digits : digits);
    const double scaled = digits < 0 ? value / scale : value * scale;

    if (!isfinite(scaled) || !isfinite(scale)) {
        return digits < 0 && isfinite(value) ? 0 : value;
    }
    const double whole = round_one(op, scaled);
    return digits < 0 ? whole * scale : whole / scale;
}

static void round_reals(const struct expr_call *call)
{
    const enum math_op op = call->expr->variant;
    const int digits = call->expr->digits;
    const struct vec *arg = &call->args[0];

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const double value = arg->kind == EXEC_TYPE_FLOAT64
                                 ? ((const double *)arg->data)[row]
                                 : (double)((const float *)arg->data)[row];
        const double rounded = digits == 0 ? round_one(op, value) : round_at(op, value, digits);
        if (arg->kind == EXEC_TYPE_FLOAT64) {
            ((double *)call->out)[row] = rounded;
        } else {
            ((float *)call->out)[row] = (float)rounded;
        }
    }
}

/* To a multiple of unit. */
static vec_decimal round_whole(enum math_op op, vec_decimal value, vec_decimal unit)
{
    const vec_decimal rest = value % unit;
    const vec_decimal size = rest < 0 ? -rest : rest;
    vec_decimal whole = value - rest; /* towards zero */

    if (op == MATH_FLOOR) {
        whole -= rest < 0 ? unit : 0;
    } else if (op == MATH_CEIL) {
        whole += rest > 0 ? unit : 0;
    } else if (op == MATH_ROUND && size >= unit - size) {
        whole += rest < 0 ? -unit : unit;
    }
    return whole;
}

/* False: not in the result type. */
static bool round_stored(const struct expr_call *call, uint32_t row, vec_decimal unit)
{
    const enum math_op op = call->expr->variant;
    const struct vec *arg = &call->args[0];

    switch (vec_storage(arg->kind)) {
#define VEC_INTEGER(TAG, tag, c_type)                                                      \
    case VEC_##TAG: {                                                                      \
        const vec_decimal whole = round_whole(op, ((const c_type *)arg->data)[row], unit); \
        ((c_type *)call->out)[row] = (c_type)whole;                                        \
        return (vec_decimal)(c_type)whole == whole;                                        \
    }
#include "vec/vec_types.def"
        default: return true;
    }
}

enum exec_code rounding_call(struct expr_call *call, struct exec_error *err)
{
    const struct exec_type *type = &call->expr->type;
    vec_decimal unit = 1;

    if (type->kind == EXEC_TYPE_FLOAT32 || type->kind == EXEC_TYPE_FLOAT64) {
        round_reals(call);
        return EXEC_OK;
    }
    for (int digit = call->expr->digits; digit < type->scale; digit++) {
        unit *= 10;
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        if (!expr_call_present(call, row)) {
            continue;
        }
        const bool fits = round_stored(call, row, unit);
        if (!fits || (type->kind == EXEC_TYPE_DECIMAL128 &&
                      !arith_decimal_fits(((const vec_decimal *)call->out)[row]))) {
            char value[EXPR_VALUE_TEXT_BYTES], text[EXEC_TYPE_TEXT_BYTES];
            return EXEC_FAIL(err, EXEC_OVERFLOW, "%s: %s does not fit %s",
                             expr_function_name(call->expr->function),
                             expr_arg_text(call, 0, row, value), exec_type_text(type, text));
        }
    }
    return EXEC_OK;
}

/* ---- sign */

static int sign_at(const struct vec *arg, uint32_t row)
{
    switch (vec_storage(arg->kind)) {
#define VEC_INTEGER(TAG, tag, c_type)                                           \
    case VEC_##TAG: {                                                           \
        const c_type value = ((const c_type *)arg->data)[row];                  \
        return (value > (c_type)0) - (value < (c_type)1 && value != (c_type)0); \
    }
#define VEC_FLOAT(TAG, tag, c_type)                            \
    case VEC_##TAG: {                                          \
        const c_type value = ((const c_type *)arg->data)[row]; \
        return (value > 0) - (value < 0);                      \
    }
#include "vec/vec_types.def"
        default: return 0;
    }
}

enum exec_code rounding_sign(struct expr_call *call, struct exec_error *err)
{
    int8_t *out = call->out;

    (void)err;
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        out[row] = (int8_t)sign_at(&call->args[0], expr_arg_row(&call->args[0], row));
    }
    return EXEC_OK;
}
