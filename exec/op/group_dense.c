#include "op/group_dense.h"

#include "table/column_stats.h"
#include "table/dictionary.h"
#include "table/table.h"

#include <math.h>

/* Whether and how: keys to places, measures to fields, fields to lanes. */

/* ---- columns ------------------------------------------------------------------------------------
 */

const struct group_column *dense_column_of(const struct group *group, const struct expr *expr,
                                           uint32_t *column_out)
{
    if (!expr_is_column(expr, column_out) || *column_out >= group->plan.column_count) {
        return NULL;
    }
    const struct group_column *column = &group->plan.columns[*column_out];
    return column->stats == NULL ? NULL : column;
}

bool dense_may_be_null(const struct group_column *column)
{
    return column->stats->null_count > 0 || column->gains_nulls;
}

/* ---- keys
 * -------------------------------------------------------------------------------------------- */

static bool plan_span(struct group *group, uint32_t k)
{
    struct dense_key *key = &group->dense->keys[k];
    const struct group_column *column = dense_column_of(group, group->plan.keys[k], &key->column);
    int64_t most;

    if (column == NULL) {
        return false;
    }
    key->storage = vec_storage(expr_type(group->plan.keys[k])->kind);
    key->may_be_null = dense_may_be_null(column);
    key->dictionary = column->stats->dictionary;
    if (key->dictionary != NULL) {
        key->least = 0;
        most = key->dictionary->count == 0 ? 0 : key->dictionary->count - 1;
    } else if (!column_stats_integers(column->stats, key->storage, &key->least, &most)) {
        return false;
    }
    const uint64_t span = (uint64_t)most - (uint64_t)key->least;
    if (span >= DENSE_SPAN_MAX) {
        return false;
    }
    key->span = (uint32_t)span + 1;
    return true;
}

static bool plan_key(struct group *group, uint32_t k)
{
    struct dense_key *key = &group->dense->keys[k];

    if (!plan_span(group, k)) {
        return false;
    }
    key->stride = group->dense->places;
    const uint64_t places = (uint64_t)group->dense->places * (key->span + key->may_be_null);
    if (places > DENSE_PLACES_MAX) {
        return false;
    }
    group->dense->places = (uint32_t)places;
    return true;
}

/* Every worker has all places, so there are to be rows for them and room in the budget. */
static bool is_worth(const struct group *group)
{
    const uint64_t places = (uint64_t)group->dense->places * group->job->worker_count;

    return group->dense->places <= DENSE_PLACES_FREE ||
           ((double)places * DENSE_ROWS_A_PLACE <= group->plan.rows &&
            places * LANES_MAX * sizeof(int64_t) <=
                group->job->budget.limit_bytes / DENSE_BUDGET_SHARE);
}

static bool plan_keys(struct group *group)
{
    const struct group_plan *from = &group->plan;

    group->dense->places = 1;
    for (uint32_t k = 0; k < from->key_count; k++) {
        if (!plan_key(group, k)) {
            return false;
        }
    }
    /* Emptying the lanes is to cost little beside the rows in between. */
    group->dense->row_bits = dense_bit_length(group->dense->places) + 6;
    if (group->dense->row_bits < DENSE_ROW_BITS_MIN) {
        group->dense->row_bits = DENSE_ROW_BITS_MIN;
    }
    if (group->dense->row_bits > DENSE_ROW_BITS_MAX) {
        group->dense->row_bits = DENSE_ROW_BITS_MAX;
    }
    return is_worth(group);
}

/* Keys side by side in a word; a key's nulls have a value of their own. */
static bool group_packed_plan_keys(struct group *group)
{
    struct group_dense *dense = group->dense;
    uint32_t bits = 0;

    if (group->plan.rows < PACKED_ROWS_MIN || dense->key_count == 0) {
        return false;
    }
    for (uint32_t k = 0; k < dense->key_count; k++) {
        if (!plan_span(group, k)) {
            return false;
        }
        dense->keys[k].shift = (uint8_t)bits;
        bits += dense_bit_length(dense->keys[k].span);
        if (bits > PACKED_BITS) {
            return false;
        }
    }
    dense->is_packed = true;
    dense->places = 1;
    dense->row_bits = PACKED_ROW_BITS;
    return true;
}

/* ---- lanes
 * ------------------------------------------------------------------------------------------- */

/* First fit. false: a field is too wide, or the lanes are used up. */
static bool place_field(struct group_dense *dense, struct dense_field *field, uint32_t *used)
{
    uint32_t lane = 0;

    if (field->bits != DENSE_WHOLE_LANE) {
        if (field->bits + dense->row_bits >= DENSE_WHOLE_LANE) {
            return false;
        }
        field->bits = (uint8_t)(field->bits + dense->row_bits);
    }
    while (lane < LANES_MAX && used[lane] + field->bits > DENSE_WHOLE_LANE) {
        lane++;
    }
    if (lane == LANES_MAX) {
        return false;
    }
    field->lane = (uint8_t)lane;
    field->shift = (uint8_t)used[lane];
    used[lane] += field->bits;
    dense->lane_count = lane + 1 > dense->lane_count ? lane + 1 : dense->lane_count;
    return true;
}

static void set_constants(struct group_dense *dense)
{
    for (uint32_t f = 0; f < dense->field_count; f++) {
        const struct dense_field *field = &dense->fields[f];
        uint64_t constant = (uint64_t)dense->constants[field->lane];
        if (field->what == DENSE_ROWS) {
            constant += UINT64_C(1) << field->shift;
        } else if (field->what == DENSE_PRODUCT ||
                   (field->what == DENSE_VALUE && !dense->inputs[field->input].may_be_null)) {
            constant -= (uint64_t)field->bias << field->shift;
        }
        dense->constants[field->lane] = (int64_t)constant;
    }
}

static bool plan_lanes(struct group_dense *dense)
{
    uint32_t used[LANES_MAX] = {0};

    for (uint32_t f = 0; f < dense->field_count; f++) {
        if (!place_field(dense, &dense->fields[f], used)) {
            return false;
        }
    }
    set_constants(dense);
    dense->lane_width = 1;
    while (dense->lane_width < dense->lane_count) {
        dense->lane_width *= 2;
    }
    dense->copies = 1;
    while (dense->copies < DENSE_COPIES_MAX &&
           (uint64_t)dense->places * dense->lane_width * dense->copies * 2 * sizeof(int64_t) <=
               DENSE_COPIED_BYTES) {
        dense->copies *= 2;
    }
    dense->unit_shift = dense_bit_length(BATCH_ROWS) - 1;
    while (dense->kept_count > 0 && dense->unit_shift > 0 &&
           dense->places >> dense->unit_shift < DENSE_KEPT_UNITS) {
        dense->unit_shift--;
    }
    dense->slot_shift = dense_bit_length(dense->copies * dense->lane_width) - 1;
    for (uint32_t i = 0; i < LANES_BLOCK_ROWS; i++) {
        dense->first_slots[i] = i % dense->copies * dense->lane_width;
    }
    return true;
}

/* ---- create -------------------------------------------------------------------------------------
 */

static bool plan_measures(struct group *group)
{
    struct group_dense *dense = group->dense;

    /* Field 0 says which groups there are. */
    dense_add_field(dense, &(struct dense_field){.what = DENSE_ROWS, .input = UINT32_MAX});
    for (uint32_t m = 0; m < group->plan.measure_count; m++) {
        if (!dense_plan_measure(group, m)) {
            return false;
        }
    }
    return true;
}

static bool plan_all(struct group *group)
{
    return (plan_keys(group) || group_packed_plan_keys(group)) && plan_measures(group) &&
           plan_lanes(group->dense) && (!group->dense->is_packed || group_packed_plan(group));
}

static bool init_workers(struct group *group, struct group_dense *dense)
{
    const struct job_context *job = group->job;

    dense->workers =
        nu_arena_calloc(&group->job->plan, job->worker_count * sizeof *dense->workers, 128);
    for (uint32_t w = 0; dense->workers != NULL && w < job->worker_count; w++) {
        nu_arena_init(&dense->workers[w].arena, job->pages, job->worker_node[w],
                      &group->job->budget);
    }
    return dense->workers != NULL && (!dense->is_packed || group_packed_init(group));
}

enum exec_code group_dense_create(struct group *group, struct exec_error *err)
{
    struct nu_arena *arena = &group->job->plan;
    const uint32_t measure_count = group->plan.measure_count;
    struct group_dense *dense;

    if (group->plan.columns == NULL || group->plan.total_count != 0 || group->plan.is_partial) {
        return EXEC_OK;
    }
    dense = nu_arena_calloc(arena, sizeof *dense, 64);
    if (dense == NULL) {
        return job_memory_error(err, arena->refused, "the plan of an aggregation");
    }
    dense->kernels = lane_kernels();
    dense->key_count = group->plan.key_count;
    dense->keys = nu_arena_calloc(arena, (group->plan.key_count + 1) * sizeof *dense->keys, 8);
    dense->inputs = nu_arena_calloc(arena, (2 * measure_count + 1) * sizeof *dense->inputs, 8);
    dense->kept = nu_arena_calloc(arena, (measure_count + 1) * sizeof *dense->kept, 8);
    dense->extremes = nu_arena_calloc(arena, (measure_count + 1) * sizeof *dense->extremes, 8);
    dense->measures = nu_arena_calloc(arena, (measure_count + 1) * sizeof *dense->measures, 8);
    if (dense->keys == NULL || dense->inputs == NULL || dense->extremes == NULL ||
        dense->kept == NULL || dense->measures == NULL) {
        return job_memory_error(err, arena->refused, "the plan of an aggregation");
    }
    group->dense = dense;
    if (!plan_all(group)) {
        group->dense = NULL;
        return EXEC_OK;
    }
    if (!init_workers(group, dense)) {
        return job_memory_error(err, arena->refused, "the plan of an aggregation");
    }
    group->sink.kind = &group_dense_sink_kind;
    group->source.kind = &group_dense_source_kind;
    return EXEC_OK;
}

void group_dense_free(struct group *group)
{
    const struct group_dense *dense = group->dense;

    if (dense->is_packed) {
        group_packed_free(group);
    }
    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        struct dense_worker *worker = &dense->workers[w];
        for (uint32_t k = 0; worker->holds_dictionaries && k < dense->key_count; k++) {
            dictionary_unref(dense->keys[k].dictionary);
        }
        worker->holds_dictionaries = false;
        nu_arena_destroy(&worker->arena);
    }
}

void group_dense_figures(const struct group *group, struct group_figures *figures)
{
    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        figures->memory_bytes += group->dense->workers[w].arena.charged_bytes;
        figures->hot_hits += group->dense->workers[w].all_rows;
    }
    group_packed_figures(group, figures);
}
