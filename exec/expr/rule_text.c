#include "expr/function_rules.h"
#include "expr/string_call.h"
#include "expr/time_call.h"

#include <string.h>

/* Rules of strings and of time. */

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
    (void)arena;
    (*node)->can_raise = true;
    return bind_text(*node, string_concat, &function_utf8, err);
}

enum exec_code rule_text_test(struct nu_arena *arena, struct expr **node, struct exec_error *err)
{
    (void)arena;
    return bind_text(*node, string_test, &function_bool, err);
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

static enum exec_code check_time(const struct expr *node, const struct exec_type *type,
                                 struct exec_error *err)
{
    if (type->kind != EXEC_TYPE_DATE32 && type->kind != EXEC_TYPE_TIMESTAMP) {
        return function_mismatch(node, err);
    }
    if (type->zone[0] != '\0' && strcmp(type->zone, "UTC") != 0) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "%s of a timestamp in zone %s: only UTC",
                         node->function->name, type->zone);
    }
    return EXEC_OK;
}

enum exec_code rule_time_part(struct nu_arena *arena, struct expr **node_ref,
                              struct exec_error *err)
{
    struct expr *node = *node_ref;

    (void)arena;
    node->type = function_int64;
    node->kernel = time_call_part;
    return check_time(node, &node->args[0]->type, err);
}

enum exec_code rule_time_trunc(struct nu_arena *arena, struct expr **node_ref,
                               struct exec_error *err)
{
    static const char *const names[] = {"year", "quarter", "month",  "week",
                                        "day",  "hour",    "minute", "second"};
    struct expr *node = *node_ref;
    const struct expr *part = node->args[0];
    const struct string_view *text = part->literal.data;

    (void)arena;
    if (part->kind != EXPR_LITERAL || part->type.kind != EXEC_TYPE_UTF8 ||
        !vec_is_valid(&part->literal, 0)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "date_trunc: the part must be a text literal");
    }
    node->variant = UINT32_MAX;
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i]) == text->size &&
            memcmp(names[i], string_view_bytes(text), text->size) == 0) {
            node->variant = i; /* enum time_part begins with these */
        }
    }
    if (node->variant == UINT32_MAX) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC,
                         "date_trunc: no part '%.*s'; year, quarter, month, week, day, hour, "
                         "minute, second",
                         (int)(text->size < 40 ? text->size : 40), string_view_bytes(text));
    }
    node->type = node->args[1]->type;
    node->kernel = time_call_trunc;
    node->can_raise = true;
    return check_time(node, &node->args[1]->type, err);
}
