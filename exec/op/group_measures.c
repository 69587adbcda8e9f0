#include "hash/hash_vec.h"
#include "op/group_phase.h"
#include "op/group_state.h"
#include "vec/bitmap.h"

#include <inttypes.h>
#include <string.h>

/* From expressions to aggregate kernels and back to columns. */

/* ---- inputs -------------------------------------------------------------------------------------
 */

/* Bits of `rows` where the filter is true. */
static void select_true(const struct batch *in, const struct vec *filter, uint64_t *bits)
{
    const uint8_t *values = filter->data;

    for (uint32_t p = 0; p < in->sel_count; p++) {
        const uint32_t row = batch_row(in, p);
        const bool is_true = vec_is_valid(filter, row) && values[filter->constant ? 0 : row] != 0;
        bits[row / 64] |= (uint64_t)is_true << row % 64;
    }
}

/* Nulls the values whose row the filter does not pass. */
static bool apply_filter(const struct batch *in, const struct vec *filter, struct nu_arena *scratch,
                         struct vec *input)
{
    uint64_t *bits = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *bits, 8);
    const struct vec given = *input;

    if (bits == NULL || !vec_flatten(&given, in->row_count, scratch, input)) {
        return false;
    }
    select_true(in, filter, bits);
    if (input->valid != NULL) {
        bitmap_and(bits, bits, input->valid, in->row_count);
    }
    input->valid = bits;
    return true;
}

static bool eval(const struct group *group, struct pipe_run *run, const struct expr *expr,
                 const struct batch *in, struct vec *out)
{
    struct exec_error err = {0};

    if (expr_eval(expr, in, run->scratch, out, &err) == EXEC_OK) {
        return true;
    }
    group_fail(group, &err);
    return false;
}

/* Arguments are evaluated on the rows the filter passes, so that sum(1 / x) filter (x <> 0) does
 * not raise. */
static bool eval_argument(const struct group *group, struct pipe_run *run,
                          const struct group_measure *measure, const struct expr *argument,
                          const struct batch *in, struct vec *out)
{
    struct batch passed = *in;
    struct exec_error err = {0};

    if (measure->filter != NULL && expr_can_raise(argument)) {
        uint16_t *sel = nu_arena_alloc(run->scratch, BATCH_ROWS * sizeof *sel, 8);
        if (sel == NULL) {
            group_fail_memory(group, run->scratch);
            return false;
        }
        if (expr_select(measure->filter, in, run->scratch, sel, &passed.sel_count, &err) !=
            EXEC_OK) {
            group_fail(group, &err);
            return false;
        }
        passed.sel = sel;
    }
    return eval(group, run, argument, &passed, out);
}

/* A row of a pair counts where both are present: the first says so. */
static bool join_pair(const struct batch *in, struct nu_arena *scratch, struct vec *pair)
{
    uint64_t *bits = nu_arena_alloc(scratch, BATCH_WORDS * sizeof *bits, 8);
    const struct vec first = pair[0];
    const struct vec second = pair[1];

    if (bits == NULL || !vec_flatten(&first, in->row_count, scratch, &pair[0]) ||
        !vec_flatten(&second, in->row_count, scratch, &pair[1])) {
        return false;
    }
    if (pair[1].valid == NULL) {
        return true;
    }
    if (pair[0].valid == NULL) {
        pair[0].valid = pair[1].valid;
        return true;
    }
    bitmap_and(bits, pair[0].valid, pair[1].valid, in->row_count);
    pair[0].valid = bits;
    return true;
}

/* inputs[0] is the argument, or the filter of a count without one; then the others. */
static bool eval_inputs(const struct group *group, struct pipe_run *run,
                        const struct group_aggregate *aggregate, const struct batch *in,
                        struct vec *inputs, struct vec *gate)
{
    const struct group_measure *measure = &aggregate->measure;
    const bool has_argument = measure->argument != NULL && measure->function != EXEC_AGG_COUNT_STAR;
    struct vec filter;
    bool ok = true;

    if (measure->state != NULL) {
        return eval(group, run, measure->state, in, inputs);
    }
    if (measure->filter != NULL && !eval(group, run, measure->filter, in, &filter)) {
        return false;
    }
    if (!has_argument) {
        inputs[0] = filter;
    } else if (!eval_argument(group, run, measure, measure->argument, in, &inputs[0])) {
        return false;
    }
    if (measure->function == EXEC_AGG_COUNT) {
        inputs[0].kind = EXEC_TYPE_BOOL; /* only presence counts; every value is a byte at least */
    }
    for (uint32_t o = 0; o < measure->other_count; o++) {
        if (!eval_argument(group, run, measure, measure->others[o], in, &inputs[1 + o])) {
            return false;
        }
    }
    for (uint32_t i = 0; ok && measure->filter != NULL && i < 1 + measure->other_count; i++) {
        ok = apply_filter(in, &filter, run->scratch, &inputs[i]);
    }
    if (ok && aggregate->form == GROUP_PAIR) {
        ok = join_pair(in, run->scratch, inputs);
    }
    if (ok && gate != NULL) {
        ok = vec_flatten(&filter, in->row_count, run->scratch, gate);
    }
    if (!ok) {
        group_fail_memory(group, run->scratch);
    }
    return ok;
}

bool group_rows_eval(const struct group *group, struct pipe_run *run, const struct batch *in,
                     struct group_rows *rows_out)
{
    const struct group_plan *plan = &group->plan;
    const uint32_t column_count = plan->key_count + group->input_count;
    struct vec *columns = nu_arena_alloc(run->scratch, (column_count + 1) * sizeof *columns, 8);

    if (columns == NULL) {
        group_fail_memory(group, run->scratch);
        return false;
    }
    *rows_out =
        (struct group_rows){.batch = in, .keys = columns, .inputs = columns + plan->key_count};
    for (uint32_t k = 0; k < plan->key_count; k++) {
        if (!eval(group, run, plan->keys[k], in, &rows_out->keys[k])) {
            return false;
        }
    }
    for (uint32_t m = 0; m < plan->measure_count; m++) {
        const struct group_aggregate *aggregate = &group->aggregates[m];
        struct vec *gate =
            aggregate->gate == UINT32_MAX ? NULL : &rows_out->inputs[aggregate->gate];
        if (aggregate->owns_input &&
            !eval_inputs(group, run, aggregate, in, &rows_out->inputs[aggregate->input], gate)) {
            return false;
        }
    }
    return true;
}

/* ---- update
 * ---------------------------------------------------------------------------------------- */

struct update {
    uint16_t source[BATCH_ROWS]; /* row of the vec */
    uint16_t present[BATCH_ROWS];
    unsigned char *present_rows[BATCH_ROWS];
};

/* Rows of the vec that are present, and where they go. */
static uint32_t drop_nulls(const struct vec *vec, uint32_t count, unsigned char *const *rows,
                           struct update *update)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        update->present[kept] = update->source[i];
        update->present_rows[kept] = rows[i];
        kept += bitmap_get(vec->valid, update->source[i]);
    }
    return kept;
}

/* Hashes stand in for the values: hashes[row] of the vec. All bits: the cut is for tables, which
 * look at the keys as well. */
static void hash_rows(const struct batch *batch, const struct vec *vec, uint64_t *hashes)
{
    uint64_t by_position[BATCH_ROWS];

    hash_keys(batch, vec, 1, 64, by_position);
    for (uint32_t p = 0; p < batch->sel_count; p++) {
        hashes[vec->constant ? 0 : batch_row(batch, p)] = by_position[p];
    }
}

/* A state kept by a kernel. `data` are the values; vec says which are present. */
static bool update_kernel(const struct group_aggregate *aggregate, const void *data,
                          const struct vec *vec, uint32_t count, unsigned char *const *rows,
                          struct update *update, struct nu_arena *strings)
{
    const struct agg_kernel *kernel = aggregate->kernel;

    if (vec == NULL || (vec->valid == NULL && !vec->constant)) {
        return kernel->update(data, update->source, count, rows, aggregate->state_offset, strings);
    }
    if (vec->constant) {
        if (!vec_is_valid(vec, 0)) {
            return true;
        }
        memset(update->present, 0, count * sizeof *update->present);
        return kernel->update(data, update->present, count, rows, aggregate->state_offset, strings);
    }
    const uint32_t kept = drop_nulls(vec, count, rows, update);
    return kernel->update(data, update->present, kept, update->present_rows,
                          aggregate->state_offset, strings);
}

static bool update_one(const struct group *group, const struct group_aggregate *aggregate,
                       const struct group_rows *from, const uint16_t *positions, uint32_t count,
                       unsigned char *const *rows, struct update *update, struct nu_arena *strings)
{
    const struct vec *vec = aggregate->input == UINT32_MAX ? NULL : &from->inputs[aggregate->input];

    switch (aggregate->form) {
        case GROUP_KERNEL:
            return update_kernel(aggregate, vec == NULL ? NULL : vec->data, vec, count, rows,
                                 update, strings);
        case GROUP_PAIR: {
            const void *const pair[2] = {vec[0].data, vec[1].data};
            return update_kernel(aggregate, pair, vec, count, rows, update, strings);
        }
        case GROUP_HASHED: {
            uint64_t hashes[BATCH_ROWS];
            hash_rows(from->batch, vec, hashes);
            return update_kernel(aggregate, hashes, vec, count, rows, update, strings);
        }
        default:
            return group_tuples_update(group, aggregate, from, positions, count, rows, strings);
    }
}

bool group_update(const struct group *group, const struct group_rows *from,
                  const uint16_t *positions, uint32_t count, unsigned char *const *rows,
                  struct nu_arena *strings)
{
    struct update update;

    for (uint32_t i = 0; i < count; i++) {
        update.source[i] = (uint16_t)batch_row(from->batch, positions[i]);
    }
    for (uint32_t m = 0; m < group->plan.measure_count; m++) {
        const struct group_aggregate *aggregate = &group->aggregates[m];
        if (aggregate->measure.state != NULL) {
            if (!group_states_take(group, m, &from->inputs[aggregate->input], update.source, count,
                                   rows, strings)) {
                return false;
            }
            continue;
        }
        if (aggregate->owns_state &&
            !update_one(group, aggregate, from, positions, count, rows, &update, strings)) {
            return false;
        }
    }
    return true;
}

bool group_combine(const struct group *group, unsigned char *const *into,
                   unsigned char *const *from, uint32_t count, struct nu_arena *strings)
{
    for (uint32_t m = 0; m < group->plan.measure_count; m++) {
        const struct group_aggregate *aggregate = &group->aggregates[m];
        if (!aggregate->owns_state) {
            continue;
        }
        const bool ok =
            aggregate->form == GROUP_KERNEL || aggregate->form == GROUP_PAIR ||
                    aggregate->form == GROUP_HASHED
                ? aggregate->kernel->combine(into, from, count, aggregate->state_offset, strings)
                : group_tuples_combine(aggregate, into, from, count, strings);
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* ---- output
 * ---------------------------------------------------------------------------------------- */

enum push_result group_fail_overflow(const struct group *group, uint32_t m)
{
    const struct group_aggregate *aggregate = &group->aggregates[m];
    const struct group_measure *measure = &aggregate->measure;
    char argument[EXEC_TYPE_TEXT_BYTES];
    char result[EXEC_TYPE_TEXT_BYTES];
    struct exec_error err;

    EXEC_FAIL(&err, EXEC_OVERFLOW, "measure %" PRIu32 ", %s(%s): the result does not fit %s", m + 1,
              group_function_name(measure->function),
              exec_type_text(expr_type(measure->argument), argument),
              exec_type_text(&measure->type, result));
    err.expr = measure->argument_index;
    return group_fail(group, &err);
}

static enum push_result measure_column(const struct group *group, struct pipe_run *run, uint32_t m,
                                       unsigned char *const *rows, uint32_t count, struct vec *out)
{
    const struct group_aggregate *aggregate = &group->aggregates[m];
    if (group->plan.is_partial) {
        return group_state_column(group, run, m, rows, count, out);
    }
    if (aggregate->form == GROUP_BEST || group_form_keeps(aggregate->form)) {
        return group_collected_column(group, run, m, rows, count, out);
    }
    uint64_t *valid = nu_arena_calloc(run->scratch, BATCH_WORDS * sizeof *valid, 8);
    void *data;

    if (valid == NULL ||
        !vec_alloc(aggregate->measure.type.kind, count, run->scratch, out, &data)) {
        return group_fail_memory(group, run->scratch);
    }
    if (aggregate->kernel->finish(rows, count, aggregate->state_offset, aggregate->scale, data,
                                  valid) < count) {
        return group_fail_overflow(group, m);
    }
    out->valid = valid;
    return PUSH_MORE;
}

enum push_result group_columns(const struct group *group, struct pipe_run *run,
                               unsigned char *const *rows, uint32_t count, struct vec *columns)
{
    const uint32_t key_count = group->plan.key_count;

    for (uint32_t k = 0; k < key_count; k++) {
        if (!row_gather(&group->layout, k, rows, count, run->scratch, &columns[k])) {
            return group_fail_memory(group, run->scratch);
        }
    }
    for (uint32_t m = 0; m < group->plan.measure_count; m++) {
        if (measure_column(group, run, m, rows, count, &columns[key_count + m]) != PUSH_MORE) {
            return PUSH_FAILED;
        }
    }
    return PUSH_MORE;
}
