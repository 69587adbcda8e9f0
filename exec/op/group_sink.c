#include "hash/hash_bits.h"
#include "hash/hash_vec.h"
#include "op/group_state.h"

#include <assert.h>
#include <string.h>

/* One batch: keys and inputs evaluated once, then the hot table, then the backlog for what it
 * missed. */

struct key_runs {
    uint32_t head_count, follower_count;
    uint16_t heads[BATCH_ROWS], followers[BATCH_ROWS]; /* positions */
    uint16_t head_of[BATCH_ROWS];                      /* position -> index of its head */
    uint16_t rest[BATCH_ROWS];
    unsigned char *head_groups[BATCH_ROWS], *follower_groups[BATCH_ROWS];
};

struct sink_batch {
    struct group_rows rows;
    uint64_t hashes[BATCH_ROWS];
    uint16_t positions[BATCH_ROWS]; /* 0, 1, 2, ... */
    uint16_t places[BATCH_ROWS];
    unsigned char *groups[BATCH_ROWS];
    uint16_t hits[BATCH_ROWS], misses[BATCH_ROWS];
    uint32_t hit_count, miss_count;
    struct key_runs runs;
};

/* ---- replay
 * --------------------------------------------------------------------------------------- */

bool group_replay(struct group *group, struct pipe_run *run, struct group_table *table,
                  unsigned char *const *records, uint32_t count)
{
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    const uint32_t column_count = group->record_layout.column_count;
    struct sink_batch *sink = nu_arena_alloc(run->scratch, sizeof *sink, 64);
    struct vec *columns = nu_arena_alloc(run->scratch, (column_count + 1) * sizeof *columns, 8);
    bool ok = sink != NULL && columns != NULL;

    for (uint32_t c = 0; ok && c < column_count; c++) {
        ok = row_gather(&group->record_layout, c, records, count, run->scratch, &columns[c]);
    }
    if (!ok) {
        group_fail_memory(group, run->scratch);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        sink->positions[i] = (uint16_t)i;
        sink->hashes[i] = row_hash(records[i]);
    }
    const struct batch batch = {.row_count = count, .sel_count = count};
    const struct group_rows rows = {
        .batch = &batch, .keys = columns, .inputs = columns + group->plan.key_count};
    ok = group_table_find(table, &batch, rows.keys, sink->hashes, sink->positions, count,
                          UINT64_MAX, sink->groups) &&
         group_update(group, &rows, sink->positions, count, sink->groups, table->arena);
    nu_arena_rewind(run->scratch, mark);
    if (!ok) {
        group_fail_memory(group, table->arena);
    }
    return ok;
}

static bool replay_list(struct group *group, struct pipe_run *run, struct group_table *table,
                        struct row_list *list)
{
    unsigned char *records[BATCH_ROWS];
    uint32_t count = 0;

    for (struct row_chunk *chunk = list->first; chunk != NULL; chunk = chunk->next) {
        for (uint32_t r = 0; r < chunk->row_count; r++) {
            records[count++] = chunk->rows + (size_t)r * group->record_layout.row_bytes;
            if (count == BATCH_ROWS) {
                if (!group_replay(group, run, table, records, count)) {
                    return false;
                }
                count = 0;
            }
        }
    }
    return count == 0 || group_replay(group, run, table, records, count);
}

/* ---- backlog
 * -------------------------------------------------------------------------------------- */

/* Never waits: a partition somebody else is writing to keeps its records here until the next time.
 * The memory is taken back when no partition was skipped. */
static bool flush_backlog(struct group *group, struct pipe_run *run)
{
    struct group_worker *worker = &group->workers[run->worker];
    const uint32_t count = UINT32_C(1) << group->radix_bits;
    const uint32_t first = run->worker * count / group->job->worker_count;
    bool ok = true;

    if (worker->backlog.parts == NULL) {
        return true; /* few records with long strings: not dealt out yet */
    }
    worker->backlog_count = 0;
    for (uint32_t k = 0; ok && k < count; k++) {
        const uint32_t p = (first + k) % count; /* workers begin apart */
        struct group_partition *partition = &group->partitions[p];
        struct row_list *list = &worker->backlog.parts[p];
        if (list->row_count == 0) {
            continue;
        }
        /* acquire: pairs with the release below, sees the table as the last owner left it. */
        if (atomic_exchange_explicit(&partition->busy, true, memory_order_acquire)) {
            worker->backlog_count += list->row_count;
            continue;
        }
        ok = replay_list(group, run, &partition->own, list);
        *list = (struct row_list){.first = NULL};
        atomic_store_explicit(&partition->busy, false, memory_order_release);
    }
    /* relaxed: read after the sink's pipes have ended, which orders it. */
    atomic_store_explicit(&group->flushed, true, memory_order_relaxed);
    if (worker->backlog_count == 0) {
        nu_arena_reset(&worker->backlog_arena);
        radix_rows_init(&worker->backlog, &worker->backlog_arena, group->record_layout.row_bytes,
                        group->radix_bits);
    }
    return ok;
}

static bool add_to_backlog(struct group *group, struct pipe_run *run, struct sink_batch *sink)
{
    struct group_worker *worker = &group->workers[run->worker];
    struct nu_arena *arena = &worker->backlog_arena;
    const struct row_layout *layout = &group->record_layout;
    const struct group_rows *rows = &sink->rows;

    if (!radix_rows_reserve(&worker->backlog, sink->hashes, sink->misses, sink->miss_count,
                            sink->groups) ||
        !row_scatter(layout, 0, layout->column_count, rows->batch, rows->keys, sink->misses,
                     sink->miss_count, sink->groups, false, arena)) {
        group_fail_memory(group, arena);
        return false;
    }
    worker->backlog_count += sink->miss_count;
    if (worker->backlog_count >= GROUP_BACKLOG_ROWS || arena->charged_bytes > GROUP_BACKLOG_BYTES) {
        return flush_backlog(group, run);
    }
    return true;
}

/* ---- hot table
 * ------------------------------------------------------------------------------------ */

/* A hot table that catches less than one row in twenty costs more than it saves: it is left alone
 * for fifteen windows, then asked again. */
static void judge_hot(struct group_worker *worker, uint64_t rows, uint64_t hits)
{
    worker->window_rows += rows;
    worker->window_hits += hits;
    if (worker->window_rows < GROUP_WINDOW_ROWS) {
        return;
    }
    if (worker->windows_skipped > 0) {
        worker->windows_skipped--;
    } else if (worker->window_hits * 20 < worker->window_rows) {
        worker->windows_skipped = 15;
    }
    worker->window_rows = 0;
    worker->window_hits = 0;
}

static void split_hits(struct sink_batch *sink, uint32_t count)
{
    sink->hit_count = 0;
    sink->miss_count = 0;
    for (uint32_t p = 0; p < count; p++) {
        const bool hit = sink->groups[p] != NULL;
        sink->hits[sink->hit_count] = (uint16_t)p;
        sink->misses[sink->miss_count] = (uint16_t)p;
        sink->groups[sink->hit_count] = sink->groups[p];
        sink->hit_count += hit;
        sink->miss_count += !hit;
    }
}

/* Rows in a row with one hash: the first of each asks the table, the others are only compared with
 * its answer. Sorted and clustered input, of which there is much, costs one look a run. */
static void find_runs(struct sink_batch *sink, uint32_t count)
{
    struct key_runs *runs = &sink->runs;

    runs->head_count = 0;
    runs->follower_count = 0;
    for (uint32_t p = 0; p < count; p++) {
        const bool is_head = p == 0 || sink->hashes[p] != sink->hashes[p - 1];
        runs->heads[runs->head_count] = (uint16_t)p;
        runs->head_count += is_head;
        runs->followers[runs->follower_count] = (uint16_t)p;
        runs->follower_count += !is_head;
        runs->head_of[p] = (uint16_t)(runs->head_count - 1);
    }
}

/* sink->groups of every position; NULL: not in the hot table. A follower whose key differs from its
 * head's (the hashes collide) counts as not there: the backlog takes any row. */
static bool find_by_runs(struct group_table *hot, struct sink_batch *sink, uint32_t count,
                         uint64_t row_limit)
{
    struct key_runs *runs = &sink->runs;
    const struct group_rows *rows = &sink->rows;
    uint32_t compared = 0;

    if (!group_table_find(hot, rows->batch, rows->keys, sink->hashes, runs->heads, runs->head_count,
                          row_limit, runs->head_groups)) {
        return false;
    }
    for (uint32_t p = 0; p < count; p++) {
        sink->groups[p] = runs->head_groups[runs->head_of[p]];
    }
    for (uint32_t f = 0; f < runs->follower_count; f++) {
        runs->followers[compared] = runs->followers[f];
        runs->follower_groups[compared] = sink->groups[runs->followers[f]];
        compared += runs->follower_groups[compared] != NULL;
    }
    const uint32_t equal =
        row_match(hot->layout, 0, hot->layout->column_count, rows->batch, rows->keys,
                  runs->followers, compared, runs->follower_groups, runs->heads, runs->rest);
    for (uint32_t r = 0; r < compared - equal; r++) {
        sink->groups[runs->followers[runs->rest[r]]] = NULL;
    }
    return true;
}

static uint64_t hot_row_limit(const struct group *group, const struct group_worker *worker)
{
    return worker->hot_arena.charged_bytes > GROUP_HOT_ARENA_BYTES ? 0 : group->hot_row_limit;
}

/* sink->groups for all positions. false: out of memory. */
static bool find_groups(const struct group *group, struct group_worker *worker,
                        struct sink_batch *sink, uint32_t count)
{
    const struct group_rows *rows = &sink->rows;
    const uint64_t row_limit = hot_row_limit(group, worker);

    if (worker->windows_skipped > 0) {
        memset(sink->groups, 0, count * sizeof *sink->groups);
        return true;
    }
    find_runs(sink, count);
    if (sink->runs.head_count <= count / 2) {
        return find_by_runs(&worker->hot, sink, count, row_limit);
    }
    return group_table_find(&worker->hot, rows->batch, rows->keys, sink->hashes, sink->positions,
                            count, row_limit, sink->groups);
}

static bool ask_hot(struct group *group, struct group_worker *worker, struct sink_batch *sink)
{
    const struct group_rows *rows = &sink->rows;
    const uint32_t count = rows->batch->sel_count;

    if (!find_groups(group, worker, sink, count)) {
        return false;
    }
    group_places_learn(&worker->places, sink->places, sink->groups, count);
    split_hits(sink, count);
    worker->hits += sink->hit_count;
    worker->misses += sink->miss_count;
    if (worker->hot.rows.row_count >= hot_row_limit(group, worker)) {
        judge_hot(worker, count, sink->hit_count);
    }
    return group_update(group, rows, sink->hits, sink->hit_count, sink->groups, &worker->hot_arena);
}

/* Every row's group stands in sink->groups. */
static enum push_result push_known(struct group *group, struct group_worker *worker,
                                   const struct sink_batch *sink)
{
    const uint32_t count = sink->rows.batch->sel_count;

    worker->hits += count;
    return group_update(group, &sink->rows, sink->positions, count, sink->groups,
                        &worker->hot_arena)
               ? PUSH_MORE
               : group_fail_memory(group, &worker->hot_arena);
}

static enum push_result push_batch(struct group *group, struct pipe_run *run,
                                   const struct batch *in)
{
    struct group_worker *worker = &group->workers[run->worker];
    struct sink_batch *sink = nu_arena_alloc(run->scratch, sizeof *sink, 64);

    if (sink == NULL) {
        return group_fail_memory(group, run->scratch);
    }
    if (!group_rows_eval(group, run, in, &sink->rows)) {
        return PUSH_FAILED;
    }
    for (uint32_t p = 0; p < in->sel_count; p++) {
        sink->positions[p] = (uint16_t)p;
    }
    group->job->workers[run->worker].rows_aggregated += in->sel_count;
    if (group_places_find(&worker->places, in, sink->rows.keys, group->plan.key_count,
                          &worker->hot_arena, sink->places, sink->groups)) {
        return push_known(group, worker, sink);
    }
    hash_keys(in, sink->rows.keys, group->plan.key_count, group->job->hash_bits_kept, sink->hashes);
    if (!ask_hot(group, worker, sink)) {
        return group_fail_memory(group, &worker->hot_arena);
    }
    if (sink->miss_count > 0 && !add_to_backlog(group, run, sink)) {
        return PUSH_FAILED;
    }
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

/* Decides how many units merge: one where little is there to merge. */
static enum exec_code sink_finish(struct op_sink *sink, struct job_context *job, uint32_t worker,
                                  struct exec_error *err)
{
    struct group *group = (struct group *)(void *)sink;
    uint64_t hot_rows = 0;
    uint64_t backlog_rows = 0;

    (void)worker;
    if (!group_add_totals(group)) {
        return job_memory_error(err, group->workers[0].hot_arena.refused,
                                "the totals of an aggregation");
    }
    for (uint32_t w = 0; w < job->worker_count; w++) {
        hot_rows += group->workers[w].hot.rows.row_count;
        backlog_rows += group->workers[w].backlog_count;
    }
    /* relaxed: ordered by the end of the sink's pipes. */
    const bool flushed = atomic_load_explicit(&group->flushed, memory_order_relaxed);
    if (flushed || hot_rows + backlog_rows > GROUP_UNPARTITIONED_ROWS) {
        group->merge_bits = group->radix_bits;
    }
    return EXEC_OK;
}

static void sink_abort(struct op_sink *sink, struct job_context *job)
{
    (void)job;
    group_free((struct group *)(void *)sink);
}

const struct sink_kind group_sink_kind = {
    .name = "group",
    .push = sink_push,
    .finish = sink_finish,
    .abort = sink_abort,
};
