#include "plan/plan.h"

void *plan_calloc(struct plan *plan, size_t count, size_t width, struct exec_error *err)
{
    void *memory = nu_arena_calloc(&plan->job->plan, (count == 0 ? 1 : count) * width, 16);

    if (memory == NULL) {
        plan_no_memory(plan, err);
    }
    return memory;
}

enum exec_code plan_no_memory(struct plan *plan, struct exec_error *err)
{
    return job_memory_error(err, plan->job->plan.refused, "planning");
}

enum exec_code plan_fail_rel(const struct plan_rel *rel, struct exec_error *err)
{
    if (err->rel == 0) {
        err->rel = rel->index;
    }
    return err->code;
}

static uint32_t input_indices(const struct exec_rel *rel, uint32_t two[2], const uint32_t **out)
{
    *out = two;
    switch (rel->kind) {
        case EXEC_REL_FILTER: two[0] = rel->u.filter.input; return 1;
        case EXEC_REL_PROJECT: two[0] = rel->u.project.input; return 1;
        case EXEC_REL_JOIN:
            two[0] = rel->u.join.left;
            two[1] = rel->u.join.right;
            return 2;
        case EXEC_REL_AGGREGATE: two[0] = rel->u.aggregate.input; return 1;
        case EXEC_REL_SORT: two[0] = rel->u.sort.input; return 1;
        case EXEC_REL_LIMIT: two[0] = rel->u.limit.input; return 1;
        case EXEC_REL_DISTINCT: two[0] = rel->u.distinct.input; return 1;
        case EXEC_REL_UNION_ALL:
            *out = rel->u.union_all.inputs;
            return rel->u.union_all.input_count;
        default: return 0;
    }
}

struct plan *plan_create(struct job_context *job, const struct exec_job_spec *spec,
                         uint32_t morsel_rows, pipe_ended_fn *ended)
{
    struct plan *plan = nu_arena_calloc(&job->plan, sizeof *plan, _Alignof(struct plan));
    struct exec_error err;

    if (plan == NULL) {
        return NULL;
    }
    plan->job = job;
    plan->spec = spec;
    plan->morsel_rows = morsel_rows;
    plan->ended = ended;
    plan->rels = plan_calloc(plan, spec->rel_count, sizeof *plan->rels, &err);
    if (plan->rels == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < spec->rel_count; i++) {
        struct plan_rel *rel = &plan->rels[i];
        uint32_t two[2];
        const uint32_t *inputs;

        rel->index = i + 1;
        rel->spec = &spec->rels[i];
        rel->rows = PLAN_ROWS_UNKNOWN;
        rel->sort_limit = -1;
        rel->input_count = input_indices(rel->spec, two, &inputs);
        rel->inputs = plan_calloc(plan, rel->input_count, sizeof(struct plan_rel *), &err);
        if (rel->inputs == NULL) {
            return NULL;
        }
        for (uint32_t k = 0; k < rel->input_count; k++) {
            rel->inputs[k] = &plan->rels[inputs[k] - 1];
        }
    }
    plan->root = &plan->rels[spec->rel_count - 1];
    return plan;
}

uint32_t plan_open(struct plan *plan, scan_files_opened_fn *opened, void *owner,
                   uint32_t *started_out)
{
    *started_out = 0;
    for (uint32_t i = 0; i < plan->spec->rel_count; i++) {
        struct plan_rel *rel = &plan->rels[i];

        if (rel->spec->kind != EXEC_REL_SCAN || rel->spec->u.scan.source != EXEC_SCAN_FILES) {
            continue;
        }
        rel->files = scan_files_open(plan->job, rel->index, rel->spec, opened, owner);
        if (rel->files == NULL) {
            return UINT32_MAX;
        }
        ++*started_out;
    }
    return *started_out;
}

void plan_abandon(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->spec->rel_count; i++) {
        struct plan_rel *rel = &plan->rels[i];

        if (rel->files != NULL) {
            scan_files_close(rel->files);
            rel->files = NULL;
        }
        if (rel->table != NULL) {
            table_unref(rel->table);
            rel->table = NULL;
        }
    }
}
