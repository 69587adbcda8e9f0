#include "sort/window_places.h"

#include <string.h>

/* Output, a unit of as many places as a batch has room for: the workers' codes are merged and
 * turned back into values. Nothing is changed on the way, so a batch can be made again. */

struct places_output {
    const struct window_places *places;
    uint32_t count;
    uint32_t place[BATCH_ROWS];
    uint64_t code[BATCH_ROWS];
    int64_t number[BATCH_ROWS];
};

static uint32_t unit_places(const struct window_places *places)
{
    return BATCH_ROWS / places->limit;
}

static void merge(struct places_output *output, uint32_t worker_count, uint32_t unit)
{
    const struct window_places *places = output->places;
    const uint32_t limit = places->limit;
    const uint32_t first = unit * unit_places(places);
    const uint32_t left = places->places - first;
    const uint32_t count = (left < unit_places(places) ? left : unit_places(places)) * limit;
    uint64_t codes[BATCH_ROWS];

    memset(codes, 0xff, sizeof codes); /* WINDOW_NO_CODE */
    for (uint32_t w = 0; w < worker_count; w++) {
        if (places->workers[w].codes == NULL) {
            continue;
        }
        const uint64_t *from = places->workers[w].codes + (size_t)first * limit;
        for (uint32_t i = 0; i < count; i++) {
            window_places_offer(&codes[i / limit * limit], limit, from[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (codes[i] != WINDOW_NO_CODE) {
            output->place[output->count] = first + i / limit;
            output->code[output->count] = codes[i];
            output->number[output->count] = i % limit + 1;
            output->count++;
        }
    }
}

/* ---- columns
 * --------------------------------------------------------------------------------------------- */

#define VEC_INTEGER(TAG, tag, c_type)                                                         \
    static void key_##tag(const struct window_place_key *key, const uint32_t *index,          \
                          uint32_t count, void *data)                                         \
    {                                                                                         \
        c_type *values = data;                                                                \
        for (uint32_t i = 0; i < count; i++) {                                                \
            values[i] = (c_type)(index[i] == key->span ? 0 : key->least + (int64_t)index[i]); \
        }                                                                                     \
    }                                                                                         \
    static void order_##tag(const struct window_place_order *order, const uint64_t *codes,    \
                            uint32_t count, void *data)                                       \
    {                                                                                         \
        c_type *values = data;                                                                \
        for (uint32_t i = 0; i < count; i++) {                                                \
            values[i] = (c_type)((codes[i] - order->shift) ^ order->flip);                    \
        }                                                                                     \
    }
#define VEC_FLOAT(TAG, tag, c_type)                                                        \
    static void order_##tag(const struct window_place_order *order, const uint64_t *codes, \
                            uint32_t count, void *data)                                    \
    {                                                                                      \
        c_type *values = data;                                                             \
        for (uint32_t i = 0; i < count; i++) {                                             \
            values[i] = (c_type)window_places_value(order, codes[i]);                      \
        }                                                                                  \
    }
#include "vec/vec_types.def"

static const struct {
    void (*key)(const struct window_place_key *key, const uint32_t *index, uint32_t count,
                void *data);
    void (*order)(const struct window_place_order *order, const uint64_t *codes, uint32_t count,
                  void *data);
} storages[VEC_STORAGE_COUNT] = {
#define VEC_INTEGER(TAG, tag, c_type) [VEC_##TAG] = {key_##tag, order_##tag},
#define VEC_FLOAT(TAG, tag, c_type) [VEC_##TAG] = {NULL, order_##tag},
#include "vec/vec_types.def"
};

/* `is_null` of every row to the column's valid bits. */
static bool add_nulls(const bool *is_null, uint32_t count, struct nu_arena *scratch,
                      struct vec *out)
{
    uint64_t *valid = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *valid, 8);

    for (uint32_t i = 0; valid != NULL && i < count; i++) {
        valid[i / 64] |= (uint64_t)!is_null[i] << i % 64;
    }
    out->valid = valid;
    return valid != NULL;
}

static bool key_column(const struct places_output *output, const struct window_place_key *key,
                       enum exec_type_kind kind, struct nu_arena *scratch, struct vec *out)
{
    uint32_t index[BATCH_ROWS];
    bool is_null[BATCH_ROWS];
    void *data;

    if (!vec_alloc(kind, output->count, scratch, out, &data)) {
        return false;
    }
    for (uint32_t i = 0; i < output->count; i++) {
        index[i] = output->place[i] / key->stride % (key->span + 1);
        is_null[i] = index[i] == key->span;
    }
    storages[key->storage].key(key, index, output->count, data);
    return !key->may_be_null || add_nulls(is_null, output->count, scratch, out);
}

static bool order_column(const struct places_output *output, enum exec_type_kind kind,
                         struct nu_arena *scratch, struct vec *out)
{
    const struct window_place_order *order = &output->places->order;
    bool is_null[BATCH_ROWS];
    void *data;

    if (!vec_alloc(kind, output->count, scratch, out, &data)) {
        return false;
    }
    for (uint32_t i = 0; i < output->count; i++) {
        is_null[i] = output->code[i] == order->null_code;
    }
    storages[order->storage].order(order, output->code, output->count, data);
    return !order->may_be_null || add_nulls(is_null, output->count, scratch, out);
}

/* ---- source -------------------------------------------------------------------------------------
 */

static enum push_result push_unit(const struct window *window, struct pipe_run *run, uint32_t unit)
{
    const struct window_plan *plan = &window->plan;
    const struct window_places *places = window->places;
    const uint32_t column_count = plan->column_count + plan->function_count;
    struct places_output output = {.places = places};
    struct vec *columns =
        nu_arena_alloc(run->scratch, (column_count + (size_t)1) * sizeof *columns, 8);
    bool ok = columns != NULL;

    merge(&output, run->job->worker_count, unit);
    for (uint32_t c = 0; ok && c < plan->column_count; c++) {
        const enum exec_type_kind kind = plan->types[c].kind;
        ok = places->key_of_column[c] == UINT32_MAX
                 ? order_column(&output, kind, run->scratch, &columns[c])
                 : key_column(&output, &places->keys[places->key_of_column[c]], kind, run->scratch,
                              &columns[c]);
    }
    if (!ok) {
        job_fail_memory(run->job, run->scratch, "a batch of a window");
        return PUSH_FAILED;
    }
    for (uint32_t f = 0; f < plan->function_count; f++) {
        columns[plan->column_count + f] =
            (struct vec){.data = output.number, .kind = EXEC_TYPE_INT64};
    }
    const struct batch out = {.row_count = output.count,
                              .sel_count = output.count,
                              .columns = columns,
                              .column_count = column_count};
    return output.count == 0 ? PUSH_MORE : pipe_push_source(run, &out);
}

static enum exec_code source_start(struct op_source *source, struct pipe *pipe,
                                   struct exec_error *err)
{
    const struct window *window = window_of_source(source);
    const uint32_t per_unit = unit_places(window->places);
    const uint64_t units = (window->places->places - 1) / per_unit + UINT64_C(1);

    (void)err;
    source->units_total = units;
    pipe_add_range(pipe, 0, units, 0, false);
    return EXEC_OK;
}

static enum push_result source_scan(struct op_source *source, struct pipe_run *run,
                                    struct sched_range *range, uint64_t unit_target)
{
    const struct window *window = window_of_source(source);

    for (uint64_t u = 0; u < unit_target && range->begin < range->end; u++) {
        const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
        const enum push_result result = push_unit(window, run, (uint32_t)range->begin);
        nu_arena_rewind(run->scratch, mark);
        if (result != PUSH_MORE && result != PUSH_STOP) {
            return result;
        }
        range->begin++;
        if (result == PUSH_STOP) {
            return result;
        }
    }
    return PUSH_MORE;
}

static void source_close(struct op_source *source, struct job_context *job)
{
    const struct window_places *places = window_of_source(source)->places;

    for (uint32_t w = 0; w < job->worker_count; w++) {
        nu_arena_destroy(&places->workers[w].arena);
    }
}

const struct source_kind window_places_source_kind = {.name = "windows by place",
                                                      .start = source_start,
                                                      .scan = source_scan,
                                                      .close = source_close,
                                                      .unit_hint = 8};
