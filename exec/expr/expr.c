#include "expr/expr_node.h"

#include <string.h>

/* Looking at bound expressions, and moving them to other columns. */

const struct exec_type *expr_type(const struct expr *expr)
{
    return &expr->type;
}

bool expr_is_column(const struct expr *expr, uint32_t *column_out)
{
    if (expr->kind != EXPR_COLUMN) {
        return false;
    }
    *column_out = expr->column;
    return true;
}

const struct expr *expr_cast_argument(const struct expr *expr)
{
    return expr->kind == EXPR_CAST && !expr->null_on_failure ? expr->args[0] : NULL;
}

bool expr_is_call(const struct expr *expr, const char *function, struct expr *const **args_out,
                  uint32_t *arg_count_out)
{
    if (expr->kind != EXPR_CALL || strcmp(expr_function_name(expr->function), function) != 0) {
        return false;
    }
    *args_out = expr->args;
    *arg_count_out = expr->arg_count;
    return true;
}

bool expr_is_number(const struct expr *expr, double *number_out)
{
    if (expr->kind != EXPR_LITERAL || !vec_is_valid(&expr->literal, 0)) {
        return false;
    }
    switch (expr->type.kind) {
#define INTEGER(KIND, c_type) \
    case EXEC_TYPE_##KIND: *number_out = (double)*(const c_type *)expr->literal.data; return true
        INTEGER(INT8, int8_t);
        INTEGER(INT16, int16_t);
        INTEGER(INT32, int32_t);
        INTEGER(DATE32, int32_t);
        INTEGER(INT64, int64_t);
        INTEGER(TIMESTAMP, int64_t);
        INTEGER(UINT8, uint8_t);
        INTEGER(UINT16, uint16_t);
        INTEGER(UINT32, uint32_t);
        INTEGER(UINT64, uint64_t);
        INTEGER(FLOAT32, float);
        INTEGER(FLOAT64, double);
#undef INTEGER
        default: return false;
    }
}

static bool same_values(enum exec_type_kind kind, const void *a, const void *b, uint32_t count)
{
    const struct string_view *x = a, *y = b;

    if (vec_storage(kind) != VEC_VIEW) {
        return count == 0 || memcmp(a, b, count * exec_type_width(kind)) == 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!string_view_equal(&x[i], &y[i])) {
            return false;
        }
    }
    return true;
}

static bool same_literal(const struct vec *a, const struct vec *b)
{
    const bool present = vec_is_valid(a, 0);

    return present == vec_is_valid(b, 0) && (!present || same_values(a->kind, a->data, b->data, 1));
}

bool expr_equal(const struct expr *a, const struct expr *b)
{
    if (a->kind != b->kind || !exec_type_equal(&a->type, &b->type) || a->eval != b->eval ||
        a->kernel != b->kernel || a->function != b->function || a->arg_count != b->arg_count ||
        a->variant != b->variant || a->digits != b->digits || a->negated != b->negated ||
        a->null_on_failure != b->null_on_failure || a->prepared != b->prepared) {
        return false;
    }
    for (uint32_t i = 0; i < a->arg_count; i++) {
        if (!expr_equal(a->args[i], b->args[i])) {
            return false;
        }
    }
    switch (a->kind) {
        case EXPR_COLUMN: return a->column == b->column;
        case EXPR_LITERAL: return same_literal(&a->literal, &b->literal);
        case EXPR_IN_LIST:
            return a->list_count == b->list_count && a->list_has_null == b->list_has_null &&
                   same_values(a->args[0]->type.kind, a->list, b->list, a->list_count);
        default: return true;
    }
}

bool expr_can_raise(const struct expr *expr)
{
    return expr->can_raise;
}

bool expr_any_raises(struct expr *const *exprs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (expr_can_raise(exprs[i])) {
            return true;
        }
    }
    return false;
}

void expr_mark_columns(const struct expr *expr, bool *used)
{
    if (expr->kind == EXPR_COLUMN) {
        used[expr->column] = true;
    }
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        expr_mark_columns(expr->args[i], used);
    }
}

struct expr *expr_remap(struct nu_arena *arena, const struct expr *expr, const uint32_t *map)
{
    struct expr *copy = nu_arena_alloc(arena, sizeof *copy, _Alignof(struct expr));

    if (copy == NULL) {
        return NULL;
    }
    *copy = *expr;
    if (expr->kind == EXPR_COLUMN) {
        copy->column = map[expr->column];
    }
    if (expr->arg_count == 0) {
        return copy;
    }
    copy->args = nu_arena_alloc(arena, expr->arg_count * sizeof *copy->args, sizeof(void *));
    if (copy->args == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        copy->args[i] = expr_remap(arena, expr->args[i], map);
        if (copy->args[i] == NULL) {
            return NULL;
        }
    }
    return copy;
}
