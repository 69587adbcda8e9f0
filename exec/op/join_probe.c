#include "hash/hash_vec.h"
#include "op/join_state.h"
#include "vec/vec.h"

#include <assert.h>
#include <string.h>

/* Probe: look up the whole batch first (which run of build rows has the hash), then expand the runs
 * into pairs, judge them, push the survivors. Lookup costs the same whatever the fan-out; expansion
 * stops after any batch of pairs and goes on from the cursor:
 *
 *   position  of the selection        offset  in its run
 *   detail    1: the row at `position` has had a match among the pairs before `offset`
 *
 * so an exploding m:n join streams in constant memory. Chunks of pairs depend on the cursor alone:
 * a batch that was not taken is made again exactly. */

enum { RUN_LONG = 64 }; /* rows from which walking a run again is worth avoiding */

/* ---- output
 * ----------------------------------------------------------------------------------------- */

enum push_result join_push_pairs(struct join_probe_state *state, const uint16_t *positions,
                                 unsigned char *const *rows, uint32_t count)
{
    const struct join *join = state->join;
    const struct join_plan *plan = &join->plan;
    struct nu_arena *scratch = state->run->scratch;
    struct vec *columns = nu_arena_alloc(scratch, (plan->output_count + 1) * sizeof *columns, 8);
    uint16_t probe_rows[BATCH_ROWS];
    bool ok = columns != NULL;

    for (uint32_t i = 0; i < count; i++) {
        probe_rows[i] = (uint16_t)batch_row(state->in, positions[i]);
    }
    for (uint32_t o = 0; ok && o < plan->output_count; o++) {
        const uint32_t column = plan->outputs[o].column;
        ok = plan->outputs[o].from_build
                 ? row_gather(&join->layout, join->build_column[column], rows, count, scratch,
                              &columns[o])
                 : vec_gather(&state->in->columns[column], probe_rows, count, scratch, &columns[o]);
    }
    if (!ok) {
        return join_fail_memory(join, scratch, "a batch of a join's result");
    }
    const struct batch out = {.row_count = count,
                              .sel_count = count,
                              .columns = columns,
                              .column_count = plan->output_count};
    return pipe_push(state->run, state->index + 1, &out);
}

/* At most one candidate a probe row, and most of them match: the probe columns go on as they are
 * and only build columns are gathered, row by row beside them. */
static enum push_result push_beside(struct join_probe_state *state,
                                    const struct join_candidates *candidates)
{
    const struct join *join = state->join;
    const struct join_plan *plan = &join->plan;
    const struct batch *in = state->in;
    struct nu_arena *scratch = state->run->scratch;
    struct vec *columns = nu_arena_alloc(scratch, (plan->output_count + 1) * sizeof *columns, 8);
    unsigned char **rows = nu_arena_calloc(scratch, BATCH_ROWS * sizeof *rows, 8);
    uint16_t matched[BATCH_ROWS];
    bool ok = columns != NULL && rows != NULL;

    for (uint32_t i = 0; ok && i < candidates->match_count; i++) {
        const uint16_t candidate = candidates->matches[i];
        matched[i] = (uint16_t)batch_row(in, candidates->positions[candidate]);
        rows[matched[i]] = candidates->rows[candidate];
    }
    for (uint32_t o = 0; ok && o < plan->output_count; o++) {
        const uint32_t column = plan->outputs[o].column;
        if (!plan->outputs[o].from_build) {
            columns[o] = in->columns[column];
            continue;
        }
        ok = row_gather(&join->layout, join->build_column[column], rows, in->row_count, scratch,
                        &columns[o]);
    }
    if (!ok) {
        return join_fail_memory(join, scratch, "a batch of a join's result");
    }
    const bool all = join->keeps_probe;
    const struct batch out = {.row_count = in->row_count,
                              .sel_count = all ? in->sel_count : candidates->match_count,
                              .sel = all ? in->sel : matched,
                              .columns = columns,
                              .column_count = plan->output_count};
    return pipe_push(state->run, state->index + 1, &out);
}

/* ---- expansion
 * ------------------------------------------------------------------------------------ */

static bool run_is_answered(const unsigned char *first_row)
{
    return __atomic_load_n(first_row + JOIN_MATCHED_BYTE, __ATOMIC_RELAXED) == JOIN_MATCHED_RUN_YES;
}

/* All candidates of the batch, where no run is longer than one. */
static void fill_single(const struct join_probe_state *state, struct op_cursor *next,
                        struct join_candidates *candidates)
{
    uint32_t count = 0;

    for (uint32_t p = 0; p < state->in->sel_count; p++) {
        candidates->positions[count] = (uint16_t)p;
        candidates->rows[count] = state->run_rows[p];
        count += state->run_counts[p] != 0;
    }
    candidates->count = count;
    next->position = state->in->sel_count;
}

/* The next candidates from *next on; room is kept for the null-extended rows among them. */
static void fill_candidates(const struct join_probe_state *state, struct op_cursor *next,
                            struct join_candidates *candidates)
{
    const uint32_t row_bytes = state->join->layout.row_bytes;
    const bool emits_build = state->join->plan.emits_build;
    uint32_t used = 0;

    candidates->count = 0;
    while (used < BATCH_ROWS && next->position < state->in->sel_count) {
        const uint32_t position = next->position;
        uint64_t run = state->run_counts[position];
        if (emits_build && run > RUN_LONG && run_is_answered(state->run_rows[position])) {
            run = 0;
            next->offset = 0;
        }
        if (run == 0) {
            used += state->join->keeps_probe;
            next->position++;
            continue;
        }
        const uint64_t left = run - next->offset;
        const uint32_t take = left < BATCH_ROWS - used ? (uint32_t)left : BATCH_ROWS - used;
        unsigned char *row = state->run_rows[position] + next->offset * row_bytes;
        for (uint32_t i = 0; i < take; i++) {
            candidates->positions[candidates->count] = (uint16_t)position;
            candidates->rows[candidates->count++] = row + (size_t)i * row_bytes;
        }
        used += take;
        next->offset += take;
        if (next->offset == run) {
            next->position++;
            next->offset = 0;
        }
    }
}

struct pairs {
    uint32_t count;
    uint16_t positions[BATCH_ROWS];
    unsigned char *rows[BATCH_ROWS];
};

static void add_pair(struct pairs *pairs, uint32_t position, unsigned char *row)
{
    NU_DCHECK(pairs->count < BATCH_ROWS);
    pairs->positions[pairs->count] = (uint16_t)position;
    pairs->rows[pairs->count++] = row;
}

/* The pairs that come out between *from and *next: matches, and for LEFT and FULL a null-extended
 * row where a probe row's last candidate has gone by without a match. */
static void compose_pairs(const struct join_probe_state *state,
                          const struct join_candidates *candidates, const struct op_cursor *from,
                          struct op_cursor *next, struct pairs *pairs)
{
    uint32_t m = 0;

    pairs->count = 0;
    if (!state->join->keeps_probe) {
        for (; m < candidates->match_count; m++) {
            const uint16_t candidate = candidates->matches[m];
            add_pair(pairs, candidates->positions[candidate], candidates->rows[candidate]);
        }
        return;
    }
    bool matched = from->detail != 0;
    for (uint32_t p = from->position; p < state->in->sel_count && p <= next->position; p++) {
        while (m < candidates->match_count && candidates->positions[candidates->matches[m]] == p) {
            add_pair(pairs, p, candidates->rows[candidates->matches[m++]]);
            matched = true;
        }
        if (p < next->position && !matched) {
            add_pair(pairs, p, NULL);
        }
        next->detail = matched;
        matched = matched && p >= next->position;
    }
    next->detail = next->offset != 0 && next->detail;
}

/* Build rows are asked about: the match bytes are all there is to do. next->detail says whether
 * every row of the run under way has matched so far; a long run that ends so is flagged. */
static void flag_runs(const struct join_probe_state *state,
                      const struct join_candidates *candidates, const struct op_cursor *from,
                      struct op_cursor *next)
{
    const bool all = candidates->match_count == candidates->count;

    for (uint32_t p = from->position; all && p < next->position; p++) {
        if (state->run_counts[p] > RUN_LONG &&
            (p > from->position || from->offset == 0 || from->detail != 0)) {
            __atomic_store_n(state->run_rows[p] + JOIN_MATCHED_BYTE, JOIN_MATCHED_RUN_YES,
                             __ATOMIC_RELAXED);
        }
    }
    const bool went_on = next->position == from->position && from->offset != 0;
    next->detail = next->offset != 0 && all && (!went_on || from->detail != 0);
}

/* One chunk: from the cursor to *next. */
static enum push_result push_chunk(struct join_probe_state *state, struct op_cursor *next,
                                   uint32_t *work)
{
    struct nu_arena *scratch = state->run->scratch;
    const struct op_cursor from = state->run->cursors[state->index];
    struct join_candidates *candidates = nu_arena_alloc(scratch, sizeof *candidates, 64);
    struct pairs *pairs = nu_arena_alloc(scratch, sizeof *pairs, 64);

    if (candidates == NULL || pairs == NULL) {
        return join_fail_memory(state->join, scratch, "a batch of a join's result");
    }
    *next = from;
    if (state->run_max <= 1 && from.position == 0 && from.offset == 0) {
        fill_single(state, next, candidates);
    } else {
        fill_candidates(state, next, candidates);
    }
    if (join_match(state, candidates) != PUSH_MORE) {
        return PUSH_FAILED;
    }
    *work += candidates->count;
    if (state->join->plan.emits_build) {
        flag_runs(state, candidates, &from, next);
        return PUSH_MORE;
    }
    /* No run longer than one: candidates are at most one a probe row, and all fit in this chunk. */
    if (from.position == 0 && from.offset == 0 && next->position == state->in->sel_count &&
        state->run_max <= 1 && candidates->match_count >= state->in->row_count / 4) {
        next->detail = 0;
        return push_beside(state, candidates);
    }
    compose_pairs(state, candidates, &from, next, pairs);
    *work += pairs->count;
    return pairs->count == 0 ? PUSH_MORE
                             : join_push_pairs(state, pairs->positions, pairs->rows, pairs->count);
}

static enum push_result expand(struct join_probe_state *state)
{
    struct pipe_run *run = state->run;
    struct op_cursor *cursor = &run->cursors[state->index];
    uint32_t work = 0;

    while (cursor->position < state->in->sel_count) {
        const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
        struct op_cursor next;
        const enum push_result result = push_chunk(state, &next, &work);
        nu_arena_rewind(run->scratch, mark);
        if (result != PUSH_MORE) {
            return result;
        }
        *cursor = next;
        if (work >= JOIN_CHECK_ROWS && cursor->position < state->in->sel_count) {
            work = 0;
            if (pipe_time_is_up(run)) {
                run->out_of_time = true;
                return PUSH_SUSPEND;
            }
        }
    }
    return PUSH_MORE;
}

/* ---- lookup
 * ----------------------------------------------------------------------------------------- */

/* Fills runs for the positions the cursor has not passed. */
static bool lookup(struct join_probe_state *state)
{
    const struct join *join = state->join;
    const uint32_t first = state->run->cursors[state->index].position;
    uint32_t skip = 0;

    memset(state->run_counts, 0, state->in->sel_count * sizeof *state->run_counts);
    while (skip < state->present_count && state->present[skip] < first) {
        skip++;
    }
    const struct hash_dirs *dirs =
        join->replicas.on ? &join->replicas.by_node[state->run->node] : &join->dirs;
    hash_dirs_lookup(dirs, state->hashes, state->present + skip, state->present_count - skip,
                     state->run_rows, state->run_counts);
    if (join->plan.asof != EXEC_ASOF_NONE && !join_asof_narrow(state, skip)) {
        return false;
    }
    state->run_max = 0;
    for (uint32_t p = 0; p < state->in->sel_count; p++) {
        const uint64_t run = state->run_counts[p];
        state->run_max = run > state->run_max ? run : state->run_max;
    }
    return true;
}

/* Rows from the routed pipe bring them along. */
static void take_hashes(struct join_probe_state *state)
{
    const struct join *join = state->join;
    const uint64_t *hashes =
        join->routing.on ? join->routing.workers[state->run->worker].hashes : NULL;

    if (hashes != NULL) {
        memcpy(state->hashes, hashes, state->in->sel_count * sizeof *hashes);
        return;
    }
    hash_keys(state->in, state->keys, join->plan.key_count, join->job->hash_bits_kept,
              state->hashes);
}

static enum push_result probe_batch(struct join *join, struct pipe_run *run, uint32_t index,
                                    const struct batch *in, bool resumed)
{
    if (join->dense.on) {
        join->job->workers[run->worker].rows_probed += resumed ? 0 : in->sel_count;
        return join_dense_push(join, run, index, in);
    }
    if (join->direct && join->routing.on && join->routing.workers[run->worker].hashes != NULL) {
        join->job->workers[run->worker].rows_probed += resumed ? 0 : in->sel_count;
        return join_direct_push_routed(join, run, index, in->row_count);
    }
    struct join_probe_state *state = nu_arena_alloc(run->scratch, sizeof *state, 64);

    if (state == NULL) {
        return join_fail_memory(join, run->scratch, "a batch of a join's probe side");
    }
    state->join = join;
    state->run = run;
    state->index = index;
    state->in = in;
    if (!join_eval_keys(join, run, join->plan.probe_keys, in, state->keys)) {
        return PUSH_FAILED;
    }
    take_hashes(state);
    /* A batch that has been begun here is finished here. */
    if (join->routing.on && !resumed && !run->batch_pending && join_routed_wants(state)) {
        return join_routed_keep(state);
    }
    join->job->workers[run->worker].rows_probed += resumed ? 0 : in->sel_count;
    if (join->direct) {
        return join_direct_push(join, run, index, in, state->keys, state->hashes);
    }
    state->present_count = hash_present_positions(in, state->keys, join->value_count,
                                                  join->plan.nulls_equal, state->present);
    if (join->plan.emits_build) {
        atomic_store_explicit(&join->probe_has_rows, true, memory_order_relaxed);
        if (state->present_count < in->sel_count) {
            atomic_store_explicit(&join->probe_has_null, true, memory_order_relaxed);
        }
    }
    if (!lookup(state)) {
        return join_fail_memory(join, run->scratch, "a batch of a join's probe side");
    }
    return join->exists_only ? join_exists_push(state) : expand(state);
}

static enum push_result probe_push(struct operator* op, struct pipe_run *run, uint32_t index,
                                   const struct batch *in)
{
    struct join *join = (struct join *)(void *)((unsigned char *)op - offsetof(struct join, probe));
    const struct op_cursor start = {0};
    const bool resumed = memcmp(&run->cursors[index], &start, sizeof start) != 0;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);

    const enum push_result result = probe_batch(join, run, index, in, resumed);
    nu_arena_rewind(run->scratch, mark);
    if (result != PUSH_SUSPEND) {
        run->cursors[index] = start;
    }
    return result;
}

const struct operator_kind join_probe_operator_kind = {
    .name = "join probe",
    .push = probe_push,
};
