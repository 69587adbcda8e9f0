#include "expr/expr_node.h"

#include "vec/bitmap.h"

#include <inttypes.h>
#include <string.h>

/* Evaluation at the top, and of strict nodes: arguments first, their nulls combined, then one call
 * of the node's kernel over all rows at once. */

enum exec_code expr_no_memory(const struct nu_arena *arena, struct exec_error *err)
{
    if (arena->refused == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "an expression: the system has no memory left");
    }
    return EXEC_FAIL(err, EXEC_MEMORY_BUDGET,
                     "an expression: the memory limit of the %s, %" PRIu64
                     " bytes, does not allow any more (%" PRIu64 " in use)",
                     arena->refused->name, arena->refused->limit_bytes,
                     nu_budget_used(arena->refused));
}

bool expr_call_clear(struct expr_call *call, uint32_t row)
{
    if (call->own_valid == NULL) {
        const uint32_t words = bitmap_words(call->row_count) + 1;
        call->own_valid = nu_arena_alloc(call->scratch, words * sizeof(uint64_t), 8);
        if (call->own_valid == NULL) {
            return false;
        }
        memset(call->own_valid, 0xff, words * sizeof(uint64_t));
        if (call->valid != NULL) {
            memcpy(call->own_valid, call->valid, bitmap_words(call->row_count) * sizeof(uint64_t));
        }
        call->valid = call->own_valid;
    }
    bitmap_clear(call->own_valid, row);
    return true;
}

const char *expr_arg_text(const struct expr_call *call, uint32_t arg, uint32_t row,
                          char text_out[EXPR_VALUE_TEXT_BYTES])
{
    const struct vec *vec = &call->args[arg];
    const size_t width = exec_type_width(vec->kind);
    const char *value = (const char *)vec->data + expr_arg_row(vec, row) * width;

    expr_value_text(&call->expr->args[arg]->type, value, text_out, EXPR_VALUE_TEXT_BYTES);
    return text_out;
}

/* Sets call->valid; false: out of memory. */
static bool combine_validity(struct expr_call *call)
{
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const struct vec *arg = &call->args[i];
        uint64_t *both;
        if (arg->constant || arg->valid == NULL || arg->valid == call->valid) {
            continue;
        }
        if (call->valid == NULL) {
            call->valid = arg->valid;
            continue;
        }
        both = nu_arena_alloc(call->scratch, (bitmap_words(call->row_count) + 1) * 8, 8);
        if (both == NULL) {
            return false;
        }
        bitmap_and(both, call->valid, arg->valid, call->row_count);
        call->valid = both;
    }
    return true;
}

/* A view under a cleared bit has size 0. */
static void empty_null_views(const struct expr_call *call)
{
    static const struct string_view empty;
    struct string_view *views = call->out;

    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        if (!expr_call_present(call, row)) {
            views[row] = empty;
        }
    }
}

static enum exec_code run_kernel(struct expr_call *call, bool constant, struct vec *out,
                                 struct exec_error *err)
{
    const struct expr *expr = call->expr;
    enum exec_code code;

    if (!combine_validity(call) ||
        !vec_alloc(expr->type.kind, call->row_count, call->scratch, out, &call->out)) {
        return expr_no_memory(call->scratch, err);
    }
    code = expr->kernel(call, err);
    if (code != EXEC_OK) {
        err->expr = err->expr == 0 ? expr->index : err->expr;
        return code;
    }
    if (call->valid != NULL && vec_storage(expr->type.kind) == VEC_VIEW) {
        empty_null_views(call);
    }
    out->valid = call->valid;
    out->constant = constant;
    return EXEC_OK;
}

enum exec_code expr_eval_strict(const struct expr *expr, const struct batch *in,
                                struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    struct vec *args = nu_arena_alloc(scratch, (expr->arg_count + 1) * sizeof *args, 8);
    bool all_constant = true;
    bool null = false;

    if (args == NULL) {
        return expr_no_memory(scratch, err);
    }
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        const enum exec_code code = expr->args[i]->eval(expr->args[i], in, scratch, &args[i], err);
        if (code != EXEC_OK) {
            return code;
        }
        all_constant &= args[i].constant;
        null |= args[i].constant && !vec_is_valid(&args[i], 0);
    }
    if (null || in->sel_count == 0) {
        *out = vec_null(expr->type.kind);
        return EXEC_OK;
    }
    struct expr_call call = {.expr = expr,
                             .args = args,
                             .arg_count = expr->arg_count,
                             .sel = all_constant ? NULL : in->sel,
                             .count = all_constant ? 1 : in->sel_count,
                             .row_count = all_constant ? 1 : in->row_count,
                             .scratch = scratch};
    return run_kernel(&call, all_constant, out, err);
}

enum exec_code expr_eval(const struct expr *expr, const struct batch *in, struct nu_arena *scratch,
                         struct vec *out, struct exec_error *err)
{
    return expr->eval(expr, in, scratch, out, err);
}

/* Keep the rows that are true, without branches: selectivities near one half are common here. */
static uint32_t select_true(const struct vec *truth, const uint16_t *sel, uint32_t count,
                            uint16_t *restrict sel_out)
{
    const uint8_t *data = truth->data;
    uint32_t kept = 0;

    if (truth->valid == NULL) {
        for (uint32_t p = 0; p < count; p++) {
            const uint32_t row = sel == NULL ? p : sel[p];
            sel_out[kept] = (uint16_t)row;
            kept += data[row] != 0;
        }
        return kept;
    }
    for (uint32_t p = 0; p < count; p++) {
        const uint32_t row = sel == NULL ? p : sel[p];
        sel_out[kept] = (uint16_t)row;
        kept += (data[row] != 0) & bitmap_get(truth->valid, row);
    }
    return kept;
}

static uint32_t select_all(const struct batch *in, uint16_t *sel_out)
{
    for (uint32_t p = 0; p < in->sel_count; p++) {
        sel_out[p] = (uint16_t)batch_row(in, p);
    }
    return in->sel_count;
}

static enum exec_code select_one(const struct expr *expr, const struct batch *in,
                                 struct nu_arena *scratch, uint16_t *sel_out, uint32_t *count_out,
                                 struct exec_error *err)
{
    struct vec truth;
    const enum exec_code code = expr->eval(expr, in, scratch, &truth, err);

    if (code != EXEC_OK) {
        return code;
    }
    if (truth.constant) {
        const bool keep = vec_is_valid(&truth, 0) && *(const uint8_t *)truth.data != 0;
        *count_out = keep ? select_all(in, sel_out) : 0;
        return EXEC_OK;
    }
    *count_out = select_true(&truth, in->sel, in->sel_count, sel_out);
    return EXEC_OK;
}

/* The parts of a conjunction narrow the selection one after the other. */
enum exec_code expr_select(const struct expr *expr, const struct batch *in,
                           struct nu_arena *scratch, uint16_t *sel_out, uint32_t *count_out,
                           struct exec_error *err)
{
    struct batch narrowed = *in;

    if (expr->eval != expr_eval_and) {
        return select_one(expr, in, scratch, sel_out, count_out, err);
    }
    *count_out = 0;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        uint16_t *to = i == 0 ? sel_out : nu_arena_alloc(scratch, BATCH_ROWS * sizeof *to, 8);
        enum exec_code code;
        if (to == NULL) {
            return expr_no_memory(scratch, err);
        }
        code = expr_select(expr->args[i], &narrowed, scratch, to, count_out, err);
        if (code != EXEC_OK || *count_out == 0) {
            return code;
        }
        if (i != 0) {
            memcpy(sel_out, to, *count_out * sizeof *to);
        }
        narrowed.sel = sel_out;
        narrowed.sel_count = *count_out;
    }
    return EXEC_OK;
}
