#include "expr/arith.h"
#include "expr/cast.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

#define K_TEMPLATE "expr/cast_number.tmpl.h"
#include "vec/each_integer.h"
#undef K_TEMPLATE

static inline bool op_f32_to_f64(float x, double *out)
{
    *out = (double)x;
    return false;
}

#define K_NAME widen_f64_f32
#define K_IN float
#define K_OUT double
#define K_OP op_f32_to_f64
#include "kernel/unary.tmpl.h"

/* NULL: by way of cast_one. */
static kernel_unary_fn *widening(enum exec_type_kind from, enum exec_type_kind to)
{
    static kernel_unary_fn *const to_i64[VEC_STORAGE_COUNT] = {
        [VEC_I8] = widen_i64_i8,   [VEC_I16] = widen_i64_i16, [VEC_I32] = widen_i64_i32,
        [VEC_I64] = widen_i64_i64, [VEC_U8] = widen_i64_u8,   [VEC_U16] = widen_i64_u16,
        [VEC_U32] = widen_i64_u32, [VEC_U64] = widen_i64_u64};
    static kernel_unary_fn *const to_f64[VEC_STORAGE_COUNT] = {
        [VEC_I8] = widen_f64_i8,   [VEC_I16] = widen_f64_i16, [VEC_I32] = widen_f64_i32,
        [VEC_I64] = widen_f64_i64, [VEC_U8] = widen_f64_u8,   [VEC_U16] = widen_f64_u16,
        [VEC_U32] = widen_f64_u32, [VEC_U64] = widen_f64_u64, [VEC_F32] = widen_f64_f32};

    if (to == EXEC_TYPE_INT64) {
        return to_i64[vec_storage(from)];
    }
    return to == EXEC_TYPE_FLOAT64 ? to_f64[vec_storage(from)] : NULL;
}

/* ---- one value at a time
 * -------------------------------------------------------------------------------- */

/* A number on its way: whole is unscaled with `scale` digits behind the point. */
struct number {
    bool is_float;
    double real;
    vec_decimal whole;
    int scale;
};

static struct number load(const struct exec_type *type, const void *value)
{
    struct number number = {.scale = type->scale};

    switch (vec_storage(type->kind)) {
#define VEC_INTEGER(TAG, tag, c_type)        \
    case VEC_##TAG: {                        \
        c_type typed;                        \
        memcpy(&typed, value, sizeof typed); \
        number.whole = typed;                \
        break;                               \
    }
#define VEC_FLOAT(TAG, tag, c_type)          \
    case VEC_##TAG: {                        \
        c_type typed;                        \
        memcpy(&typed, value, sizeof typed); \
        number.is_float = true;              \
        number.real = (double)typed;         \
        break;                               \
    }
#include "vec/vec_types.def"
        default: break;
    }
    return number;
}

static vec_decimal power_of_ten(int exponent)
{
    vec_decimal power = 1;
    for (int i = 0; i < exponent; i++) {
        power *= 10;
    }
    return power;
}

/* To the digits of an integer or a decimal; false: does not fit. Half away from zero, but from a
 * float to an integer half to even. */
static bool rescale(const struct number *number, const struct exec_type *to, vec_decimal *whole_out)
{
    const int scale = to->scale;

    if (number->is_float) {
        const long double exact = (long double)number->real * (long double)power_of_ten(scale);
        const long double scaled = to->kind == EXEC_TYPE_DECIMAL128 ? roundl(exact) : rintl(exact);
        if (!(scaled > -1e38L && scaled < 1e38L)) { /* NaN too */
            return false;
        }
        *whole_out = (vec_decimal)scaled;
        return true;
    }
    if (scale >= number->scale) {
        return !__builtin_mul_overflow(number->whole, power_of_ten(scale - number->scale),
                                       whole_out);
    }
    const vec_decimal divisor = power_of_ten(number->scale - scale);
    const vec_decimal rest = number->whole % divisor;
    const vec_decimal size = rest < 0 ? -rest : rest;
    const vec_decimal away = size >= divisor - size; /* half and more: away from zero */
    *whole_out = number->whole / divisor + (rest < 0 ? -away : away);
    return true;
}

static double to_real(const struct number *number)
{
    if (number->is_float) {
        return number->real;
    }
    if (number->scale == 0) {
        return (double)number->whole;
    }
    return (double)((long double)number->whole / (long double)power_of_ten(number->scale));
}

static bool store_whole(const struct exec_type *type, vec_decimal whole, void *out)
{
    switch (vec_storage(type->kind)) {
#define VEC_INTEGER(TAG, tag, c_type)       \
    case VEC_##TAG: {                       \
        const c_type typed = (c_type)whole; \
        memcpy(out, &typed, sizeof typed);  \
        return typed == whole;              \
    }
#include "vec/vec_types.def"
        default: return false;
    }
}

static bool cast_one(const struct exec_type *from, const struct exec_type *to, const void *value,
                     void *out)
{
    const struct number number = load(from, value);
    vec_decimal whole;

    if (to->kind == EXEC_TYPE_FLOAT64) {
        const double real = to_real(&number);
        memcpy(out, &real, sizeof real);
        return true;
    }
    if (to->kind == EXEC_TYPE_FLOAT32) {
        const float single = (float)to_real(&number);
        memcpy(out, &single, sizeof single);
        return !isinf(single) || isinf(to_real(&number));
    }
    if (to->kind == EXEC_TYPE_BOOL) {
        *(uint8_t *)out = number.is_float ? number.real != 0 : number.whole != 0;
        return true;
    }
    if (!rescale(&number, to, &whole)) {
        return false;
    }
    if (to->kind == EXEC_TYPE_DECIMAL128) {
        const vec_decimal limit = power_of_ten(to->precision);
        memcpy(out, &whole, sizeof whole);
        return whole < limit && whole > -limit;
    }
    return store_whole(to, whole, out);
}

enum exec_code cast_number(struct expr_call *call, struct exec_error *err)
{
    const struct exec_type *from = &call->expr->args[0]->type;
    const struct exec_type *to = &call->expr->type;
    const unsigned char *values = call->args[0].data;
    const size_t from_width = exec_type_width(from->kind);
    const size_t to_width = exec_type_width(to->kind);
    kernel_unary_fn *const widen = widening(from->kind, to->kind);
    const bool dense = expr_call_dense(call);

    if (widen != NULL && !widen(values, dense ? NULL : call->sel,
                                dense ? call->row_count : call->count, call->out)) {
        return EXEC_OK;
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        if (expr_call_present(call, row) &&
            !cast_one(from, to, values + row * from_width,
                      (unsigned char *)call->out + row * to_width)) {
            const enum exec_code code = cast_refuse(call, row, false, err);
            if (code != EXEC_OK) {
                return code;
            }
        }
    }
    return EXEC_OK;
}
