#include "expr/function_rules.h"

#include "exec/exec.h"
#include "expr/arith.h"
#include "expr/compare.h"
#include "expr/fold.h"
#include "expr/real_math.h"
#include "expr/regex.h"
#include "expr/string_call.h"
#include "expr/time_call.h"
#include "expr/value_text.h"
#include "expr/zone_call.h"
#include "vec/string_view.h"

#include <stdio.h>
#include <string.h>

static const struct expr_function functions[] = {
#define FUNCTION(name, rule, variant, args_min, args_max, help) \
    {#name, rule_##rule, (uint32_t)(variant), args_min, args_max, help},
#include "expr/signatures.def"
};

const char *expr_function_name(const struct expr_function *function)
{
    return function->name;
}

const struct expr_function *function_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i].name, name) == 0) {
            return &functions[i];
        }
    }
    return NULL;
}

bool exec_function_info(uint32_t index, struct exec_function_info *info_out)
{
    if (index >= sizeof functions / sizeof functions[0]) {
        return false;
    }
    *info_out = (struct exec_function_info){
        .name = functions[index].name,
        .help = functions[index].help,
        .args_min = functions[index].args_min,
        .args_max = functions[index].args_max,
    };
    return true;
}

enum exec_code function_mismatch(const struct expr *node, struct exec_error *err)
{
    char types[256];
    char type[EXEC_TYPE_TEXT_BYTES];
    size_t bytes = 0;

    types[0] = '\0';
    for (uint32_t i = 0; i < node->arg_count && bytes < sizeof types; i++) {
        if (node->args[i] == NULL) {
            break; /* CASE without ELSE */
        }
        bytes += (size_t)snprintf(types + bytes, sizeof types - bytes, "%s%s", i == 0 ? "" : ", ",
                                  exec_type_text(&node->args[i]->type, type));
    }
    return EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "%s does not take (%s)",
                     node->function == NULL ? "case" : node->function->name, types);
}

struct expr *function_narrow_literal(struct nu_arena *arena, struct expr *literal,
                                     const struct exec_type *type)
{
    struct exec_error ignored;
    struct expr *narrow;
    struct expr *back;
    const size_t width = exec_type_width(literal->type.kind);

    if (literal->kind != EXPR_LITERAL || !exec_type_is_numeric(literal->type.kind) ||
        !exec_type_is_numeric(type->kind)) {
        return NULL;
    }
    if (expr_cast(arena, literal, type, &narrow, &ignored) != EXEC_OK ||
        narrow->kind != EXPR_LITERAL ||
        expr_cast(arena, narrow, &literal->type, &back, &ignored) != EXEC_OK ||
        back->kind != EXPR_LITERAL) {
        return NULL;
    }
    return memcmp(back->literal.data, literal->literal.data, width) == 0 ? narrow : NULL;
}

static bool is_time(enum exec_type_kind kind)
{
    return kind == EXEC_TYPE_DATE32 || kind == EXEC_TYPE_TIMESTAMP;
}

enum exec_code function_text_literal(struct nu_arena *arena, struct expr **literal,
                                     const struct exec_type *type, struct exec_error *err)
{
    const struct expr *text = *literal;
    _Alignas(16) unsigned char value[16];
    char type_text[EXEC_TYPE_TEXT_BYTES];

    if (text->kind != EXPR_LITERAL || text->type.kind != EXEC_TYPE_UTF8 ||
        (!exec_type_is_numeric(type->kind) && !is_time(type->kind) &&
         type->kind != EXEC_TYPE_BOOL)) {
        return EXEC_OK;
    }
    const bool is_null = !vec_is_valid(&text->literal, 0);
    const struct zone *zone;
    if (zone_of_type(arena, type, &zone, err) != EXEC_OK) {
        return err->code;
    }
    if (!is_null) {
        const struct string_view *view = text->literal.data;
        const char *bytes = string_view_bytes(view);
        if (value_parse_in(zone, type, bytes, view->size, value) != VALUE_OK) {
            return EXEC_FAIL(err, EXEC_TYPE_MISMATCH,
                             "the text '%.*s' stands beside %s, but it is no such value",
                             (int)(view->size > 100 ? 100 : view->size), bytes,
                             exec_type_text(type, type_text));
        }
    }
    struct expr *typed = fold_literal(arena, type, is_null ? NULL : value, text->index);
    if (typed == NULL) {
        return expr_no_memory(arena, err);
    }
    *literal = typed;
    return EXEC_OK;
}

enum exec_code function_call(struct nu_arena *arena, const struct expr_function *function,
                             struct expr **args, uint32_t arg_count, uint32_t index,
                             struct expr **expr_out, struct exec_error *err)
{
    struct expr *node = nu_arena_calloc(arena, sizeof *node, _Alignof(struct expr));
    enum exec_code code;

    if (node == NULL) {
        return expr_no_memory(arena, err);
    }
    if (arg_count < function->args_min ||
        (function->args_max != 0 && arg_count > function->args_max)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s takes %s%u arguments, not %u", function->name,
                         function->args_min == function->args_max ? "" : "at least ",
                         function->args_min, arg_count);
    }
    *node = (struct expr){.kind = EXPR_CALL,
                          .index = index,
                          .function = function,
                          .variant = function->variant,
                          .eval = expr_eval_strict,
                          .args = args,
                          .arg_count = arg_count};
    *expr_out = node;
    code = function->rule(arena, expr_out, err);
    if (code != EXEC_OK) {
        return code;
    }
    for (uint32_t i = 0; i < (*expr_out)->arg_count; i++) {
        (*expr_out)->can_raise |= (*expr_out)->args[i]->can_raise;
    }
    return fold_expr(arena, expr_out, err);
}

/* ---- what rules share
 * ------------------------------------------------------------------------------- */

bool function_takes_only(const struct expr *node, enum exec_type_kind kind)
{
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (node->args[i]->type.kind != kind) {
            return false;
        }
    }
    return true;
}

enum exec_code function_text_literals(struct nu_arena *arena, struct expr **values, uint32_t count,
                                      struct exec_error *err)
{
    const struct expr *typed = NULL;

    for (uint32_t i = 0; i < count && typed == NULL; i++) {
        typed = values[i]->kind == EXPR_LITERAL && values[i]->type.kind == EXEC_TYPE_UTF8
                    ? NULL
                    : values[i];
    }
    for (uint32_t i = 0; i < count && typed != NULL; i++) {
        const enum exec_code code = function_text_literal(arena, &values[i], &typed->type, err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return EXEC_OK;
}

bool function_common_type(const struct expr *node, struct exec_type *common_out)
{
    *common_out = node->args[0]->type;
    for (uint32_t i = 1; i < node->arg_count; i++) {
        const struct exec_type so_far = *common_out;
        if (!expr_common_type(&so_far, &node->args[i]->type, common_out)) {
            return false;
        }
    }
    return true;
}

enum exec_code function_cast_args(struct nu_arena *arena, struct expr *node, uint32_t first,
                                  const struct exec_type *to, struct exec_error *err)
{
    for (uint32_t i = first; i < node->arg_count; i++) {
        const enum exec_code code = expr_cast(arena, node->args[i], to, &node->args[i], err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return EXEC_OK;
}
