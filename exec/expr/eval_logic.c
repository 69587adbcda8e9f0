#include "expr/expr_node.h"

#include "vec/bitmap.h"

#include <string.h>

/* Three-valued logic. Every part of AND and OR is evaluated on the rows its predecessors left open
 * only, so that a guard keeps an error away: x <> 0 and 1 / x > 2. */

struct truth {
    uint8_t *data;
    uint64_t *valid;
    uint16_t *open; /* rows that are not decided yet */
    uint32_t open_count;
};

static bool truth_init(struct truth *truth, const struct batch *in, struct nu_arena *scratch,
                       struct vec *out)
{
    void *data;

    if (!vec_alloc(EXEC_TYPE_BOOL, in->row_count, scratch, out, &data)) {
        return false;
    }
    truth->data = data;
    truth->valid = nu_arena_alloc(scratch, BATCH_WORDS * sizeof *truth->valid, 8);
    truth->open = nu_arena_alloc(scratch, BATCH_ROWS * sizeof *truth->open, 8);
    if (truth->valid == NULL || truth->open == NULL) {
        return false;
    }
    memset(truth->valid, 0xff, BATCH_WORDS * sizeof *truth->valid);
    out->valid = truth->valid;
    truth->open_count = in->sel_count;
    for (uint32_t p = 0; p < in->sel_count; p++) {
        truth->open[p] = (uint16_t)batch_row(in, p);
    }
    return true;
}

/* `decisive` is false for AND, true for OR: a row with that value is decided; a null leaves the row
 * open but null unless something later decides it. */
static void truth_merge(struct truth *truth, const struct vec *part, bool decisive)
{
    const uint8_t *data = part->data;
    uint32_t kept = 0;

    for (uint32_t p = 0; p < truth->open_count; p++) {
        const uint16_t row = truth->open[p];
        const bool present = vec_is_valid(part, row);
        const bool decides = present & ((data[expr_arg_row(part, row)] != 0) == decisive);
        const bool valid = decides | (present & bitmap_get(truth->valid, row));
        truth->data[row] = (uint8_t)(decides ? decisive : !decisive);
        bitmap_put(truth->valid, row, valid);
        truth->open[kept] = row;
        kept += !decides;
    }
    truth->open_count = kept;
}

static enum exec_code eval_chain(const struct expr *expr, const struct batch *in,
                                 struct nu_arena *scratch, struct vec *out, struct exec_error *err,
                                 bool decisive)
{
    struct truth truth;

    if (!truth_init(&truth, in, scratch, out)) {
        return expr_no_memory(scratch, err);
    }
    for (uint32_t i = 0; i < expr->arg_count && truth.open_count != 0; i++) {
        struct batch open = *in;
        struct vec part;
        enum exec_code code;
        if (truth.open_count != in->sel_count) {
            open.sel = truth.open;
            open.sel_count = truth.open_count;
        }
        code = expr->args[i]->eval(expr->args[i], &open, scratch, &part, err);
        if (code != EXEC_OK) {
            return code;
        }
        truth_merge(&truth, &part, decisive);
    }
    return EXEC_OK;
}

enum exec_code expr_eval_and(const struct expr *expr, const struct batch *in,
                             struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    return eval_chain(expr, in, scratch, out, err, false);
}

enum exec_code expr_eval_or(const struct expr *expr, const struct batch *in,
                            struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    return eval_chain(expr, in, scratch, out, err, true);
}

enum exec_code expr_eval_not(const struct expr *expr, const struct batch *in,
                             struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    struct vec arg;
    void *data;
    const enum exec_code code = expr->args[0]->eval(expr->args[0], in, scratch, &arg, err);

    if (code != EXEC_OK) {
        return code; /* and arg is not written */
    }
    const uint8_t *from = arg.data;
    const uint32_t count = arg.constant ? 1 : in->row_count;
    if (!vec_alloc(EXEC_TYPE_BOOL, count, scratch, out, &data)) {
        return expr_no_memory(scratch, err);
    }
    uint8_t *to = data;
    for (uint32_t row = 0; row < count; row++) {
        to[row] = from[row] == 0;
    }
    out->valid = arg.valid;
    out->constant = arg.constant;
    return EXEC_OK;
}

static struct vec truth_constant(bool value)
{
    static const uint8_t values[] = {0, 1};
    return (struct vec){.data = &values[value], .kind = EXEC_TYPE_BOOL, .constant = true};
}

enum exec_code expr_eval_is_null(const struct expr *expr, const struct batch *in,
                                 struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    const bool when_present = expr->variant == 1;
    struct vec arg;
    void *data;
    const enum exec_code code = expr->args[0]->eval(expr->args[0], in, scratch, &arg, err);

    if (code != EXEC_OK) {
        return code;
    }
    if (arg.valid == NULL || arg.constant) {
        *out = truth_constant(vec_is_valid(&arg, 0) == when_present);
        return EXEC_OK;
    }
    if (!vec_alloc(EXEC_TYPE_BOOL, in->row_count, scratch, out, &data)) {
        return expr_no_memory(scratch, err);
    }
    uint8_t *to = data;
    for (uint32_t row = 0; row < in->row_count; row++) {
        to[row] = bitmap_get(arg.valid, row) == when_present;
    }
    return EXEC_OK;
}

enum exec_code expr_eval_distinct(const struct expr *expr, const struct batch *in,
                                  struct nu_arena *scratch, struct vec *out, struct exec_error *err)
{
    const bool when_same = expr->negated;
    struct vec args[2];
    struct expr_call call = {.expr = expr,
                             .args = args,
                             .arg_count = 2,
                             .sel = in->sel,
                             .count = in->sel_count,
                             .row_count = in->row_count,
                             .scratch = scratch};

    for (uint32_t i = 0; i < 2; i++) {
        const enum exec_code code = expr->args[i]->eval(expr->args[i], in, scratch, &args[i], err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    if (!vec_alloc(EXEC_TYPE_BOOL, in->row_count, scratch, out, &call.out)) {
        return expr_no_memory(scratch, err);
    }
    const enum exec_code code = expr->kernel(&call, err); /* equality, nulls aside */
    if (code != EXEC_OK) {
        return code;
    }
    uint8_t *truth = call.out;
    for (uint32_t p = 0; p < in->sel_count; p++) {
        const uint32_t row = batch_row(in, p);
        const bool a = vec_is_valid(&args[0], row);
        const bool b = vec_is_valid(&args[1], row);
        const bool same = (a == b) & (!a | (truth[row] != 0));
        truth[row] = same == when_same;
    }
    return EXEC_OK;
}
