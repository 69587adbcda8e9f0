#include "expr/real_math.h"

#include <math.h>

static double call_one(enum math_op op, double x, double y)
{
    switch (op) {
        case MATH_SQRT: return sqrt(x);
        case MATH_LN: return x == 0 ? (double)NAN : log(x);
        case MATH_LOG10: return x == 0 ? (double)NAN : log10(x);
        case MATH_LOG2: return x == 0 ? (double)NAN : log2(x);
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
