#include "hash/hash_vec.h"
#include "op/join_state.h"
#include "op/node_share.h"

#include <assert.h>
#include <string.h>

/* Build side: the sink puts rows into the worker's staging, dealt out by radix partition; finish
 * counts them; the directory pipe then builds partition by partition. */

enum {
    UNPARTITIONED_ROWS = 16 << 10, /* below, one unit builds everything: about 0.3 ms */
    DIRECTORY_STEP_ROWS = 16 << 10,
    CACHE_BYTES = 8 << 20,    /* last-level cache where the machine does not say */
    PREFETCH_BYTES = 1 << 20, /* of directory: about an L2; below, lines are near anyway */
};

/* ---- sink ---------------------------------------------------------------------------------------
 */

struct build_batch {
    struct vec keys[EXEC_KEYS_MAX];
    uint64_t hashes[BATCH_ROWS];
    uint16_t positions[BATCH_ROWS];
    uint16_t null_positions[BATCH_ROWS];
    unsigned char *rows[BATCH_ROWS];
};

static bool scatter_rows(struct join *join, struct pipe_run *run, const struct batch *in,
                         struct build_batch *build, const uint16_t *positions, uint32_t count)
{
    struct nu_arena *strings = &join->job->workers[run->worker].arena;
    struct vec *stored = nu_arena_alloc(run->scratch, (join->stored_count + 1) * sizeof *stored, 8);

    if (stored == NULL) {
        join_fail_memory(join, run->scratch, "a batch of a join's build side");
        return false;
    }
    for (uint32_t s = 0; s < join->stored_count; s++) {
        stored[s] = in->columns[join->stored[s]];
    }
    for (uint32_t i = 0; join->keeps_build && i < count; i++) {
        build->rows[i][JOIN_MATCHED_BYTE] = 0;
    }
    if (!row_scatter(&join->layout, 0, join->value_count, in, build->keys, positions, count,
                     build->rows, true, strings) ||
        !row_scatter(&join->layout, join->value_count, join->stored_count, in, stored, positions,
                     count, build->rows, false, strings)) {
        join_fail_memory(join, strings, "strings of a join's build side");
        return false;
    }
    return true;
}

/* Positions of the selection that are not among the `count` ascending `positions`. */
static uint32_t other_positions(const uint16_t *positions, uint32_t count, uint32_t all,
                                uint16_t *others)
{
    uint32_t other_count = 0;

    for (uint32_t p = 0, next = 0; p < all; p++) {
        if (next < count && positions[next] == p) {
            next++;
        } else {
            others[other_count++] = (uint16_t)p;
        }
    }
    return other_count;
}

static bool keep_null_rows(struct join *join, struct pipe_run *run, const struct batch *in,
                           struct build_batch *build, uint32_t present)
{
    struct join_worker *worker = &join->workers[run->worker];
    struct nu_arena *arena = &join->job->workers[run->worker].arena;
    const uint32_t count =
        other_positions(build->positions, present, in->sel_count, build->null_positions);

    for (uint32_t i = 0; i < count; i++) {
        build->rows[i] = row_list_append(&worker->null_rows, arena, join->layout.row_bytes);
        if (build->rows[i] == NULL) {
            join_fail_memory(join, arena, "rows of a join's build side");
            return false;
        }
    }
    return scatter_rows(join, run, in, build, build->null_positions, count);
}

static enum push_result build_push_batch(struct join *join, struct pipe_run *run,
                                         const struct batch *in)
{
    struct join_worker *worker = &join->workers[run->worker];
    struct build_batch *build = nu_arena_alloc(run->scratch, sizeof *build, 64);

    if (build == NULL) {
        return join_fail_memory(join, run->scratch, "a batch of a join's build side");
    }
    if (!join_eval_keys(join, run, join->plan.build_keys, in, build->keys)) {
        return PUSH_FAILED;
    }
    hash_keys(in, build->keys, join->plan.key_count, join->job->hash_bits_kept, build->hashes);
    const uint32_t present = hash_present_positions(in, build->keys, join->value_count,
                                                    join->plan.nulls_equal, build->positions);
    if (join->dense.wanted) {
        dense_bounds_add(&worker->bounds, in, &build->keys[0], build->positions, present);
    }
    if (!radix_rows_reserve(&worker->rows, build->hashes, build->positions, present, build->rows)) {
        return join_fail_memory(join, &worker->staging, "rows of a join's build side");
    }
    if (!scatter_rows(join, run, in, build, build->positions, present)) {
        return PUSH_FAILED;
    }
    if (present < in->sel_count) {
        worker->has_null = true;
        if (join->keeps_build && !keep_null_rows(join, run, in, build, present)) {
            return PUSH_FAILED;
        }
    }
    join->job->workers[run->worker].rows_built += in->sel_count;
    return PUSH_MORE;
}

static enum push_result build_push(struct op_sink *sink, struct pipe_run *run, uint32_t index,
                                   const struct batch *in)
{
    struct join *join = (struct join *)(void *)sink;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);

    (void)index;
    const enum push_result result = build_push_batch(join, run, in);
    nu_arena_rewind(run->scratch, mark);
    return result;
}

static enum exec_code build_finish(struct op_sink *sink, struct job_context *job, uint32_t worker,
                                   struct exec_error *err)
{
    struct join *join = (struct join *)(void *)sink;
    struct nu_arena *arena = &job->workers[worker].arena;

    for (uint32_t w = 0; w < job->worker_count; w++) {
        join->build_rows += radix_rows_count(&join->workers[w].rows);
        join->null_rows += join->workers[w].null_rows.row_count;
        join->has_null |= join->workers[w].has_null;
    }
    join->dirs.radix_bits =
        join->build_rows <= UNPARTITIONED_ROWS ? 0 : join->workers[0].rows.radix_bits;
    join->partition_count = UINT32_C(1) << join->dirs.radix_bits;
    join->dirs.prefetch =
        join->build_rows * (sizeof(uint64_t) + join->layout.row_bytes) > PREFETCH_BYTES;

    const size_t units = join->partition_count + job->worker_count;
    join->dirs.parts = nu_arena_calloc(arena, join->partition_count * sizeof(struct hash_dir), 64);
    join->builds =
        nu_arena_calloc(arena, join->partition_count * sizeof(struct hash_dir_build), 64);
    join->build_begun = nu_arena_calloc(arena, join->partition_count, 64);
    join->partition_node =
        nu_arena_calloc(arena, join->partition_count * sizeof *join->partition_node, 64);
    join->unmatched_units = nu_arena_calloc(arena, units * sizeof *join->unmatched_units, 64);
    if (join->plan.asof != EXEC_ASOF_NONE) {
        join->asof_sorts =
            nu_arena_calloc(arena, join->partition_count * sizeof *join->asof_sorts, 64);
    }
    if ((join->plan.asof != EXEC_ASOF_NONE && join->asof_sorts == NULL) ||
        join->dirs.parts == NULL || join->builds == NULL || join->build_begun == NULL ||
        join->partition_node == NULL || join->unmatched_units == NULL) {
        job_memory_error(err, arena->refused, "the directory of a join");
        err->rel = join->plan.rel;
        return err->code;
    }
    return EXEC_OK;
}

static void build_abort(struct op_sink *sink, struct job_context *job)
{
    (void)job;
    join_free_staging((struct join *)(void *)sink);
}

const struct sink_kind join_build_sink_kind = {
    .name = "join build",
    .push = build_push,
    .finish = build_finish,
    .abort = build_abort,
};

/* ---- directory
 * ------------------------------------------------------------------------------------ */

static struct join *join_of_directory(struct op_source *source)
{
    return (struct join *)(void *)((unsigned char *)source - offsetof(struct join, directory));
}

static double mean_distance(const struct job_context *job)
{
    const struct nu_topology *topology = job->topology;
    double sum = 0;
    uint32_t pairs = 0;

    for (uint32_t a = 0; topology != NULL && a < topology->node_count; a++) {
        for (uint32_t b = 0; b < topology->node_count; b++) {
            sum += a == b ? 0 : topology->distance[a][b];
            pairs += a != b;
        }
    }
    return pairs == 0 ? NU_DISTANCE_LOCAL : sum / pairs;
}

static void choose_mode(struct join *join)
{
    const struct job_context *job = join->job;
    const uint64_t used = nu_budget_used(&job->budget);
    const uint64_t limit = job->budget.limit_bytes;
    const bool has_cache = job->topology != NULL && job->topology->l3_bytes != 0;
    const struct join_mode_input input = {
        .node_count = job->node_count,
        .worker_count = job->worker_count,
        .distance = mean_distance(job),
        .cache_bytes = has_cache ? job->topology->l3_bytes : CACHE_BYTES,
        .table_bytes = join->build_rows * (sizeof(uint64_t) + join->layout.row_bytes),
        .memory_bytes = used < limit ? limit - used : 0,
        .probe_rows = join->plan.probe_rows,
        .probe_row_bytes = join->routing.layout.row_bytes,
        .can_route = join->routing.wired,
        .wanted = job->probe_mode,
    };

    join->mode = join_mode_choose(&input);
    if (join->mode.mode == EXEC_PROBE_ROUTED) {
        join_routed_begin(join);
    }
}

static enum exec_code directory_start(struct op_source *source, struct pipe *pipe,
                                      struct exec_error *err)
{
    struct join *join = join_of_directory(source);

    (void)err;
    if (join_dense_settle(join)) {
        join->mode = (struct join_mode_choice){.mode = EXEC_PROBE_SHARED,
                                               .reason = "a dense map of the keys"};
        return EXEC_OK;
    }
    choose_mode(join);
    source->units_total = join->partition_count;
    /* Whoever builds a partition places it on its own node. */
    node_share_add_ranges(pipe, join->job, join->partition_count);
    return EXEC_OK;
}

static bool begin_partition(struct join *join, struct pipe_run *run, uint32_t partition)
{
    struct nu_arena *arena = &join->job->workers[run->worker].arena;
    struct radix_reader reader;

    radix_reader_init(&reader, join->worker_rows, join->job->worker_count, join->dirs.radix_bits,
                      partition);
    const uint64_t rows = join->dirs.radix_bits == 0
                              ? join->build_rows
                              : hash_dir_count_rows(&reader, join->layout.row_bytes);
    if (!hash_dir_begin(&join->builds[partition], &join->dirs.parts[partition], &join->layout,
                        join->plan.key_count, &reader, rows, arena)) {
        join_fail_memory(join, arena, "the directory of a join");
        return false;
    }
    join->build_begun[partition] = true;
    join->partition_node[partition] = (uint16_t)run->node;
    return true;
}

static enum push_result build_partition(struct join *join, struct pipe_run *run, uint32_t partition)
{
    if (!join->build_begun[partition] && !begin_partition(join, run, partition)) {
        return PUSH_FAILED;
    }
    while (!hash_dir_step(&join->builds[partition], DIRECTORY_STEP_ROWS) ||
           !join_asof_step(join, partition, DIRECTORY_STEP_ROWS)) {
        if (pipe_time_is_up(run)) {
            run->out_of_time = true;
            return PUSH_SUSPEND;
        }
    }
    return PUSH_MORE;
}

static enum push_result directory_scan(struct op_source *source, struct pipe_run *run,
                                       struct sched_range *range, uint64_t unit_target)
{
    struct join *join = join_of_directory(source);

    for (uint64_t u = 0; u < unit_target && range->begin < range->end; u++) {
        const enum push_result result = build_partition(join, run, (uint32_t)range->begin);
        if (result != PUSH_MORE) {
            return result;
        }
        range->begin++;
        if (pipe_time_is_up(run)) {
            break;
        }
    }
    return PUSH_MORE;
}

static bool keys_are_unique(const struct join *join)
{
    bool unique = join->dirs.parts != NULL;

    for (uint32_t p = 0; unique && p < join->partition_count; p++) {
        unique = join->dirs.parts[p].slots != NULL && join->dirs.parts[p].unique;
    }
    return unique;
}

static void directory_close(struct op_source *source, struct job_context *job)
{
    struct join *join = join_of_directory(source);

    join_free_staging(join);
    join->direct = join->direct_wanted && !join->dense.on && keys_are_unique(join);
    if (join->direct && join->routing.on && !join_routed_narrow(join)) {
        job_fail_memory(job, &job->plan, "probe rows on their way");
    }
}

const struct source_kind join_directory_source_kind = {
    .name = "join directory",
    .start = directory_start,
    .scan = directory_scan,
    .close = directory_close,
    .unit_hint = 1,
};
