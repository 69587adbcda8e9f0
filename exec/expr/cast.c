#include "expr/cast.h"

#include "expr/fold.h"

#include <string.h>

static bool is_number(const struct exec_type *type)
{
    return exec_type_is_numeric(type->kind) || type->kind == EXEC_TYPE_BOOL;
}

static bool is_time(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_DATE32 || type->kind == EXEC_TYPE_TIMESTAMP;
}

/* Wall-clock time in a zone needs a zone database, except where the zone is UTC. */
static bool needs_zone_rules(const struct exec_type *from, const struct exec_type *to)
{
    const bool from_instant = from->zone[0] != '\0';
    const bool to_instant = to->zone[0] != '\0';
    const char *zone = from_instant ? from->zone : to->zone;

    return from_instant != to_instant && strcmp(zone, "UTC") != 0;
}

/* The bytes stay the same. */
static bool is_relabel(const struct exec_type *from, const struct exec_type *to)
{
    if (from->kind == EXEC_TYPE_UTF8 && to->kind == EXEC_TYPE_BINARY) {
        return true;
    }
    if (from->kind != to->kind) {
        return false;
    }
    return from->kind == EXEC_TYPE_DECIMAL128
               ? from->scale == to->scale && from->precision <= to->precision
               : from->kind != EXEC_TYPE_TIMESTAMP || from->unit == to->unit;
}

static expr_kernel_fn *kernel_of(const struct exec_type *from, const struct exec_type *to)
{
    if (is_number(from) && is_number(to)) {
        return cast_number;
    }
    if (is_time(from) && is_time(to)) {
        return cast_time;
    }
    if (from->kind == EXEC_TYPE_UTF8 && (is_number(to) || is_time(to))) {
        return cast_parse;
    }
    if (to->kind == EXEC_TYPE_UTF8 && (is_number(from) || is_time(from))) {
        return cast_format;
    }
    return NULL;
}

enum exec_code expr_eval_relabel(const struct expr *expr, const struct batch *in,
                                 struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    const enum exec_code code = expr->args[0]->eval(expr->args[0], in, scratch, out, err);
    out->kind = expr->type.kind;
    return code;
}

/* Casts that hold for every value. */
static bool never_fails(const struct exec_type *from, const struct exec_type *to)
{
    struct exec_type common;

    if (to->kind == EXEC_TYPE_UTF8) {
        return true;
    }
    if (!exec_type_is_numeric(from->kind) || !exec_type_is_numeric(to->kind)) {
        return from->kind == EXEC_TYPE_BOOL || to->kind == EXEC_TYPE_BOOL;
    }
    if (to->kind == EXEC_TYPE_FLOAT64) {
        return true;
    }
    return expr_common_type(from, to, &common) && exec_type_equal(&common, to);
}

enum exec_code cast_make(struct nu_arena *arena, struct expr *arg, const struct exec_type *to,
                         bool null_on_failure, uint32_t index, struct expr **expr_out,
                         struct exec_error *err)
{
    const struct exec_type *from = &arg->type;
    const bool relabel = is_relabel(from, to);
    expr_kernel_fn *const kernel = kernel_of(from, to);
    char from_text[EXEC_TYPE_TEXT_BYTES];
    char to_text[EXEC_TYPE_TEXT_BYTES];
    struct expr *node;

    if (exec_type_equal(from, to)) {
        *expr_out = arg;
        return EXEC_OK;
    }
    if (kernel == NULL && !relabel) {
        return EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "there is no cast from %s to %s",
                         exec_type_text(from, from_text), exec_type_text(to, to_text));
    }
    if (needs_zone_rules(from, to)) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "cast from %s to %s: only UTC is known",
                         exec_type_text(from, from_text), exec_type_text(to, to_text));
    }
    node = nu_arena_calloc(arena, sizeof *node, _Alignof(struct expr));
    struct expr **args = nu_arena_alloc(arena, sizeof *args, sizeof(void *));
    if (node == NULL || args == NULL) {
        return expr_no_memory(arena, err);
    }
    args[0] = arg;
    *node = (struct expr){.kind = EXPR_CAST,
                          .index = index,
                          .type = *to,
                          .eval = relabel ? expr_eval_relabel : expr_eval_strict,
                          .kernel = kernel,
                          .args = args,
                          .arg_count = 1,
                          .null_on_failure = null_on_failure,
                          .can_raise = arg->can_raise ||
                                       (!relabel && !null_on_failure && !never_fails(from, to))};
    *expr_out = node;
    return fold_expr(arena, expr_out, err);
}

enum exec_code expr_cast(struct nu_arena *arena, struct expr *expr, const struct exec_type *to,
                         struct expr **expr_out, struct exec_error *err)
{
    return cast_make(arena, expr, to, false, expr->index, expr_out, err);
}

enum exec_code cast_refuse(struct expr_call *call, uint32_t row, bool malformed,
                           struct exec_error *err)
{
    const struct expr *expr = call->expr;
    const size_t width = exec_type_width(expr->type.kind);
    char value[EXPR_VALUE_TEXT_BYTES];
    char from[EXEC_TYPE_TEXT_BYTES];
    char to[EXEC_TYPE_TEXT_BYTES];

    if (expr->null_on_failure) {
        memset((char *)call->out + row * width, 0, width);
        return expr_call_clear(call, row) ? EXEC_OK : expr_no_memory(call->scratch, err);
    }
    expr_arg_text(call, 0, row, value);
    exec_type_text(&expr->args[0]->type, from);
    exec_type_text(&expr->type, to);
    if (malformed) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "cast from %s to %s: %s is not a %s", from, to, value,
                         to);
    }
    return EXEC_FAIL(err, EXEC_OVERFLOW, "cast from %s to %s: %s does not fit", from, to, value);
}
