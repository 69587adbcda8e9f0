#include "sort/sort_state.h"

static void init_parts(struct sort *sort)
{
    sort->sink.kind = &sort_run_sink_kind;
    sort->run_source.kind = &sort_run_source_kind;
    sort->ordered_source.kind = &sort_ordered_source_kind;
    sort->sink.rel = sort->rel;
    sort->run_source.rel = sort->rel;
    sort->ordered_source.rel = sort->rel;
}

enum exec_code sort_init(struct sort *sort, struct job_context *job, const struct sort_plan *plan,
                         struct exec_error *err)
{
    const uint64_t offset = plan->offset < 0 ? 0 : (uint64_t)plan->offset;
    const uint64_t limit = plan->limit < 0 ? UINT64_MAX : (uint64_t)plan->limit;

    if (!sort_rows_init(&sort->rows, &job->plan, plan)) {
        return job_memory_error(err, job->plan.refused, "a sort");
    }
    sort->workers = nu_arena_calloc(&job->plan, job->worker_count * sizeof *sort->workers,
                                    _Alignof(struct sort_worker));
    if (sort->workers == NULL) {
        return job_memory_error(err, job->plan.refused, "a sort");
    }
    sort->job = job;
    sort->rel = plan->rel;
    sort->limit = limit;
    sort->offset = offset;
    init_parts(sort);
    return EXEC_OK;
}

enum exec_code sort_create(struct job_context *job, const struct sort_plan *plan,
                           struct sort **sort_out, struct exec_error *err)
{
    struct sort *sort = nu_arena_calloc(&job->plan, sizeof *sort, _Alignof(struct sort));

    if (sort == NULL) {
        return job_memory_error(err, job->plan.refused, "a sort");
    }
    if (sort_init(sort, job, plan, err) != EXEC_OK) {
        return err->code;
    }
    if (sort->limit <= SORT_TOP_ROWS_MAX && sort->offset <= SORT_TOP_ROWS_MAX - sort->limit) {
        sort->is_top = true;
        sort->top_rows = (uint32_t)(sort->limit + sort->offset);
        sort->sink.kind = &sort_top_sink_kind;
    }
    *sort_out = sort;
    return EXEC_OK;
}

struct op_sink *sort_sink(struct sort *sort)
{
    return &sort->sink;
}

struct op_source *sort_run_source(struct sort *sort)
{
    return sort->is_top ? NULL : &sort->run_source;
}

struct op_source *sort_ordered_source(struct sort *sort)
{
    return &sort->ordered_source;
}
