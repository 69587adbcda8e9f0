#include "op/join_state.h"
#include "vec/vec.h"

/* Judging pairs of probe and build rows: equal keys, then the residual, then the verdict of kinds
 * that tell unknown from false. */

static bool gather_pair_columns(const struct join_probe_state *state, const uint16_t *rows,
                                unsigned char *const *build_rows, uint32_t count,
                                struct vec *columns)
{
    const struct join *join = state->join;
    const struct join_plan *plan = &join->plan;
    struct nu_arena *scratch = state->run->scratch;

    for (uint32_t c = 0; c < plan->probe_column_count; c++) {
        if (join->residual_uses[c] &&
            !vec_gather(&state->in->columns[c], rows, count, scratch, &columns[c])) {
            return false;
        }
    }
    for (uint32_t c = 0; c < plan->build_column_count; c++) {
        const uint32_t place = plan->probe_column_count + c;
        if (join->residual_uses[place] &&
            !row_gather(&join->layout, join->build_column[c], build_rows, count, scratch,
                        &columns[place])) {
            return false;
        }
    }
    return true;
}

/* The matches as a batch of pairs, dense. false: out of scratch memory. */
static bool pairs_batch(const struct join_probe_state *state,
                        const struct join_candidates *candidates, struct batch *out)
{
    const struct join *join = state->join;
    struct nu_arena *scratch = state->run->scratch;
    const uint32_t count = candidates->match_count;
    const uint32_t column_count = join->plan.probe_column_count + join->plan.build_column_count;
    struct vec *columns = nu_arena_calloc(scratch, (column_count + 1) * sizeof *columns, 8);
    unsigned char **build_rows = nu_arena_alloc(scratch, BATCH_ROWS * sizeof *build_rows, 8);
    uint16_t rows[BATCH_ROWS];

    if (columns == NULL || build_rows == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint16_t candidate = candidates->matches[i];
        rows[i] = (uint16_t)batch_row(state->in, candidates->positions[candidate]);
        build_rows[i] = candidates->rows[candidate];
    }
    *out = (struct batch){
        .row_count = count, .sel_count = count, .columns = columns, .column_count = column_count};
    return gather_pair_columns(state, rows, build_rows, count, columns);
}

/* Keeps the matches for which the residual is true. */
static enum push_result judge_residual(struct join_probe_state *state,
                                       struct join_candidates *candidates)
{
    const struct join *join = state->join;
    struct nu_arena *scratch = state->run->scratch;
    struct exec_error err = {0};
    struct batch pairs;
    uint16_t kept[BATCH_ROWS];
    uint32_t kept_count = 0;

    if (!pairs_batch(state, candidates, &pairs)) {
        return join_fail_memory(join, scratch, "a join's residual predicate");
    }
    if (expr_select(join->plan.residual, &pairs, scratch, kept, &kept_count, &err) != EXEC_OK) {
        return join_fail(join, &err);
    }
    for (uint32_t i = 0; i < kept_count; i++) {
        candidates->matches[i] = candidates->matches[kept[i]];
    }
    candidates->match_count = kept_count;
    return PUSH_MORE;
}

/* Keeps the matches for which the verdict is true and notes those for which it is unknown. */
static enum push_result judge_verdict(struct join_probe_state *state,
                                      struct join_candidates *candidates)
{
    const struct join *join = state->join;
    struct nu_arena *scratch = state->run->scratch;
    struct exec_error err = {0};
    struct batch pairs;
    struct vec verdict;
    uint32_t kept_count = 0;

    if (!pairs_batch(state, candidates, &pairs)) {
        return join_fail_memory(join, scratch, "a join's comparison");
    }
    if (expr_eval(join->plan.verdict, &pairs, scratch, &verdict, &err) != EXEC_OK) {
        return join_fail(join, &err);
    }
    const uint8_t *truth = verdict.data;
    for (uint32_t i = 0; i < candidates->match_count; i++) {
        const uint16_t candidate = candidates->matches[i];
        if (!vec_is_valid(&verdict, i)) {
            candidates->unknowns[candidates->unknown_count++] = candidate;
        } else if (truth[verdict.constant ? 0 : i] != 0) {
            candidates->matches[kept_count++] = candidate;
        }
    }
    candidates->match_count = kept_count;
    return PUSH_MORE;
}

static enum push_result judge(struct join_probe_state *state, struct join_candidates *candidates)
{
    const struct join_plan *plan = &state->join->plan;

    if (plan->residual != NULL && candidates->match_count > 0 &&
        judge_residual(state, candidates) != PUSH_MORE) {
        return PUSH_FAILED;
    }
    if (plan->verdict != NULL && candidates->match_count > 0) {
        return judge_verdict(state, candidates);
    }
    return PUSH_MORE;
}

/* Relaxed: several workers may write one byte; it is read after the probe pipes have ended. A match
 * is the last word, so an unknown only ever replaces nothing. The test first keeps lines that many
 * rows match shared. */
static void mark_matched(const struct join_candidates *candidates)
{
    for (uint32_t i = 0; i < candidates->match_count; i++) {
        unsigned char *matched = candidates->rows[candidates->matches[i]] + JOIN_MATCHED_BYTE;
        const unsigned char is = __atomic_load_n(matched, __ATOMIC_RELAXED);
        if (is == JOIN_MATCHED_NONE || is == JOIN_MATCHED_UNKNOWN) {
            __atomic_store_n(matched, JOIN_MATCHED_YES, __ATOMIC_RELAXED);
        }
    }
    for (uint32_t i = 0; i < candidates->unknown_count; i++) {
        unsigned char *matched = candidates->rows[candidates->unknowns[i]] + JOIN_MATCHED_BYTE;
        unsigned char none = JOIN_MATCHED_NONE;
        __atomic_compare_exchange_n(matched, &none, JOIN_MATCHED_UNKNOWN, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
}

enum push_result join_match(struct join_probe_state *state, struct join_candidates *candidates)
{
    const struct join *join = state->join;

    candidates->unknown_count = 0;
    if (join->hash_is_key) {
        candidates->match_count = candidates->count;
        for (uint32_t i = 0; i < candidates->count; i++) {
            candidates->matches[i] = (uint16_t)i;
        }
    } else {
        candidates->match_count = row_match(&join->layout, 0, join->plan.key_count, state->in,
                                            state->keys, candidates->positions, candidates->count,
                                            candidates->rows, candidates->matches, NULL);
    }
    const struct nu_arena_mark mark = nu_arena_mark(state->run->scratch);
    const enum push_result result = judge(state, candidates);
    nu_arena_rewind(state->run->scratch, mark);
    if (result == PUSH_MORE && join->keeps_build) {
        mark_matched(candidates);
    }
    return result;
}
