#include "expr/value_text.h"
#include "kernel/agg_state.h"
#include "op/group_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Counted values as a text. */

enum { TEXT_BYTES_MAX = 1 << 30, COUNT_BYTES = 24 };

static uint64_t count_of(const struct group_aggregate *aggregate, unsigned char *tuple)
{
    return aggregate->form == GROUP_TALLY ? *tuple_tally(tuple) : 1; /* else distinct */
}

/* A text that would not be read back as itself. */
static bool wants_quotes(const char *text, size_t size)
{
    static const char special[] = "[](){}\"'\\,=:";

    if (size == 0 || text[0] == ' ' || text[size - 1] == ' ' ||
        (size == 4 && strncasecmp(text, "null", 4) == 0)) {
        return true;
    }
    for (size_t i = 0; i < size; i++) {
        if (memchr(special, text[i], sizeof special - 1) != NULL) {
            return true;
        }
    }
    return false;
}

static void write_text(struct state_writer *out, const char *text, size_t size)
{
    if (!wants_quotes(text, size)) {
        state_write(out, text, size);
        return;
    }
    state_write_u8(out, '\'');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\'' || text[i] == '\\') {
            state_write_u8(out, '\\');
        }
        state_write_u8(out, (uint8_t)text[i]);
    }
    state_write_u8(out, '\'');
}

static void write_value(const struct group_aggregate *aggregate, const unsigned char *tuple,
                        struct state_writer *out)
{
    const struct exec_type *type = expr_type(aggregate->measure.argument);
    const void *value = tuple + aggregate->tuple.columns[0].offset;
    const struct string_view *view = value;
    char text[VALUE_TEXT_BYTES];

    if (type->kind == EXEC_TYPE_UTF8) {
        write_text(out, string_view_bytes(view), view->size);
    } else {
        write_text(out, text, value_text(type, value, text));
    }
}

static void write_all(const struct group_aggregate *aggregate, const struct tuple_list *list,
                      struct state_writer *out)
{
    for (uint64_t i = 0; i < list->count; i++) {
        char count[COUNT_BYTES];
        state_write(out, i == 0 ? "{" : ", ", i == 0 ? 1 : 2);
        write_value(aggregate, list->tuples[i], out);
        const int size =
            snprintf(count, sizeof count, "=%" PRIu64, count_of(aggregate, list->tuples[i]));
        state_write(out, count, (size_t)size);
    }
    state_write_u8(out, '}');
}

static enum push_result fail_limit(const struct group *group, uint32_t m, const char *what,
                                   uint64_t found, int most)
{
    struct exec_error err;

    EXEC_FAIL(&err, EXEC_LIMIT, "measure %" PRIu32 ", histogram: %s of %" PRIu64 ", at most %d",
              m + 1, what, found, most);
    return group_fail(group, &err);
}

/* The text of one group; the caller rewinds what is behind it. */
static enum push_result one_histogram(const struct group *group, struct pipe_run *run, uint32_t m,
                                      const unsigned char *row, struct string_view *view_out)
{
    const struct group_aggregate *aggregate = &group->aggregates[m];
    const uint64_t values = tuple_count(aggregate, row);
    struct tuple_cursor cursor = tuple_cursor_begin(aggregate, row);
    struct state_writer writer = {.bytes = NULL};
    struct tuple_list list = {.count = 1};
    unsigned char *tuple;

    if (values > GROUP_HISTOGRAM_VALUES_MAX) {
        return fail_limit(group, m, "a number of values", values, GROUP_HISTOGRAM_VALUES_MAX);
    }
    while ((tuple = tuple_cursor_next(aggregate, &cursor)) != NULL) {
        list.tuples = &tuple;
        write_all(aggregate, &list, &writer);
    }
    writer.size += 2 * values;
    if (writer.size > TEXT_BYTES_MAX) {
        return fail_limit(group, m, "a text of bytes", writer.size, TEXT_BYTES_MAX);
    }
    writer.bytes = nu_arena_alloc(run->scratch, writer.size + 1, 1);
    if (writer.bytes == NULL) {
        return group_fail_memory(group, run->scratch);
    }
    const struct nu_arena_mark mark = nu_arena_mark(run->scratch);
    const enum exec_code code = group_order(group, aggregate, row, run->scratch, &list);
    if (code != EXEC_OK) {
        return code == EXEC_CANCELLED ? PUSH_FAILED : group_fail_memory(group, run->scratch);
    }
    writer.size = 0;
    write_all(aggregate, &list, &writer);
    nu_arena_rewind(run->scratch, mark);
    *view_out = string_view_make((const char *)writer.bytes, (uint32_t)writer.size);
    return PUSH_MORE;
}

enum push_result group_histogram_column(const struct group *group, struct pipe_run *run, uint32_t m,
                                        unsigned char *const *rows, uint32_t count, struct vec *out)
{
    uint64_t *valid = nu_arena_calloc(run->scratch, BATCH_WORDS * sizeof *valid, 8);
    struct string_view *views;
    void *data;

    if (valid == NULL || !vec_alloc(EXEC_TYPE_UTF8, count, run->scratch, out, &data)) {
        return group_fail_memory(group, run->scratch);
    }
    views = data;
    for (uint32_t i = 0; i < count; i++) {
        views[i] = (struct string_view){.size = 0};
        if (tuple_count(&group->aggregates[m], rows[i]) == 0) {
            continue;
        }
        if (one_histogram(group, run, m, rows[i], &views[i]) != PUSH_MORE) {
            return PUSH_FAILED;
        }
        valid[i / 64] |= UINT64_C(1) << i % 64;
    }
    out->valid = valid;
    return PUSH_MORE;
}
