#include "oracle/group_oracle.h"

#include <math.h>
#include <stdlib.h>

static const struct group_oracle *sorting; /* one thread */

static int key_order(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;

    for (uint32_t k = 0; k < sorting->key_count; k++) {
        const uint32_t column = sorting->keys[k];
        const struct cell *one = cells_at(sorting->input, left, column);
        const struct cell *other = cells_at(sorting->input, right, column);
        if (one->null || other->null) {
            if (one->null != other->null) {
                return one->null ? 1 : -1;
            }
            continue;
        }
        const int order = cell_compare(one, other, &sorting->input->types[column]);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

static bool is_real(const struct exec_type *type)
{
    return type->kind == EXEC_TYPE_FLOAT32 || type->kind == EXEC_TYPE_FLOAT64;
}

static bool counts(const struct group_oracle *oracle, const struct oracle_measure *measure,
                   uint32_t row)
{
    if (measure->filter) {
        const struct cell *left = cells_at(oracle->input, row, measure->filter_left);
        const struct cell *right = cells_at(oracle->input, row, measure->filter_right);
        if (left->null || right->null || left->integer >= right->integer) {
            return false;
        }
    }
    return measure->function == EXEC_AGG_COUNT_STAR ||
           !cells_at(oracle->input, row, measure->column)->null;
}

static bool is_better(const struct oracle_measure *measure, const struct cell *cell,
                      const struct cell *best, const struct exec_type *type)
{
    const int order = cell_compare(cell, best, type);
    return measure->function == EXEC_AGG_MAX ? order > 0 : order < 0;
}

static __float128 power10(int scale)
{
    __float128 power = 1;
    for (int i = 0; i < scale; i++) {
        power *= 10;
    }
    return power;
}

static struct cell canonical(const struct cell *cell)
{
    struct cell same = *cell;
    if (same.real == 0) {
        same.real = 0;
    }
    return same;
}

static void aggregate(const struct group_oracle *oracle, const struct oracle_measure *measure,
                      const uint32_t *rows, uint32_t row_count, struct cell *result)
{
    const struct exec_type *type = &oracle->input->types[measure->column];
    int64_t count = 0;
    __int128 integers = 0;
    __float128 reals = 0;
    double specials = 0; /* NaN and infinities add up to the right special */
    struct cell best = {.null = true};

    for (uint32_t i = 0; i < row_count; i++) {
        const struct cell *cell = cells_at(oracle->input, rows[i], measure->column);
        if (!counts(oracle, measure, rows[i])) {
            continue;
        }
        count++;
        integers += cell->integer;
        if (isfinite(cell->real)) {
            reals += (__float128)cell->real;
        } else {
            specials += cell->real;
        }
        if (best.null || is_better(measure, cell, &best, type)) {
            best = *cell;
        }
    }
    *result = (struct cell){.null = count == 0};
    switch (measure->function) {
        case EXEC_AGG_COUNT:
        case EXEC_AGG_COUNT_STAR:
            result->null = false;
            result->integer = count;
            break;
        case EXEC_AGG_SUM:
            result->integer = integers;
            result->real = isfinite(specials) ? (double)reals : specials;
            break;
        case EXEC_AGG_AVG:
            if (count > 0) {
                reals = is_real(type) ? reals : (__float128)integers / power10(type->scale);
                result->real = isfinite(specials) ? (double)(reals / count) : specials;
            }
            break;
        default: *result = canonical(&best); break;
    }
}

static void emit(const struct group_oracle *oracle, const uint32_t *rows, uint32_t row_count,
                 struct lines *out)
{
    struct cell cells[32];
    const struct cell *at[32];
    const struct exec_type *types[32];

    for (uint32_t k = 0; k < oracle->key_count; k++) {
        cells[k] = canonical(cells_at(oracle->input, rows[0], oracle->keys[k]));
        types[k] = &oracle->input->types[oracle->keys[k]];
    }
    for (uint32_t m = 0; m < oracle->measure_count; m++) {
        aggregate(oracle, &oracle->measures[m], rows, row_count, &cells[oracle->key_count + m]);
        types[oracle->key_count + m] = &oracle->measures[m].type;
    }
    for (uint32_t c = 0; c < oracle->key_count + oracle->measure_count; c++) {
        at[c] = &cells[c];
    }
    lines_add(out, at, types, oracle->key_count + oracle->measure_count);
}

void group_oracle_run(const struct group_oracle *oracle, struct lines *out)
{
    const uint32_t row_count = oracle->input->row_count;
    uint32_t *rows = calloc((size_t)row_count + 1, sizeof *rows);

    for (uint32_t r = 0; r < row_count; r++) {
        rows[r] = r;
    }
    if (row_count == 0 && oracle->key_count == 0) {
        emit(oracle, rows, 0, out);
    }
    sorting = oracle;
    qsort(rows, row_count, sizeof *rows, key_order);
    for (uint32_t begin = 0; begin < row_count;) {
        uint32_t end = begin + 1;
        while (end < row_count && key_order(&rows[begin], &rows[end]) == 0) {
            end++;
        }
        emit(oracle, rows + begin, end - begin, out);
        begin = end;
    }
    free(rows);
}
