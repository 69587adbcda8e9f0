#include "op/group_dense.h"
#include "table/dictionary.h"

#include <string.h>

/* One batch, in blocks that fit the L1: places, numbers for the lanes, then one pass of additions.
 */

/* ---- state --------------------------------------------------------------------------------------
 */

/* What no value is beyond: an extreme's start. */
#define START_INTEGER(c_type, least, most)          \
    do {                                            \
        c_type *values = array;                     \
        for (uint32_t p = 0; p < places; p++) {     \
            values[p] = is_most ? (least) : (most); \
        }                                           \
    } while (0)

static void start_extremes(enum vec_storage storage, bool is_most, uint32_t places, void *array)
{
    switch (storage) {
        case VEC_I8: START_INTEGER(int8_t, INT8_MIN, INT8_MAX); break;
        case VEC_I16: START_INTEGER(int16_t, INT16_MIN, INT16_MAX); break;
        case VEC_I32: START_INTEGER(int32_t, INT32_MIN, INT32_MAX); break;
        case VEC_I64: START_INTEGER(int64_t, INT64_MIN, INT64_MAX); break;
        case VEC_U8: START_INTEGER(uint8_t, 0, UINT8_MAX); break;
        case VEC_U16: START_INTEGER(uint16_t, 0, UINT16_MAX); break;
        case VEC_U32: START_INTEGER(uint32_t, 0, UINT32_MAX); break;
        case VEC_U64: START_INTEGER(uint64_t, 0, UINT64_MAX); break;
        case VEC_F32: START_INTEGER(float, -__builtin_inff(), __builtin_inff()); break;
        default: START_INTEGER(double, -__builtin_inf(), __builtin_inf()); break;
    }
}

/* The table may be gone before its groups are out. */
static void hold_dictionaries(const struct group_dense *dense, struct dense_worker *worker)
{
    for (uint32_t k = 0; !worker->holds_dictionaries && k < dense->key_count; k++) {
        if (dense->keys[k].dictionary != NULL) {
            dictionary_ref(dense->keys[k].dictionary);
        }
    }
    worker->holds_dictionaries = true;
}

static bool start_worker(const struct group_dense *dense, struct dense_worker *worker)
{
    struct nu_arena *arena = &worker->arena;
    const size_t slots = (size_t)dense->places << dense->slot_shift;

    worker->lanes = nu_arena_calloc(arena, slots * sizeof *worker->lanes, 64);
    worker->extremes = nu_arena_calloc(arena, (dense->extreme_count + 1) * sizeof(void *), 8);
    if (worker->lanes == NULL || worker->extremes == NULL || !dense_keep_start(dense, worker)) {
        return false;
    }
    for (uint32_t e = 0; e < dense->extreme_count; e++) {
        const struct dense_extreme *extreme = &dense->extremes[e];
        worker->extremes[e] = nu_arena_alloc(arena, (size_t)dense->places * sizeof(int64_t), 64);
        if (worker->extremes[e] == NULL) {
            return false;
        }
        start_extremes(extreme->storage, extreme->is_most, dense->places, worker->extremes[e]);
    }
    return true;
}

/* ---- places -------------------------------------------------------------------------------------
 */

static const void *values_at(const struct vec *vec, uint32_t first)
{
    return (const unsigned char *)vec->data + first * exec_type_width(vec->kind);
}

static void add_key(const struct dense_push *push, uint32_t k)
{
    const struct group_dense *dense = push->dense;
    const struct dense_key *key = &dense->keys[k];
    const struct vec *vec = &push->keys[k];
    struct dense_block *block = push->block;
    const void *values = values_at(vec, push->first);
    const enum vec_storage storage = vec_storage(vec->kind); /* of codes: the chunk's */
    const uint32_t stride = key->stride << dense->slot_shift;

    if (!key->may_be_null || vec->valid == NULL) {
        dense->kernels->slot[storage](values, push->count, key->least, stride, block->slot);
        return;
    }
    dense->kernels->widen[storage](values, push->count, key->least, block->x);
    for (uint32_t i = 0; i < push->count; i++) {
        const uint32_t place =
            bitmap_get(vec->valid, push->first + i) ? (uint32_t)block->x[i] : key->span;
        block->slot[i] += place * stride;
    }
}

static void find_slots(const struct dense_push *push)
{
    const struct group_dense *dense = push->dense;

    memcpy(push->block->slot, dense->first_slots, push->count * sizeof *push->block->slot);
    for (uint32_t k = 0; k < dense->key_count; k++) {
        add_key(push, k);
    }
}

/* ---- lanes
 * ------------------------------------------------------------------------------------------- */

/* lane[i] += value << shift where there is a value. */
static void add_present(const struct dense_push *push, const struct vec *vec, const int64_t *values,
                        uint32_t shift, int64_t *lane)
{
    for (uint32_t i = 0; i < push->count; i++) {
        const uint64_t mask = -(uint64_t)vec_is_valid(vec, push->first + i);
        lane[i] = (int64_t)((uint64_t)lane[i] + (((uint64_t)values[i] & mask) << shift));
    }
}

static void widen(const struct dense_push *push, uint32_t i, int64_t bias, int64_t *out)
{
    const struct vec *vec = &push->inputs[i];

    push->dense->kernels->widen[vec_storage(vec->kind)](values_at(vec, push->first), push->count,
                                                        bias, out);
}

/* A factor of products; two are kept for the other products of the block. */
static const int64_t *factor(const struct dense_push *push, uint32_t input, uint32_t other)
{
    struct dense_block *block = push->block;

    for (uint32_t w = 0; w < 2; w++) {
        if (block->wide_inputs[w] == input) {
            return block->wide[w];
        }
    }
    const uint32_t w =
        block->wide_inputs[0] == UINT32_MAX || block->wide_inputs[1] == other ? 0 : 1;
    widen(push, input, 0, block->wide[w]);
    block->wide_inputs[w] = input;
    return block->wide[w];
}

static void add_float(const struct dense_push *push, const struct dense_field *field, int64_t *lane,
                      int64_t *low_lane)
{
    const struct dense_input *input = &push->dense->inputs[field->input];
    const struct vec *vec = &push->inputs[field->input];
    const void *values = values_at(vec, push->first);
    lanes_float_fn *split = push->dense->kernels->split[vec_storage(vec->kind)];
    struct dense_block *block = push->block;

    if (vec->valid == NULL) {
        split(values, push->count, input->unit, input->low_unit, lane, low_lane);
        return;
    }
    memset(block->x, 0, push->count * sizeof *block->x);
    memset(block->y, 0, push->count * sizeof *block->y);
    split(values, push->count, input->unit, input->low_unit, block->x, block->y);
    add_present(push, vec, block->x, 0, lane);
    if (low_lane != NULL) {
        add_present(push, vec, block->y, 0, low_lane);
    }
}

static void add_value(const struct dense_push *push, const struct dense_field *field, int64_t *lane)
{
    const struct dense_input *input = &push->dense->inputs[field->input];
    const struct vec *vec = &push->inputs[field->input];

    if (!input->may_be_null) {
        push->dense->kernels->value[vec_storage(vec->kind)](values_at(vec, push->first),
                                                            push->count, 0, field->shift, lane);
        return;
    }
    widen(push, field->input, field->bias, push->block->x);
    add_present(push, vec, push->block->x, field->shift, lane);
}

/* The low field of a float follows its high field. */
static void add_field(const struct dense_push *push, uint32_t f)
{
    const struct group_dense *dense = push->dense;
    const struct dense_field *field = &dense->fields[f];
    struct dense_block *block = push->block;
    int64_t *lane = block->lanes[field->lane];

    switch (field->what) {
        case DENSE_PRESENT:
            for (uint32_t i = 0; i < push->count; i++) {
                block->x[i] = 1;
            }
            add_present(push, &push->inputs[field->input], block->x, field->shift, lane);
            break;
        case DENSE_VALUE: add_value(push, field, lane); break;
        case DENSE_PRODUCT: {
            const int64_t *x = factor(push, field->input, field->other);
            const int64_t *y = factor(push, field->other, field->input);
            dense->kernels->product(x, y, push->count, field->shift, lane);
            break;
        }
        case DENSE_HIGH:
            add_float(push, field, lane,
                      dense->inputs[field->input].low_unit == 0
                          ? NULL
                          : block->lanes[dense->fields[f + 1].lane]);
            break;
        default: break;
    }
}

void dense_add_lanes(const struct dense_push *push)
{
    static const int64_t nothing[LANES_BLOCK_ROWS];
    const struct group_dense *dense = push->dense;
    const int64_t *lanes[LANES_MAX];

    for (uint32_t l = 0; l < dense->lane_width; l++) {
        int64_t *lane = push->block->lanes[l];
        lanes[l] = l < dense->lane_count ? lane : nothing;
        if (l < dense->lane_count) {
            dense->kernels->fill(lane, push->count, dense->constants[l]);
        }
    }
    push->block->wide_inputs[0] = push->block->wide_inputs[1] = UINT32_MAX;
    for (uint32_t f = 0; f < dense->field_count; f++) {
        add_field(push, f);
    }
    dense->kernels->add[dense->lane_width](push->worker->lanes, push->block->slot, lanes,
                                           push->count);
}

/* ---- extremes -----------------------------------------------------------------------------------
 */

/* Rows whose value is present, moved together; returns how many. */
static uint32_t drop_nulls(const struct dense_push *push, const struct vec *vec, void *values,
                           uint32_t *slot)
{
    uint16_t rows[LANES_BLOCK_ROWS];
    const size_t width = exec_type_width(vec->kind);
    const unsigned char *from = vec->data;
    unsigned char *to = values;
    uint32_t count = 0;

    for (uint32_t i = 0; i < push->count; i++) {
        rows[count] = (uint16_t)(push->first + i);
        slot[count] = push->block->slot[i];
        count += bitmap_get(vec->valid, push->first + i);
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to + i * width, from + rows[i] * width, width);
    }
    return count;
}

static void add_extreme(const struct dense_push *push, uint32_t e)
{
    const struct group_dense *dense = push->dense;
    const struct dense_extreme *extreme = &dense->extremes[e];
    const struct vec *vec = &push->inputs[extreme->input];
    lanes_extreme_fn *take = extreme->is_most ? dense->kernels->most[extreme->storage]
                                              : dense->kernels->least[extreme->storage];
    uint32_t slot[LANES_BLOCK_ROWS];

    if (vec->valid == NULL) {
        take(values_at(vec, push->first), push->count, push->block->slot, dense->slot_shift,
             push->worker->extremes[e]);
        return;
    }
    const uint32_t count = drop_nulls(push, vec, push->block->x, slot);
    take(push->block->x, count, slot, dense->slot_shift, push->worker->extremes[e]);
}

/* ---- push ---------------------------------------------------------------------------------------
 */

/* A column without gaps and constants; gathered once, however many read it. */
static bool dense_column(const struct batch *in, const struct vec *from, struct nu_arena *scratch,
                         struct vec *out)
{
    if (from->constant) {
        return vec_flatten(from, in->sel_count, scratch, out);
    }
    if (in->sel != NULL) {
        return vec_gather(from, in->sel, in->sel_count, scratch, out);
    }
    *out = *from;
    return true;
}

static const uint8_t code_kinds[] = {
    [1] = EXEC_TYPE_UINT8, [2] = EXEC_TYPE_UINT16, [4] = EXEC_TYPE_UINT32};

/* Text as the codes of the key's dictionary: those it brings, or by looking each value up. */
static bool code_column(const struct batch *in, const struct vec *from,
                        const struct dictionary *dictionary, struct nu_arena *scratch,
                        struct vec *out)
{
    struct vec texts;
    uint32_t *codes;

    if (from->dictionary == dictionary && !from->constant) {
        const struct vec brought = {
            .data = from->codes, .valid = from->valid, .kind = code_kinds[from->code_bytes]};
        return dense_column(in, &brought, scratch, out);
    }
    codes = nu_arena_alloc(scratch, BATCH_ROWS * sizeof *codes, 64);
    if (codes == NULL || !dense_column(in, from, scratch, &texts)) {
        return false;
    }
    dictionary_find(dictionary, texts.data, texts.valid, in->sel_count, codes);
    *out = (struct vec){.data = codes, .valid = texts.valid, .kind = EXEC_TYPE_UINT32};
    return true;
}

static bool key_column(const struct batch *in, const struct dense_key *key,
                       struct nu_arena *scratch, struct vec *out)
{
    const struct vec *from = &in->columns[key->column];

    return key->dictionary == NULL ? dense_column(in, from, scratch, out)
                                   : code_column(in, from, key->dictionary, scratch, out);
}

bool dense_columns(const struct group *group, struct nu_arena *scratch, const struct batch *in,
                   struct dense_push *push)
{
    const struct group_dense *dense = group->dense;
    const uint32_t key_count = group->plan.key_count;
    struct vec *columns =
        nu_arena_alloc(scratch, (key_count + dense->input_count + 1) * sizeof *columns, 8);

    if (columns == NULL) {
        return false;
    }
    for (uint32_t k = 0; k < key_count; k++) {
        if (!key_column(in, &dense->keys[k], scratch, &columns[k])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < dense->input_count; i++) {
        if (!dense_column(in, &in->columns[dense->inputs[i].column], scratch,
                          &columns[key_count + i])) {
            return false;
        }
    }
    push->keys = columns;
    push->inputs = columns + key_count;
    return true;
}

/* false: out of memory. */
static bool push_block(const struct dense_push *push)
{
    const struct group_dense *dense = push->dense;

    find_slots(push);
    dense_add_lanes(push);
    for (uint32_t e = 0; e < dense->extreme_count; e++) {
        add_extreme(push, e);
    }
    for (uint32_t k = 0; k < dense->kept_count; k++) {
        if (!dense_keep(dense, push->worker, k, &push->inputs[dense->kept[k]], push->first,
                        push->count, push->block->slot)) {
            return false;
        }
    }
    return true;
}

static enum push_result push_batch(struct group *group, struct pipe_run *run,
                                   const struct batch *in)
{
    const struct group_dense *dense = group->dense;
    struct dense_worker *worker = &dense->workers[run->worker];
    struct dense_push push = {
        .dense = dense,
        .worker = worker,
        .block = nu_arena_alloc(run->scratch, sizeof *push.block, 64),
    };

    if (push.block == NULL || !dense_columns(group, run->scratch, in, &push)) {
        return group_fail_memory(group, run->scratch);
    }
    hold_dictionaries(dense, worker);
    if (dense->is_packed) {
        return group_packed_push(group, run, &push, in->sel_count);
    }
    if (worker->lanes == NULL && !start_worker(dense, worker)) {
        return group_fail_memory(group, &worker->arena);
    }
    if (worker->rows + in->sel_count >= UINT64_C(1) << dense->row_bits &&
        !group_dense_settle(dense, worker, dense->places)) {
        return group_fail_memory(group, &worker->arena);
    }
    for (; push.first < in->sel_count; push.first += LANES_BLOCK_ROWS) {
        const uint32_t left = in->sel_count - push.first;
        push.count = left < LANES_BLOCK_ROWS ? left : LANES_BLOCK_ROWS;
        if (!push_block(&push)) {
            return group_fail_memory(group, &worker->arena);
        }
    }
    worker->rows += in->sel_count;
    worker->all_rows += in->sel_count;
    group->job->workers[run->worker].rows_aggregated += in->sel_count;
    return PUSH_MORE;
}

static enum push_result sink_push(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                                  const struct batch *in)
{
    struct group *group = (struct group *)(void *)sink;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);

    (void)index;
    const enum push_result result = push_batch(group, run, in);
    nu_arena_rewind(run->scratch, mark);
    return result;
}

static void sink_abort(struct op_sink *sink, struct job_context *job)
{
    (void)job;
    group_free((struct group *)(void *)sink);
}

const struct sink_kind group_dense_sink_kind = {
    .name = "group by place",
    .push = sink_push,
    .abort = sink_abort,
};
