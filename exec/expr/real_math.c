#include "expr/real_math.h"

#include <math.h>

static double round_one(enum math_op op, double value)
{
    switch (op) {
        case MATH_FLOOR: return floor(value);
        case MATH_CEIL: return ceil(value);
        default: return round(value);
    }
}

static vec_decimal round_decimal(enum math_op op, vec_decimal value, vec_decimal unit)
{
    const vec_decimal rest = value % unit;
    const vec_decimal size = rest < 0 ? -rest : rest;
    vec_decimal whole = value - rest; /* towards zero */

    if (op == MATH_FLOOR) {
        whole -= rest < 0 ? unit : 0;
    } else if (op == MATH_CEIL) {
        whole += rest > 0 ? unit : 0;
    } else if (size >= unit - size) {
        whole += rest < 0 ? -unit : unit;
    }
    return whole;
}

static void round_decimals(const struct expr_call *call)
{
    const vec_decimal *values = call->args[0].data;
    vec_decimal *out = call->out;
    vec_decimal unit = 1;

    for (int digit = 0; digit < call->expr->type.scale; digit++) {
        unit *= 10;
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        if (expr_call_present(call, row)) {
            out[row] = round_decimal(call->expr->variant, values[row], unit);
        }
    }
}

enum exec_code real_math_round(struct expr_call *call, struct exec_error *err)
{
    const enum math_op op = call->expr->variant;
    const struct vec *arg = &call->args[0];

    (void)err;
    if (arg->kind == EXEC_TYPE_DECIMAL128) {
        round_decimals(call);
        return EXEC_OK;
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        if (arg->kind == EXEC_TYPE_FLOAT64) {
            ((double *)call->out)[row] = round_one(op, ((const double *)arg->data)[row]);
        } else {
            ((float *)call->out)[row] =
                (float)round_one(op, (double)((const float *)arg->data)[row]);
        }
    }
    return EXEC_OK;
}

static double call_one(enum math_op op, double x, double y)
{
    switch (op) {
        case MATH_SQRT: return sqrt(x);
        case MATH_LN: return x == 0 ? (double)NAN : log(x);
        case MATH_EXP: return exp(x);
        default: return x == 0 && y < 0 ? (double)NAN : pow(x, y);
    }
}

enum exec_code real_math_call(struct expr_call *call, struct exec_error *err)
{
    const enum math_op op = call->expr->variant;
    const struct vec *x = &call->args[0];
    const struct vec *y = &call->args[call->arg_count - 1];
    double *out = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const double x_value = ((const double *)x->data)[expr_arg_row(x, row)];
        const double y_value = ((const double *)y->data)[expr_arg_row(y, row)];
        out[row] = call_one(op, x_value, y_value);
        if (isnan(out[row]) && !isnan(x_value) && !isnan(y_value) && expr_call_present(call, row)) {
            char x_text[EXPR_VALUE_TEXT_BYTES];
            char y_text[EXPR_VALUE_TEXT_BYTES];
            return EXEC_FAIL(err, EXEC_BAD_ARGUMENT, "%s(%s%s%s) is no real number",
                             expr_function_name(call->expr->function),
                             expr_arg_text(call, 0, row, x_text), call->arg_count == 1 ? "" : ", ",
                             call->arg_count == 1 ? "" : expr_arg_text(call, 1, row, y_text));
        }
    }
    return EXEC_OK;
}
