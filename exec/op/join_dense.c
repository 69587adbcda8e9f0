#include "hash/hash_vec.h"
#include "op/join_state.h"
#include "vec/vec.h"

#include <assert.h>
#include <string.h>

/* Joins whose build keys are distinct integers close together, as numbers given out in a row are: a
 * dense map takes the directory's place. The sink's staged rows are the same; the dense pipe, one
 * unit a partition, fills the map from them. Where a key comes twice the map is given up, and the
 * directory pipe, which runs next, builds what it always builds. Every probe row has one match at
 * most, so its columns go on as they are, under a narrower selection. */

enum {
    SPREAD_MAX = 4,             /* places a key */
    SPREAD_FREE = 1 << 10,      /* places that are always worth it */
    REMOTE_BYTES_MAX = 8 << 20, /* the map lies on one node; larger ones only where there is one */
    BUDGET_SHARE = 4,           /* a map that is given up keeps its memory until the job ends */
    CHECK_ROWS = 16 << 10,      /* between two looks at the clock */
};

static bool kind_is_taken(enum exec_join_kind kind)
{
    return kind == EXEC_JOIN_INNER || kind == EXEC_JOIN_LEFT || kind == EXEC_JOIN_LEFT_SEMI ||
           kind == EXEC_JOIN_LEFT_ANTI;
}

bool join_dense_is_wanted(const struct join *join)
{
    const struct join_plan *plan = &join->plan;

    return kind_is_taken(plan->kind) && !join->keeps_build && plan->residual == NULL &&
           plan->asof == EXEC_ASOF_NONE && plan->key_count == 1 && !plan->nulls_equal[0] &&
           join->layout.column_count <= DENSE_COLUMNS_MAX &&
           dense_map_takes(join->layout.columns[0].kind);
}

/* ---- build
 * ------------------------------------------------------------------------------------------- */

static struct join *join_of_dense(struct op_source *source)
{
    return (struct join *)(void *)((unsigned char *)source - offsetof(struct join, dense.source));
}

static bool is_worth_it(const struct join *join, const struct dense_bounds *bounds)
{
    const struct nu_budget *budget = &join->job->budget;
    const uint64_t rows = join->build_rows;
    const uint64_t span = dense_bounds_width(bounds) + 1;

    if (rows == 0 || dense_bounds_width(bounds) >= DENSE_KEYS_MAX ||
        (span > SPREAD_MAX * rows && span > SPREAD_FREE) || (span < rows && !join->exists_only)) {
        return false;
    }
    const uint64_t bytes = dense_map_bytes(&join->layout, span);
    const uint64_t used = nu_budget_used(budget);
    const uint64_t left = used < budget->limit_bytes ? budget->limit_bytes - used : 0;
    return bytes <= left / BUDGET_SHARE &&
           (join->job->node_count == 1 || bytes <= REMOTE_BYTES_MAX);
}

static enum exec_code dense_start(struct op_source *source, struct pipe *pipe,
                                  struct exec_error *err)
{
    struct join *join = join_of_dense(source);
    struct join_dense *dense = &join->dense;
    struct dense_bounds bounds = {UINT64_MAX, 0};

    (void)err;
    for (uint32_t w = 0; w < join->job->worker_count; w++) {
        dense_bounds_merge(&bounds, &join->workers[w].bounds);
    }
    if (!dense->wanted || !is_worth_it(join, &bounds)) {
        return EXEC_OK;
    }
    dense->readers =
        nu_arena_calloc(&join->job->plan, join->partition_count * sizeof *dense->readers, 8);
    if (dense->readers == NULL ||
        !dense_map_init(&dense->map, &join->layout, &bounds, &join->job->plan)) {
        return EXEC_OK; /* the directory may still fit, or fails with what there is to say */
    }
    for (uint32_t p = 0; p < join->partition_count; p++) {
        radix_reader_init(&dense->readers[p], join->worker_rows, join->job->worker_count,
                          join->dirs.radix_bits, p);
    }
    dense->begun = true;
    /* relaxed: ordered by the start of the pipe. */
    atomic_store_explicit(&dense->states_all, UINT8_MAX, memory_order_relaxed);
    source->units_total = join->partition_count;
    pipe_add_range(pipe, 0, join->partition_count, 0, false);
    return EXEC_OK;
}

/* Rows of a worker who has not dealt his out: those of this partition, one by one. */
static bool fill_foreign(const struct join *join, struct dense_map *map,
                         const struct radix_run *rows, uint32_t partition, uint8_t *states_all)
{
    bool unique = true;

    for (uint32_t i = 0; i < rows->row_count; i++) {
        const unsigned char *row = rows->rows + (size_t)i * join->layout.row_bytes;
        if (hash_partition(row_hash(row), join->dirs.radix_bits) == partition) {
            unique &= dense_map_fill(map, row, 1, states_all);
        }
    }
    return unique;
}

static enum push_result fill_partition(struct join *join, uint32_t partition)
{
    struct join_dense *dense = &join->dense;
    struct radix_run rows;
    uint8_t states_all = UINT8_MAX;
    uint64_t work = 0;
    bool unique = true;
    bool more = true;

    while (unique && work < CHECK_ROWS &&
           (more = radix_reader_next(&dense->readers[partition], &rows))) {
        unique = rows.foreign ? fill_foreign(join, &dense->map, &rows, partition, &states_all)
                              : dense_map_fill(&dense->map, rows.rows, rows.row_count, &states_all);
        unique |= join->exists_only;
        work += rows.row_count;
    }
    /* relaxed, both: read after the pipe has ended; `refused` here only to stop early. */
    atomic_fetch_and_explicit(&dense->states_all, states_all, memory_order_relaxed);
    if (!unique) {
        atomic_store_explicit(&dense->refused, true, memory_order_relaxed);
    }
    return more && unique ? PUSH_SUSPEND : PUSH_MORE;
}

static enum push_result dense_scan(struct op_source *source, struct pipe_run *run,
                                   struct sched_range *range, uint64_t unit_target)
{
    struct join *join = join_of_dense(source);

    for (uint64_t u = 0; u < unit_target && range->begin < range->end;) {
        const bool refused = atomic_load_explicit(&join->dense.refused, memory_order_relaxed);
        const enum push_result result =
            refused ? PUSH_MORE : fill_partition(join, (uint32_t)range->begin);
        if (result == PUSH_MORE) {
            range->begin++;
            u++;
        }
        if (pipe_time_is_up(run)) {
            run->out_of_time = result == PUSH_SUSPEND;
            return result;
        }
    }
    return PUSH_MORE;
}

const struct source_kind join_dense_source_kind = {
    .name = "join dense map",
    .start = dense_start,
    .scan = dense_scan,
    .unit_hint = 1,
};

bool join_dense_settle(struct join *join)
{
    struct join_dense *dense = &join->dense;

    /* relaxed: the dense pipe has ended. */
    dense->on = dense->begun && !atomic_load_explicit(&dense->refused, memory_order_relaxed);
    dense->map.states_all = atomic_load_explicit(&dense->states_all, memory_order_relaxed);
    dense->map.full = dense->map.span == join->build_rows && !join->exists_only;
    return dense->on;
}

/* ---- probe
 * ------------------------------------------------------------------------------------------- */

struct dense_probe {
    struct join *join;
    struct pipe_run *run;
    const struct batch *in;
    struct vec key;
    uint32_t count; /* rows of the batch with a match, and where it lies */
    uint16_t rows[BATCH_ROWS + 1];
    uint32_t at[BATCH_ROWS + 1];
};

/* The key of the build side: the probe's, where there is a match. */
static bool key_column(const struct dense_probe *probe, bool outer, struct vec *out)
{
    *out = probe->key;
    if (!outer || probe->count == probe->in->row_count) {
        return true;
    }
    uint64_t *valid = nu_arena_calloc(probe->run->scratch, BATCH_WORDS * sizeof *valid, 8);
    for (uint32_t i = 0; valid != NULL && i < probe->count; i++) {
        valid[probe->rows[i] / 64] |= UINT64_C(1) << probe->rows[i] % 64;
    }
    out->valid = valid;
    return valid != NULL;
}

/* Build columns beside the batch's own. */
static bool beside(const struct dense_probe *probe, struct vec *columns)
{
    const struct join *join = probe->join;
    const struct batch *in = probe->in;
    const bool outer = join->keeps_probe;
    const bool all = in->sel == NULL && probe->count == in->row_count;
    bool ok = true;

    for (uint32_t o = 0; ok && o < join->plan.output_count; o++) {
        const struct join_output *output = &join->plan.outputs[o];
        const uint32_t kept = output->from_build ? join->build_column[output->column] : 0;
        if (!output->from_build) {
            columns[o] = in->columns[output->column];
        } else if (kept == 0) {
            ok = key_column(probe, outer, &columns[o]);
        } else {
            ok = dense_map_gather(&join->dense.map, kept, probe->at, all ? NULL : probe->rows,
                                  probe->count, in->row_count, outer, probe->run->scratch,
                                  &columns[o]);
        }
    }
    return ok;
}

/* Few matches: everything is moved together, so that what follows is done for them alone. */
static bool compact(const struct dense_probe *probe, struct vec *columns)
{
    const struct join *join = probe->join;
    struct nu_arena *scratch = probe->run->scratch;
    bool ok = true;

    for (uint32_t o = 0; ok && o < join->plan.output_count; o++) {
        const struct join_output *output = &join->plan.outputs[o];
        const uint32_t kept = output->from_build ? join->build_column[output->column] : 0;
        if (kept != 0) {
            ok = dense_map_gather(&join->dense.map, kept, probe->at, NULL, probe->count,
                                  probe->count, false, scratch, &columns[o]);
            continue;
        }
        ok = vec_gather(output->from_build ? &probe->key : &probe->in->columns[output->column],
                        probe->rows, probe->count, scratch, &columns[o]);
    }
    return ok;
}

/* ANTI: the selected rows that are not among the matches; to `rows`. Both ascend. */
static void complement(struct dense_probe *probe)
{
    const struct batch *in = probe->in;
    uint16_t others[BATCH_ROWS + 1];
    uint32_t other_count = 0;

    for (uint32_t p = 0, next = 0; p < in->sel_count; p++) {
        const uint16_t row = (uint16_t)batch_row(in, p);
        const bool matched = next < probe->count && probe->rows[next] == row;
        others[other_count] = row;
        other_count += !matched;
        next += matched;
    }
    memcpy(probe->rows, others, other_count * sizeof others[0]);
    probe->count = other_count;
}

static enum push_result push_matches(struct dense_probe *probe, uint32_t index)
{
    const struct join *join = probe->join;
    const struct batch *in = probe->in;
    struct nu_arena *scratch = probe->run->scratch;
    const uint32_t column_count = join->plan.output_count;
    struct vec *columns = nu_arena_alloc(scratch, (column_count + 1) * sizeof *columns, 8);
    const bool all = join->keeps_probe || probe->count == in->sel_count;
    const bool few = !all && !join->exists_only && probe->count < in->row_count / 4;

    if (columns == NULL || !(few ? compact(probe, columns) : beside(probe, columns))) {
        return join_fail_memory(join, scratch, "a batch of a join's result");
    }
    const struct batch out = {.row_count = few ? probe->count : in->row_count,
                              .sel_count = all ? in->sel_count : probe->count,
                              .sel = all   ? in->sel
                                     : few ? NULL
                                           : probe->rows,
                              .columns = columns,
                              .column_count = column_count};
    return pipe_push(probe->run, index + 1, &out);
}

enum push_result join_dense_push(struct join *join, struct pipe_run *run, uint32_t index,
                                 const struct batch *in)
{
    struct dense_probe *probe = nu_arena_alloc(run->scratch, sizeof *probe, 64);
    struct vec key;

    if (probe == NULL) {
        return join_fail_memory(join, run->scratch, "a batch of a join's probe side");
    }
    if (!join_eval_keys(join, run, join->plan.probe_keys, in, &key)) {
        return PUSH_FAILED;
    }
    probe->join = join;
    probe->run = run;
    probe->in = in;
    if (!vec_flatten(&key, in->row_count, run->scratch, &probe->key)) {
        return join_fail_memory(join, run->scratch, "a batch of a join's probe side");
    }
    probe->count = dense_map_find(&join->dense.map, in, &probe->key, probe->rows, probe->at);
    if (join->plan.kind == EXEC_JOIN_LEFT_ANTI) {
        complement(probe);
    }
    return probe->count == 0 && !join->keeps_probe ? PUSH_MORE : push_matches(probe, index);
}
