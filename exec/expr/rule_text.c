#include "expr/function_rules.h"
#include "expr/regex.h"
#include "expr/string_call.h"
#include "vec/string_view.h"

/* Rules of strings. */

enum exec_code rule_text_measure(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    (void)arena;
    if (!function_takes_only(*node, EXEC_TYPE_UTF8) &&
        !function_takes_only(*node, EXEC_TYPE_BINARY)) {
        return function_mismatch(*node, err);
    }
    (*node)->type = function_int64;
    (*node)->kernel = string_measure;
    return EXEC_OK;
}

static enum exec_code bind_text(struct expr *node, expr_kernel_fn *kernel,
                                const struct exec_type *type, struct exec_error *err)
{
    if (!function_takes_only(node, EXEC_TYPE_UTF8)) {
        return function_mismatch(node, err);
    }
    node->type = *type;
    node->kernel = kernel;
    return EXEC_OK;
}

enum exec_code rule_text_change(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    (void)arena;
    return bind_text(*node, string_change, &function_utf8, err);
}

enum exec_code rule_text_concat(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    if (function_takes_only(*node, EXEC_TYPE_BINARY)) {
        return function_mismatch(*node, err);
    }
    (*node)->can_raise = true;
    const enum exec_code code = function_cast_args(arena, *node, 0, &function_utf8, err);
    return code != EXEC_OK ? code : bind_text(*node, string_concat, &function_utf8, err);
}

/* With a count that may raise: the result may be longer than a text can be. */
enum exec_code rule_text_replace(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    (void)arena;
    (*node)->can_raise = true;
    return bind_text(*node, string_replace, &function_utf8, err);
}

enum exec_code rule_text_trim(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    (void)arena;
    return bind_text(*node, string_trim, &function_utf8, err);
}

enum exec_code rule_text_position(struct nu_arena *arena, struct expr **node,
                                  struct exec_error *err)
{
    (void)arena;
    return bind_text(*node, string_position, &function_int64, err);
}

enum exec_code rule_text_test(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    (void)arena;
    (*node)->can_raise = (*node)->arg_count == 3;
    return bind_text(*node, string_test, &function_bool, err);
}

/* The text of a literal; NULL: it is null. False: no literal. */
static bool literal_text(const struct expr *expr, const struct string_view **text_out)
{
    *text_out = vec_is_valid(&expr->literal, 0) ? expr->literal.data : NULL;
    return expr->kind == EXPR_LITERAL;
}

enum exec_code rule_text_regex(struct nu_arena *arena, struct expr **node_ref,
                               struct exec_error *err)
{
    struct expr *node = *node_ref;
    const struct string_view *pattern = NULL, *options = NULL;
    const struct regex *regex = NULL;
    const enum exec_code code = bind_text(node, regex_call, &function_bool, err);

    if (code != EXEC_OK) {
        return code;
    }
    node->can_raise = true;
    if (!literal_text(node->args[1], &pattern) ||
        (node->arg_count == 3 && !literal_text(node->args[2], &options))) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "%s: the pattern must be a literal, which is compiled once",
                         node->function->name);
    }
    if (pattern == NULL || (node->arg_count == 3 && options == NULL)) {
        return EXEC_OK; /* null for every row */
    }
    const enum exec_code compiled =
        regex_compile(arena, node->variant, pattern, options, &regex, err);
    node->prepared = regex;
    return compiled;
}

enum exec_code rule_text_part(struct nu_arena *arena, struct expr **node_ref,
                              struct exec_error *err)
{
    struct expr *node = *node_ref;

    for (uint32_t i = 0; i < node->arg_count; i++) {
        const enum exec_type_kind kind = node->args[i]->type.kind;
        if (i == 0 ? kind != EXEC_TYPE_UTF8 : !exec_type_is_integer(kind)) {
            return function_mismatch(node, err);
        }
    }
    node->type = function_utf8;
    node->kernel = string_part;
    node->can_raise = node->arg_count == 3;
    return function_cast_args(arena, node, 1, &function_int64, err);
}
