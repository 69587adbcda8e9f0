#include "expr/arith.h"

/* Products of decimals that are wider than 128 bits before they are rounded. */

enum { LIMBS = 4, CHUNK_DIGITS = 18 };

/* The magnitude of a product, least significant 64 bits first. */
struct wide {
    uint64_t limbs[LIMBS];
};

static vec_decimal_bits magnitude(vec_decimal value)
{
    return value < 0 ? -(vec_decimal_bits)value : (vec_decimal_bits)value;
}

static struct wide wide_product(vec_decimal_bits x, vec_decimal_bits y)
{
    const uint64_t xs[] = {(uint64_t)x, (uint64_t)(x >> 64)};
    const uint64_t ys[] = {(uint64_t)y, (uint64_t)(y >> 64)};
    struct wide out = {{0}};

    for (int i = 0; i < 2; i++) {
        vec_decimal_bits carry = 0;
        for (int j = 0; j < 2; j++) {
            carry += (vec_decimal_bits)xs[i] * ys[j] + out.limbs[i + j];
            out.limbs[i + j] = (uint64_t)carry;
            carry >>= 64;
        }
        out.limbs[i + 2] = (uint64_t)carry;
    }
    return out;
}

/* Divides in place; returns the remainder. */
static uint64_t wide_divide(struct wide *wide, uint64_t by)
{
    vec_decimal_bits rest = 0;

    for (int i = LIMBS - 1; i >= 0; i--) {
        rest = (rest << 64) | wide->limbs[i];
        wide->limbs[i] = (uint64_t)(rest / by);
        rest %= by;
    }
    return (uint64_t)rest;
}

/* Whether a half is away from zero only the first digit cut off tells. */
static bool cut(struct wide *wide, int digits, vec_decimal_bits *out)
{
    for (int left = digits - 1; left > 0; left -= CHUNK_DIGITS) {
        uint64_t power = 1;
        for (int digit = 0; digit < (left < CHUNK_DIGITS ? left : CHUNK_DIGITS); digit++) {
            power *= 10;
        }
        wide_divide(wide, power);
    }
    const uint64_t first = wide_divide(wide, 10);
    *out = ((vec_decimal_bits)wide->limbs[1] << 64) | wide->limbs[0];
    *out += first >= 5;
    return wide->limbs[2] == 0 && wide->limbs[3] == 0 && wide->limbs[1] < (uint64_t)INT64_MAX;
}

enum exec_code decimal_multiply(struct expr_call *call, struct exec_error *err)
{
    const struct vec *x = &call->args[0];
    const struct vec *y = &call->args[1];
    const int digits =
        call->expr->args[0]->type.scale + call->expr->args[1]->type.scale - call->expr->type.scale;
    vec_decimal *out = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        if (!expr_call_present(call, row)) {
            continue;
        }
        const vec_decimal first = ((const vec_decimal *)x->data)[expr_arg_row(x, row)];
        const vec_decimal second = ((const vec_decimal *)y->data)[expr_arg_row(y, row)];
        struct wide product = wide_product(magnitude(first), magnitude(second));
        vec_decimal_bits rounded = 0;
        const bool fits = cut(&product, digits, &rounded);
        out[row] = (first < 0) != (second < 0) ? -(vec_decimal)rounded : (vec_decimal)rounded;
        if (!fits || !arith_decimal_fits(out[row])) {
            return arith_raise(call, row, err);
        }
    }
    return EXEC_OK;
}
