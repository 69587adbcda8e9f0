#include "plan/plan.h"

#include <string.h>

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
        case EXEC_REL_WINDOW: two[0] = rel->u.window.input; return 1;
        case EXEC_REL_UNION_ALL:
            *out = rel->u.union_all.inputs;
            return rel->u.union_all.input_count;
        default: return 0;
    }
}

/* How often each relation of the spec is needed when the plan is unfolded into a tree, and where
 * its copies begin in plan->rels. */
struct unfolding {
    uint32_t copies[EXEC_RELS_MAX];
    uint32_t first[EXEC_RELS_MAX];
    uint32_t taken[EXEC_RELS_MAX];
};

/* spec_check has bounded the sum. */
static void count_copies(const struct exec_job_spec *spec, struct unfolding *unfolding,
                         uint32_t *rel_count_out)
{
    unfolding->copies[spec->rel_count - 1] = 1;
    for (uint32_t i = spec->rel_count; i-- > 0;) {
        uint32_t two[2];
        const uint32_t *inputs;
        const uint32_t input_count = input_indices(&spec->rels[i], two, &inputs);
        for (uint32_t k = 0; k < input_count; k++) {
            unfolding->copies[inputs[k] - 1] += unfolding->copies[i];
        }
    }
    *rel_count_out = 0;
    for (uint32_t i = 0; i < spec->rel_count; i++) {
        unfolding->first[i] = *rel_count_out;
        *rel_count_out += unfolding->copies[i];
    }
}

static bool init_rel(struct plan *plan, struct unfolding *unfolding, uint32_t index,
                     struct plan_rel *rel)
{
    struct exec_error err;
    uint32_t two[2];
    const uint32_t *inputs;

    rel->index = index + 1;
    rel->spec = &plan->spec->rels[index];
    rel->rows = PLAN_ROWS_UNKNOWN;
    rel->sort_limit = -1;
    rel->window_limit = -1;
    rel->input_count = input_indices(rel->spec, two, &inputs);
    rel->inputs = plan_calloc(plan, rel->input_count, sizeof(struct plan_rel *), &err);
    if (rel->inputs == NULL) {
        return false;
    }
    for (uint32_t k = 0; k < rel->input_count; k++) {
        const uint32_t input = inputs[k] - 1;
        rel->inputs[k] = &plan->rels[unfolding->first[input] + unfolding->taken[input]++];
    }
    return true;
}

struct plan *plan_create(struct job_context *job, const struct exec_job_spec *spec,
                         uint32_t morsel_rows, pipe_ended_fn *ended)
{
    struct plan *plan = nu_arena_calloc(&job->plan, sizeof *plan, _Alignof(struct plan));
    struct unfolding unfolding = {0};
    struct exec_error err;

    if (plan == NULL) {
        return NULL;
    }
    plan->job = job;
    plan->spec = spec;
    plan->morsel_rows = morsel_rows;
    plan->ended = ended;
    count_copies(spec, &unfolding, &plan->rel_count);
    plan->rels = plan_calloc(plan, 2 * (size_t)plan->rel_count, sizeof *plan->rels, &err);
    if (plan->rels == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < spec->rel_count; i++) {
        for (uint32_t c = 0; c < unfolding.copies[i]; c++) {
            if (!init_rel(plan, &unfolding, i, &plan->rels[unfolding.first[i] + c])) {
                return NULL;
            }
        }
    }
    plan->root = &plan->rels[plan->rel_count - 1];
    return plan;
}

/* Every scan of a table in a plan sees one version of it. */
static void hold_table(struct plan *plan, struct plan_rel *rel)
{
    const char *name = rel->spec->u.scan.table;

    for (const struct plan_rel *other = plan->rels; other < rel; other++) {
        if (other->table != NULL && strcmp(other->spec->u.scan.table, name) == 0) {
            table_ref(other->table);
            rel->table = other->table;
            return;
        }
    }
    rel->table = catalogue_get(plan->job->catalogue, name);
}

uint32_t plan_open(struct plan *plan, scan_files_opened_fn *opened, void *owner,
                   uint32_t *started_out)
{
    struct exec_error ignored;
    bool loads;

    *started_out = 0;
    for (uint32_t i = 0; i < plan->rel_count; i++) {
        struct plan_rel *rel = &plan->rels[i];
        if (rel->spec->kind == EXEC_REL_SCAN && rel->spec->u.scan.source == EXEC_SCAN_TABLE) {
            hold_table(plan, rel);
        }
    }
    if (plan_load_zones(plan, opened, owner, &loads, &ignored) != EXEC_OK) {
        return UINT32_MAX;
    }
    *started_out += loads;
    for (uint32_t i = 0; i < plan->rel_count; i++) {
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
    for (uint32_t i = 0; i < plan->rel_count; i++) {
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
