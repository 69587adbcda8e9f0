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

/* ---- variance, covariance, correlation: two passes in __float128 --------------------------------
 */

static __float128 number(const struct cell *cell, const struct exec_type *type)
{
    if (is_real(type)) {
        return (__float128)cell->real;
    }
    return (__float128)((double)cell->integer / (double)power10(type->scale));
}

struct moments {
    int64_t count;
    bool special;
    __float128 x_mean, y_mean, xx, yy, xy; /* sums of products of deviations */
};

static struct moments moments_of(const struct group_oracle *oracle,
                                 const struct oracle_measure *measure, bool pair,
                                 const uint32_t *rows, uint32_t row_count)
{
    const uint32_t second = pair ? measure->second : measure->column;
    const struct exec_type *x_type = &oracle->input->types[measure->column];
    const struct exec_type *y_type = &oracle->input->types[second];
    struct moments moments = {.count = 0};

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < row_count; i++) {
            const struct cell *a = cells_at(oracle->input, rows[i], measure->column);
            const struct cell *b = cells_at(oracle->input, rows[i], second);
            if (!counts(oracle, measure, rows[i]) || b->null) {
                continue;
            }
            const __float128 x = number(a, x_type);
            const __float128 y = number(b, y_type);
            moments.special |= !isfinite((double)x) || !isfinite((double)y);
            if (pass == 0) {
                moments.count++;
                moments.x_mean += x;
                moments.y_mean += y;
            } else {
                moments.xx += (x - moments.x_mean) * (x - moments.x_mean);
                moments.yy += (y - moments.y_mean) * (y - moments.y_mean);
                moments.xy += (x - moments.x_mean) * (y - moments.y_mean);
            }
        }
        if (pass == 0 && moments.count > 0) {
            moments.x_mean /= moments.count;
            moments.y_mean /= moments.count;
        }
    }
    return moments;
}

/* Deviations that are nothing but rounding of the mean. */
static bool is_nothing(__float128 squares, __float128 mean, int64_t count)
{
    return squares <= mean * mean * count * 1e-60Q;
}

static bool moment_result(const struct group_oracle *oracle, const struct oracle_measure *measure,
                          const uint32_t *rows, uint32_t row_count, struct cell *result)
{
    const enum exec_aggregate_function function = measure->function;
    const bool pair = function == EXEC_AGG_CORR || function == EXEC_AGG_COVAR_SAMP ||
                      function == EXEC_AGG_COVAR_POP;
    const bool sample = function == EXEC_AGG_VAR_SAMP || function == EXEC_AGG_STDDEV_SAMP ||
                        function == EXEC_AGG_COVAR_SAMP;
    const bool root = function == EXEC_AGG_STDDEV_SAMP || function == EXEC_AGG_STDDEV_POP;

    if (!pair && !sample && !root && function != EXEC_AGG_VAR_POP) {
        return false;
    }
    const struct moments m = moments_of(oracle, measure, pair, rows, row_count);
    *result = (struct cell){.null = m.count <= (sample ? 1 : 0)};
    if (result->null) {
        return true;
    }
    const bool x_still = is_nothing(m.xx, m.x_mean, m.count);
    const bool y_still = is_nothing(m.yy, m.y_mean, m.count);
    if (m.special) {
        result->real = (double)NAN;
    } else if (function == EXEC_AGG_CORR) {
        result->null = x_still || y_still;
        result->real = result->null ? 0 : (double)(m.xy / m.xx) * sqrt((double)(m.xx / m.yy));
    } else if (!x_still && !y_still) {
        result->real = (double)(m.xy / (m.count - (sample ? 1 : 0)));
        result->real = root ? sqrt(result->real) : result->real;
    }
    return true;
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
    if (moment_result(oracle, measure, rows, row_count, result)) {
        return;
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
