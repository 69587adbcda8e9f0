#include "hash/hash_bits.h"
#include "hash/hash_vec.h"
#include "op/join_state.h"
#include "vec/vec.h"

#include <string.h>

/* Probe mode routed. The probe operator of the probe pipes keeps their rows, dealt out by the hash
 * bits that choose the build partition, each worker in memory of its own node: a batch is written
 * column by column into the open lines of its partitions, so that every line is written whole while
 * it is in L1. The routed pipe then reads them: units are chunks of rows, those of a partition one
 * behind the other, in ranges on the node where the partition lies; so a worker has one partition's
 * directory in its cache, from near memory, and streams the probe rows in. Their hashes come with
 * them. From the same probe operator on everything is as in the other modes.
 *
 * Keeping is never a must: rows beyond a worker's quota of memory are looked up where they are. */

enum {
    QUOTA_SHARE = 2, /* of the memory left when routing begins, for all workers */
};

/* Columns that have to come along: what goes out, what a residual asks for, and the keys, unless
 * their hash is enough. */
static bool init_layout(struct join *join, bool with_keys)
{
    struct join_routing *routing = &join->routing;
    struct nu_arena *arena = &join->job->plan;
    const struct join_plan *plan = &join->plan;
    bool *uses = nu_arena_calloc(arena, (size_t)plan->probe_column_count + 1, 8);
    struct exec_type *types =
        nu_arena_alloc(arena, (plan->probe_column_count + 1) * sizeof *types, 8);

    if (uses == NULL || types == NULL) {
        return false;
    }
    memcpy(uses, join->residual_uses, plan->probe_column_count);
    for (uint32_t k = 0; with_keys && k < join->value_count; k++) {
        expr_mark_columns(plan->probe_keys[k], uses);
    }
    for (uint32_t o = 0; o < plan->output_count; o++) {
        if (!plan->outputs[o].from_build) {
            uses[plan->outputs[o].column] = true;
        }
    }
    routing->column_count = 0;
    for (uint32_t c = 0; c < plan->probe_column_count; c++) {
        if (uses[c]) {
            types[routing->column_count] = plan->probe_types[c];
            routing->columns[routing->column_count++] = c;
        }
    }
    return join->direct_wanted ? row_layout_init_present(&routing->layout, arena, types,
                                                         routing->column_count, sizeof(uint64_t))
                               : row_layout_init(&routing->layout, arena, types,
                                                 routing->column_count, sizeof(uint64_t));
}

bool join_routed_init(struct join *join)
{
    struct join_routing *routing = &join->routing;
    struct nu_arena *arena = &join->job->plan;

    routing->columns =
        nu_arena_alloc(arena, (join->plan.probe_column_count + 1) * sizeof *routing->columns, 8);
    routing->workers =
        nu_arena_calloc(arena, join->job->worker_count * sizeof *routing->workers, 128);
    if (routing->columns == NULL || routing->workers == NULL) {
        return false;
    }
    for (uint32_t w = 0; w < join->job->worker_count; w++) {
        nu_arena_init(&routing->workers[w].arena, join->job->pages, join->job->worker_node[w],
                      &join->job->budget);
    }
    return init_layout(join, true);
}

void join_routed_begin(struct join *join)
{
    struct join_routing *routing = &join->routing;
    const uint64_t used = nu_budget_used(&join->job->budget);
    const uint64_t limit = join->job->budget.limit_bytes;
    const uint64_t left = used < limit ? limit - used : 0;

    routing->on = true;
    routing->quota_bytes = left / QUOTA_SHARE / join->job->worker_count;
    for (uint32_t w = 0; w < join->job->worker_count; w++) {
        struct join_routed_worker *worker = &routing->workers[w];
        radix_rows_init(&worker->rows, &worker->arena, routing->layout.row_bytes,
                        join->dirs.radix_bits);
    }
}

bool join_routed_narrow(struct join *join)
{
    struct join_routing *routing = &join->routing;

    if (!init_layout(join, false)) {
        return false;
    }
    for (uint32_t w = 0; w < join->job->worker_count; w++) {
        routing->workers[w].rows.row_bytes = routing->layout.row_bytes;
    }
    return true;
}

/* The probe column that is the key as it stands; UINT32_MAX: none. */
static uint32_t key_column(const struct join *join)
{
    uint32_t column;

    return expr_is_column(join->plan.probe_keys[0], &column) ? column : UINT32_MAX;
}

/* ---- keep --------------------------------------------------------------------------------------
 */

/* Rows without validity bits have no place for a NULL, but for that of the key, which is dropped.
 */
static bool nulls_fit(const struct join_probe_state *state)
{
    const struct join *join = state->join;
    const struct join_routing *routing = &join->routing;
    const uint32_t key = key_column(join);

    for (uint32_t c = 0; routing->layout.all_present && c < routing->column_count; c++) {
        if (routing->columns[c] != key && state->in->columns[routing->columns[c]].valid != NULL) {
            return false;
        }
    }
    return true;
}

bool join_routed_wants(const struct join_probe_state *state)
{
    const struct join *join = state->join;
    const struct join_routed_worker *worker = &join->routing.workers[state->run->worker];

    return worker->hashes == NULL && worker->arena.charged_bytes < join->routing.quota_bytes &&
           nulls_fit(state);
}

enum push_result join_routed_keep(struct join_probe_state *state)
{
    struct join *join = state->join;
    const struct join_routing *routing = &join->routing;
    struct join_routed_worker *worker = &join->routing.workers[state->run->worker];
    struct nu_arena *scratch = state->run->scratch;
    const struct batch *in = state->in;
    struct vec *columns = nu_arena_alloc(scratch, (routing->column_count + 1) * sizeof *columns, 8);
    uint16_t positions[BATCH_ROWS];

    if (columns == NULL) {
        return join_fail_memory(join, scratch, "a batch of a join's probe side");
    }
    uint32_t count = in->sel_count;
    if (routing->layout.all_present) {
        count = hash_present_positions(in, state->keys, 1, join->plan.nulls_equal, positions);
    }
    for (uint32_t p = 0; !routing->layout.all_present && p < count; p++) {
        positions[p] = (uint16_t)p;
    }
    for (uint32_t c = 0; c < routing->column_count; c++) {
        columns[c] = in->columns[routing->columns[c]];
    }
    if (!radix_rows_reserve(&worker->rows, state->hashes, positions, count, state->run_rows) ||
        !row_scatter(&routing->layout, 0, routing->column_count, in, columns, positions, count,
                     state->run_rows, false, &worker->arena)) {
        return join_fail_memory(join, &worker->arena, "probe rows on their way to another node");
    }
    worker->row_count += count;
    return PUSH_MORE;
}

/* ---- the routed pipe ---------------------------------------------------------------------------
 */

static struct join *join_of_routed(struct op_source *source)
{
    return (struct join *)(void *)((unsigned char *)source - offsetof(struct join, routing.source));
}

/* Chunks of a list, behind those that are there already; NULL units: they are only counted. */
static uint64_t add_list(struct join_routed_unit *units, uint64_t count,
                         const struct row_list *list, uint32_t partition)
{
    for (const struct row_chunk *chunk = list->first; chunk != NULL; chunk = chunk->next) {
        if (units != NULL) {
            units[count] = (struct join_routed_unit){.chunk = chunk, .partition = partition};
        }
        count++;
    }
    return count;
}

/* All chunks that are to be read on a node: of partitions that lie there, from every worker, and of
 * the node's workers with so few rows that they have not dealt them out. */
static uint64_t add_node(const struct join *join, struct join_routed_unit *units, uint64_t count,
                         uint32_t node)
{
    for (uint32_t p = 0; p < join->partition_count; p++) {
        for (uint32_t w = 0; join->partition_node[p] == node && w < join->job->worker_count; w++) {
            const struct radix_rows *rows = &join->routing.workers[w].rows;
            count = rows->parts == NULL ? count : add_list(units, count, &rows->parts[p], p);
        }
    }
    for (uint32_t w = 0; w < join->job->worker_count; w++) {
        const struct radix_rows *rows = &join->routing.workers[w].rows;
        if (rows->parts == NULL && join->job->worker_node[w] == node) {
            count = add_list(units, count, &rows->plain, UINT32_MAX);
        }
    }
    return count;
}

static enum exec_code routed_start(struct op_source *source, struct pipe *pipe,
                                   struct exec_error *err)
{
    struct join *join = join_of_routed(source);
    struct join_routing *routing = &join->routing;
    uint64_t count = 0;

    if (!routing->on) {
        return EXEC_OK;
    }
    for (uint32_t n = 0; n < join->job->node_count; n++) {
        count = add_node(join, NULL, count, n);
    }
    routing->units = nu_arena_alloc(&join->job->plan, (count + 1) * sizeof *routing->units, 64);
    if (routing->units == NULL) {
        job_memory_error(err, join->job->plan.refused, "probe rows on their way to another node");
        err->rel = join->plan.rel;
        return err->code;
    }
    source->units_total = count;
    count = 0;
    for (uint32_t n = 0; n < join->job->node_count; n++) {
        const uint64_t begin = count;
        count = add_node(join, routing->units, begin, n);
        pipe_add_range(pipe, begin, count, n, false);
    }
    return EXEC_OK;
}

/* The next batch of a unit; columns nobody reads are nulls. */
static enum push_result push_rows(struct join *join, struct pipe_run *run,
                                  const struct join_routed_unit *unit, uint32_t count)
{
    const struct join_routing *routing = &join->routing;
    struct join_routed_worker *worker = &join->routing.workers[run->worker];
    const uint32_t column_count = join->plan.probe_column_count;
    struct vec *columns = nu_arena_alloc(run->scratch, (column_count + 1) * sizeof *columns, 8);
    unsigned char **rows = nu_arena_alloc(run->scratch, BATCH_ROWS * sizeof *rows, 8);
    uint64_t *hashes = nu_arena_alloc(run->scratch, BATCH_ROWS * sizeof *hashes, 64);
    bool ok = columns != NULL && rows != NULL && hashes != NULL;

    for (uint32_t i = 0; ok && i < count; i++) {
        const unsigned char *row =
            unit->chunk->rows + (size_t)(unit->row + i) * routing->layout.row_bytes;
        rows[i] = (unsigned char *)(uintptr_t)row;
        hashes[i] = row_hash(row);
    }
    for (uint32_t c = 0; ok && !join->direct && c < column_count; c++) {
        columns[c] = vec_null(join->plan.probe_types[c].kind);
    }
    for (uint32_t c = 0; ok && !join->direct && c < routing->column_count; c++) {
        ok = row_gather(&routing->layout, c, rows, count, run->scratch,
                        &columns[routing->columns[c]]);
    }
    if (!ok) {
        return join_fail_memory(join, run->scratch, "a batch of a join's probe side");
    }
    const struct batch out = {
        .row_count = count, .sel_count = count, .columns = columns, .column_count = column_count};
    worker->hashes = hashes;
    worker->batch_rows = rows;
    worker->partition = unit->partition;
    const enum push_result result = pipe_push_source(run, &out);
    worker->hashes = NULL;
    return result;
}

static enum push_result push_some(struct join *join, struct pipe_run *run,
                                  struct join_routed_unit *unit)
{
    const uint32_t left = unit->chunk->row_count - unit->row;
    const uint32_t count = left < BATCH_ROWS ? left : BATCH_ROWS;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    const enum push_result result = push_rows(join, run, unit, count);

    nu_arena_rewind(run->scratch, mark);
    if (result == PUSH_MORE || result == PUSH_STOP) {
        unit->row += count;
    }
    return result;
}

static enum push_result routed_scan(struct op_source *source, struct pipe_run *run,
                                    struct sched_range *range, uint64_t unit_target)
{
    struct join *join = join_of_routed(source);

    for (uint64_t u = 0; u < unit_target && range->begin < range->end; u++) {
        struct join_routed_unit *unit = &join->routing.units[range->begin];
        while (unit->row < unit->chunk->row_count) {
            const enum push_result result = push_some(join, run, unit);
            if (result != PUSH_MORE) {
                return result;
            }
            if (unit->row < unit->chunk->row_count && pipe_time_is_up(run)) {
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

static void routed_close(struct op_source *source, struct job_context *job)
{
    struct join_routing *routing = &join_of_routed(source)->routing;

    for (uint32_t w = 0; w < job->worker_count; w++) {
        routing->rows += routing->workers[w].row_count;
        nu_arena_destroy(&routing->workers[w].arena);
    }
}

const struct source_kind join_routed_source_kind = {
    .name = "join routed rows",
    .start = routed_start,
    .scan = routed_scan,
    .close = routed_close,
    .unit_hint = 8,
};
