#include "hash/hash_bits.h"
#include "hash/hash_mix.h"
#include "op/group_dense.h"

#include <string.h>

/* Groups by a key of one word. A worker keeps records, a word for the key and one for each input,
 * by the hash's first bits; when it has many, and at the end, they are replayed into the
 * partitions' tables, a block at a time, through the same lanes as groups by place. Memory follows
 * groups, and a constant a worker. */

bool group_packed_plan(struct group *group)
{
    struct group_dense *dense = group->dense;

    for (uint32_t i = 0; i < dense->input_count; i++) {
        const enum vec_storage storage = dense->inputs[i].storage;
        if (dense->inputs[i].may_be_null ||
            (!dense->inputs[i].has_bounds && storage != VEC_F32 && storage != VEC_F64)) {
            return false;
        }
    }
    dense->copies = 1;
    dense->slot_shift = dense_bit_length(dense->lane_width) - 1;
    dense->record_words = 1 + dense->input_count;
    return dense->extreme_count == 0 && dense->kept_count == 0;
}

bool group_packed_init(struct group *group)
{
    struct group_dense *dense = group->dense;
    const struct job_context *job = group->job;
    const uint32_t count = UINT32_C(1) << PACKED_RADIX_BITS;

    const uint64_t share = job->budget.limit_bytes / PACKED_BUDGET_SHARE / job->worker_count;
    dense->packed_words_max =
        share / sizeof(uint64_t) < PACKED_WORDS_MAX ? share / sizeof(uint64_t) : PACKED_WORDS_MAX;
    dense->partitions = nu_arena_calloc(&group->job->plan, count * sizeof *dense->partitions, 128);
    if (dense->partitions == NULL) {
        return false;
    }
    for (uint32_t p = 0; p < count; p++) {
        nu_arena_init(&dense->partitions[p].state.arena, job->pages, p * job->node_count / count,
                      &group->job->budget);
    }
    for (uint32_t w = 0; w < job->worker_count; w++) {
        nu_arena_init(&dense->workers[w].packed_arena, job->pages, job->worker_node[w],
                      &group->job->budget);
    }
    return true;
}

void group_packed_free(struct group *group)
{
    const struct group_dense *dense = group->dense;

    for (uint32_t p = 0; p < UINT32_C(1) << PACKED_RADIX_BITS; p++) {
        nu_arena_destroy(&dense->partitions[p].state.arena);
    }
    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        nu_arena_destroy(&dense->workers[w].packed_arena);
    }
}

void group_packed_release(struct packed_partition *partition)
{
    partition->released_bytes = partition->state.arena.charged_bytes;
    nu_arena_destroy(&partition->state.arena);
}

void group_packed_figures(const struct group *group, struct group_figures *figures)
{
    const struct group_dense *dense = group->dense;

    for (uint32_t p = 0; dense->is_packed && p < UINT32_C(1) << PACKED_RADIX_BITS; p++) {
        figures->memory_bytes +=
            dense->partitions[p].state.arena.charged_bytes + dense->partitions[p].released_bytes;
    }
    for (uint32_t w = 0; dense->is_packed && w < group->job->worker_count; w++) {
        figures->memory_bytes += dense->workers[w].packed_arena.charged_bytes;
    }
}

/* ---- tables -------------------------------------------------------------------------------------
 */

static uint64_t home_of(const struct packed_partition *partition, uint64_t hash)
{
    return hash_slot(hash << PACKED_RADIX_BITS, partition->slot_bits);
}

/* The slot comes from the hash's first bits, so the last ones tell entries apart. */
static uint64_t entry_of(uint64_t hash, uint32_t group)
{
    return hash << 32 | (group + UINT64_C(1));
}

static void enter_all(struct packed_partition *partition)
{
    const uint64_t mask = (UINT64_C(1) << partition->slot_bits) - 1;

    for (uint32_t g = 0; g < partition->group_count; g++) {
        const uint64_t hash = hash_mix(partition->keys[g]);
        uint64_t slot = home_of(partition, hash);
        while (partition->slots[slot] != 0) {
            slot = (slot + 1) & mask;
        }
        partition->slots[slot] = entry_of(hash, g);
    }
}

/* An array of `capacity` elements that begins with the first `count` of the old one; the rest is
 * zero. */
static void *grown(struct nu_arena *arena, const void *old, size_t count, size_t capacity,
                   size_t bytes)
{
    unsigned char *made = nu_arena_alloc(arena, capacity * bytes, 64);

    if (made == NULL) {
        return NULL;
    }
    if (count > 0) {
        memcpy(made, old, count * bytes);
    }
    memset(made + count * bytes, 0, (capacity - count) * bytes);
    return made;
}

/* Everything moves to an arena of its own, so that what was too small is given back. */
static bool grow(const struct group *group, struct packed_partition *partition, uint64_t capacity)
{
    const struct group_dense *dense = group->dense;
    const uint32_t count = partition->group_count;
    const uint64_t *old_keys = partition->keys;
    struct dense_worker old = partition->state;
    struct dense_worker *state = &partition->state;

    if (capacity > UINT32_MAX / LANES_MAX) {
        return false;
    }
    nu_arena_init(&state->arena, group->job->pages, old.arena.node, old.arena.budget);
    while (capacity * 10 > (UINT64_C(1) << partition->slot_bits) * 7) {
        partition->slot_bits++;
    }
    partition->group_capacity = (uint32_t)capacity;
    partition->slots =
        nu_arena_calloc(&state->arena, sizeof *partition->slots << partition->slot_bits, 64);
    partition->keys = grown(&state->arena, old_keys, count, capacity, sizeof *partition->keys);
    state->lanes =
        grown(&state->arena, old.lanes, count, capacity, sizeof *state->lanes << dense->slot_shift);
    if (old.sums != NULL) {
        state->sums = grown(&state->arena, old.sums, count, capacity,
                            sizeof *state->sums * dense->field_count);
    }
    if (partition->slots == NULL || partition->keys == NULL || state->lanes == NULL ||
        (old.sums != NULL && state->sums == NULL)) {
        nu_arena_destroy(&old.arena);
        return false;
    }
    enter_all(partition);
    nu_arena_destroy(&old.arena);
    return true;
}

/* Room for a block of new groups. */
static bool reserve(const struct group *group, struct packed_partition *partition)
{
    const uint64_t needed = partition->group_count + UINT64_C(1) * LANES_BLOCK_ROWS;

    return needed <= partition->group_capacity ||
           grow(group, partition, needed + partition->group_capacity / 2);
}

/* Room for the groups of so many records, as many a record as so far. */
static bool reserve_for(const struct group *group, struct packed_partition *partition,
                        uint64_t records)
{
    const double share = partition->state.all_rows == 0
                             ? 1
                             : (double)partition->group_count / (double)partition->state.all_rows;
    const uint64_t needed =
        partition->group_count + (uint64_t)((double)records * share * 1.02) + LANES_BLOCK_ROWS;

    return needed <= partition->group_capacity || grow(group, partition, needed);
}

static uint32_t find(struct packed_partition *partition, uint64_t key)
{
    const uint64_t hash = hash_mix(key);
    const uint64_t mask = (UINT64_C(1) << partition->slot_bits) - 1;
    uint64_t slot = home_of(partition, hash);
    uint64_t entry;

    while ((entry = partition->slots[slot]) != 0) {
        const uint32_t group = (uint32_t)entry - 1;
        if ((entry ^ hash << 32) >> 32 == 0 && partition->keys[group] == key) {
            return group;
        }
        slot = (slot + 1) & mask;
    }
    const uint32_t group = partition->group_count++;
    partition->slots[slot] = entry_of(hash, group);
    partition->keys[group] = key;
    return group;
}

/* ---- replay -------------------------------------------------------------------------------------
 */

struct packed_block {
    struct dense_block block;
    uint64_t inputs[]; /* LANES_BLOCK_ROWS of each */
};

/* At most a block of records at `words`. false: out of memory. */
static bool replay_block(const struct group *group, struct packed_partition *partition,
                         struct packed_block *block, struct vec *inputs, const uint64_t *words,
                         uint32_t count)
{
    const struct group_dense *dense = group->dense;
    const struct dense_push push = {.dense = dense,
                                    .worker = &partition->state,
                                    .inputs = inputs,
                                    .count = count,
                                    .block = &block->block};

    if (!reserve(group, partition)) {
        return false;
    }
    if (partition->state.rows + count >= UINT64_C(1) << dense->row_bits &&
        !group_dense_settle(dense, &partition->state, partition->group_capacity)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        block->block.slot[i] = find(partition, words[(size_t)i * dense->record_words])
                               << dense->slot_shift;
    }
    for (uint32_t c = 0; c < dense->input_count; c++) {
        uint64_t *column = block->inputs + (size_t)c * LANES_BLOCK_ROWS;
        for (uint32_t i = 0; i < count; i++) {
            column[i] = words[(size_t)i * dense->record_words + 1 + c];
        }
    }
    dense_add_lanes(&push);
    partition->state.rows += count;
    partition->state.all_rows += count;
    return true;
}

static bool replay_list(struct group *group, struct nu_arena *scratch,
                        struct packed_partition *partition, struct packed_list *list)
{
    const struct group_dense *dense = group->dense;
    const struct nu_arena_mark mark = nu_arena_mark(scratch);
    struct packed_block *block = nu_arena_alloc(
        scratch,
        sizeof *block + (size_t)dense->input_count * LANES_BLOCK_ROWS * sizeof block->inputs[0],
        64);
    struct vec *inputs = nu_arena_alloc(scratch, (dense->input_count + 1) * sizeof *inputs, 8);

    if (block == NULL || inputs == NULL) {
        group_fail_memory(group, scratch);
        return false;
    }
    if (!reserve_for(group, partition, list->count)) {
        group_fail_memory(group, &partition->state.arena);
        return false;
    }
    for (uint32_t c = 0; c < dense->input_count; c++) {
        inputs[c] =
            (struct vec){.data = block->inputs + (size_t)c * LANES_BLOCK_ROWS,
                         .kind = dense->inputs[c].has_bounds ? EXEC_TYPE_INT64 : EXEC_TYPE_FLOAT64};
    }
    for (struct packed_chunk *chunk = list->last; chunk != NULL; chunk = chunk->next) {
        for (uint32_t r = 0; r < chunk->count; r += LANES_BLOCK_ROWS) {
            const uint32_t left = chunk->count - r;
            if (!replay_block(group, partition, block, inputs,
                              chunk->words + (size_t)r * dense->record_words,
                              left < LANES_BLOCK_ROWS ? left : LANES_BLOCK_ROWS)) {
                group_fail_memory(group, &partition->state.arena);
                return false;
            }
        }
        if (job_is_stopping(group->job)) {
            return false;
        }
    }
    *list = (struct packed_list){.last = NULL};
    nu_arena_rewind(scratch, mark);
    return true;
}

bool group_packed_merge(struct group *group, struct pipe_run *run, uint32_t p)
{
    const struct group_dense *dense = group->dense;
    uint64_t records = 0;

    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        records += dense->workers[w].packed == NULL ? 0 : dense->workers[w].packed[p].count;
    }
    if (records > 0 && !reserve_for(group, &dense->partitions[p], records)) {
        group_fail_memory(group, &dense->partitions[p].state.arena);
        return false;
    }
    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        if (dense->workers[w].packed != NULL &&
            !replay_list(group, run->scratch, &dense->partitions[p],
                         &dense->workers[w].packed[p])) {
            return false;
        }
    }
    dense->partitions[p].is_merged = true;
    return true;
}

/* Never waits: a partition somebody else is writing to keeps its records here until the next time.
 * The memory is taken back when no partition was skipped. */
static bool flush(struct group *group, struct pipe_run *run, struct dense_worker *worker)
{
    const struct group_dense *dense = group->dense;
    const uint32_t count = UINT32_C(1) << PACKED_RADIX_BITS;
    const uint32_t first = run->worker * count / group->job->worker_count;
    uint64_t left = 0;
    bool ok = true;

    for (uint32_t k = 0; ok && k < count; k++) {
        const uint32_t p = (first + k) % count; /* workers begin apart */
        struct packed_partition *partition = &dense->partitions[p];
        /* acquire: pairs with the release below, sees the table as the last owner left it. */
        if (atomic_exchange_explicit(&partition->busy, true, memory_order_acquire)) {
            left += worker->packed[p].count * dense->record_words;
            continue;
        }
        ok = replay_list(group, run->scratch, partition, &worker->packed[p]);
        atomic_store_explicit(&partition->busy, false, memory_order_release);
    }
    worker->packed_words = left;
    if (ok && left == 0) {
        nu_arena_reset(&worker->packed_arena);
        worker->packed = NULL;
    }
    return ok;
}

/* ---- records ------------------------------------------------------------------------------------
 */

static const void *values_at(const struct vec *vec, uint32_t first)
{
    return (const unsigned char *)vec->data + first * exec_type_width(vec->kind);
}

static void pack_keys(const struct dense_push *push, uint64_t *keys)
{
    const struct group_dense *dense = push->dense;
    int64_t *values = push->block->x;

    memset(keys, 0, push->count * sizeof *keys);
    for (uint32_t k = 0; k < dense->key_count; k++) {
        const struct dense_key *key = &dense->keys[k];
        const struct vec *vec = &push->keys[k];
        lanes_value_fn *add = dense->kernels->value[vec_storage(vec->kind)];
        if (!key->may_be_null || vec->valid == NULL) {
            add(values_at(vec, push->first), push->count, key->least, key->shift, (int64_t *)keys);
            continue;
        }
        dense->kernels->widen[vec_storage(vec->kind)](values_at(vec, push->first), push->count,
                                                      key->least, values);
        for (uint32_t i = 0; i < push->count; i++) {
            const bool present = bitmap_get(vec->valid, push->first + i);
            keys[i] += (present ? (uint64_t)values[i] : key->span) << key->shift;
        }
    }
}

/* A word a value: an integer, or a float64. */
static void widen(const struct dense_push *push, uint32_t i, uint64_t *out)
{
    const struct vec *vec = &push->inputs[i];
    const double *doubles = values_at(vec, push->first);
    const float *floats = values_at(vec, push->first);

    switch (vec_storage(vec->kind)) {
        case VEC_F64: memcpy(out, doubles, push->count * sizeof *out); break;
        case VEC_F32:
            for (uint32_t r = 0; r < push->count; r++) {
                const double value = (double)floats[r];
                memcpy(&out[r], &value, sizeof value);
            }
            break;
        default:
            push->dense->kernels->widen[vec_storage(vec->kind)](doubles, push->count, 0,
                                                                (int64_t *)out);
            break;
    }
}

static uint64_t *room(const struct group_dense *dense, struct dense_worker *worker,
                      struct packed_list *list)
{
    struct packed_chunk *chunk = list->last;

    if (chunk == NULL || (chunk->count + 1) * dense->record_words > PACKED_CHUNK_WORDS) {
        chunk = nu_arena_alloc(&worker->packed_arena, sizeof *chunk, 64);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->next = list->last;
        chunk->count = 0;
        list->last = chunk;
    }
    list->count++;
    return chunk->words + (size_t)chunk->count++ * dense->record_words;
}

static bool push_block(const struct dense_push *push, uint64_t *keys, uint64_t *inputs)
{
    const struct group_dense *dense = push->dense;

    pack_keys(push, keys);
    for (uint32_t c = 0; c < dense->input_count; c++) {
        widen(push, c, inputs + (size_t)c * LANES_BLOCK_ROWS);
    }
    for (uint32_t i = 0; i < push->count; i++) {
        const uint32_t p = hash_partition(hash_mix(keys[i]), PACKED_RADIX_BITS);
        uint64_t *record = room(dense, push->worker, &push->worker->packed[p]);
        if (record == NULL) {
            return false;
        }
        record[0] = keys[i];
        for (uint32_t c = 0; c < dense->input_count; c++) {
            record[1 + c] = inputs[(size_t)c * LANES_BLOCK_ROWS + i];
        }
    }
    return true;
}

enum push_result group_packed_push(struct group *group, struct pipe_run *run,
                                   const struct dense_push *batch, uint32_t row_count)
{
    const struct group_dense *dense = group->dense;
    struct dense_worker *worker = batch->worker;
    struct dense_push push = *batch;
    uint64_t *words = nu_arena_alloc(
        run->scratch, (size_t)dense->record_words * LANES_BLOCK_ROWS * sizeof *words, 64);

    if (words == NULL) {
        return group_fail_memory(group, run->scratch);
    }
    if (worker->packed == NULL) {
        worker->packed =
            nu_arena_calloc(&worker->packed_arena, sizeof *worker->packed << PACKED_RADIX_BITS, 64);
    }
    for (push.first = 0; worker->packed != NULL && push.first < row_count;
         push.first += LANES_BLOCK_ROWS) {
        const uint32_t left = row_count - push.first;
        push.count = left < LANES_BLOCK_ROWS ? left : LANES_BLOCK_ROWS;
        if (!push_block(&push, words, words + LANES_BLOCK_ROWS)) {
            return group_fail_memory(group, &worker->packed_arena);
        }
    }
    if (worker->packed == NULL) {
        return group_fail_memory(group, &worker->packed_arena);
    }
    worker->packed_words += (uint64_t)row_count * dense->record_words;
    worker->all_rows += row_count;
    group->job->workers[run->worker].rows_aggregated += row_count;
    if (worker->packed_words >= dense->packed_words_max && !flush(group, run, worker)) {
        return PUSH_FAILED;
    }
    return PUSH_MORE;
}
