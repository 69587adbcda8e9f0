#include "hash/hash_vec.h"
#include "op/join_state.h"

#include <assert.h>
#include <string.h>

/* Making a join: which build columns are kept, how a build row looks, who takes part. */

enum push_result join_fail(const struct join *join, struct exec_error *err)
{
    if (err->rel == 0) {
        err->rel = join->plan.rel;
    }
    job_fail(join->job, err);
    return PUSH_FAILED;
}

enum push_result join_fail_memory(const struct join *join, const struct nu_arena *arena,
                                  const char *what)
{
    job_fail_memory(join->job, arena, what);
    return PUSH_FAILED;
}

bool join_eval_keys(const struct join *join, struct pipe_run *run, struct expr *const *keys,
                    const struct batch *in, struct vec *keys_out)
{
    for (uint32_t k = 0; k < join->value_count; k++) {
        struct exec_error err = {0};
        if (expr_eval(keys[k], in, run->scratch, &keys_out[k], &err) != EXEC_OK) {
            join_fail(join, &err);
            return false;
        }
    }
    if (!join_code_keys(join, in, run->scratch, keys_out)) {
        join_fail_memory(join, run->scratch, "the keys of a join");
        return false;
    }
    return true;
}

static bool kind_is_known(enum exec_join_kind kind)
{
    return kind >= EXEC_JOIN_INNER && kind <= EXEC_JOIN_LEFT_ANTI_NULL_AWARE;
}

static enum exec_code check_plan(const struct join_plan *plan, struct exec_error *err)
{
    if (!kind_is_known(plan->kind)) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "join kind %d", (int)plan->kind);
    }
    /* The planner turns every other null-aware question into a verdict. */
    assert(plan->kind != EXEC_JOIN_LEFT_ANTI_NULL_AWARE || plan->verdict != NULL ||
           plan->is_exists ||
           (plan->key_count == 1 && plan->residual == NULL && !plan->nulls_equal[0]));
    assert(plan->asof == EXEC_ASOF_NONE || plan->kind <= EXEC_JOIN_LEFT);
    assert(plan->asof == EXEC_ASOF_NONE || plan->residual == NULL);
    assert(!plan->emits_build || plan->kind >= EXEC_JOIN_LEFT_SEMI);
    return EXEC_OK;
}

/* A key that is a build column as it stands is that column's place in the row. */
static void map_keys(struct join *join)
{
    for (uint32_t k = 0; k < join->value_count; k++) {
        const struct exec_type *type = expr_type(join->plan.build_keys[k]);
        uint32_t column;
        if (type->kind == EXEC_TYPE_FLOAT32 || type->kind == EXEC_TYPE_FLOAT64 ||
            join_key_is_coded(join, k)) {
            continue;
        }
        if (expr_is_column(join->plan.build_keys[k], &column)) {
            join->build_column[column] = k;
        }
    }
}

static void store_column(struct join *join, uint32_t column)
{
    if (join->build_column[column] == UINT32_MAX) {
        join->build_column[column] = join->value_count + join->stored_count;
        join->stored[join->stored_count++] = column;
    }
}

static void choose_stored(struct join *join)
{
    const struct join_plan *plan = &join->plan;

    map_keys(join);
    for (uint32_t o = 0; o < plan->output_count; o++) {
        if (plan->outputs[o].from_build) {
            store_column(join, plan->outputs[o].column);
        }
    }
    for (uint32_t c = 0; c < plan->build_column_count; c++) {
        if (join->residual_uses[plan->probe_column_count + c]) {
            store_column(join, c);
        }
    }
}

static bool init_layout(struct join *join)
{
    struct nu_arena *arena = &join->job->plan;
    const uint32_t column_count = join->value_count + join->stored_count;
    struct exec_type *types =
        nu_arena_alloc(arena, (column_count + 1) * sizeof *types, _Alignof(struct exec_type));

    if (types == NULL) {
        return false;
    }
    for (uint32_t k = 0; k < join->value_count; k++) {
        types[k] = join_key_type(join, k);
    }
    for (uint32_t s = 0; s < join->stored_count; s++) {
        types[join->value_count + s] = join->plan.build_types[join->stored[s]];
    }
    return row_layout_init(&join->layout, arena, types, column_count,
                           join->keeps_build ? JOIN_MATCHED_BYTE + 1 : 8);
}

enum {
    RADIX_BITS_LEAST = 6,
    RADIX_BITS_WORKERS = 8, /* at most, for the sake of workers */
    RADIX_BITS_MOST = 10,
    L2_BYTES = 1 << 20, /* where the machine does not say */
};

/* At least four partitions a worker, so that the last ones do not leave workers idle for long; and
 * so many that rows and directory of one lie in half an L2, where they are built and, routed,
 * probed. */
static uint32_t choose_radix_bits(const struct join *join)
{
    const struct job_context *job = join->job;
    const bool has_l2 = job->topology != NULL && job->topology->l2_bytes != 0;
    const double near_bytes = (double)(has_l2 ? job->topology->l2_bytes : L2_BYTES) / 2;
    const double row_bytes = join->layout.row_bytes + 1.5 * sizeof(uint64_t);
    uint32_t radix_bits = RADIX_BITS_LEAST;

    while (radix_bits < RADIX_BITS_WORKERS && UINT32_C(1) << radix_bits < 4 * job->worker_count) {
        radix_bits++;
    }
    while (radix_bits < RADIX_BITS_MOST &&
           join->plan.build_rows * row_bytes > near_bytes * (UINT32_C(1) << radix_bits)) {
        radix_bits++;
    }
    return radix_bits;
}

static bool init_workers(struct join *join)
{
    struct job_context *job = join->job;
    struct nu_arena *arena = &job->plan;
    const uint32_t count = job->worker_count;

    join->workers = nu_arena_calloc(arena, count * sizeof *join->workers, 128);
    join->worker_rows = nu_arena_alloc(arena, count * sizeof(void *), 8);
    if (join->workers == NULL || join->worker_rows == NULL) {
        return false;
    }
    for (uint32_t w = 0; w < count; w++) {
        struct join_worker *worker = &join->workers[w];
        nu_arena_init(&worker->staging, job->pages, job->worker_node[w], &job->budget);
        radix_rows_init(&worker->rows, &worker->staging, join->layout.row_bytes,
                        choose_radix_bits(join));
        worker->bounds = (struct dense_bounds){UINT64_MAX, 0};
        join->worker_rows[w] = &worker->rows;
    }
    return true;
}

static bool init_columns(struct join *join)
{
    struct nu_arena *arena = &join->job->plan;
    const struct join_plan *plan = &join->plan;
    const size_t map_bytes = ((size_t)plan->build_column_count + 1) * sizeof(uint32_t);
    const size_t uses_bytes = (size_t)plan->probe_column_count + plan->build_column_count + 1;

    join->stored = nu_arena_alloc(arena, map_bytes, 8);
    join->build_column = nu_arena_alloc(arena, map_bytes, 8);
    join->residual_uses = nu_arena_calloc(arena, uses_bytes, 8);
    if (join->stored == NULL || join->build_column == NULL || join->residual_uses == NULL) {
        return false;
    }
    memset(join->build_column, 0xff, map_bytes);
    if (plan->residual != NULL) {
        expr_mark_columns(plan->residual, join->residual_uses);
    }
    if (plan->verdict != NULL) {
        expr_mark_columns(plan->verdict, join->residual_uses);
    }
    choose_stored(join);
    return init_layout(join);
}

static bool mode_is_forced(const struct job_context *job)
{
    return job->probe_mode == EXEC_PROBE_REPLICATED || job->probe_mode == EXEC_PROBE_ROUTED;
}

static bool may_route(const struct join *join)
{
    const struct job_context *job = join->job;

    return join->plan.key_count > 0 && !join->plan.keeps_order &&
           (job->node_count > 1 || job->probe_mode == EXEC_PROBE_ROUTED);
}

enum exec_code join_create(struct job_context *job, const struct join_plan *plan,
                           struct join **join_out, struct exec_error *err)
{
    const enum exec_join_kind kind = plan->kind;
    struct join *join;

    if (check_plan(plan, err) != EXEC_OK) {
        err->rel = plan->rel;
        return err->code;
    }
    join = nu_arena_calloc(&job->plan, sizeof *join, 128);
    if (join == NULL) {
        return job_memory_error(err, job->plan.refused, "the plan of a join");
    }
    join->job = job;
    join->plan = *plan;
    join->value_count = plan->key_count + (plan->asof != EXEC_ASOF_NONE);
    join->keeps_build = kind == EXEC_JOIN_RIGHT || kind == EXEC_JOIN_FULL || plan->emits_build;
    join->keeps_probe = kind == EXEC_JOIN_LEFT || kind == EXEC_JOIN_FULL;
    join->exists_only = kind >= EXEC_JOIN_LEFT_SEMI && !plan->emits_build;
    join->sink = (struct op_sink){.kind = &join_build_sink_kind, .rel = plan->rel};
    join->directory = (struct op_source){.kind = &join_directory_source_kind, .rel = plan->rel};
    join->probe = (struct operator){.kind = &join_probe_operator_kind, .rel = plan->rel};
    join->dense.source = (struct op_source){.kind = &join_dense_source_kind, .rel = plan->rel};
    join->unmatched = (struct op_source){.kind = &join_unmatched_source_kind, .rel = plan->rel};
    join->replicas.source = (struct op_source){.kind = &join_replica_source_kind, .rel = plan->rel};
    join->routing.source = (struct op_source){.kind = &join_routed_source_kind, .rel = plan->rel};
    join->routing.wired = may_route(join);
    join->hash_is_key = join->value_count == 1 && plan->key_count == 1 && !plan->nulls_equal[0] &&
                        job->hash_bits_kept >= 64 && hash_is_exact(join_key_type(join, 0).kind);
    join->direct_wanted = join->hash_is_key && kind == EXEC_JOIN_INNER && plan->residual == NULL;
    if (!init_columns(join) || !init_workers(join) ||
        (join->routing.wired && !join_routed_init(join))) {
        return job_memory_error(err, job->plan.refused, "the plan of a join");
    }
    join->dense.wanted = join_dense_is_wanted(join) && !mode_is_forced(job);
    *join_out = join;
    return EXEC_OK;
}

struct op_sink *join_build_sink(struct join *join)
{
    return &join->sink;
}

struct op_source *join_dense_source(struct join *join)
{
    return join->dense.wanted ? &join->dense.source : NULL;
}

struct op_source *join_directory_source(struct join *join)
{
    return &join->directory;
}

struct op_source *join_replica_source(struct join *join)
{
    return join->job->node_count > 1 ? &join->replicas.source : NULL;
}

struct op_source *join_routed_source(struct join *join)
{
    return join->routing.wired ? &join->routing.source : NULL;
}

struct operator* join_probe_operator(struct join *join)
{
    return &join->probe;
}

struct op_source *join_unmatched_source(struct join *join)
{
    return join->keeps_build ? &join->unmatched : NULL;
}

void join_free_staging(struct join *join)
{
    for (uint32_t w = 0; w < join->job->worker_count; w++) {
        nu_arena_destroy(&join->workers[w].staging);
    }
}

void join_figures(const struct join *join, struct join_figures *out)
{
    *out = (struct join_figures){.build_rows = join->build_rows + join->null_rows,
                                 .partitions = join->partition_count,
                                 .routed_rows = join->routing.rows,
                                 .unique_keys = true};
    join_mode_text(&join->mode, out->probe_mode, sizeof out->probe_mode);
    if (join->dense.on) {
        out->directory_slots = join->dense.map.span;
        out->memory_bytes = dense_map_bytes(&join->layout, join->dense.map.span);
        out->max_chain = 1;
        return;
    }
    for (uint32_t p = 0; join->dirs.parts != NULL && p < join->partition_count; p++) {
        const struct hash_dir *dir = &join->dirs.parts[p];
        if (dir->slots == NULL) {
            continue;
        }
        out->directory_slots += UINT64_C(1) << dir->slot_bits;
        out->memory_bytes += dir->row_count * dir->row_bytes + (sizeof(uint64_t) << dir->slot_bits);
        out->max_chain = dir->run_max > out->max_chain ? dir->run_max : out->max_chain;
        out->unique_keys = out->unique_keys && dir->unique;
    }
    if (join->replicas.on) { /* every partition lies on every node */
        out->memory_bytes *= join->job->node_count;
    }
}
