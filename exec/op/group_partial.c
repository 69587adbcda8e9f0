#include "op/group_order.h"
#include "op/group_phase.h"

#include <inttypes.h>

/* States of groups to bytes, each in two passes: how many, then into memory of that size. */

/* ---- header -------------------------------------------------------------------------------------
 */

static void write_column(struct state_writer *out, const struct exec_type *type)
{
    state_write_u8(out, type->kind);
    state_write_u8(out, type->kind == EXEC_TYPE_DECIMAL128  ? (uint8_t)type->scale
                        : type->kind == EXEC_TYPE_TIMESTAMP ? (uint8_t)type->unit
                                                            : 0);
}

void group_state_header(const struct group_aggregate *aggregate, struct state_writer *out)
{
    const struct group_measure *measure = &aggregate->measure;
    const bool counts = group_measure_counts(measure);
    const uint8_t forms[] = {[GROUP_BEST] = 1, [GROUP_SET] = 2, [GROUP_BAG] = 3, [GROUP_TALLY] = 4};

    state_write_u8(out, GROUP_STATE_VERSION);
    state_write_u8(out, (uint8_t)measure->function);
    state_write_u8(out, aggregate->form > GROUP_HASHED ? forms[aggregate->form] : 0);
    state_write_u8(out, counts ? 0 : (uint8_t)(1 + measure->other_count));
    if (counts) {
        return;
    }
    write_column(out, expr_type(measure->argument));
    for (uint32_t o = 0; o < measure->other_count; o++) {
        write_column(out, expr_type(measure->others[o]));
    }
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static void write_tuple(const struct group_aggregate *aggregate, const unsigned char *tuple,
                        struct state_writer *out)
{
    if (aggregate->form == GROUP_TALLY) {
        state_write_u64(out, *tuple_tally((unsigned char *)(uintptr_t)tuple));
    }
    for (uint32_t c = 0; c < aggregate->tuple.column_count; c++) {
        const struct row_column *column = &aggregate->tuple.columns[c];
        const unsigned char *value = tuple + column->offset;
        state_write_u8(out, row_is_valid(column, tuple));
        if (!row_is_valid(column, tuple)) {
            continue;
        }
        if (vec_storage(column->kind) == VEC_VIEW) {
            const struct string_view *view = (const void *)value;
            state_write_u32(out, view->size);
            state_write(out, string_view_bytes(view), view->size);
        } else {
            state_write(out, value, column->width);
        }
    }
}

/* EXEC_OK, or what group_order says. */
static enum exec_code write_tuples(const struct group *group,
                                   const struct group_aggregate *aggregate,
                                   const unsigned char *row, struct nu_arena *scratch,
                                   struct state_writer *out)
{
    struct tuple_cursor cursor = tuple_cursor_begin(aggregate, row);
    struct tuple_list list;
    unsigned char *tuple;

    if (out->bytes == NULL) {
        while ((tuple = tuple_cursor_next(aggregate, &cursor)) != NULL) {
            write_tuple(aggregate, tuple, out);
        }
        return EXEC_OK;
    }
    const enum exec_code code = group_order(group, aggregate, row, scratch, &list);
    for (uint64_t t = 0; code == EXEC_OK && t < list.count; t++) {
        write_tuple(aggregate, list.tuples[t], out);
    }
    return code;
}

static enum exec_code write_state(const struct group *group,
                                  const struct group_aggregate *aggregate, unsigned char *row,
                                  struct nu_arena *scratch, struct state_writer *out)
{
    const void *state = row + aggregate->state_offset;
    const struct tuple_best *best = state;

    group_state_header(aggregate, out);
    switch (aggregate->form) {
        case GROUP_BEST:
            if (best->tuple != NULL) {
                write_tuple(aggregate, best->tuple, out);
            }
            return EXEC_OK;
        case GROUP_SET:
        case GROUP_TALLY:
        case GROUP_BAG: return write_tuples(group, aggregate, row, scratch, out);
        default:
            agg_state_write(group_state_kind(aggregate), group_state_type(aggregate), state, out);
            return EXEC_OK;
    }
}

/* ---- column -------------------------------------------------------------------------------------
 */

static enum push_result fail_size(const struct group *group, uint32_t m, uint64_t bytes)
{
    struct exec_error err;

    EXEC_FAIL(&err, EXEC_LIMIT, "measure %" PRIu32 ", %s: a state of %" PRIu64 " bytes, at most %d",
              m + 1, group_function_name(group->aggregates[m].measure.function), bytes,
              GROUP_STATE_BYTES_MAX);
    return group_fail(group, &err);
}

static enum push_result one_state(const struct group *group, struct pipe_run *run, uint32_t m,
                                  unsigned char *row, struct string_view *view_out)
{
    const struct group_aggregate *aggregate = &group->aggregates[m];
    struct state_writer writer = {.bytes = NULL};

    write_state(group, aggregate, row, run->scratch, &writer);
    if (writer.size > GROUP_STATE_BYTES_MAX) {
        return fail_size(group, m, writer.size);
    }
    writer.bytes = nu_arena_alloc(run->scratch, writer.size, 1);
    if (writer.bytes == NULL) {
        return group_fail_memory(group, run->scratch);
    }
    const uint32_t size = (uint32_t)writer.size;
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    writer.size = 0;
    const enum exec_code code = write_state(group, aggregate, row, run->scratch, &writer);
    nu_arena_rewind(run->scratch, mark);
    if (code != EXEC_OK) {
        /* A job that is stopping has its reason already. */
        return code == EXEC_CANCELLED ? PUSH_FAILED : group_fail_memory(group, run->scratch);
    }
    *view_out = string_view_make((const char *)writer.bytes, size);
    return PUSH_MORE;
}

enum push_result group_state_column(const struct group *group, struct pipe_run *run, uint32_t m,
                                    unsigned char *const *rows, uint32_t count, struct vec *out)
{
    struct string_view *views;
    void *data;

    if (!vec_alloc(EXEC_TYPE_BINARY, count, run->scratch, out, &data)) {
        return group_fail_memory(group, run->scratch);
    }
    views = data;
    for (uint32_t i = 0; i < count; i++) {
        if (one_state(group, run, m, rows[i], &views[i]) != PUSH_MORE) {
            return PUSH_FAILED;
        }
    }
    return PUSH_MORE;
}
