#include "hash/hash_bits.h"
#include "op/group_order.h"
#include "op/group_state.h"
#include "op/node_share.h"

#include <stddef.h>
#include <string.h>

/* Merge and output, one unit a partition, in steps of a batch: hot tables' groups of the partition
 * are combined into its table, records left in backlogs are replayed into it, then its groups are
 * pushed. Where a unit stands is kept in the partition, so a suspended range needs no state of its
 * own, and nothing is done twice. */

static struct group *group_of_source(struct op_source *source)
{
    return (struct group *)(void *)((unsigned char *)source - offsetof(struct group, source));
}

/* Where one unit merges everything and only one worker has seen rows, its hot table is the result.
 */
static void adopt_hot_table(struct group *group)
{
    struct group_partition *partition = &group->partitions[0];
    uint32_t with_rows = 0;

    for (uint32_t w = 0; w < group->job->worker_count; w++) {
        if (group->workers[w].hot.rows.row_count > 0) {
            with_rows++;
            partition->table = &group->workers[w].hot;
        }
    }
    if (with_rows > 1) {
        partition->table = &partition->own;
    }
}

static void prepare_partition(struct group *group, uint32_t p)
{
    struct group_partition *partition = &group->partitions[p];

    partition->phase = GROUP_HOT;
    radix_reader_init(&partition->reader, group->backlogs, group->job->worker_count,
                      group->merge_bits, p);
}

static enum exec_code source_start(struct op_source *source, struct pipe *pipe,
                                   struct exec_error *err)
{
    struct group *group = group_of_source(source);
    const uint32_t units = UINT32_C(1) << group->merge_bits;

    (void)err;
    source->units_total = units;
    for (uint32_t p = 0; p < units; p++) {
        prepare_partition(group, p);
    }
    if (group->merge_bits == 0) {
        group->partitions[0].own.radix_bits = 0;
        adopt_hot_table(group);
    }
    node_share_add_ranges(pipe, group->job, units);
    return EXEC_OK;
}

/* ---- merge --------------------------------------------------------------------------------------
 */

struct merge_batch {
    struct vec *keys;
    uint64_t hashes[BATCH_ROWS];
    uint16_t positions[BATCH_ROWS];
    unsigned char *from[BATCH_ROWS];
    unsigned char *into[BATCH_ROWS];
};

static bool combine(struct group *group, struct pipe_run *run, struct group_table *table,
                    struct merge_batch *merge, uint32_t count)
{
    const uint32_t key_count = group->plan.key_count;
    bool ok = (merge->keys =
                   nu_arena_alloc(run->scratch, (key_count + 1) * sizeof *merge->keys, 8)) != NULL;

    for (uint32_t k = 0; ok && k < key_count; k++) {
        ok = row_gather(&group->layout, k, merge->from, count, run->scratch, &merge->keys[k]);
    }
    if (!ok) {
        group_fail_memory(group, run->scratch);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        merge->positions[i] = (uint16_t)i;
        merge->hashes[i] = row_hash(merge->from[i]);
    }
    const struct batch batch = {.row_count = count, .sel_count = count};
    ok = group_table_find(table, &batch, merge->keys, merge->hashes, merge->positions, count,
                          UINT64_MAX, merge->into);
    ok = ok && group_combine(group, merge->into, merge->from, count, table->arena);
    if (!ok) {
        group_fail_memory(group, table->arena);
    }
    return ok;
}

/* The next groups of hot tables that belong to the partition, in *from; at most a batch. Looks at
 * some ten thousand at most: returns what it has then, possibly nothing. */
static uint32_t collect_hot(const struct group *group, struct group_partition *partition,
                            uint32_t p, unsigned char **from)
{
    uint32_t count = 0;

    for (uint32_t looked = 0; looked < GROUP_HOT_ROWS && partition->phase == GROUP_HOT;) {
        if (partition->worker == group->job->worker_count) {
            partition->phase = GROUP_BACKLOG;
            break;
        }
        const struct group_table *hot = &group->workers[partition->worker].hot;
        const struct row_chunk *chunk =
            partition->chunk == NULL ? hot->rows.first : partition->chunk;
        if (chunk == NULL || hot == partition->table) {
            partition->worker++;
            continue;
        }
        for (; partition->row < chunk->row_count && count < BATCH_ROWS; partition->row++) {
            unsigned char *row =
                (unsigned char *)(uintptr_t)chunk->rows + (size_t)partition->row * hot->row_bytes;
            from[count] = row;
            count += hash_partition(row_hash(row), group->merge_bits) == p;
            looked++;
        }
        partition->chunk = chunk;
        if (count == BATCH_ROWS) {
            break;
        }
        partition->row = 0;
        partition->chunk = chunk->next;
        partition->worker += chunk->next == NULL;
    }
    return count;
}

static bool merge_hot(struct group *group, struct pipe_run *run, struct group_partition *partition,
                      uint32_t p)
{
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    struct merge_batch *merge = nu_arena_alloc(run->scratch, sizeof *merge, 64);

    if (merge == NULL) {
        group_fail_memory(group, run->scratch);
        return false;
    }
    const uint32_t count = collect_hot(group, partition, p, merge->from);
    const bool ok = count == 0 || combine(group, run, partition->table, merge, count);
    nu_arena_rewind(run->scratch, mark);
    return ok;
}

static bool merge_backlog(struct group *group, struct pipe_run *run,
                          struct group_partition *partition, uint32_t p)
{
    const uint32_t row_bytes = group->record_layout.row_bytes;
    unsigned char *records[BATCH_ROWS];
    uint32_t count = 0;

    while (count < BATCH_ROWS) {
        if (partition->row == partition->run.row_count) {
            partition->row = 0;
            if (!radix_reader_next(&partition->reader, &partition->run)) {
                partition->run.row_count = 0;
                partition->phase = GROUP_EMIT;
                break;
            }
        }
        for (; partition->row < partition->run.row_count && count < BATCH_ROWS; partition->row++) {
            const unsigned char *row = partition->run.rows + (size_t)partition->row * row_bytes;
            records[count] = (unsigned char *)(uintptr_t)row;
            count +=
                !partition->run.foreign || hash_partition(row_hash(row), group->merge_bits) == p;
        }
    }
    return count == 0 || group_replay(group, run, partition->table, records, count);
}

/* ---- output
 * ------------------------------------------------------------------------------------------ */

/* Without keys there is a group also over no rows. */
static bool ensure_group(struct group *group, struct group_partition *partition)
{
    const struct batch batch = {.row_count = 1, .sel_count = 1};
    const uint64_t hash = 0;
    const uint16_t position = 0;
    unsigned char *row;

    if (group->plan.key_count > 0 || partition->table->rows.row_count > 0) {
        return true;
    }
    if (!group_table_find(partition->table, &batch, NULL, &hash, &position, 1, UINT64_MAX, &row)) {
        group_fail_memory(group, partition->table->arena);
        return false;
    }
    return true;
}

static enum push_result emit(struct group *group, struct pipe_run *run,
                             const struct group_partition *partition, uint32_t count)
{
    const uint32_t column_count = group->plan.key_count + group->plan.measure_count;
    const uint32_t row_bytes = partition->table->row_bytes;
    unsigned char **rows = nu_arena_alloc(run->scratch, BATCH_ROWS * sizeof *rows, 8);
    struct vec *columns = nu_arena_alloc(run->scratch, (column_count + 1) * sizeof *columns, 8);

    if (rows == NULL || columns == NULL) {
        return group_fail_memory(group, run->scratch);
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = (unsigned char *)(uintptr_t)partition->chunk->rows +
                  (size_t)(partition->row + i) * row_bytes;
    }
    if (group_columns(group, run, rows, count, columns) != PUSH_MORE) {
        return PUSH_FAILED;
    }
    const struct batch out = {
        .row_count = count, .sel_count = count, .columns = columns, .column_count = column_count};
    return pipe_push_source(run, &out);
}

/* Groups of one batch: fewer where they keep many rows to sort, so that a step stays short. */
static uint32_t emit_count(const struct group *group, const struct group_partition *partition)
{
    const uint32_t left = partition->chunk->row_count - partition->row;
    const uint32_t count = left < BATCH_ROWS ? left : BATCH_ROWS;
    uint64_t kept = 0;

    for (uint32_t i = 0; group->keeps_rows && i < count; i++) {
        const unsigned char *row =
            partition->chunk->rows + (size_t)(partition->row + i) * partition->table->row_bytes;
        for (uint32_t m = 0; m < group->plan.measure_count; m++) {
            const struct group_aggregate *aggregate = &group->aggregates[m];
            kept += group_form_keeps(aggregate->form) ? tuple_count(aggregate, row) : 0;
        }
        if (kept > GROUP_EMIT_KEPT_ROWS) {
            return i + 1;
        }
    }
    return count;
}

/* Pushes the groups of one chunk at most, a batch of them. */
static enum push_result emit_some(struct group *group, struct pipe_run *run,
                                  struct group_partition *partition)
{
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);

    if (partition->chunk == NULL) { /* whoever wanted its groups has copied them */
        partition->phase = GROUP_EMITTED;
        partition->released_bytes = partition->arena.charged_bytes;
        nu_arena_destroy(&partition->arena);
        return PUSH_MORE;
    }
    const uint32_t count = emit_count(group, partition);
    const enum push_result result = emit(group, run, partition, count);
    nu_arena_rewind(run->scratch, mark);
    if (result != PUSH_MORE) {
        return result;
    }
    /* relaxed: a figure. */
    atomic_fetch_add_explicit(&group->groups, count, memory_order_relaxed);
    partition->row += count;
    if (partition->row == partition->chunk->row_count) {
        partition->row = 0;
        partition->chunk = partition->chunk->next;
    }
    return PUSH_MORE;
}

static enum push_result begin_output(struct group *group, struct group_partition *partition)
{
    if (!ensure_group(group, partition)) {
        return PUSH_FAILED;
    }
    partition->chunk = partition->table->rows.first;
    partition->row = 0;
    return PUSH_MORE;
}

/* One step of a unit: about a batch. */
static enum push_result step(struct group *group, struct pipe_run *run, uint32_t p)
{
    struct group_partition *partition = &group->partitions[p];
    bool ok = true;

    switch (partition->phase) {
        case GROUP_HOT:
            ok = merge_hot(group, run, partition, p);
            if (partition->phase == GROUP_BACKLOG) {
                partition->row = 0;
                partition->run.row_count = 0;
            }
            return ok ? PUSH_MORE : PUSH_FAILED;
        case GROUP_BACKLOG:
            ok = merge_backlog(group, run, partition, p);
            if (ok && partition->phase == GROUP_EMIT) {
                return begin_output(group, partition);
            }
            return ok ? PUSH_MORE : PUSH_FAILED;
        default: return emit_some(group, run, partition);
    }
}

static enum push_result source_scan(struct op_source *source, struct pipe_run *run,
                                    struct sched_range *range, uint64_t unit_target)
{
    struct group *group = group_of_source(source);

    for (uint64_t u = 0; u < unit_target && range->begin < range->end; u++) {
        const uint32_t p = (uint32_t)range->begin;
        while (group->partitions[p].phase != GROUP_EMITTED) {
            const enum push_result result = step(group, run, p);
            if (result != PUSH_MORE) {
                return result;
            }
            if (group->partitions[p].phase != GROUP_EMITTED && pipe_time_is_up(run)) {
                return PUSH_MORE;
            }
        }
        range->begin++;
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

const struct source_kind group_source_kind = {
    .name = "group merge",
    .start = source_start,
    .scan = source_scan,
    .close = source_close,
    .unit_hint = 1,
};
