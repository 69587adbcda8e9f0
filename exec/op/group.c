#include "kernel/agg_plain.h"
#include "op/group_dense.h"
#include "op/group_state.h"
#include "op/node_share.h"

#include <string.h>

/* Making an aggregation: kernels, how a group's row looks; its end. */

/* ---- create -------------------------------------------------------------------------------------
 */

/* An input is the argument; or the filter of a count without argument. What is counted is presence,
 * so a count keeps one byte a row whatever the argument's type. */
static struct exec_type input_type(const struct group_measure *measure)
{
    if (measure->function == EXEC_AGG_COUNT_STAR || measure->function == EXEC_AGG_COUNT) {
        return (struct exec_type){.kind = EXEC_TYPE_BOOL};
    }
    return *expr_type(measure->argument);
}

static bool has_input(const struct group_measure *measure)
{
    return measure->filter != NULL || measure->function != EXEC_AGG_COUNT_STAR ||
           measure->state != NULL;
}

/* Whether two measures are fed the same values: the same column, unfiltered, kept alike. */
static bool same_input(const struct group_measure *a, const struct group_measure *b)
{
    uint32_t column;
    uint32_t other;

    if (a->filter != NULL || b->filter != NULL || a->state != NULL || b->state != NULL ||
        !has_input(a) || !has_input(b) || a->other_count != 0 || b->other_count != 0 ||
        (a->function == EXEC_AGG_COUNT) != (b->function == EXEC_AGG_COUNT)) {
        return false;
    }
    return expr_is_column(a->argument, &column) && expr_is_column(b->argument, &other) &&
           column == other;
}

static bool same_state(const struct group_aggregate *a, const struct group_aggregate *b)
{
    if (a->form != b->form) {
        return false;
    }
    switch (a->form) {
        case GROUP_KERNEL:
        case GROUP_HASHED: return a->kernel->update == b->kernel->update;
        case GROUP_SET:
        case GROUP_TALLY:
        case GROUP_BAG: return true;
        default: return false;
    }
}

/* Finds an earlier measure to share with. */
static void share(const struct group *group, uint32_t m)
{
    struct group_aggregate *aggregate = &group->aggregates[m];

    for (uint32_t e = 0; e < m; e++) {
        const struct group_aggregate *earlier = &group->aggregates[e];
        const bool no_input = !has_input(&aggregate->measure) && !has_input(&earlier->measure);
        if (!no_input && !same_input(&aggregate->measure, &earlier->measure)) {
            continue;
        }
        aggregate->owns_input = false;
        aggregate->input = earlier->input;
        if (aggregate->owns_state && same_state(earlier, aggregate)) {
            aggregate->owns_state = false;
            aggregate->state_offset = earlier->state_offset;
        }
    }
}

/* The columns of an aggregate's inputs: arguments, keys of the order, and for a function that keeps
 * NULLs its filter, which elsewhere makes the argument NULL. */
static void add_inputs(struct group *group, struct group_aggregate *aggregate,
                       struct exec_type *input_types)
{
    struct exec_type *types = &input_types[group->plan.key_count + group->input_count];
    const struct group_measure *measure = &aggregate->measure;

    aggregate->input = group->input_count;
    if (measure->state != NULL) {
        types[0] = (struct exec_type){.kind = EXEC_TYPE_BINARY};
        group->input_count++;
        return;
    }
    types[0] = input_type(measure);
    for (uint32_t o = 0; o < measure->other_count; o++) {
        types[1 + o] = *expr_type(measure->others[o]);
    }
    group->input_count += 1 + measure->other_count;
    if (aggregate->keeps_nulls && measure->filter != NULL) {
        aggregate->gate = group->input_count++;
        types[1 + measure->other_count] = (struct exec_type){.kind = EXEC_TYPE_BOOL};
    }
}

static enum exec_code init_aggregate(struct group *group, uint32_t m, struct exec_type *input_types,
                                     struct exec_error *err)
{
    struct group_aggregate *aggregate = &group->aggregates[m];
    const struct group_measure *measure = &group->plan.measures[m];
    const struct exec_type input = input_type(measure);

    *aggregate = (struct group_aggregate){
        .measure = *measure,
        .form = group_measure_form(measure),
        .kernel = group_kernel(measure, &input),
        .input = UINT32_MAX,
        .gate = UINT32_MAX,
        .scale = measure->function == EXEC_AGG_APPROX_QUANTILE ? (int32_t)(measure->fraction * 1e9)
                                                               : input.scale,
        .keeps_nulls = measure->function == EXEC_AGG_FIRST || measure->function == EXEC_AGG_LAST,
        .owns_input = has_input(measure),
        .owns_state = true};
    group->keeps_rows = group->keeps_rows || group_form_keeps(aggregate->form);
    share(group, m);
    if (aggregate->owns_input) {
        add_inputs(group, aggregate, input_types);
    }
    if (!group_tuples_init(group, aggregate)) {
        return job_memory_error(err, group->job->plan.refused, "the plan of an aggregation");
    }
    if (aggregate->owns_state) {
        aggregate->state_offset = group->state_bytes;
        group->state_bytes += (aggregate->state_bytes + 15) / 16 * 16;
    }
    return EXEC_OK;
}

static bool init_layouts(struct group *group, const struct exec_type *types)
{
    struct nu_arena *arena = &group->job->plan;
    const uint32_t column_count = group->plan.key_count + group->input_count;

    if (!row_layout_init(&group->layout, arena, types, group->plan.key_count, sizeof(uint64_t)) ||
        !row_layout_init(&group->record_layout, arena, types, column_count, sizeof(uint64_t))) {
        return false;
    }
    const uint32_t state_offset = group_table_state_offset(&group->layout);
    for (uint32_t m = 0; m < group->plan.measure_count; m++) {
        group->aggregates[m].state_offset += state_offset;
    }
    const uint64_t fit = GROUP_HOT_BYTES / (state_offset + group->state_bytes + 1);
    group->hot_row_limit = fit > GROUP_HOT_ROWS       ? GROUP_HOT_ROWS
                           : fit < GROUP_HOT_ROWS_MIN ? GROUP_HOT_ROWS_MIN
                                                      : fit;
    return true;
}

static bool init_workers(struct group *group)
{
    struct job_context *job = group->job;
    struct nu_arena *arena = &job->plan;
    const uint32_t count = job->worker_count;

    group->workers = nu_arena_calloc(arena, count * sizeof *group->workers, 128);
    group->backlogs = nu_arena_alloc(arena, count * sizeof(void *), 8);
    if (group->workers == NULL || group->backlogs == NULL) {
        return false;
    }
    for (uint32_t w = 0; w < count; w++) {
        struct group_worker *worker = &group->workers[w];
        nu_arena_init(&worker->hot_arena, job->pages, job->worker_node[w], &job->budget);
        nu_arena_init(&worker->backlog_arena, job->pages, job->worker_node[w], &job->budget);
        group_table_init(&worker->hot, &group->layout, group->state_bytes, 0, &worker->hot_arena);
        radix_rows_init(&worker->backlog, &worker->backlog_arena, group->record_layout.row_bytes,
                        group->radix_bits);
        group->backlogs[w] = &worker->backlog;
    }
    return true;
}

static bool init_partitions(struct group *group)
{
    struct job_context *job = group->job;
    const uint32_t count = UINT32_C(1) << group->radix_bits;

    group->partitions = nu_arena_calloc(&job->plan, count * sizeof *group->partitions, 128);
    for (uint32_t p = 0; group->partitions != NULL && p < count; p++) {
        struct group_partition *partition = &group->partitions[p];
        nu_arena_init(&partition->arena, job->pages, node_share_of(count, job->node_count, p),
                      &job->budget);
        group_table_init(&partition->own, &group->layout, group->state_bytes, group->radix_bits,
                         &partition->arena);
        partition->table = &partition->own;
    }
    return group->partitions != NULL;
}

/* Behind the choice of a way: groups by place are exact at no cost worth naming. Bytes of states
 * that travel mean exact sums. */
static void take_plain_sums(struct group *group)
{
    for (uint32_t m = 0; m < group->plan.measure_count; m++) {
        struct group_aggregate *aggregate = &group->aggregates[m];
        const struct group_measure *measure = &aggregate->measure;
        if (aggregate->form != GROUP_KERNEL || measure->state != NULL || !has_input(measure)) {
            continue;
        }
        const struct exec_type input = input_type(measure);
        const struct agg_kernel *plain = agg_plain_sum(measure->function, vec_storage(input.kind));
        aggregate->kernel = plain == NULL ? aggregate->kernel : plain;
    }
}

static enum exec_code init(struct group *group, struct exec_error *err)
{
    struct nu_arena *arena = &group->job->plan;
    const uint32_t measure_count = group->plan.measure_count;
    uint32_t column_max = group->plan.key_count + 1;

    for (uint32_t m = 0; m < measure_count; m++) {
        column_max += group->plan.measures[m].other_count + 2;
    }
    struct exec_type *types = nu_arena_alloc(arena, column_max * sizeof *types, 8);
    group->aggregates = nu_arena_calloc(arena, (measure_count + 1) * sizeof *group->aggregates, 8);
    group->input_kinds = nu_arena_calloc(arena, column_max, 8);
    if (types == NULL || group->aggregates == NULL || group->input_kinds == NULL) {
        return job_memory_error(err, group->job->plan.refused, "the plan of an aggregation");
    }
    for (uint32_t k = 0; k < group->plan.key_count; k++) {
        types[k] = *expr_type(group->plan.keys[k]);
    }
    for (uint32_t m = 0; m < measure_count; m++) {
        if (init_aggregate(group, m, types, err) != EXEC_OK) {
            return err->code;
        }
    }
    if (group_dense_create(group, err) != EXEC_OK) {
        return err->code;
    }
    if (group->dense != NULL) {
        return EXEC_OK;
    }
    if (group->job->plain_float_sums && !group->plan.is_partial) {
        take_plain_sums(group);
    }
    if (!init_layouts(group, types) || !init_workers(group) || !init_partitions(group)) {
        return job_memory_error(err, group->job->plan.refused, "the plan of an aggregation");
    }
    return EXEC_OK;
}

enum exec_code group_create(struct job_context *job, const struct group_plan *plan,
                            struct group **group_out, struct exec_error *err)
{
    struct group *group = nu_arena_calloc(&job->plan, sizeof *group, 128);

    if (group == NULL) {
        return job_memory_error(err, job->plan.refused, "the plan of an aggregation");
    }
    group->job = job;
    group->plan = *plan;
    group->sink = (struct op_sink){.kind = &group_sink_kind, .rel = plan->rel};
    group->source = (struct op_source){.kind = &group_source_kind, .rel = plan->rel};
    /* At least four partitions a worker, so that the last ones do not leave workers idle for long.
     */
    group->radix_bits = 6;
    while (group->radix_bits < 8 && UINT32_C(1) << group->radix_bits < 4 * job->worker_count) {
        group->radix_bits++;
    }
    if (init(group, err) != EXEC_OK) {
        err->rel = plan->rel;
        return err->code;
    }
    *group_out = group;
    return EXEC_OK;
}

struct op_sink *group_sink(struct group *group)
{
    return &group->sink;
}

struct op_source *group_source(struct group *group)
{
    return &group->source;
}

/* ---- end
 * -------------------------------------------------------------------------------------------- */

enum push_result group_fail(const struct group *group, struct exec_error *err)
{
    if (err->rel == 0) {
        err->rel = group->plan.rel;
    }
    job_fail(group->job, err);
    return PUSH_FAILED;
}

enum push_result group_fail_memory(const struct group *group, const struct nu_arena *arena)
{
    job_fail_memory(group->job, arena, "the groups of an aggregation");
    return PUSH_FAILED;
}

static void count_memory(const struct group *group, struct group_figures *figures)
{
    if (group->dense != NULL) {
        group_dense_figures(group, figures);
        return;
    }
    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        const struct group_worker *worker = &group->workers[w];
        figures->memory_bytes += worker->hot_arena.charged_bytes;
        figures->memory_bytes += worker->backlog_arena.charged_bytes;
        figures->hot_hits += worker->hits;
        figures->hot_misses += worker->misses;
    }
    for (uint32_t p = 0; p < UINT32_C(1) << group->radix_bits; p++) {
        figures->memory_bytes +=
            group->partitions[p].arena.charged_bytes + group->partitions[p].released_bytes;
    }
}

void group_free(struct group *group)
{
    if (group->figures.partitions == 0) {
        group->figures.partitions = UINT32_C(1) << group->merge_bits;
        group->figures.nodes = group->figures.partitions < group->job->node_count
                                   ? group->figures.partitions
                                   : group->job->node_count;
        count_memory(group, &group->figures);
    }
    if (group->dense != NULL) {
        group_dense_free(group);
        return;
    }
    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        nu_arena_destroy(&group->workers[w].hot_arena);
        nu_arena_destroy(&group->workers[w].backlog_arena);
    }
    for (uint32_t p = 0; p < UINT32_C(1) << group->radix_bits; p++) {
        nu_arena_destroy(&group->partitions[p].arena);
    }
}

void group_figures(const struct group *group, struct group_figures *out)
{
    *out = group->figures;
    /* relaxed: a figure. */
    out->groups = atomic_load_explicit(&group->groups, memory_order_relaxed);
}
