#include "op/join_state.h"

#include <string.h>

/* As-of joins. The directory brings the rows of one hash together; here they are put in order
 * inside their run, by keys (which part colliding ones), the value, then every other column, so
 * that among rows of one value the choice does not depend on who built what. In place, by a heap,
 * whose steps can be interrupted anywhere. A probe row then finds its nearest by bisection; whether
 * the keys are equal after all is judged as for any other candidate. */

enum { SIFT_ROWS = 16 }; /* what moving one row through a heap counts as */

static int compare_rows(const struct join *join, uint32_t column_count, const unsigned char *a,
                        const unsigned char *b)
{
    for (uint32_t c = 0; c < column_count; c++) {
        const int order = row_compare(&join->layout, c, a, b);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

static void swap_rows(unsigned char *a, unsigned char *b, uint32_t row_bytes)
{
    for (uint32_t at = 0; at < row_bytes; at += sizeof(uint64_t)) {
        uint64_t x, y;
        memcpy(&x, a + at, sizeof x);
        memcpy(&y, b + at, sizeof y);
        memcpy(a + at, &y, sizeof y);
        memcpy(b + at, &x, sizeof x);
    }
}

/* Lets the row at `root` sink in the heap of the first `count` rows, largest on top. */
static void sift(const struct join *join, unsigned char *rows, uint64_t root, uint64_t count)
{
    const uint32_t row_bytes = join->layout.row_bytes, columns = join->layout.column_count;

    for (uint64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        unsigned char *largest = rows + child * row_bytes;
        if (child + 1 < count && compare_rows(join, columns, largest, largest + row_bytes) < 0) {
            largest += row_bytes;
            child++;
        }
        if (compare_rows(join, columns, rows + root * row_bytes, largest) >= 0) {
            return;
        }
        swap_rows(rows + root * row_bytes, largest, row_bytes);
        root = child;
    }
}

/* Goes on to the end of the next run; the same call again goes on where it stood. */
static uint64_t find_run(const struct hash_dir *dir, struct join_asof_sort *sort, uint64_t rows)
{
    const uint64_t hash = row_hash(dir->rows + sort->begin * dir->row_bytes);
    uint64_t work = 0;

    while (sort->end < dir->row_count && work < rows &&
           row_hash(dir->rows + sort->end * dir->row_bytes) == hash) {
        sort->end++;
        work++;
    }
    if (sort->end == dir->row_count || work < rows) {
        sort->phase = ASOF_HEAP;
        sort->left = (sort->end - sort->begin) / 2;
    }
    return work + 1;
}

bool join_asof_step(struct join *join, uint32_t partition, uint64_t rows)
{
    const struct hash_dir *dir = &join->dirs.parts[partition];
    uint64_t work = 0;

    if (join->asof_sorts == NULL) {
        return true;
    }
    struct join_asof_sort *sort = &join->asof_sorts[partition];
    while (work < rows && sort->begin < dir->row_count) {
        unsigned char *run = dir->rows + sort->begin * dir->row_bytes;
        const uint64_t count = sort->end - sort->begin;
        switch (sort->phase) {
            case ASOF_FIND: work += find_run(dir, sort, rows - work); break;
            case ASOF_HEAP:
                if (sort->left == 0) {
                    sort->phase = ASOF_TAKE;
                    sort->left = count;
                    break;
                }
                sift(join, run, --sort->left, count);
                work += SIFT_ROWS;
                break;
            default:
                if (sort->left <= 1) {
                    *sort = (struct join_asof_sort){.begin = sort->end, .end = sort->end};
                    break;
                }
                sort->left--;
                swap_rows(run, run + sort->left * dir->row_bytes, dir->row_bytes);
                sift(join, run, 0, sort->left);
                work += SIFT_ROWS;
                break;
        }
    }
    return sort->begin == dir->row_count;
}

/* How many rows of the run are below the probe's keys and value, or not above them. */
static uint64_t bisect(const struct join *join, const unsigned char *run, uint64_t count,
                       const unsigned char *probe, bool with_equal)
{
    uint64_t low = 0, high = count;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const int order =
            compare_rows(join, join->value_count, run + middle * join->layout.row_bytes, probe);
        if (order < 0 || (order == 0 && with_equal)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void narrow_run(const struct join *join, const unsigned char *probe, unsigned char **run,
                       uint64_t *count)
{
    const enum exec_asof_direction direction = join->plan.asof;
    const bool backward = direction == EXEC_ASOF_BACKWARD || direction == EXEC_ASOF_BACKWARD_STRICT;
    const bool with_equal =
        direction == EXEC_ASOF_BACKWARD || direction == EXEC_ASOF_FORWARD_STRICT;
    const uint64_t below = bisect(join, *run, *count, probe, with_equal);

    if (backward ? below == 0 : below == *count) {
        *count = 0;
        return;
    }
    *run += (backward ? below - 1 : below) * join->layout.row_bytes;
    *count = 1;
}

bool join_asof_narrow(struct join_probe_state *state, uint32_t first)
{
    const struct join *join = state->join;
    struct nu_arena *scratch = state->run->scratch;
    const uint32_t row_bytes = join->layout.row_bytes;
    const uint32_t count = state->present_count - first;
    const uint16_t *positions = state->present + first;
    unsigned char *memory = nu_arena_calloc(scratch, (size_t)BATCH_ROWS * row_bytes, 16);
    unsigned char **rows = nu_arena_alloc(scratch, BATCH_ROWS * sizeof *rows, 8);

    if (memory == NULL || rows == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = memory + (size_t)i * row_bytes;
    }
    if (!row_scatter(&join->layout, 0, join->value_count, state->in, state->keys, positions, count,
                     rows, true, scratch)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint16_t position = positions[i];
        if (state->run_counts[position] != 0) {
            narrow_run(join, rows[i], &state->run_rows[position], &state->run_counts[position]);
        }
    }
    return true;
}
