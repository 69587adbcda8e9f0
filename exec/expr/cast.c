#include "expr/cast.h"

#include "expr/fold.h"
#include "expr/zone_call.h"

#include <string.h>

static bool is_number(const struct exec_type *type)
{
    return exec_type_is_numeric(type->kind) || type->kind == EXEC_TYPE_BOOL;
}

static bool is_time(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_DATE32 || type->kind == EXEC_TYPE_TIMESTAMP;
}

/* Between an instant and what a clock shows, where the clock is not that of UTC. */
static bool is_by_clock(const struct exec_type *from, const struct exec_type *to)
{
    return is_time(from) && is_time(to) && (from->zone[0] == '\0') != (to->zone[0] == '\0') &&
           !zone_is_utc(from->zone[0] != '\0' ? from->zone : to->zone);
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

static enum exec_code make_node(struct nu_arena *arena, const struct expr *made,
                                struct expr **expr_out, struct exec_error *err)
{
    struct expr *node = nu_arena_alloc(arena, sizeof *node, _Alignof(struct expr));
    struct expr **args = nu_arena_alloc(arena, sizeof *args, sizeof(void *));

    if (node == NULL || args == NULL) {
        return expr_no_memory(arena, err);
    }
    *node = *made;
    node->kind = EXPR_CAST;
    node->args = args;
    node->arg_count = 1;
    args[0] = *expr_out;
    *expr_out = node;
    return fold_expr(arena, expr_out, err);
}

/* In two steps, one of which is from or to the timestamp that the zone's clock shows. */
static enum exec_code make_by_clock(struct nu_arena *arena, struct expr *arg,
                                    const struct exec_type *to, bool null_on_failure,
                                    uint32_t index, struct expr **expr_out, struct exec_error *err)
{
    const bool to_local = arg->type.zone[0] != '\0';
    const struct exec_type *zoned = to_local ? &arg->type : to;
    struct exec_type local = *zoned;
    const struct zone *zone;

    memset(local.zone, 0, sizeof local.zone);
    if (zone_of_type(arena, zoned, &zone, err) != EXEC_OK ||
        (!to_local &&
         cast_make(arena, arg, &local, null_on_failure, index, &arg, err) != EXEC_OK)) {
        return err->code;
    }
    const struct expr made = {.index = index,
                              .type = to_local ? local : *to,
                              .eval = expr_eval_strict,
                              .kernel = to_local ? zone_call_local : zone_call_instant,
                              .prepared = zone,
                              .null_on_failure = null_on_failure,
                              .can_raise = arg->can_raise || !null_on_failure};
    *expr_out = arg;
    if (make_node(arena, &made, expr_out, err) != EXEC_OK) {
        return err->code;
    }
    return to_local ? cast_make(arena, *expr_out, to, null_on_failure, index, expr_out, err)
                    : EXEC_OK;
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
    const struct zone *zone = NULL;

    if (exec_type_equal(from, to)) {
        *expr_out = arg;
        return EXEC_OK;
    }
    if (kernel == NULL && !relabel) {
        return EXEC_FAIL(err, EXEC_TYPE_MISMATCH, "there is no cast from %s to %s",
                         exec_type_text(from, from_text), exec_type_text(to, to_text));
    }
    if (is_by_clock(from, to)) {
        return make_by_clock(arena, arg, to, null_on_failure, index, expr_out, err);
    }
    if (kernel == cast_parse && zone_of_type(arena, to, &zone, err) != EXEC_OK) {
        return err->code;
    }
    const struct expr made = {
        .index = index,
        .type = *to,
        .eval = relabel ? expr_eval_relabel : expr_eval_strict,
        .kernel = kernel,
        .prepared = zone,
        .null_on_failure = null_on_failure,
        .can_raise = arg->can_raise || (!relabel && !null_on_failure && !never_fails(from, to))};
    *expr_out = arg;
    return make_node(arena, &made, expr_out, err);
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
