#include "op/group_dense_output.h"
#include "table/dictionary.h"

#include <stddef.h>
#include <string.h>

/* Output, a unit of BATCH_ROWS places at a time: the workers' lanes are added up, the places with
 * rows become groups. Nothing is changed on the way, so a batch can be made again. */

static struct group *group_of_source(struct op_source *source)
{
    return (struct group *)(void *)((unsigned char *)source - offsetof(struct group, source));
}

/* ---- lanes to sums ------------------------------------------------------------------------------
 */

static __int128 field_value(const struct dense_field *field, const int64_t *row)
{
    const uint64_t lane = (uint64_t)row[field->lane];

    if (field->bits == DENSE_WHOLE_LANE) {
        return (int64_t)lane;
    }
    return lane >> field->shift & ((UINT64_C(1) << field->bits) - 1);
}

/* What the copies of a place have in a field. */
static __int128 place_value(const struct group_dense *dense, const struct dense_field *field,
                            const int64_t *lanes, uint32_t place)
{
    const int64_t *row = lanes + ((size_t)place << dense->slot_shift);
    __int128 value = 0;

    for (uint32_t c = 0; c < dense->copies; c++, row += dense->lane_width) {
        value += field_value(field, row);
    }
    return value;
}

bool group_dense_settle(const struct group_dense *dense, struct dense_worker *worker,
                        uint32_t places)
{
    const size_t sum_count = (size_t)places * dense->field_count;

    if (worker->sums == NULL) {
        worker->sums = nu_arena_calloc(&worker->arena, sum_count * sizeof *worker->sums, 64);
        if (worker->sums == NULL) {
            return false;
        }
    }
    for (uint32_t p = 0; p < places; p++) {
        for (uint32_t f = 0; f < dense->field_count; f++) {
            worker->sums[(size_t)p * dense->field_count + f] +=
                place_value(dense, &dense->fields[f], worker->lanes, p);
        }
    }
    memset(worker->lanes, 0, ((size_t)places << dense->slot_shift) * sizeof *worker->lanes);
    worker->rows = 0;
    return true;
}

static void add_worker(const struct dense_output *output, const struct dense_worker *worker)
{
    const struct group_dense *dense = output->group->dense;

    for (uint32_t f = 0; f < dense->field_count; f++) {
        __int128 *sums = output->sums + (size_t)f * BATCH_ROWS;
        for (uint32_t p = 0; p < output->place_count; p++) {
            sums[p] += place_value(dense, &dense->fields[f], worker->lanes, output->first + p);
        }
        for (uint32_t p = 0; worker->sums != NULL && p < output->place_count; p++) {
            sums[p] += worker->sums[(size_t)(output->first + p) * dense->field_count + f];
        }
    }
}

static uint32_t count_field_of(const struct group_dense *dense, uint32_t input)
{
    for (uint32_t f = 1; f < dense->field_count; f++) {
        if (dense->fields[f].what == DENSE_PRESENT && dense->fields[f].input == input) {
            return f;
        }
    }
    return 0;
}

/* What was taken off every value comes back. */
static void undo_biases(const struct dense_output *output)
{
    const struct group_dense *dense = output->group->dense;

    for (uint32_t f = 0; f < dense->field_count; f++) {
        const struct dense_field *field = &dense->fields[f];
        if (field->bias == 0) {
            continue;
        }
        const __int128 *counts =
            output->sums + (size_t)count_field_of(dense, field->input) * BATCH_ROWS;
        __int128 *sums = output->sums + (size_t)f * BATCH_ROWS;
        for (uint32_t p = 0; p < output->place_count; p++) {
            sums[p] += counts[p] * field->bias;
        }
    }
}

static bool add_up(struct dense_output *output)
{
    const struct group *group = output->group;
    const struct group_dense *dense = group->dense;
    struct nu_arena *scratch = output->run->scratch;

    output->sums =
        nu_arena_calloc(scratch, (size_t)dense->field_count * BATCH_ROWS * sizeof(__int128), 64);
    output->present = nu_arena_alloc(scratch, (BATCH_ROWS + 1) * sizeof *output->present, 64);
    if (output->sums == NULL || output->present == NULL) {
        return false;
    }
    for (uint32_t w = 0; w < output->state_count; w++) {
        if (output->states[w].lanes != NULL) {
            add_worker(output, &output->states[w]);
        }
    }
    undo_biases(output);
    for (uint32_t p = 0; p < output->place_count; p++) {
        output->present[output->count] = (uint16_t)p;
        output->count += output->sums[p] != 0 || group->plan.key_count == 0;
    }
    return true;
}

/* ---- keys
 * -------------------------------------------------------------------------------------------- */

#define KEY_VALUES(c_type)                                                           \
    do {                                                                             \
        c_type *values = data;                                                       \
        for (uint32_t i = 0; i < output->count; i++) {                               \
            values[i] = (c_type)(index[i] == key->span ? 0 : key->least + index[i]); \
        }                                                                            \
    } while (0)

static uint32_t key_mask(const struct dense_key *key)
{
    return (UINT32_C(1) << dense_bit_length(key->span)) - 1;
}

static bool key_column(const struct dense_output *output, uint32_t k, struct vec *out)
{
    const struct dense_key *key = &output->group->dense->keys[k];
    struct nu_arena *scratch = output->run->scratch;
    uint32_t index[BATCH_ROWS];
    void *data;

    if (!vec_alloc(expr_type(output->group->plan.keys[k])->kind, output->count, scratch, out,
                   &data)) {
        return false;
    }
    for (uint32_t i = 0; i < output->count; i++) {
        const uint32_t place = output->first + output->present[i];
        index[i] = output->packed == NULL
                       ? place / key->stride % (key->span + key->may_be_null)
                       : (uint32_t)(output->packed[place] >> key->shift) & key_mask(key);
    }
    if (key->dictionary != NULL) {
        static const struct string_view nothing;
        struct string_view *views = data;
        for (uint32_t i = 0; i < output->count; i++) {
            views[i] =
                index[i] < key->dictionary->count ? key->dictionary->views[index[i]] : nothing;
        }
    }
    switch (key->dictionary != NULL ? VEC_VIEW : key->storage) {
        case VEC_VIEW: break;
        case VEC_I8: KEY_VALUES(int8_t); break;
        case VEC_I16: KEY_VALUES(int16_t); break;
        case VEC_I32: KEY_VALUES(int32_t); break;
        case VEC_I64: KEY_VALUES(int64_t); break;
        case VEC_U8: KEY_VALUES(uint8_t); break;
        case VEC_U16: KEY_VALUES(uint16_t); break;
        case VEC_U32: KEY_VALUES(uint32_t); break;
        default: KEY_VALUES(uint64_t); break;
    }
    if (key->may_be_null) {
        uint64_t *valid = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *valid, 8);
        if (valid == NULL) {
            return false;
        }
        for (uint32_t i = 0; i < output->count; i++) {
            valid[i / 64] |= (uint64_t)(index[i] != key->span) << i % 64;
        }
        out->valid = valid;
    }
    return true;
}

/* ---- source -------------------------------------------------------------------------------------
 */

static enum push_result push_unit(struct dense_output *output)
{
    const struct group *group = output->group;
    const uint32_t key_count = group->plan.key_count;
    const uint32_t column_count = key_count + group->plan.measure_count;
    struct vec *columns =
        nu_arena_alloc(output->run->scratch, (column_count + 1) * sizeof *columns, 8);

    if (columns == NULL || !add_up(output) || !dense_output_gather(output)) {
        return group_fail_memory(group, output->run->scratch);
    }
    for (uint32_t k = 0; k < key_count; k++) {
        if (!key_column(output, k, &columns[k])) {
            return group_fail_memory(group, output->run->scratch);
        }
    }
    for (uint32_t m = 0; m < group->plan.measure_count; m++) {
        if (dense_output_measure(output, m, &columns[key_count + m]) != PUSH_MORE) {
            return PUSH_FAILED;
        }
    }
    const struct batch out = {.row_count = output->count,
                              .sel_count = output->count,
                              .columns = columns,
                              .column_count = column_count};
    return output->count == 0 ? PUSH_MORE : pipe_push_source(output->run, &out);
}

static enum exec_code source_start(struct op_source *source, struct pipe *pipe,
                                   struct exec_error *err)
{
    struct group *group = group_of_source(source);
    const uint64_t units =
        group->dense->is_packed ? UINT64_C(1) << PACKED_RADIX_BITS : dense_units(group->dense);

    (void)err;
    source->units_total = units;
    pipe_add_range(pipe, 0, units, 0, false);
    return EXEC_OK;
}

/* A batch of a partition's groups. */
static enum push_result push_packed(struct group *group, struct pipe_run *run,
                                    struct packed_partition *partition)
{
    const uint32_t left = partition->group_count - partition->emitted;
    struct dense_output output = {.group = group,
                                  .run = run,
                                  .states = &partition->state,
                                  .state_count = 1,
                                  .packed = partition->keys,
                                  .first = partition->emitted,
                                  .place_count = left < BATCH_ROWS ? left : BATCH_ROWS};
    const enum push_result result = push_unit(&output);

    if (result == PUSH_MORE || result == PUSH_STOP) {
        partition->emitted += output.count;
        /* relaxed: a figure. */
        atomic_fetch_add_explicit(&group->groups, output.count, memory_order_relaxed);
    }
    return result;
}

static enum push_result scan_packed(struct group *group, struct pipe_run *run,
                                    struct sched_range *range, uint64_t unit_target)
{
    for (uint64_t u = 0; u < unit_target && range->begin < range->end; u++) {
        const uint32_t p = (uint32_t)range->begin;
        struct packed_partition *partition = &group->dense->partitions[p];
        if (!partition->is_merged && !group_packed_merge(group, run, p)) {
            return PUSH_FAILED;
        }
        while (partition->emitted < partition->group_count) {
            const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
            const enum push_result result = push_packed(group, run, partition);
            nu_arena_rewind(run->scratch, mark);
            if (result != PUSH_MORE) {
                return result;
            }
            if (partition->emitted < partition->group_count && pipe_time_is_up(run)) {
                return PUSH_MORE;
            }
        }
        group_packed_release(partition);
        range->begin++;
        if (pipe_time_is_up(run)) {
            break;
        }
    }
    return PUSH_MORE;
}

static enum push_result source_scan(struct op_source *source, struct pipe_run *run,
                                    struct sched_range *range, uint64_t unit_target)
{
    struct group *group = group_of_source(source);

    if (group->dense->is_packed) {
        return scan_packed(group, run, range, unit_target);
    }
    for (uint64_t u = 0; u < unit_target && range->begin < range->end; u++) {
        const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
        const uint32_t unit_places = UINT32_C(1) << group->dense->unit_shift;
        const uint32_t first = (uint32_t)range->begin * unit_places;
        const uint32_t left = group->dense->places - first;
        struct dense_output output = {.group = group,
                                      .run = run,
                                      .states = group->dense->workers,
                                      .state_count = group->job->worker_count,
                                      .first = first,
                                      .place_count = left < unit_places ? left : unit_places};
        const enum push_result result = push_unit(&output);
        nu_arena_rewind(run->scratch, mark);
        if (result != PUSH_MORE && result != PUSH_STOP) {
            return result;
        }
        /* relaxed: a figure. */
        atomic_fetch_add_explicit(&group->groups, output.count, memory_order_relaxed);
        range->begin++;
        if (result == PUSH_STOP) {
            return result;
        }
        if (pipe_time_is_up(run)) {
            break;
        }
    }
    return PUSH_MORE;
}

static void source_close(struct op_source *source, struct job_context *job)
{
    (void)job;
    group_free(group_of_source(source));
}

const struct source_kind group_dense_source_kind = {
    .name = "groups by place",
    .start = source_start,
    .scan = source_scan,
    .close = source_close,
    .unit_hint = 8,
};
