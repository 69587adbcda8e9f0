#include "expr/arith.h"
#include "expr/function_rules.h"
#include "expr/real_math.h"

/* Rules of arithmetic and of functions of numbers. */

/* timestamp - timestamp, as ticks of the finer unit; false: not such a call. */
static bool timestamp_difference(struct expr *node, struct exec_type *common_out)
{
    if (node->variant != ARITH_SUBTRACT || node->args[0]->type.kind != EXEC_TYPE_TIMESTAMP ||
        node->args[1]->type.kind != EXEC_TYPE_TIMESTAMP ||
        !function_common_type(node, common_out)) {
        return false;
    }
    node->type = function_int64;
    return true;
}

/* Days added to and between dates; false: not such a call. */
static bool date_arithmetic(struct expr *node)
{
    const struct exec_type *x = &node->args[0]->type;
    const struct exec_type *y = &node->args[1]->type;
    const bool subtract = node->variant == ARITH_SUBTRACT;

    if (node->variant != ARITH_ADD && !subtract) {
        return false;
    }
    if (subtract && x->kind == EXEC_TYPE_DATE32 && y->kind == EXEC_TYPE_DATE32) {
        node->type = (struct exec_type){.kind = EXEC_TYPE_INT32};
        return true;
    }
    node->type = (struct exec_type){.kind = EXEC_TYPE_DATE32};
    return (x->kind == EXEC_TYPE_DATE32 && exec_type_is_integer(y->kind)) ||
           (!subtract && y->kind == EXEC_TYPE_DATE32 && exec_type_is_integer(x->kind));
}

enum { DIVIDE_SCALE_MIN = 12 };

/* Of a product: all digits behind the point, unless 38 do not hold them beside those before it;
 * then as many as fit, but no fewer than a quotient has. */
static int product_scale(const struct exec_type *x, const struct exec_type *y)
{
    const int exact = x->scale + y->scale;
    const int whole = x->precision - x->scale + y->precision - y->scale;
    const int room = EXEC_DECIMAL_DIGITS_MAX - whole;
    const int least = exact < DIVIDE_SCALE_MIN ? exact : DIVIDE_SCALE_MIN;

    return exact <= room ? exact : room > least ? room : least;
}

/* Result types of decimal arithmetic: one digit more for sums, the digits of both for products, all
 * digits there are for quotients. */
static void decimal_arithmetic(struct expr *node, const struct exec_type *common)
{
    const struct exec_type *x = &node->args[0]->type;
    const struct exec_type *y = &node->args[1]->type;
    int digits = common->precision + (node->variant <= ARITH_SUBTRACT);
    int scale = common->scale;

    if (node->variant == ARITH_DIVIDE) {
        node->kernel = decimal_divide;
        digits = EXEC_DECIMAL_DIGITS_MAX;
        scale = scale > DIVIDE_SCALE_MIN ? scale : DIVIDE_SCALE_MIN;
    }
    if (node->variant == ARITH_MULTIPLY) {
        digits = x->precision + y->precision;
        scale = product_scale(x, y);
        if (scale < x->scale + y->scale) {
            node->kernel = decimal_multiply;
        }
    }
    node->type = (struct exec_type){
        .kind = EXEC_TYPE_DECIMAL128,
        .precision = (uint8_t)(digits < EXEC_DECIMAL_DIGITS_MAX ? digits : EXEC_DECIMAL_DIGITS_MAX),
        .scale = (int8_t)scale};
}

enum exec_code rule_arithmetic(struct nu_arena *arena, struct expr **node_ref,
                               struct exec_error *err)
{
    struct expr *node = *node_ref;
    struct exec_type common;
    enum exec_code code;

    node->kernel = arith_binary;
    node->can_raise = true;
    for (uint32_t i = 0; i < 2; i++) { /* 1 + '2' */
        const struct exec_type *other = &node->args[1 - i]->type;
        if (exec_type_is_numeric(other->kind)) {
            code = function_text_literal(arena, &node->args[i], other, err);
            if (code != EXEC_OK) {
                return code;
            }
        }
    }
    if (timestamp_difference(node, &common)) {
        return function_cast_args(arena, node, 0, &common, err);
    }
    if (date_arithmetic(node)) {
        const struct exec_type days = {.kind = EXEC_TYPE_INT32};
        for (uint32_t i = 0; i < 2; i++) {
            if (node->args[i]->type.kind == EXEC_TYPE_DATE32) {
                continue;
            }
            code = expr_cast(arena, node->args[i], &days, &node->args[i], err);
            if (code != EXEC_OK) {
                return code;
            }
        }
        return EXEC_OK;
    }
    if (!exec_type_is_numeric(node->args[0]->type.kind) ||
        !exec_type_is_numeric(node->args[1]->type.kind) || !function_common_type(node, &common)) {
        return function_mismatch(node, err);
    }
    node->type = common;
    node->can_raise = common.kind != EXEC_TYPE_FLOAT32 && common.kind != EXEC_TYPE_FLOAT64;
    if (common.kind != EXEC_TYPE_DECIMAL128) {
        return function_cast_args(arena, node, 0, &common, err);
    }
    /* Where scales may differ, an integer beside a decimal becomes one of scale 0. */
    if (node->variant == ARITH_MULTIPLY || node->variant == ARITH_DIVIDE) {
        for (uint32_t i = 0; i < 2; i++) {
            struct exec_type own = common;
            own.scale = 0;
            if (node->args[i]->type.kind != EXEC_TYPE_DECIMAL128) {
                own.precision = exec_type_width(node->args[i]->type.kind) == 8 ? 20 : 10;
                code = expr_cast(arena, node->args[i], &own, &node->args[i], err);
                if (code != EXEC_OK) {
                    return code;
                }
            }
        }
        decimal_arithmetic(node, &common);
        return EXEC_OK;
    }
    decimal_arithmetic(node, &common);
    return function_cast_args(arena, node, 0, &common, err);
}

enum exec_code rule_sign(struct nu_arena *arena, struct expr **node_ref, struct exec_error *err)
{
    struct expr *node = *node_ref;
    const bool is_abs = node->variant == 1;
    const struct exec_type tiny = {.kind = EXEC_TYPE_INT8};

    if (!exec_type_is_numeric(node->args[0]->type.kind)) {
        return function_mismatch(node, err);
    }
    node->type = node->args[0]->type;
    node->kernel = is_abs ? arith_abs : arith_negate;
    node->can_raise = node->type.kind >= EXEC_TYPE_INT8 && node->type.kind <= EXEC_TYPE_INT64;
    if (is_abs || node->type.kind < EXEC_TYPE_UINT8 || node->type.kind > EXEC_TYPE_UINT64) {
        return EXEC_OK;
    }
    (void)expr_common_type(&node->args[0]->type, &tiny, &node->type);
    return expr_cast(arena, node->args[0], &node->type, &node->args[0], err);
}

enum exec_code rule_signum(struct nu_arena *arena, struct expr **node_ref, struct exec_error *err)
{
    struct expr *node = *node_ref;

    (void)arena;
    if (!exec_type_is_numeric(node->args[0]->type.kind)) {
        return function_mismatch(node, err);
    }
    node->type = (struct exec_type){.kind = EXEC_TYPE_INT8};
    node->kernel = rounding_sign;
    return EXEC_OK;
}

enum { ROUND_DIGITS_MAX = 400 };

/* The literal number of digits; absent: 0. */
static enum exec_code rounding_digits(struct expr *node, struct exec_error *err)
{
    double digits = 0;

    if (node->arg_count == 2 && (!exec_type_is_integer(node->args[1]->type.kind) ||
                                 !expr_is_number(node->args[1], &digits))) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: the number of digits must be a whole literal",
                         node->function->name);
    }
    digits = digits > ROUND_DIGITS_MAX ? ROUND_DIGITS_MAX : digits;
    node->digits = (int32_t)(digits < -ROUND_DIGITS_MAX ? -ROUND_DIGITS_MAX : digits);
    node->arg_count = 1;
    return EXEC_OK;
}

/* Decimals keep their scale and may grow by a digit: 9.5 rounds to 10.0. */
enum exec_code rule_rounding(struct nu_arena *arena, struct expr **node_ref, struct exec_error *err)
{
    struct expr *node = *node_ref;
    const struct exec_type *type = &node->args[0]->type;
    const bool is_float = type->kind == EXEC_TYPE_FLOAT32 || type->kind == EXEC_TYPE_FLOAT64;

    if (!exec_type_is_numeric(type->kind)) {
        return function_mismatch(node, err);
    }
    const enum exec_code code = rounding_digits(node, err);
    if (code != EXEC_OK) {
        return code;
    }
    if (!is_float && node->digits >= type->scale) {
        *node_ref = node->args[0]; /* has no more digits than that */
        return EXEC_OK;
    }
    node->type = *type;
    node->kernel = rounding_call;
    node->can_raise = !is_float;
    if (type->kind == EXEC_TYPE_DECIMAL128 && type->precision < EXEC_DECIMAL_DIGITS_MAX) {
        node->type.precision++;
    }
    if (!is_float && type->scale - node->digits > EXEC_DECIMAL_DIGITS_MAX) {
        node->digits = type->scale - EXEC_DECIMAL_DIGITS_MAX; /* all of them are gone by then */
    }
    (void)arena;
    return EXEC_OK;
}

enum exec_code rule_math(struct nu_arena *arena, struct expr **node_ref, struct exec_error *err)
{
    struct expr *node = *node_ref;

    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (!exec_type_is_numeric(node->args[i]->type.kind)) {
            return function_mismatch(node, err);
        }
    }
    node->type = function_float64;
    node->kernel = real_math_call;
    node->can_raise = node->variant != MATH_EXP;
    return function_cast_args(arena, node, 0, &function_float64, err);
}
