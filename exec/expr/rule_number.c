#include "expr/arith.h"
#include "expr/function_rules.h"
#include "expr/real_math.h"

/* Rules of arithmetic and of functions of numbers. */

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

/* Result types of decimal arithmetic: one digit more for sums, the digits of both for products, all
 * digits there are for quotients. */
static enum exec_code decimal_arithmetic(struct expr *node, const struct exec_type *common,
                                         struct exec_error *err)
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
        scale = x->scale + y->scale;
        if (scale > EXEC_DECIMAL_DIGITS_MAX) {
            return function_mismatch(node, err);
        }
    }
    node->type = (struct exec_type){
        .kind = EXEC_TYPE_DECIMAL128,
        .precision = (uint8_t)(digits < EXEC_DECIMAL_DIGITS_MAX ? digits : EXEC_DECIMAL_DIGITS_MAX),
        .scale = (int8_t)scale};
    return EXEC_OK;
}

enum exec_code rule_arithmetic(struct nu_arena *arena, struct expr **node_ref,
                               struct exec_error *err)
{
    struct expr *node = *node_ref;
    struct exec_type common;
    enum exec_code code;

    node->kernel = arith_binary;
    node->can_raise = true;
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
        return decimal_arithmetic(node, &common, err);
    }
    code = decimal_arithmetic(node, &common, err);
    return code != EXEC_OK ? code : function_cast_args(arena, node, 0, &common, err);
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

enum exec_code rule_rounding(struct nu_arena *arena, struct expr **node_ref, struct exec_error *err)
{
    struct expr *node = *node_ref;
    const enum exec_type_kind kind = node->args[0]->type.kind;

    (void)arena;
    if (exec_type_is_integer(kind)) {
        *node_ref = node->args[0];
        return EXEC_OK;
    }
    if (!exec_type_is_numeric(kind)) {
        return function_mismatch(node, err);
    }
    node->type = node->args[0]->type;
    node->kernel = real_math_round;
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
