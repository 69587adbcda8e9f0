#include "oracle/group_oracle.h"

#include <math.h>
#include <stdlib.h>

enum { MEASURES_MAX = 96 };

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
    return measure->function == EXEC_AGG_COUNT_STAR || measure->function == EXEC_AGG_FIRST ||
           measure->function == EXEC_AGG_LAST ||
           !cells_at(oracle->input, row, measure->column)->null;
}

static bool is_better(const struct oracle_measure *measure, const struct cell *cell,
                      const struct cell *best, const struct exec_type *type)
{
    const int order = cell_compare(cell, best, type);
    return measure->function == EXEC_AGG_MAX || measure->function == EXEC_AGG_BOOL_OR ? order > 0
                                                                                      : order < 0;
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
    /* Means that are no binary fractions leave 2^-112 or so of a covariance of zero. */
    const __float128 noise = (moments.xx + moments.yy) * (__float128)0x1p-100;
    if (moments.xy < noise && moments.xy > -noise) {
        moments.xy = 0;
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

/* ---- functions that look at values in order -----------------------------------------------------
 */

static struct {
    const struct group_oracle *oracle;
    const struct oracle_measure *measure;
} ordering; /* one thread */

static int value_order(const void *a, const void *b)
{
    const struct oracle_measure *measure = ordering.measure;
    const struct cells *input = ordering.oracle->input;
    const struct cell *one = cells_at(input, *(const uint32_t *)a, measure->column);
    const struct cell *other = cells_at(input, *(const uint32_t *)b, measure->column);

    if (one->null || other->null) {
        return (int)one->null - (int)other->null;
    }
    return cell_compare(one, other, &input->types[measure->column]);
}

/* By the second column, ascending and nulls last, then by the value; LAST: the reverse. */
static int pair_order(const void *a, const void *b)
{
    const struct oracle_measure *measure = ordering.measure;
    const struct cells *input = ordering.oracle->input;
    const struct cell *one = cells_at(input, *(const uint32_t *)a, measure->second);
    const struct cell *other = cells_at(input, *(const uint32_t *)b, measure->second);
    int order;

    if (one->null || other->null) {
        order = (int)one->null - (int)other->null;
    } else {
        order = cell_compare(one, other, &input->types[measure->second]);
    }
    order = measure->function == EXEC_AGG_ARG_MAX ? -order : order;
    order = order != 0 ? order : value_order(a, b);
    return measure->function == EXEC_AGG_LAST ? -order : order;
}

static double number_or_zero(const struct cell *cell, const struct exec_type *type)
{
    return is_real(type) ? cell->real : (double)cell->integer / (double)power10(type->scale);
}

static void quantile(const struct cells *input, const struct oracle_measure *measure,
                     const uint32_t *rows, uint32_t count, struct cell *result)
{
    const struct exec_type *type = &input->types[measure->column];
    const double at = measure->fraction * (count - 1);
    const double low =
        number_or_zero(cells_at(input, rows[(uint32_t)floor(at)], measure->column), type);
    const double high =
        number_or_zero(cells_at(input, rows[(uint32_t)ceil(at)], measure->column), type);

    result->real = low == high ? low + 0.0 : low + (high - low) * (at - floor(at)); /* no -0.0 */
}

static uint32_t mode_row(const uint32_t *rows, uint32_t count)
{
    uint32_t best = rows[0];
    uint32_t best_count = 0;

    for (uint32_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && value_order(&rows[begin], &rows[end]) == 0; end++) {
        }
        if (end - begin > best_count) {
            best = rows[begin];
            best_count = end - begin;
        }
    }
    return best;
}

static bool keeps_nulls(enum exec_aggregate_function function)
{
    return function == EXEC_AGG_FIRST || function == EXEC_AGG_LAST;
}

static bool ordered_result(const struct group_oracle *oracle, const struct oracle_measure *measure,
                           const uint32_t *rows, uint32_t row_count, struct cell *result)
{
    const struct cells *input = oracle->input;
    const bool is_arg =
        measure->function == EXEC_AGG_ARG_MIN || measure->function == EXEC_AGG_ARG_MAX;
    const bool is_best = is_arg || keeps_nulls(measure->function);
    uint32_t *kept;
    uint32_t count = 0;

    if (!is_best && measure->function != EXEC_AGG_MODE &&
        measure->function != EXEC_AGG_QUANTILE_CONT &&
        measure->function != EXEC_AGG_QUANTILE_DISC) {
        return false;
    }
    kept = malloc((row_count + 1) * sizeof *kept);
    for (uint32_t i = 0; i < row_count; i++) {
        if (counts(oracle, measure, rows[i]) &&
            !(is_arg && cells_at(input, rows[i], measure->second)->null)) {
            kept[count++] = rows[i];
        }
    }
    ordering.oracle = oracle;
    ordering.measure = measure;
    qsort(kept, count, sizeof *kept, is_best ? pair_order : value_order);
    *result = (struct cell){.null = count == 0};
    if (count > 0 && measure->function == EXEC_AGG_QUANTILE_CONT) {
        quantile(input, measure, kept, count, result);
    } else if (count > 0) {
        uint32_t row = kept[0];
        if (measure->function == EXEC_AGG_MODE) {
            row = mode_row(kept, count);
        } else if (measure->function == EXEC_AGG_QUANTILE_DISC) {
            const uint32_t wanted = (uint32_t)ceil(measure->fraction * count);
            row = kept[wanted == 0 ? 0 : wanted - 1];
        }
        *result = *cells_at(input, row, measure->column);
        result->real = result->real == 0 ? 0 : result->real;
    }
    free(kept);
    return true;
}

/* The rows whose value no earlier one has. */
static uint32_t first_of_each(const struct group_oracle *oracle,
                              const struct oracle_measure *measure, const uint32_t *rows,
                              uint32_t row_count, uint32_t *kept)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < row_count; i++) {
        const struct cell *cell = cells_at(oracle->input, rows[i], measure->column);
        bool seen = !counts(oracle, measure, rows[i]);
        for (uint32_t k = 0; !seen && k < count; k++) {
            seen = cell_equal(cell, cells_at(oracle->input, kept[k], measure->column),
                              &oracle->input->types[measure->column]);
        }
        if (!seen) {
            kept[count++] = rows[i];
        }
    }
    return count;
}

static void aggregate(const struct group_oracle *oracle, const struct oracle_measure *measure,
                      const uint32_t *rows, uint32_t row_count, struct cell *result)
{
    const struct exec_type *type = &oracle->input->types[measure->column];
    int64_t count = 0;
    __int128 integers = 0;
    __int128 bits[3] = {-1, 0, 0}; /* and, or, xor */
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
        bits[0] &= cell->integer;
        bits[1] |= cell->integer;
        bits[2] ^= cell->integer;
        if (isfinite(cell->real)) {
            reals += (__float128)cell->real;
        } else {
            specials += cell->real;
        }
        if (best.null || is_better(measure, cell, &best, type)) {
            best = *cell;
        }
    }
    if (moment_result(oracle, measure, rows, row_count, result) ||
        ordered_result(oracle, measure, rows, row_count, result)) {
        return;
    }
    *result = (struct cell){.null = count == 0};
    switch (measure->function) {
        case EXEC_AGG_BIT_AND: result->integer = count == 0 ? 0 : bits[0]; break;
        case EXEC_AGG_BIT_OR: result->integer = bits[1]; break;
        case EXEC_AGG_BIT_XOR: result->integer = bits[2]; break;
        case EXEC_AGG_COUNT:
        case EXEC_AGG_COUNT_DISTINCT:
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
    struct cell cells[MEASURES_MAX];
    const struct cell *at[MEASURES_MAX];
    const struct exec_type *types[MEASURES_MAX];
    uint32_t *once = malloc((row_count + 1) * sizeof *once);

    for (uint32_t k = 0; k < oracle->key_count; k++) {
        cells[k] = canonical(cells_at(oracle->input, rows[0], oracle->keys[k]));
        types[k] = &oracle->input->types[oracle->keys[k]];
    }
    for (uint32_t m = 0; m < oracle->measure_count; m++) {
        const struct oracle_measure *measure = &oracle->measures[m];
        const uint32_t *counted = rows;
        uint32_t count = row_count;
        if (measure->distinct) {
            count = first_of_each(oracle, measure, rows, row_count, once);
            counted = once;
        }
        aggregate(oracle, measure, counted, count, &cells[oracle->key_count + m]);
        types[oracle->key_count + m] = &oracle->measures[m].type;
    }
    for (uint32_t c = 0; c < oracle->key_count + oracle->measure_count; c++) {
        at[c] = &cells[c];
    }
    lines_add(out, at, types, oracle->key_count + oracle->measure_count);
    free(once);
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
