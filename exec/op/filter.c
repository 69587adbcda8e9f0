#include "op/filter.h"

#include "op/code_test.h"
#include "op/job_context.h"

struct filter {
    struct operator op; /* first */
    const struct filter_predicate *predicates;
    uint32_t predicate_count;
};

static enum exec_code select_rows(const struct filter_predicate *predicate, const struct batch *in,
                                  struct nu_arena *scratch, uint16_t *sel, uint32_t *count,
                                  struct exec_error *err)
{
    if (predicate->test != NULL && code_test_select(predicate->test, in, sel, count)) {
        return EXEC_OK;
    }
    return expr_select(predicate->expr, in, scratch, sel, count, err);
}

static enum push_result filter_push(struct operator* op, struct pipe_run *run, uint32_t index,
                                    const struct batch *in)
{
    const struct filter *filter = (const struct filter *)op;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    struct batch out = *in;
    enum push_result result = PUSH_MORE;

    for (uint32_t i = 0; i < filter->predicate_count && out.sel_count != 0; i++) {
        struct exec_error err;
        uint16_t *sel = nu_arena_alloc(run->scratch, BATCH_ROWS * sizeof *sel, 64);
        uint32_t count = 0;

        if (sel == NULL) {
            job_fail_memory(run->job, run->scratch, "a filter's selection");
            result = PUSH_FAILED;
            break;
        }
        if (select_rows(&filter->predicates[i], &out, run->scratch, sel, &count, &err) != EXEC_OK) {
            err.rel = err.rel == 0 ? op->rel : err.rel;
            job_fail(run->job, &err);
            result = PUSH_FAILED;
            break;
        }
        out.sel = sel;
        out.sel_count = count;
    }
    if (result == PUSH_MORE) {
        result = pipe_push(run, index + 1, &out);
    }
    nu_arena_rewind(run->scratch, mark);
    return result;
}

static const struct operator_kind filter_kind = {.name = "filter", .push = filter_push};

struct operator* filter_create(struct job_context *job, uint32_t rel,
                               const struct filter_predicate *predicates, uint32_t predicate_count)
{
    struct filter *filter = nu_arena_calloc(&job->plan, sizeof *filter, _Alignof(struct filter));

    if (filter == NULL) {
        return NULL;
    }
    filter->op.kind = &filter_kind;
    filter->op.rel = rel;
    filter->predicates = predicates;
    filter->predicate_count = predicate_count;
    return &filter->op;
}
