#include "op/join_state.h"

#include <assert.h>
#include <string.h>

/* Semi, anti and mark: whether there is a match, not which. Probe columns go on untouched under a
 * narrower selection. A probe row needs candidates only until its first match, so a hot key costs
 * one look; only collisions and residuals walk a run.
 *
 * Work is cut into pieces of about JOIN_CHECK_ROWS candidates. A piece decides the probe rows from
 * the cursor up to some position, pushes them, and depends on the cursor alone; `offset` says how
 * many candidates of the row at `position` have been turned down already, `detail` whether one of
 * them was unknown. */

struct exists_piece {
    uint32_t position; /* the first undecided */
    uint32_t work;
    bool found[BATCH_ROWS];
    bool unknown[BATCH_ROWS]; /* a verdict was */
    uint64_t tried[BATCH_ROWS];
};

static bool is_decided(const struct join_probe_state *state, const struct exists_piece *piece,
                       uint32_t position)
{
    return piece->found[position] || piece->tried[position] == state->run_counts[position];
}

/* Candidates for one round: as many as fit of the first undecided row if its first was turned down,
 * one of every other. */
static void fill_round(const struct join_probe_state *state, struct exists_piece *piece,
                       struct join_candidates *candidates)
{
    const uint32_t row_bytes = state->join->layout.row_bytes;

    candidates->count = 0;
    for (uint32_t p = piece->position; p < state->in->sel_count && candidates->count < BATCH_ROWS;
         p++) {
        if (is_decided(state, piece, p)) {
            continue;
        }
        const uint64_t left = state->run_counts[p] - piece->tried[p];
        const uint32_t room = BATCH_ROWS - candidates->count;
        const uint32_t wanted = p == piece->position && piece->tried[p] > 0 ? room : 1;
        const uint32_t take = left < wanted ? (uint32_t)left : wanted;
        for (uint32_t i = 0; i < take; i++) {
            candidates->positions[candidates->count] = (uint16_t)p;
            candidates->rows[candidates->count++] =
                state->run_rows[p] + (piece->tried[p] + i) * row_bytes;
        }
        piece->tried[p] += take;
    }
    piece->work += candidates->count;
}

static void pass_decided(const struct join_probe_state *state, struct exists_piece *piece)
{
    while (piece->position < state->in->sel_count && is_decided(state, piece, piece->position)) {
        piece->position++;
    }
}

static enum push_result decide_piece(struct join_probe_state *state, struct exists_piece *piece,
                                     struct join_candidates *candidates)
{
    const struct op_cursor *cursor = &state->run->cursors[state->index];

    memset(piece, 0, sizeof *piece);
    piece->position = cursor->position;
    piece->tried[cursor->position] = cursor->offset;
    piece->unknown[cursor->position] = cursor->detail != 0;
    pass_decided(state, piece);
    while (piece->work < JOIN_CHECK_ROWS && piece->position < state->in->sel_count) {
        fill_round(state, piece, candidates);
        if (join_match(state, candidates) != PUSH_MORE) {
            return PUSH_FAILED;
        }
        for (uint32_t m = 0; m < candidates->match_count; m++) {
            piece->found[candidates->positions[candidates->matches[m]]] = true;
        }
        for (uint32_t u = 0; u < candidates->unknown_count; u++) {
            piece->unknown[candidates->positions[candidates->unknowns[u]]] = true;
        }
        pass_decided(state, piece);
    }
    return PUSH_MORE;
}

static enum join_answer answer_of(const struct join *join, const struct exists_piece *piece,
                                  uint32_t position, bool key_present)
{
    const bool build_empty = join->build_rows == 0 && !join->has_null;

    if (piece->found[position] || build_empty) {
        return piece->found[position] ? JOIN_YES : JOIN_NO;
    }
    if (join->plan.is_exists) {
        return JOIN_NO;
    }
    if (join->plan.verdict != NULL) {
        return piece->unknown[position] ? JOIN_UNKNOWN : JOIN_NO;
    }
    return key_present && !join->has_null ? JOIN_NO : JOIN_UNKNOWN;
}

struct exists_output {
    uint16_t sel[BATCH_ROWS];
    uint8_t mark[BATCH_ROWS];
    uint64_t mark_valid[BATCH_WORDS];
    uint32_t count;
};

/* The rows decided by this piece, kept or not. */
static void answer_piece(const struct join_probe_state *state, const struct exists_piece *piece,
                         struct exists_output *output)
{
    const struct join *join = state->join;
    uint32_t next_present = 0;

    memset(output->mark_valid, 0, sizeof output->mark_valid);
    output->count = 0;
    for (uint32_t p = state->run->cursors[state->index].position; p < piece->position; p++) {
        const uint32_t row = batch_row(state->in, p);
        while (next_present < state->present_count && state->present[next_present] < p) {
            next_present++;
        }
        const bool present =
            next_present < state->present_count && state->present[next_present] == p;
        const enum join_answer answer = answer_of(join, piece, p, present);
        output->mark[row] = answer == JOIN_YES;
        output->mark_valid[row / 64] |= (uint64_t)(answer != JOIN_UNKNOWN) << row % 64;
        output->sel[output->count] = (uint16_t)row;
        output->count += join_answer_is_kept(join->plan.kind, piece->found[p], answer);
    }
}

static enum push_result push_piece(struct join_probe_state *state, const struct exists_piece *piece)
{
    const struct join *join = state->join;
    struct nu_arena *scratch = state->run->scratch;
    const bool marks = join->plan.kind == EXEC_JOIN_LEFT_MARK;
    const uint32_t column_count = join->plan.output_count + marks;
    struct exists_output *output = nu_arena_alloc(scratch, sizeof *output, 64);
    struct vec *columns = nu_arena_alloc(scratch, (column_count + 1) * sizeof *columns, 8);

    if (output == NULL || columns == NULL) {
        return join_fail_memory(join, scratch, "a batch of a join's result");
    }
    answer_piece(state, piece, output);
    if (output->count == 0) {
        return PUSH_MORE;
    }
    for (uint32_t o = 0; o < join->plan.output_count; o++) {
        assert(!join->plan.outputs[o].from_build);
        columns[o] = state->in->columns[join->plan.outputs[o].column];
    }
    if (marks) {
        columns[column_count - 1] =
            (struct vec){.data = output->mark, .valid = output->mark_valid, .kind = EXEC_TYPE_BOOL};
    }
    const struct batch out = {.row_count = state->in->row_count,
                              .sel_count = output->count,
                              .sel = output->sel,
                              .columns = columns,
                              .column_count = column_count};
    return pipe_push(state->run, state->index + 1, &out);
}

static enum push_result run_piece(struct join_probe_state *state)
{
    struct nu_arena *scratch = state->run->scratch;
    struct op_cursor *cursor = &state->run->cursors[state->index];
    struct exists_piece *piece = nu_arena_alloc(scratch, sizeof *piece, 64);
    struct join_candidates *candidates = nu_arena_alloc(scratch, sizeof *candidates, 64);

    if (piece == NULL || candidates == NULL) {
        return join_fail_memory(state->join, scratch, "a batch of a join's probe side");
    }
    if (decide_piece(state, piece, candidates) != PUSH_MORE) {
        return PUSH_FAILED;
    }
    const enum push_result result = push_piece(state, piece);
    if (result == PUSH_MORE) {
        cursor->position = piece->position;
        cursor->offset = piece->position < state->in->sel_count ? piece->tried[piece->position] : 0;
        cursor->detail =
            piece->position < state->in->sel_count ? piece->unknown[piece->position] : 0;
    }
    return result;
}

enum push_result join_exists_push(struct join_probe_state *state)
{
    struct pipe_run *run = state->run;
    struct op_cursor *cursor = &run->cursors[state->index];

    while (cursor->position < state->in->sel_count) {
        const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
        const enum push_result result = run_piece(state);
        nu_arena_rewind(run->scratch, mark);
        if (result != PUSH_MORE) {
            return result;
        }
        if (cursor->position < state->in->sel_count && pipe_time_is_up(run)) {
            run->out_of_time = true;
            return PUSH_SUSPEND;
        }
    }
    return PUSH_MORE;
}
