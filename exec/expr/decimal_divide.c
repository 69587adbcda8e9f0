#include "expr/arith.h"

static vec_decimal_bits magnitude(vec_decimal value)
{
    return value < 0 ? -(vec_decimal_bits)value : (vec_decimal_bits)value;
}

/* round(x * 10^digits / y), halves away from zero; y is not 0. Digit by digit where the product
 * does not fit 128 bits. false: the quotient does not fit. */
static bool divide(vec_decimal x, vec_decimal y, int digits, vec_decimal *out)
{
    const vec_decimal_bits by = magnitude(y);
    vec_decimal_bits quotient = magnitude(x) / by;
    vec_decimal_bits rest = magnitude(x) % by;

    for (int digit = 0; digit < digits; digit++) {
        vec_decimal_bits next = 0;
        /* rest < by <= 10^38, so ten times rest may pass 2^128: add it up and subtract as we go. */
        vec_decimal_bits sum = 0;
        for (int times = 0; times < 10; times++) {
            sum += rest;
            next += sum >= by;
            sum -= sum >= by ? by : 0;
        }
        rest = sum;
        if (__builtin_mul_overflow(quotient, (vec_decimal_bits)10, &quotient)) {
            return false;
        }
        quotient += next;
    }
    quotient += rest >= by - rest;
    if (quotient > (vec_decimal_bits)INT64_MAX << 64) {
        return false;
    }
    *out = (x < 0) != (y < 0) ? -(vec_decimal)quotient : (vec_decimal)quotient;
    return arith_decimal_fits(*out);
}

/* The same in one division, for all but huge dividends. */
static bool divide_scaled(vec_decimal x, vec_decimal y, vec_decimal power, int digits,
                          vec_decimal *out)
{
    vec_decimal scaled;

    if (__builtin_mul_overflow(x, power, &scaled)) {
        return divide(x, y, digits, out);
    }
    return divide(scaled, y, 0, out);
}

enum exec_code decimal_divide(struct expr_call *call, struct exec_error *err)
{
    const struct vec *x = &call->args[0];
    const struct vec *y = &call->args[1];
    const int digits =
        call->expr->type.scale - call->expr->args[0]->type.scale + call->expr->args[1]->type.scale;
    vec_decimal power = 1;
    vec_decimal *out = call->out;

    /* 10^39 and more do not fit: then every dividend goes digit by digit. */
    for (int digit = 0; digit < digits; digit++) {
        if (__builtin_mul_overflow(power, (vec_decimal)10, &power)) {
            power = 0;
            break;
        }
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const vec_decimal dividend = ((const vec_decimal *)x->data)[expr_arg_row(x, row)];
        const vec_decimal divisor = ((const vec_decimal *)y->data)[expr_arg_row(y, row)];
        bool fits;
        if (!expr_call_present(call, row)) {
            continue;
        }
        if (divisor == 0) {
            return arith_raise(call, row, err);
        }
        fits = power == 0 ? divide(dividend, divisor, digits, &out[row])
                          : divide_scaled(dividend, divisor, power, digits, &out[row]);
        if (!fits) {
            return arith_raise(call, row, err);
        }
    }
    return EXEC_OK;
}
