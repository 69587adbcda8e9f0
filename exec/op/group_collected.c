#include "kernel/agg.h"
#include "op/group_order.h"
#include "vec/value.h"
#include "vec/vec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Results of aggregates that keep rows: one group after the other, out of its tuples. */

enum { TEXT_BYTES_MAX = 1 << 30 };

static enum push_result fail_order(const struct group *group, const struct nu_arena *scratch,
                                   enum exec_code code)
{
    /* A job that is stopping has its reason already. */
    return code == EXEC_CANCELLED ? PUSH_FAILED : group_fail_memory(group, scratch);
}

static void set_valid(struct vec *out, uint64_t *valid, uint32_t row, bool present)
{
    valid[row / 64] |= (uint64_t)present << row % 64;
    out->valid = valid;
}

/* ---- one tuple is the result --------------------------------------------------------------------
 */

/* The most frequent value; of several the first in the type's order. */
static unsigned char *most_frequent(const struct group_aggregate *aggregate,
                                    const struct tuple_list *list)
{
    const struct row_layout *layout = &aggregate->tuple;
    unsigned char *best = NULL;
    uint64_t best_count = 0;

    for (uint64_t begin = 0; begin < list->count;) {
        uint64_t end = begin + 1;
        while (end < list->count &&
               row_equal(layout, 0, 1, list->tuples[begin], list->tuples[end])) {
            end++;
        }
        if (end - begin > best_count) {
            best = list->tuples[begin];
            best_count = end - begin;
        }
        begin = end;
    }
    return best;
}

/* The first value whose share of the rows, itself included, is the fraction at least. */
static uint64_t discrete_row(double fraction, uint64_t count)
{
    const uint64_t above = (uint64_t)floor((double)count - fraction * (double)count);
    const uint64_t row = above >= count ? 1 : count - above;
    return row - 1;
}

static enum push_result choose(const struct group *group, const struct group_aggregate *aggregate,
                               struct nu_arena *scratch, const unsigned char *row,
                               unsigned char **chosen_out)
{
    const struct nu_arena_mark mark = nu_arena_mark(scratch);
    struct tuple_list list;

    *chosen_out = NULL;
    if (aggregate->form == GROUP_BEST) {
        *chosen_out =
            ((const struct tuple_best *)(const void *)(row + aggregate->state_offset))->tuple;
        return PUSH_MORE;
    }
    const enum exec_code code = group_order(group, aggregate, row, scratch, &list);
    if (code != EXEC_OK) {
        return fail_order(group, scratch, code);
    }
    if (list.count > 0) {
        *chosen_out = aggregate->measure.function == EXEC_AGG_MODE
                          ? most_frequent(aggregate, &list)
                          : list.tuples[discrete_row(aggregate->measure.fraction, list.count)];
    }
    nu_arena_rewind(scratch, mark);
    return PUSH_MORE;
}

static enum push_result chosen_column(const struct group *group, struct pipe_run *run,
                                      const struct group_aggregate *aggregate,
                                      unsigned char *const *rows, uint32_t count, struct vec *out)
{
    unsigned char **chosen = nu_arena_alloc(run->scratch, BATCH_ROWS * sizeof *chosen, 8);

    if (chosen == NULL) {
        return group_fail_memory(group, run->scratch);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (choose(group, aggregate, run->scratch, rows[i], &chosen[i]) != PUSH_MORE) {
            return PUSH_FAILED;
        }
    }
    return row_gather(&aggregate->tuple, 0, chosen, count, run->scratch, out)
               ? PUSH_MORE
               : group_fail_memory(group, run->scratch);
}

/* ---- interpolated quantiles ---------------------------------------------------------------------
 */

static double number_of(const struct group_aggregate *aggregate, const unsigned char *tuple)
{
    const struct row_column *column = &aggregate->tuple.columns[0];
    const void *value = tuple + column->offset;
    double power = 1;

    switch (vec_storage(column->kind)) {
        case VEC_I8: return *(const int8_t *)value;
        case VEC_I16: return *(const int16_t *)value;
        case VEC_I32: return *(const int32_t *)value;
        case VEC_I64: return (double)*(const int64_t *)value;
        case VEC_U8: return *(const uint8_t *)value;
        case VEC_U16: return *(const uint16_t *)value;
        case VEC_U32: return *(const uint32_t *)value;
        case VEC_U64: return (double)*(const uint64_t *)value;
        case VEC_F32: return (double)*(const float *)value;
        case VEC_F64: return *(const double *)value;
        default: break;
    }
    for (int32_t s = 0; s < aggregate->scale; s++) {
        power *= 10;
    }
    return (double)*(const vec_decimal *)value / power;
}

static double interpolate(const struct group_aggregate *aggregate, const struct tuple_list *list)
{
    const double at = aggregate->measure.fraction * (double)(list->count - 1);
    const double below = floor(at);
    const double low = number_of(aggregate, list->tuples[(uint64_t)below]);
    const double high = number_of(aggregate, list->tuples[(uint64_t)ceil(at)]);

    return low == high ? low : value_float64_canonical(low + (high - low) * (at - below));
}

static enum push_result quantile_column(const struct group *group, struct pipe_run *run,
                                        const struct group_aggregate *aggregate,
                                        unsigned char *const *rows, uint32_t count, struct vec *out,
                                        double *data, uint64_t *valid)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
        struct tuple_list list;
        const enum exec_code code = group_order(group, aggregate, rows[i], run->scratch, &list);
        if (code != EXEC_OK) {
            return fail_order(group, run->scratch, code);
        }
        data[i] = list.count == 0 ? 0 : interpolate(aggregate, &list);
        set_valid(out, valid, i, list.count != 0);
        nu_arena_rewind(run->scratch, mark);
    }
    return PUSH_MORE;
}

/* ---- texts --------------------------------------------------------------------------------------
 */

static const struct string_view *text_of(const struct group_aggregate *aggregate,
                                         const unsigned char *tuple)
{
    return (const struct string_view *)(const void *)(tuple + aggregate->tuple.columns[0].offset);
}

static uint64_t text_bytes(const struct group_aggregate *aggregate, const unsigned char *row)
{
    const uint64_t count = tuple_count(aggregate, row);
    struct tuple_cursor cursor = tuple_cursor_begin(aggregate, row);
    uint64_t bytes = count == 0 ? 0 : (count - 1) * aggregate->measure.separator_bytes;
    const unsigned char *tuple;

    while ((tuple = tuple_cursor_next(aggregate, &cursor)) != NULL) {
        bytes += text_of(aggregate, tuple)->size;
    }
    return bytes;
}

static void join_texts(const struct group_aggregate *aggregate, const struct tuple_list *list,
                       char *to)
{
    for (uint64_t i = 0; i < list->count; i++) {
        const struct string_view *text = text_of(aggregate, list->tuples[i]);
        if (i > 0 && aggregate->measure.separator_bytes != 0) {
            memcpy(to, aggregate->measure.separator, aggregate->measure.separator_bytes);
            to += aggregate->measure.separator_bytes;
        }
        memcpy(to, string_view_bytes(text), text->size);
        to += text->size;
    }
}

static enum push_result text_column(const struct group *group, struct pipe_run *run,
                                    const struct group_aggregate *aggregate,
                                    unsigned char *const *rows, uint32_t count, struct vec *out,
                                    struct string_view *data, uint64_t *valid)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t bytes = text_bytes(aggregate, rows[i]);
        struct exec_error err;
        if (bytes > TEXT_BYTES_MAX) {
            EXEC_FAIL(&err, EXEC_LIMIT, "string_agg: a text of %" PRIu64 " bytes, at most %d",
                      bytes, TEXT_BYTES_MAX);
            return group_fail(group, &err);
        }
        char *text = nu_arena_alloc(run->scratch, bytes + 1, 1);
        if (text == NULL) {
            return group_fail_memory(group, run->scratch);
        }
        const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
        struct tuple_list list;
        const enum exec_code code = group_order(group, aggregate, rows[i], run->scratch, &list);
        if (code != EXEC_OK) {
            return fail_order(group, run->scratch, code);
        }
        join_texts(aggregate, &list, text);
        data[i] = string_view_make(text, (uint32_t)bytes);
        set_valid(out, valid, i, list.count != 0);
        nu_arena_rewind(run->scratch, mark);
    }
    return PUSH_MORE;
}

/* ---- a kernel over the values of a set ----------------------------------------------------------
 */

struct distinct {
    _Alignas(16) unsigned char values[BATCH_ROWS * sizeof(vec_decimal)];
    double seconds[BATCH_ROWS]; /* of pairs, whose values are doubles too */
    uint16_t source[BATCH_ROWS];
    unsigned char *tuples[BATCH_ROWS], *states[BATCH_ROWS];
};

static bool copy_column(const struct group_aggregate *aggregate, uint32_t column,
                        const struct distinct *distinct, uint32_t count, struct nu_arena *scratch,
                        void *values_out)
{
    const struct nu_arena_mark mark = nu_arena_mark(scratch);
    struct vec values;

    if (!row_gather(&aggregate->tuple, column, distinct->tuples, count, scratch, &values)) {
        return false;
    }
    memcpy(values_out, values.data, count * exec_type_width((enum exec_type_kind)values.kind));
    nu_arena_rewind(scratch, mark);
    return true;
}

/* The set's values go through the kernel into one state, whose own memory stays in `scratch`.
 * false: out of memory. */
static bool fill_state(const struct group_aggregate *aggregate, const unsigned char *row,
                       unsigned char *state, struct distinct *distinct, struct nu_arena *scratch)
{
    const bool is_pair = group_function(aggregate->measure.function)->form == GROUP_PAIR;
    const void *const pair[2] = {distinct->values, distinct->seconds};
    struct tuple_cursor cursor = tuple_cursor_begin(aggregate, row);
    uint32_t count;

    do {
        for (count = 0; count < BATCH_ROWS; count++) {
            distinct->tuples[count] = tuple_cursor_next(aggregate, &cursor);
            if (distinct->tuples[count] == NULL) {
                break;
            }
            distinct->source[count] = (uint16_t)count;
            distinct->states[count] = state;
        }
        if (!copy_column(aggregate, 0, distinct, count, scratch, distinct->values) ||
            (is_pair && !copy_column(aggregate, 1, distinct, count, scratch, distinct->seconds)) ||
            !aggregate->kernel->update(is_pair ? (const void *)pair : distinct->values,
                                       distinct->source, count, distinct->states, 0, scratch)) {
            return false;
        }
    } while (count == BATCH_ROWS);
    return true;
}

static enum push_result distinct_column(const struct group *group, struct pipe_run *run, uint32_t m,
                                        unsigned char *const *rows, uint32_t count, struct vec *out,
                                        unsigned char *data, uint64_t *valid)
{
    const struct group_aggregate *aggregate = &group->aggregates[m];
    const size_t width = exec_type_width(aggregate->measure.type.kind);
    const size_t state_bytes = aggregate->kernel->state_bytes;
    struct distinct *distinct = nu_arena_alloc(run->scratch, sizeof *distinct, 16);
    unsigned char *state = nu_arena_alloc(run->scratch, state_bytes, 16);

    if (distinct == NULL || state == NULL) {
        return group_fail_memory(group, run->scratch);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
        uint64_t is_valid = 0;
        memset(state, 0, state_bytes);
        if (!fill_state(aggregate, rows[i], state, distinct, run->scratch)) {
            return group_fail_memory(group, run->scratch);
        }
        if (aggregate->kernel->finish(&state, 1, 0, aggregate->scale, data + i * width, &is_valid) <
            1) {
            return group_fail_overflow(group, m);
        }
        set_valid(out, valid, i, is_valid != 0);
        nu_arena_rewind(run->scratch, mark); /* no result points into a state */
    }
    return PUSH_MORE;
}

static void count_column(const struct group_aggregate *aggregate, unsigned char *const *rows,
                         uint32_t count, struct vec *out, int64_t *data, uint64_t *valid)
{
    for (uint32_t i = 0; i < count; i++) {
        data[i] = (int64_t)tuple_count(aggregate, rows[i]);
        set_valid(out, valid, i, true);
    }
}

enum push_result group_collected_column(const struct group *group, struct pipe_run *run, uint32_t m,
                                        unsigned char *const *rows, uint32_t count, struct vec *out)
{
    const struct group_aggregate *aggregate = &group->aggregates[m];
    const enum exec_aggregate_function function = aggregate->measure.function;
    uint64_t *valid = nu_arena_calloc(run->scratch, BATCH_WORDS * sizeof *valid, 8);
    void *data;

    if (function == EXEC_AGG_HISTOGRAM) {
        return group_histogram_column(group, run, m, rows, count, out);
    }
    if (aggregate->form == GROUP_BEST || function == EXEC_AGG_MODE ||
        function == EXEC_AGG_QUANTILE_DISC) {
        return chosen_column(group, run, aggregate, rows, count, out);
    }
    if (valid == NULL ||
        !vec_alloc(aggregate->measure.type.kind, count, run->scratch, out, &data)) {
        return group_fail_memory(group, run->scratch);
    }
    switch (function) {
        case EXEC_AGG_COUNT_DISTINCT:
            count_column(aggregate, rows, count, out, data, valid);
            return PUSH_MORE;
        case EXEC_AGG_QUANTILE_CONT:
            return quantile_column(group, run, aggregate, rows, count, out, data, valid);
        case EXEC_AGG_STRING_AGG:
            return text_column(group, run, aggregate, rows, count, out, data, valid);
        default: return distinct_column(group, run, m, rows, count, out, data, valid);
    }
}
