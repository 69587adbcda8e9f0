#include "op/group_order.h"

#include "vec/value.h"
#include "vec/vec.h"

#include <string.h>

/* Merge sort over pairs of a 64-bit prefix and a tuple: most comparisons look at the prefix alone,
 * which for integers and floats says everything. */

enum { RUN_ROWS = 16, CHECK_ROWS = 64 << 10 };

struct item {
    uint64_t prefix;
    unsigned char *tuple;
};

struct sorting {
    const struct group *group;
    const struct group_aggregate *aggregate;
    bool exact; /* equal prefixes are equal tuples */
    uint64_t until_check;
};

/* ---- cursor -------------------------------------------------------------------------------------
 */

struct tuple_cursor tuple_cursor_begin(const struct group_aggregate *aggregate,
                                       const unsigned char *row)
{
    const void *state = row + aggregate->state_offset;

    if (group_form_is_set(aggregate->form)) {
        return (struct tuple_cursor){.set = state};
    }
    const struct tuple_bag *bag = state;
    return (struct tuple_cursor){.chunk = bag->first};
}

unsigned char *tuple_cursor_next(const struct group_aggregate *aggregate,
                                 struct tuple_cursor *cursor)
{
    const struct tuple_set *set = cursor->set;

    if (set != NULL) {
        while (set->slot_bits != 0 && cursor->at < UINT64_C(1) << set->slot_bits) {
            unsigned char *tuple = set->slots[cursor->at++];
            if (tuple != NULL) {
                return tuple;
            }
        }
        return NULL;
    }
    while (cursor->chunk != NULL && cursor->at == cursor->chunk->count) {
        cursor->chunk = cursor->chunk->next;
        cursor->at = 0;
    }
    return cursor->chunk == NULL ? NULL
                                 : cursor->chunk->rows + cursor->at++ * aggregate->tuple.row_bytes;
}

uint64_t tuple_count(const struct group_aggregate *aggregate, const unsigned char *row)
{
    const void *state = row + aggregate->state_offset;

    return group_form_is_set(aggregate->form) ? ((const struct tuple_set *)state)->count
                                              : ((const struct tuple_bag *)state)->count;
}

/* ---- prefixes -----------------------------------------------------------------------------------
 */

static uint64_t text_prefix(const struct string_view *view)
{
    const unsigned char *bytes = (const unsigned char *)string_view_bytes(view);
    uint64_t prefix = 0;

    for (uint32_t b = 0; b < 8; b++) {
        prefix = prefix << 8 | (b < view->size ? bytes[b] : 0);
    }
    return prefix;
}

static uint64_t float_prefix(double value)
{
    const uint64_t bits = value_float64_bits(value);
    return bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

#define SIGNED_PREFIX(c_type) \
    ((uint64_t)(int64_t) * (const c_type *)(const void *)value ^ UINT64_C(1) << 63)
#define UNSIGNED_PREFIX(c_type) ((uint64_t) * (const c_type *)(const void *)value)

/* In the type's ascending order. */
static uint64_t prefix_of(enum vec_storage storage, const unsigned char *value)
{
    switch (storage) {
        case VEC_I8: return SIGNED_PREFIX(int8_t);
        case VEC_I16: return SIGNED_PREFIX(int16_t);
        case VEC_I32: return SIGNED_PREFIX(int32_t);
        case VEC_I64: return SIGNED_PREFIX(int64_t);
        case VEC_U8: return UNSIGNED_PREFIX(uint8_t);
        case VEC_U16: return UNSIGNED_PREFIX(uint16_t);
        case VEC_U32: return UNSIGNED_PREFIX(uint32_t);
        case VEC_U64: return UNSIGNED_PREFIX(uint64_t);
        case VEC_F32: return float_prefix((double)*(const float *)(const void *)value);
        case VEC_F64: return float_prefix(*(const double *)(const void *)value);
        case VEC_DECIMAL:
            return (uint64_t)(*(const vec_decimal *)(const void *)value >> 64) ^ UINT64_C(1) << 63;
        default: return text_prefix((const struct string_view *)(const void *)value);
    }
}

static void make_items(struct sorting *sorting, const unsigned char *row, struct item *items)
{
    const struct group_aggregate *aggregate = sorting->aggregate;
    const struct row_column *column = &aggregate->tuple.columns[0];
    const enum vec_storage storage = vec_storage(column->kind);
    const bool prefixed = aggregate->measure.other_count == 0; /* then the value is not NULL */
    const bool descending = aggregate->measure.own_direction >= EXEC_DESC_NULLS_LAST;
    struct tuple_cursor cursor = tuple_cursor_begin(aggregate, row);
    unsigned char *tuple;

    sorting->exact = prefixed && storage != VEC_DECIMAL && storage != VEC_VIEW;
    for (uint64_t i = 0; (tuple = tuple_cursor_next(aggregate, &cursor)) != NULL; i++) {
        const uint64_t prefix = prefixed ? prefix_of(storage, tuple + column->offset) : 0;
        items[i] = (struct item){.prefix = descending ? ~prefix : prefix, .tuple = tuple};
    }
}

/* ---- sort ---------------------------------------------------------------------------------------
 */

static bool comes_before(const struct sorting *sorting, const struct item *a, const struct item *b)
{
    if (a->prefix != b->prefix) {
        return a->prefix < b->prefix;
    }
    return !sorting->exact && tuple_order(sorting->aggregate, a->tuple, b->tuple) < 0;
}

static void sort_run(const struct sorting *sorting, struct item *items, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        const struct item moving = items[i];
        uint64_t to = i;
        for (; to > 0 && comes_before(sorting, &moving, &items[to - 1]); to--) {
            items[to] = items[to - 1];
        }
        items[to] = moving;
    }
}

static void merge(const struct sorting *sorting, const struct item *from, uint64_t left_count,
                  uint64_t count, struct item *to)
{
    uint64_t left = 0;
    uint64_t right = left_count;

    for (uint64_t i = 0; i < count; i++) {
        const bool take_right = left == left_count ||
                                (right < count && comes_before(sorting, &from[right], &from[left]));
        to[i] = from[take_right ? right++ : left++];
    }
}

/* A stop is seen within about a millisecond. false: the job is stopping. */
static bool keep_going(struct sorting *sorting, uint64_t rows)
{
    if (rows < sorting->until_check) {
        sorting->until_check -= rows;
        return true;
    }
    sorting->until_check = CHECK_ROWS;
    return !job_is_stopping(sorting->group->job);
}

/* Sorts `items`; the result is in the array returned. NULL: the job is stopping. */
static struct item *sort_items(struct sorting *sorting, struct item *items, struct item *other,
                               uint64_t count)
{
    for (uint64_t begin = 0; begin < count; begin += RUN_ROWS) {
        sort_run(sorting, items + begin, count - begin < RUN_ROWS ? count - begin : RUN_ROWS);
    }
    for (uint64_t width = RUN_ROWS; width < count; width *= 2) {
        for (uint64_t begin = 0; begin < count; begin += 2 * width) {
            const uint64_t rest = count - begin;
            const uint64_t both = rest < 2 * width ? rest : 2 * width;
            if (!keep_going(sorting, both)) {
                return NULL;
            }
            merge(sorting, items + begin, both < width ? both : width, both, other + begin);
        }
        struct item *swapped = items;
        items = other;
        other = swapped;
    }
    return items;
}

enum exec_code group_order(const struct group *group, const struct group_aggregate *aggregate,
                           const unsigned char *row, struct nu_arena *scratch,
                           struct tuple_list *list_out)
{
    const uint64_t count = tuple_count(aggregate, row);
    struct item *items = nu_arena_alloc(scratch, (count + 1) * sizeof *items, 16);
    struct item *other = nu_arena_alloc(scratch, (count + 1) * sizeof *other, 16);
    struct sorting sorting = {.group = group, .aggregate = aggregate, .until_check = CHECK_ROWS};

    if (items == NULL || other == NULL) {
        return EXEC_MEMORY_BUDGET;
    }
    make_items(&sorting, row, items);
    struct item *sorted = sort_items(&sorting, items, other, count);
    if (sorted == NULL) {
        return EXEC_CANCELLED;
    }
    list_out->tuples = (unsigned char **)(void *)(sorted == items ? other : items);
    list_out->count = count;
    for (uint64_t i = 0; i < count; i++) {
        list_out->tuples[i] = sorted[i].tuple;
    }
    return EXEC_OK;
}
