#include "sort/sort_state.h"

/* Rows lie anywhere; whoever pops an entry reads its row. */
enum { PREFETCH_ENTRIES = 4 };

/* Of 2n nodes, 1..n-1 are matches and node n + r is run r; one comparison a level and row. */

bool sort_tournament_init(struct sort_tournament *tournament, const struct sort_rows *rows,
                          const struct sort_run *runs, uint32_t run_count, struct nu_arena *arena)
{
    uint32_t *words = nu_arena_calloc(arena, (4 * (size_t)run_count + 1) * sizeof *words, 64);

    *tournament = (struct sort_tournament){
        .rows = rows,
        .runs = runs,
        .run_count = run_count,
        .heads = words,
        .ends = words + run_count,
        .tree = words + 2 * (size_t)run_count,
        .winners = words + 3 * (size_t)run_count,
    };
    for (uint32_t r = 0; words != NULL && r < run_count; r++) {
        tournament->ends[r] = runs[r].row_count;
    }
    return words != NULL;
}

static bool slice_is_empty(const struct sort_tournament *tournament, uint32_t run)
{
    return run >= tournament->run_count || tournament->heads[run] == tournament->ends[run];
}

/* Whether the head of run a comes before that of run b; empty runs come last. */
static bool head_before(const struct sort_tournament *tournament, uint32_t a, uint32_t b)
{
    if (slice_is_empty(tournament, a) || slice_is_empty(tournament, b)) {
        return !slice_is_empty(tournament, a);
    }
    return sort_entry_before(tournament->rows, &tournament->runs[a].entries[tournament->heads[a]],
                             &tournament->runs[b].entries[tournament->heads[b]]);
}

/* Plays everything once, from the leaves up. */
void sort_tournament_begin(struct sort_tournament *tournament)
{
    uint32_t *winners = tournament->winners;
    const uint32_t n = tournament->run_count;

    for (uint32_t node = n == 0 ? 0 : n - 1; node >= 1; node--) {
        const uint32_t left = 2 * node >= n ? 2 * node - n : winners[2 * node];
        const uint32_t right = 2 * node + 1 >= n ? 2 * node + 1 - n : winners[2 * node + 1];
        const bool right_wins = head_before(tournament, right, left);
        winners[node] = right_wins ? right : left;
        tournament->tree[node] = right_wins ? left : right;
    }
    tournament->winner = n <= 1 ? 0 : winners[1];
}

const struct sort_entry *sort_tournament_pop(struct sort_tournament *tournament)
{
    uint32_t winner = tournament->winner;

    if (slice_is_empty(tournament, winner)) {
        return NULL;
    }
    const struct sort_entry *entry = &tournament->runs[winner].entries[tournament->heads[winner]++];
    if (tournament->heads[winner] + PREFETCH_ENTRIES < tournament->ends[winner]) {
        const unsigned char *row =
            tournament->runs[winner].entries[tournament->heads[winner] + PREFETCH_ENTRIES].row;
        __builtin_prefetch(row);
        __builtin_prefetch(row + tournament->rows->layout.row_bytes - 1);
    }
    for (uint32_t node = (winner + tournament->run_count) / 2; node >= 1; node /= 2) {
        if (head_before(tournament, tournament->tree[node], winner)) {
            const uint32_t loser = winner;
            winner = tournament->tree[node];
            tournament->tree[node] = loser;
        }
    }
    tournament->winner = winner;
    return entry;
}
