#include "expr/expr_node.h"

#include "vec/bitmap.h"

#include <string.h>

/* CASE and COALESCE: each branch is evaluated on the rows that take it and on no others; its values
 * are copied to those rows of the result. */

struct choice {
    void *data;
    uint64_t *valid;
    bool any_null;
    uint16_t *rest; /* rows without a value yet, ascending */
    uint32_t rest_count;
    uint16_t *taken;
};

static bool choice_init(struct choice *choice, const struct expr *expr, const struct batch *in,
                        struct nu_arena *scratch, struct vec *out)
{
    if (!vec_alloc(expr->type.kind, in->row_count, scratch, out, &choice->data)) {
        return false;
    }
    choice->any_null = false;
    choice->valid = nu_arena_alloc(scratch, BATCH_WORDS * sizeof *choice->valid, 8);
    choice->rest = nu_arena_alloc(scratch, BATCH_ROWS * sizeof *choice->rest, 8);
    choice->taken = nu_arena_alloc(scratch, BATCH_ROWS * sizeof *choice->taken, 8);
    if (choice->valid == NULL || choice->rest == NULL || choice->taken == NULL) {
        return false;
    }
    memset(choice->valid, 0xff, BATCH_WORDS * sizeof *choice->valid);
    choice->rest_count = in->sel_count;
    for (uint32_t p = 0; p < in->sel_count; p++) {
        choice->rest[p] = (uint16_t)batch_row(in, p);
    }
    return true;
}

static void choice_put(struct choice *choice, const struct vec *values, const uint16_t *rows,
                       uint32_t count)
{
    vec_copy_rows(values, rows, count, choice->data);
    if (values->valid == NULL) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool present = vec_is_valid(values, rows[i]);
        bitmap_put(choice->valid, rows[i], present);
        choice->any_null |= !present;
    }
}

/* Splits rest into taken (returned count) and what stays, by truth or by presence. */
static uint32_t choice_split(struct choice *choice, const struct vec *vec, bool by_truth)
{
    const uint8_t *truth = vec->data;
    uint32_t taken = 0;
    uint32_t kept = 0;

    for (uint32_t p = 0; p < choice->rest_count; p++) {
        const uint16_t row = choice->rest[p];
        const bool present = vec_is_valid(vec, row);
        const bool take = present && (!by_truth || truth[expr_arg_row(vec, row)] != 0);
        choice->taken[taken] = row;
        choice->rest[kept] = row;
        taken += take;
        kept += !take;
    }
    choice->rest_count = kept;
    return taken;
}

static enum exec_code eval_on(const struct expr *expr, const struct batch *in, const uint16_t *rows,
                              uint32_t count, struct nu_arena *scratch, struct vec *out,
                              struct exec_error *err)
{
    struct batch part = *in;

    if (count != in->sel_count) {
        part.sel = rows;
        part.sel_count = count;
    }
    return expr->eval(expr, &part, scratch, out, err);
}

enum exec_code expr_eval_case(const struct expr *expr, const struct batch *in,
                              struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    const struct expr *otherwise = expr->args[expr->arg_count - 1];
    struct choice choice;
    struct vec part;
    enum exec_code code;

    if (!choice_init(&choice, expr, in, scratch, out)) {
        return expr_no_memory(scratch, err);
    }
    for (uint32_t i = 0; i + 1 < expr->arg_count && choice.rest_count != 0; i += 2) {
        code = eval_on(expr->args[i], in, choice.rest, choice.rest_count, scratch, &part, err);
        if (code != EXEC_OK) {
            return code;
        }
        const uint32_t taken = choice_split(&choice, &part, true);
        if (taken == 0) {
            continue;
        }
        code = eval_on(expr->args[i + 1], in, choice.taken, taken, scratch, &part, err);
        if (code != EXEC_OK) {
            return code;
        }
        choice_put(&choice, &part, choice.taken, taken);
    }
    if (choice.rest_count != 0) {
        code = eval_on(otherwise, in, choice.rest, choice.rest_count, scratch, &part, err);
        if (code != EXEC_OK) {
            return code;
        }
        choice_put(&choice, &part, choice.rest, choice.rest_count);
    }
    out->valid = choice.any_null ? choice.valid : NULL;
    return EXEC_OK;
}

enum exec_code expr_eval_coalesce(const struct expr *expr, const struct batch *in,
                                  struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    struct choice choice;
    struct vec part = vec_null(expr->type.kind);

    if (!choice_init(&choice, expr, in, scratch, out)) {
        return expr_no_memory(scratch, err);
    }
    for (uint32_t i = 0; i < expr->arg_count && choice.rest_count != 0; i++) {
        const enum exec_code code =
            eval_on(expr->args[i], in, choice.rest, choice.rest_count, scratch, &part, err);
        if (code != EXEC_OK) {
            return code;
        }
        if (i == 0 && (part.constant ? vec_is_valid(&part, 0) : part.valid == NULL)) {
            *out = part;
            return EXEC_OK;
        }
        const uint32_t taken = choice_split(&choice, &part, false);
        choice_put(&choice, &part, choice.taken, taken);
    }
    if (choice.rest_count != 0) {
        const struct vec null = vec_null(expr->type.kind);
        choice_put(&choice, &null, choice.rest, choice.rest_count);
    }
    out->valid = choice.any_null ? choice.valid : NULL;
    return EXEC_OK;
}
