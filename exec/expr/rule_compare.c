#include "expr/compare.h"
#include "expr/function_rules.h"

/* Rules of comparisons and what is made of them. */

static bool is_float_kind(enum exec_type_kind kind)
{
    return kind == EXEC_TYPE_FLOAT32 || kind == EXEC_TYPE_FLOAT64;
}

/* x < y as y > x. */
static void swap_sides(struct expr *node)
{
    static const char *const mirrored[] = {
        [COMPARE_EQ] = "eq", [COMPARE_NE] = "ne", [COMPARE_LT] = "gt",
        [COMPARE_LE] = "ge", [COMPARE_GT] = "lt", [COMPARE_GE] = "le"};
    struct expr *first = node->args[0];

    node->args[0] = node->args[1];
    node->args[1] = first;
    if (!node->negated && node->eval == expr_eval_strict) {
        node->function = function_find(mirrored[node->variant]);
        node->variant = node->function->variant;
    }
}

/* An integer and a float: no type holds all values of both, so a kernel of its own compares them.
 */
static enum exec_code mixed_comparison(struct nu_arena *arena, struct expr *node,
                                       struct exec_error *err)
{
    const struct exec_type *integer;
    struct exec_type to = function_int64;
    enum exec_code code;

    if (is_float_kind(node->args[0]->type.kind)) {
        swap_sides(node);
    }
    integer = &node->args[0]->type;
    if (integer->kind == EXEC_TYPE_UINT64) {
        to = *integer;
    }
    node->kernel = compare_mixed;
    code = expr_cast(arena, node->args[0], &to, &node->args[0], err);
    return code != EXEC_OK
               ? code
               : expr_cast(arena, node->args[1], &function_float64, &node->args[1], err);
}

static enum exec_code bind_comparison(struct nu_arena *arena, struct expr *node,
                                      struct exec_error *err)
{
    struct exec_type common;

    node->type = function_bool;
    node->kernel = compare_same;
    for (uint32_t i = 0; i < 2; i++) {
        const enum exec_code code =
            function_text_literal(arena, &node->args[i], &node->args[1 - i]->type, err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct expr *narrow =
            function_narrow_literal(arena, node->args[i], &node->args[1 - i]->type);
        if (narrow != NULL && node->args[1 - i]->kind != EXPR_LITERAL) {
            node->args[i] = narrow;
        }
    }
    const enum exec_type_kind x = node->args[0]->type.kind;
    const enum exec_type_kind y = node->args[1]->type.kind;
    if ((is_float_kind(x) && exec_type_is_integer(y)) ||
        (is_float_kind(y) && exec_type_is_integer(x))) {
        return mixed_comparison(arena, node, err);
    }
    if (!function_common_type(node, &common)) {
        return function_mismatch(node, err);
    }
    return function_cast_args(arena, node, 0, &common, err);
}

enum exec_code rule_comparison(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    return bind_comparison(arena, *node, err);
}

enum exec_code rule_distinct(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    (*node)->negated = (*node)->variant == 1;
    (*node)->variant = COMPARE_EQ;
    (*node)->eval = expr_eval_distinct;
    return bind_comparison(arena, *node, err);
}

enum exec_code rule_between(struct nu_arena *arena, struct expr **node_ref, struct exec_error *err)
{
    static const char *const bounds[] = {"ge", "le"};
    struct expr *node = *node_ref;
    struct expr **parts = nu_arena_alloc(arena, 2 * sizeof *parts, sizeof(void *));

    if (parts == NULL) {
        return expr_no_memory(arena, err);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct expr **args = nu_arena_alloc(arena, 2 * sizeof *args, sizeof(void *));
        enum exec_code code;
        if (args == NULL) {
            return expr_no_memory(arena, err);
        }
        args[0] = node->args[0];
        args[1] = node->args[1 + i];
        code = function_call(arena, function_find(bounds[i]), args, 2, node->index, &parts[i], err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return function_call(arena, function_find("and"), parts, 2, node->index, node_ref, err);
}

/* Of more than two, the first two make one, and so on. */
enum exec_code rule_extreme(struct nu_arena *arena, struct expr **node_ref, struct exec_error *err)
{
    struct expr *node = *node_ref;
    struct exec_type common;
    enum exec_code code;

    code = function_text_literals(arena, node->args, node->arg_count, err);
    if (code != EXEC_OK) {
        return code;
    }
    if (!function_common_type(node, &common)) {
        return function_mismatch(node, err);
    }
    code = function_cast_args(arena, node, 0, &common, err);
    if (code != EXEC_OK) {
        return code;
    }
    while (node->arg_count > 2) {
        struct expr **pair = nu_arena_alloc(arena, 2 * sizeof *pair, sizeof(void *));
        if (pair == NULL) {
            return expr_no_memory(arena, err);
        }
        pair[0] = node->args[0];
        pair[1] = node->args[1];
        code = function_call(arena, node->function, pair, 2, node->index, &node->args[1], err);
        if (code != EXEC_OK) {
            return code;
        }
        node->args++;
        node->arg_count--;
    }
    node->type = common;
    node->kernel = compare_extreme;
    return EXEC_OK;
}
