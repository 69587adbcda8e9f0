#include "op/project.h"

#include "op/job_context.h"

struct project {
    struct operator op; /* first */
    struct expr *const *exprs;
    uint32_t expr_count;
};

static enum push_result project_push(struct operator* op, struct pipe_run *run, uint32_t index,
                                     const struct batch *in)
{
    const struct project *project = (const struct project *)op;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    struct batch out = *in;
    enum push_result result = PUSH_MORE;
    struct vec *columns =
        nu_arena_alloc(run->scratch, (project->expr_count + 1) * sizeof *columns, 64);

    if (columns == NULL) {
        job_fail_memory(run->job, run->scratch, "a projection's columns");
        return PUSH_FAILED;
    }
    for (uint32_t i = 0; i < project->expr_count; i++) {
        struct exec_error err;
        if (expr_eval(project->exprs[i], in, run->scratch, &columns[i], &err) != EXEC_OK) {
            err.rel = err.rel == 0 ? op->rel : err.rel;
            job_fail(run->job, &err);
            result = PUSH_FAILED;
            break;
        }
    }
    if (result == PUSH_MORE) {
        out.columns = columns;
        out.column_count = project->expr_count;
        result = pipe_push(run, index + 1, &out);
    }
    nu_arena_rewind(run->scratch, mark);
    return result;
}

static const struct operator_kind project_kind = {.name = "project", .push = project_push};

struct operator* project_create(struct job_context *job, uint32_t rel, struct expr *const *exprs,
                                uint32_t expr_count)
{
    struct project *project =
        nu_arena_calloc(&job->plan, sizeof *project, _Alignof(struct project));

    if (project == NULL) {
        return NULL;
    }
    project->op.kind = &project_kind;
    project->op.rel = rel;
    project->exprs = exprs;
    project->expr_count = expr_count;
    return &project->op;
}
