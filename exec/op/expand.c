#include "op/expand.h"

#include "op/job_context.h"
#include "vec/vec.h"

#include <string.h>

struct expand {
    struct operator op; /* first */
    struct expand_plan plan;
    uint32_t used; /* bit k: some set has key k; the others are not evaluated */
};

/* Input columns and keys, evaluated once; the set's columns are behind them. */
static bool eval_keys(const struct expand *expand, struct pipe_run *run, const struct batch *in,
                      struct vec *keys)
{
    struct exec_error err;

    for (uint32_t k = 0; k < expand->plan.key_count; k++) {
        if ((expand->used >> k & 1) != 0 &&
            expr_eval(expand->plan.keys[k], in, run->scratch, &keys[k], &err) != EXEC_OK) {
            err.rel = err.rel == 0 ? expand->op.rel : err.rel;
            job_fail(run->job, &err);
            return false;
        }
    }
    return true;
}

/* The cursor's position is the set that comes next. */
static enum push_result push_sets(const struct expand *expand, struct pipe_run *run, uint32_t index,
                                  struct batch *out, const struct vec *keys)
{
    const struct expand_plan *plan = &expand->plan;
    struct op_cursor *cursor = &run->cursors[index];
    struct vec *columns = out->columns + plan->input_columns;

    for (uint32_t s = cursor->position; s < plan->set_count; s++) {
        const int64_t number = (int64_t)s + 1;
        columns[0] = (struct vec){.data = &number, .kind = EXEC_TYPE_INT64, .constant = true};
        for (uint32_t k = 0; k < plan->key_count; k++) {
            const bool kept = (plan->kept[s] >> k & 1) != 0;
            columns[1 + k] = kept ? keys[k] : vec_null(expr_type(plan->keys[k])->kind);
        }
        const enum push_result result = pipe_push(run, index + 1, out);
        if (result != PUSH_MORE) {
            cursor->position = result == PUSH_SUSPEND ? s : 0;
            return result;
        }
    }
    cursor->position = 0;
    return PUSH_MORE;
}

static enum push_result expand_push(struct operator* op, struct pipe_run *run, uint32_t index,
                                    const struct batch *in)
{
    const struct expand *expand = (const struct expand *)op;
    const struct expand_plan *plan = &expand->plan;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    const uint32_t column_count = plan->input_columns + 1 + plan->key_count;
    struct batch out = *in;
    struct vec *columns =
        nu_arena_alloc(run->scratch, (column_count + plan->key_count) * sizeof *columns, 64);
    enum push_result result = PUSH_FAILED;

    if (columns == NULL) {
        job_fail_memory(run->job, run->scratch, "the columns of grouping sets");
        return PUSH_FAILED;
    }
    if (plan->input_columns != 0) {
        memcpy(columns, in->columns, plan->input_columns * sizeof *columns);
    }
    out.columns = columns;
    out.column_count = column_count;
    if (eval_keys(expand, run, in, columns + column_count)) {
        result = push_sets(expand, run, index, &out, columns + column_count);
    }
    nu_arena_rewind(run->scratch, mark);
    return result;
}

static const struct operator_kind expand_kind = {.name = "expand", .push = expand_push};

struct operator* expand_create(struct job_context *job, const struct expand_plan *plan)
{
    struct expand *expand = nu_arena_calloc(&job->plan, sizeof *expand, _Alignof(struct expand));

    if (expand == NULL) {
        return NULL;
    }
    expand->op.kind = &expand_kind;
    expand->op.rel = plan->rel;
    expand->plan = *plan;
    for (uint32_t s = 0; s < plan->set_count; s++) {
        expand->used |= plan->kept[s];
    }
    return &expand->op;
}
