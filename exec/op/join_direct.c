#include "hash/hash_vec.h"
#include "op/join_state.h"
#include "vec/vec.h"

/* The probe of the plainest join: INNER, one key that is its own hash (hash_is_exact), no two build
 * rows with the same key, no further condition. Then a row found is a match, there is at most one a
 * probe row, and a batch goes out as one: looked up, its columns gathered, pushed. A batch that was
 * not taken is made again exactly.
 *
 * Rows from the routed pipe are looked up as they lie, in the directory of their one partition;
 * only columns of matches are read from them. */

struct matches {
    uint32_t count;
    uint16_t positions[BATCH_ROWS + 1];
    unsigned char *rows[BATCH_ROWS + 1];
};

static const struct hash_dirs *dirs_of(const struct join *join, const struct pipe_run *run)
{
    return join->replicas.on ? &join->replicas.by_node[run->node] : &join->dirs;
}

/* Everything matches and every row is there: probe columns go on as they are. */
static bool is_whole(const struct batch *in, const struct matches *matches)
{
    return in->sel == NULL && matches->count == in->row_count;
}

static enum push_result push_columns(struct join *join, struct pipe_run *run, uint32_t index,
                                     struct vec *columns, uint32_t count)
{
    const struct batch out = {.row_count = count,
                              .sel_count = count,
                              .columns = columns,
                              .column_count = join->plan.output_count};

    return pipe_push(run, index + 1, &out);
}

enum push_result join_direct_push(struct join *join, struct pipe_run *run, uint32_t index,
                                  const struct batch *in, const struct vec *keys,
                                  const uint64_t *hashes)
{
    const struct join_plan *plan = &join->plan;
    struct nu_arena *scratch = run->scratch;
    struct vec *columns = nu_arena_alloc(scratch, (plan->output_count + 1) * sizeof *columns, 8);
    struct matches *matches = nu_arena_alloc(scratch, sizeof *matches, 64);
    uint16_t present[BATCH_ROWS];
    bool ok = columns != NULL && matches != NULL;

    if (!ok) {
        return join_fail_memory(join, scratch, "a batch of a join's result");
    }
    const uint32_t present_count = hash_present_positions(in, keys, 1, plan->nulls_equal, present);
    matches->count = hash_dirs_find(dirs_of(join, run), hashes, present, present_count,
                                    matches->positions, matches->rows);
    if (matches->count == 0) {
        return PUSH_MORE;
    }
    const bool whole = is_whole(in, matches);
    for (uint32_t i = 0; !whole && i < matches->count; i++) {
        matches->positions[i] = (uint16_t)batch_row(in, matches->positions[i]);
    }
    for (uint32_t o = 0; ok && o < plan->output_count; o++) {
        const struct join_output *output = &plan->outputs[o];
        if (output->from_build) {
            ok = row_gather_matched(&join->layout, join->build_column[output->column],
                                    matches->rows, matches->count, scratch, &columns[o]);
        } else if (whole) {
            columns[o] = in->columns[output->column];
        } else {
            ok = vec_gather(&in->columns[output->column], matches->positions, matches->count,
                            scratch, &columns[o]);
        }
    }
    if (!ok) {
        return join_fail_memory(join, scratch, "a batch of a join's result");
    }
    return push_columns(join, run, index, columns, matches->count);
}

/* Where a probe column lies in the rows on their way. */
static uint32_t routed_column(const struct join_routing *routing, uint32_t column)
{
    uint32_t c = 0;

    while (routing->columns[c] != column) {
        c++;
        NU_DCHECK(c < routing->column_count);
    }
    return c;
}

enum push_result join_direct_push_routed(struct join *join, struct pipe_run *run, uint32_t index,
                                         uint32_t row_count)
{
    const struct join_plan *plan = &join->plan;
    const struct join_routing *routing = &join->routing;
    const struct join_routed_worker *worker = &routing->workers[run->worker];
    const struct hash_dirs *dirs = dirs_of(join, run);
    struct nu_arena *scratch = run->scratch;
    struct vec *columns = nu_arena_alloc(scratch, (plan->output_count + 1) * sizeof *columns, 8);
    struct matches *matches = nu_arena_alloc(scratch, sizeof *matches, 64);
    unsigned char **rows = nu_arena_alloc(scratch, BATCH_ROWS * sizeof *rows, 64);
    bool ok = columns != NULL && matches != NULL && rows != NULL;

    if (!ok) {
        return join_fail_memory(join, scratch, "a batch of a join's result");
    }
    if (worker->partition != UINT32_MAX) {
        matches->count = hash_dir_find(&dirs->parts[worker->partition], worker->hashes, row_count,
                                       matches->positions, matches->rows);
    } else {
        uint16_t all[BATCH_ROWS];
        for (uint32_t p = 0; p < row_count; p++) {
            all[p] = (uint16_t)p;
        }
        matches->count =
            hash_dirs_find(dirs, worker->hashes, all, row_count, matches->positions, matches->rows);
    }
    if (matches->count == 0) {
        return PUSH_MORE;
    }
    for (uint32_t i = 0; i < matches->count; i++) {
        rows[i] = worker->batch_rows[matches->positions[i]];
    }
    for (uint32_t o = 0; ok && o < plan->output_count; o++) {
        const uint32_t column = plan->outputs[o].column;
        ok = plan->outputs[o].from_build
                 ? row_gather_matched(&join->layout, join->build_column[column], matches->rows,
                                      matches->count, scratch, &columns[o])
                 : row_gather_matched(&routing->layout, routed_column(routing, column), rows,
                                      matches->count, scratch, &columns[o]);
    }
    if (!ok) {
        return join_fail_memory(join, scratch, "a batch of a join's result");
    }
    return push_columns(join, run, index, columns, matches->count);
}
