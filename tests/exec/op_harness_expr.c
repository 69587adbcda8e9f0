#include "op_harness.h"

#include <criterion/criterion.h>
#include <string.h>

/* The expressions operators are tested with: a column, a column as float64, one below another. */

struct expr {
    struct exec_type type;
    bool less, cast;
    struct exec_type from; /* of a cast */
    struct expr *inner;    /* likewise */
    uint32_t left, right;
};

static struct expr *make(struct harness *harness, const struct expr *expr)
{
    struct expr *made = nu_arena_alloc(&harness->job.plan, sizeof *made, 16);

    cr_assert_not_null(made);
    *made = *expr;
    return made;
}

struct expr *harness_column(struct harness *harness, uint32_t column, const struct exec_type *type)
{
    return make(harness, &(struct expr){.type = *type, .left = column});
}

struct expr *harness_less(struct harness *harness, uint32_t left, uint32_t right)
{
    return make(harness,
                &(struct expr){
                    .type = {.kind = EXEC_TYPE_BOOL}, .less = true, .left = left, .right = right});
}

const struct exec_type *expr_type(const struct expr *expr)
{
    return &expr->type;
}

bool expr_is_column(const struct expr *expr, uint32_t *column_out)
{
    *column_out = expr->left;
    return !expr->less && !expr->cast;
}

const struct expr *expr_cast_argument(const struct expr *expr)
{
    return expr->inner;
}

bool expr_can_raise(const struct expr *expr)
{
    return expr->less; /* so that the careful way is tested too */
}

void expr_mark_columns(const struct expr *expr, bool *used)
{
    used[expr->left] = true;
    used[expr->right] = used[expr->right] || expr->less;
}

enum exec_code expr_cast(struct nu_arena *arena, struct expr *expr, const struct exec_type *to,
                         struct expr **expr_out, struct exec_error *err)
{
    (void)err;
    *expr_out = expr;
    if (expr->type.kind != to->kind) {
        struct expr *made = nu_arena_alloc(arena, sizeof *made, 16);
        *made = *expr;
        made->from = expr->type;
        made->inner = expr;
        made->type = *to;
        made->cast = true;
        *expr_out = made;
    }
    return EXEC_OK;
}

static double real_at(const struct vec *vec, const struct exec_type *type, uint32_t row)
{
    double power = 1;
    __int128 value;

    switch (type->kind) {
#define REAL(KIND, c_type) \
    case EXEC_TYPE_##KIND: return (double)((const c_type *)vec->data)[row]
        REAL(INT8, int8_t);
        REAL(INT16, int16_t);
        REAL(INT32, int32_t);
        REAL(INT64, int64_t);
        REAL(UINT8, uint8_t);
        REAL(UINT16, uint16_t);
        REAL(UINT32, uint32_t);
        REAL(UINT64, uint64_t);
        REAL(FLOAT32, float);
#undef REAL
        default: break;
    }
    cr_assert_eq(type->kind, EXEC_TYPE_DECIMAL128);
    for (int s = 0; s < type->scale; s++) {
        power *= 10;
    }
    value = ((const __int128 *)vec->data)[row];
    return (double)value / power;
}

static void cast(const struct expr *expr, const struct batch *in, struct nu_arena *scratch,
                 struct vec *out)
{
    const struct vec *from = &in->columns[expr->left];
    double *data = nu_arena_calloc(scratch, BATCH_ROWS * sizeof *data, 64);

    *out = (struct vec){
        .data = data, .valid = from->valid, .kind = EXEC_TYPE_FLOAT64, .constant = from->constant};
    if (from->constant) {
        data[0] = vec_is_valid(from, 0) ? real_at(from, &expr->from, 0) : 0;
        return;
    }
    for (uint32_t p = 0; p < in->sel_count; p++) {
        const uint32_t row = batch_row(in, p);
        data[row] = vec_is_valid(from, row) ? real_at(from, &expr->from, row) : 0;
    }
}

static bool less(const struct expr *expr, const struct batch *in, uint32_t row, bool *valid)
{
    const struct vec *left = &in->columns[expr->left];
    const struct vec *right = &in->columns[expr->right];

    cr_assert_eq(left->kind, EXEC_TYPE_INT64);
    cr_assert_eq(right->kind, EXEC_TYPE_INT64);
    *valid = vec_is_valid(left, row) && vec_is_valid(right, row);
    return *valid && ((const int64_t *)left->data)[left->constant ? 0 : row] <
                         ((const int64_t *)right->data)[right->constant ? 0 : row];
}

enum exec_code expr_eval(const struct expr *expr, const struct batch *in, struct nu_arena *scratch,
                         struct vec *out, struct exec_error *err)
{
    (void)err;
    if (expr->cast) {
        cast(expr, in, scratch, out);
        return EXEC_OK;
    }
    if (!expr->less) {
        *out = in->columns[expr->left];
        return EXEC_OK;
    }
    uint8_t *data = nu_arena_calloc(scratch, BATCH_ROWS, 64);
    uint64_t *valid = nu_arena_calloc(scratch, BATCH_ROWS / 8, 64);
    for (uint32_t p = 0; p < in->sel_count; p++) {
        const uint32_t row = batch_row(in, p);
        bool present;
        data[row] = less(expr, in, row, &present);
        valid[row / 64] |= (uint64_t)present << row % 64;
    }
    *out = (struct vec){.data = data, .valid = valid, .kind = EXEC_TYPE_BOOL};
    return EXEC_OK;
}

enum exec_code expr_select(const struct expr *expr, const struct batch *in,
                           struct nu_arena *scratch, uint16_t *sel_out, uint32_t *count_out,
                           struct exec_error *err)
{
    (void)scratch;
    (void)err;
    *count_out = 0;
    for (uint32_t p = 0; p < in->sel_count; p++) {
        bool present;
        if (less(expr, in, batch_row(in, p), &present)) {
            sel_out[(*count_out)++] = (uint16_t)batch_row(in, p);
        }
    }
    return EXEC_OK;
}
