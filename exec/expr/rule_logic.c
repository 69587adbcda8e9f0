#include "expr/fold.h"
#include "expr/function_rules.h"

/* Rules of logic and of choice between values. */

/* Conditions: a text literal, NULL among them, is read as a bool. */
static enum exec_code bool_literals(struct nu_arena *arena, struct expr *node,
                                    struct exec_error *err)
{
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const enum exec_code code =
            function_text_literal(arena, &node->args[i], &function_bool, err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return EXEC_OK;
}

enum exec_code rule_logic(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    const enum exec_code code = bool_literals(arena, *node, err);

    if (code != EXEC_OK) {
        return code;
    }
    if (!function_takes_only(*node, EXEC_TYPE_BOOL)) {
        return function_mismatch(*node, err);
    }
    (*node)->type = function_bool;
    (*node)->eval = (*node)->variant == 0 ? expr_eval_and : expr_eval_or;
    return EXEC_OK;
}

enum exec_code rule_negation(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    const enum exec_code code = bool_literals(arena, *node, err);

    if (code != EXEC_OK) {
        return code;
    }
    if (!function_takes_only(*node, EXEC_TYPE_BOOL)) {
        return function_mismatch(*node, err);
    }
    (*node)->type = function_bool;
    (*node)->eval = expr_eval_not;
    return EXEC_OK;
}

enum exec_code rule_presence(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    (void)arena;
    (void)err;
    (*node)->type = function_bool;
    (*node)->eval = expr_eval_is_null;
    return EXEC_OK;
}

enum exec_code rule_coalesce(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    struct exec_type common;
    const enum exec_code code =
        function_text_literals(arena, (*node)->args, (*node)->arg_count, err);

    if (code != EXEC_OK) {
        return code;
    }
    if (!function_common_type(*node, &common)) {
        return function_mismatch(*node, err);
    }
    (*node)->type = common;
    (*node)->eval = expr_eval_coalesce;
    return function_cast_args(arena, *node, 0, &common, err);
}

/* THEN values are every other one; ELSE, where there is one, is the last and stands alone. */
static enum exec_code case_text_literals(struct nu_arena *arena, struct expr **args,
                                         uint32_t arg_count, struct exec_error *err)
{
    const uint32_t branches = arg_count / 2;
    struct expr **values = nu_arena_alloc(arena, (branches + 1) * sizeof *values, sizeof(void *));
    const uint32_t count = branches + (args[arg_count - 1] != NULL);

    if (values == NULL) {
        return expr_no_memory(arena, err);
    }
    for (uint32_t i = 0; i < count; i++) {
        values[i] = args[i < branches ? 2 * i + 1 : arg_count - 1];
    }
    const enum exec_code code = function_text_literals(arena, values, count, err);
    for (uint32_t i = 0; i < count; i++) {
        args[i < branches ? 2 * i + 1 : arg_count - 1] = values[i];
    }
    return code;
}

enum exec_code function_case(struct nu_arena *arena, struct expr **args, uint32_t arg_count,
                             uint32_t index, struct expr **expr_out, struct exec_error *err)
{
    struct expr *node = nu_arena_calloc(arena, sizeof *node, _Alignof(struct expr));
    const uint32_t last = arg_count - 1;
    enum exec_code code;

    if (node == NULL) {
        return expr_no_memory(arena, err);
    }
    code = case_text_literals(arena, args, arg_count, err);
    if (code != EXEC_OK) {
        return code;
    }
    *node = (struct expr){.kind = EXPR_CASE,
                          .index = index,
                          .type = args[1]->type,
                          .eval = expr_eval_case,
                          .args = args,
                          .arg_count = arg_count};
    for (uint32_t i = 0; i < last; i += 2) {
        const struct exec_type so_far = node->type;
        code = function_text_literal(arena, &args[i], &function_bool, err);
        if (code != EXEC_OK) {
            return code;
        }
        if (args[i]->type.kind != EXEC_TYPE_BOOL) {
            return function_mismatch(node, err);
        }
        if (!expr_common_type(&so_far, &args[i + 1]->type, &node->type)) {
            return function_mismatch(node, err);
        }
    }
    if (args[last] == NULL) {
        args[last] = fold_literal(arena, &node->type, NULL, index);
        if (args[last] == NULL) {
            return expr_no_memory(arena, err);
        }
    }
    const struct exec_type so_far = node->type;
    if (!expr_common_type(&so_far, &args[last]->type, &node->type)) {
        return function_mismatch(node, err);
    }
    for (uint32_t i = 1; i <= last; i += i + 1 == last ? 1 : 2) {
        code = expr_cast(arena, args[i], &node->type, &args[i], err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    for (uint32_t i = 0; i < arg_count; i++) {
        node->can_raise |= args[i]->can_raise;
    }
    *expr_out = node;
    return fold_expr(arena, expr_out, err);
}

enum exec_code rule_if(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    return function_case(arena, (*node)->args, 3, (*node)->index, node, err);
}
