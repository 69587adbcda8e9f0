#include "op/group_tuples.h"

#include "hash/hash_vec.h"
#include "vec/value.h"

#include <assert.h>
#include <string.h>

enum {
    TUPLE_BYTES_MAX = 1024, /* a hash, EXEC_KEYS_MAX sort keys and two arguments, with room */
    SLOT_BITS_FIRST = 2,
    CHUNK_ROWS_FIRST = 4,
    CHUNK_BYTES_LAST = 64 << 10,
};

static bool keeps_tuples(enum group_form form)
{
    return form == GROUP_BEST || group_form_keeps(form);
}

bool group_tuples_init(const struct group *group, struct group_aggregate *aggregate)
{
    const struct group_measure *measure = &aggregate->measure;
    struct nu_arena *arena = &group->job->plan;
    const uint32_t count = 1 + measure->other_count;

    if (!keeps_tuples(aggregate->form)) {
        aggregate->state_bytes = aggregate->kernel->state_bytes;
        return true;
    }
    struct exec_type *types = nu_arena_alloc(arena, count * sizeof *types, 8);
    if (types == NULL) {
        return false;
    }
    types[0] = *expr_type(measure->argument);
    for (uint32_t o = 0; o < measure->other_count; o++) {
        types[1 + o] = *expr_type(measure->others[o]);
    }
    aggregate->state_bytes = aggregate->form == GROUP_BEST  ? sizeof(struct tuple_best)
                             : aggregate->form == GROUP_BAG ? sizeof(struct tuple_bag)
                                                            : sizeof(struct tuple_set);
    return row_layout_init(&aggregate->tuple, arena, types, count,
                           aggregate->form == GROUP_SET     ? sizeof(uint64_t)
                           : aggregate->form == GROUP_TALLY ? TALLY_PREFIX_BYTES
                                                            : 0);
}

/* ---- order --------------------------------------------------------------------------------------
 */

static int column_order(const struct row_layout *layout, uint32_t c, enum exec_direction direction,
                        const unsigned char *a, const unsigned char *b)
{
    const bool a_valid = row_is_valid(&layout->columns[c], a);
    const bool b_valid = row_is_valid(&layout->columns[c], b);

    if (a_valid && b_valid) {
        const int order = row_compare(layout, c, a, b);
        return direction >= EXEC_DESC_NULLS_LAST ? -order : order;
    }
    const int null_order = (int)b_valid - (int)a_valid; /* a null comes last */
    return direction == EXEC_ASC_NULLS_FIRST || direction == EXEC_DESC_NULLS_FIRST ? -null_order
                                                                                   : null_order;
}

int tuple_order(const struct group_aggregate *aggregate, const unsigned char *a,
                const unsigned char *b)
{
    const struct group_measure *measure = &aggregate->measure;
    int order = 0;

    for (uint32_t o = 0; order == 0 && o < measure->other_count; o++) {
        enum exec_direction direction = EXEC_ASC_NULLS_LAST;
        if (measure->function == EXEC_AGG_ARG_MAX) {
            direction = EXEC_DESC_NULLS_LAST;
        } else if (measure->function != EXEC_AGG_ARG_MIN) {
            direction = measure->directions[o];
        }
        order = column_order(&aggregate->tuple, 1 + o, direction, a, b);
    }
    if (order == 0) {
        order = column_order(
            &aggregate->tuple, 0,
            measure->own_direction == 0 ? EXEC_ASC_NULLS_LAST : measure->own_direction, a, b);
    }
    return measure->function == EXEC_AGG_LAST ? -order : order;
}

/* ---- tuples -------------------------------------------------------------------------------------
 */

/* Writes a row of the inputs; long strings are borrowed. */
static void tuple_borrow(const struct row_layout *layout, const struct vec *inputs, uint32_t row,
                         unsigned char *tuple)
{
    memset(tuple, 0, layout->row_bytes);
    for (uint32_t c = 0; c < layout->column_count; c++) {
        const struct row_column *column = &layout->columns[c];
        const struct vec *vec = &inputs[c];
        const size_t at = vec->constant ? 0 : row;
        unsigned char *to = tuple + column->offset;
        if (!vec_is_valid(vec, row)) {
            continue;
        }
        tuple[column->validity_byte] |= column->validity_bit;
        memcpy(to, (const unsigned char *)vec->data + at * column->width, column->width);
        if (column->kind == EXEC_TYPE_FLOAT64) {
            const uint64_t bits = value_float64_bits(*(const double *)(const void *)to);
            memcpy(to, &bits, sizeof bits);
        } else if (column->kind == EXEC_TYPE_FLOAT32) {
            const uint32_t bits = value_float32_bits(*(const float *)(const void *)to);
            memcpy(to, &bits, sizeof bits);
        }
    }
}

/* Room kept behind a tuple of BEST: how long a string fits the buffer a column has. */
static uint32_t *capacities(const struct row_layout *layout, unsigned char *tuple)
{
    return (uint32_t *)(void *)(tuple + layout->row_bytes);
}

/* Copies the tuple with its long strings; `room` NULL: into new memory. */
static bool tuple_copy(const struct row_layout *layout, const unsigned char *from,
                       unsigned char *to, uint32_t *room, struct nu_arena *strings)
{
    for (uint32_t c = 0; layout->has_strings && c < layout->column_count; c++) {
        const struct row_column *column = &layout->columns[c];
        struct string_view view;
        char *buffer = NULL;
        if (column->kind != EXEC_TYPE_UTF8 && column->kind != EXEC_TYPE_BINARY) {
            continue;
        }
        memcpy(&view, from + column->offset, sizeof view);
        if (view.size <= STRING_INLINE_BYTES) {
            if (room != NULL) {
                room[c] = 0; /* the buffer is forgotten: a view has no room for both */
            }
            memcpy(to + column->offset, &view, sizeof view);
            continue;
        }
        if (room != NULL && view.size <= room[c]) {
            memcpy(&buffer, to + column->offset + sizeof view.size + STRING_PREFIX_BYTES,
                   sizeof buffer);
        } else {
            const bool grows = room != NULL && view.size < UINT32_MAX / 2;
            const uint32_t bytes = grows ? view.size + view.size / 2 : view.size;
            buffer = nu_arena_alloc(strings, bytes, 1);
            if (buffer == NULL) {
                return false;
            }
            if (room != NULL) {
                room[c] = bytes;
            }
        }
        memcpy(buffer, string_view_bytes(&view), view.size);
        view = string_view_make(buffer, view.size);
        memcpy(to + column->offset, &view, sizeof view);
    }
    for (uint32_t b = 0; b < layout->row_bytes && !layout->has_strings; b += 8) {
        memcpy(to + b, from + b, 8);
    }
    if (!layout->has_strings) {
        return true;
    }
    for (uint32_t c = 0; c < layout->column_count; c++) {
        const struct row_column *column = &layout->columns[c];
        if (column->kind != EXEC_TYPE_UTF8 && column->kind != EXEC_TYPE_BINARY) {
            memcpy(to + column->offset, from + column->offset, column->width);
        }
        const uint8_t bit = from[column->validity_byte] & column->validity_bit;
        to[column->validity_byte] =
            (uint8_t)((to[column->validity_byte] & ~column->validity_bit) | bit);
    }
    memcpy(to, from, layout->prefix_bytes);
    return true;
}

/* ---- BEST ---------------------------------------------------------------------------------------
 */

static bool best_take(const struct group_aggregate *aggregate, struct tuple_best *state,
                      const unsigned char *tuple, struct nu_arena *strings)
{
    const struct row_layout *layout = &aggregate->tuple;

    if (state->tuple == NULL) {
        state->tuple = nu_arena_calloc(
            strings, layout->row_bytes + layout->column_count * sizeof(uint32_t), 16);
        if (state->tuple == NULL) {
            return false;
        }
    } else if (tuple_order(aggregate, tuple, state->tuple) >= 0) {
        return true;
    }
    return tuple_copy(layout, tuple, state->tuple, capacities(layout, state->tuple), strings);
}

/* ---- SET ----------------------------------------------------------------------------------------
 */

static uint64_t tuple_hash(const unsigned char *tuple)
{
    return *(const uint64_t *)(const void *)tuple;
}

/* The slot of the tuple, or the empty one where it belongs. */
static unsigned char **set_slot(const struct row_layout *layout, const struct tuple_set *set,
                                const unsigned char *tuple)
{
    const uint64_t mask = (UINT64_C(1) << set->slot_bits) - 1;
    /* The top bits choose partitions and the same group's values differ in all of them. */
    uint64_t slot = tuple_hash(tuple) >> (64 - set->slot_bits);

    while (set->slots[slot] != NULL &&
           (tuple_hash(set->slots[slot]) != tuple_hash(tuple) ||
            !row_equal(layout, 0, layout->column_count, set->slots[slot], tuple))) {
        slot = (slot + 1) & mask;
    }
    return &set->slots[slot];
}

/* Old slots stay in the arena: less than the new ones. */
static bool set_grow(const struct row_layout *layout, struct tuple_set *set,
                     struct nu_arena *strings)
{
    struct tuple_set grown = *set;

    if (set->slot_bits != 0 && (set->count + 1) * 2 <= UINT64_C(1) << set->slot_bits) {
        return true;
    }
    grown.slot_bits = set->slot_bits == 0 ? SLOT_BITS_FIRST : set->slot_bits + 1;
    grown.slots = nu_arena_calloc(strings, sizeof *grown.slots << grown.slot_bits, 8);
    if (grown.slots == NULL) {
        return false;
    }
    for (uint64_t s = 0; set->slot_bits != 0 && s < UINT64_C(1) << set->slot_bits; s++) {
        if (set->slots[s] != NULL) {
            *set_slot(layout, &grown, set->slots[s]) = set->slots[s];
        }
    }
    *set = grown;
    return true;
}

/* keep: the tuple is stored already and is linked, else it is copied. */
static bool set_add(const struct row_layout *layout, struct tuple_set *set, unsigned char *tuple,
                    bool keep, struct nu_arena *strings)
{
    if (!set_grow(layout, set, strings)) {
        return false;
    }
    unsigned char **slot = set_slot(layout, set, tuple);
    if (*slot != NULL && layout->prefix_bytes == TALLY_PREFIX_BYTES) {
        *tuple_tally(*slot) += *tuple_tally(tuple);
    }
    if (*slot != NULL) {
        return true;
    }
    if (!keep) {
        unsigned char *copy = nu_arena_calloc(strings, layout->row_bytes, 16);
        if (copy == NULL || !tuple_copy(layout, tuple, copy, NULL, strings)) {
            return false;
        }
        tuple = copy;
    }
    *slot = tuple;
    set->count++;
    return true;
}

/* ---- BAG ----------------------------------------------------------------------------------------
 */

static bool bag_add(const struct row_layout *layout, struct tuple_bag *bag,
                    const unsigned char *tuple, struct nu_arena *strings)
{
    struct tuple_chunk *chunk = bag->last;

    if (chunk == NULL || chunk->count == chunk->capacity) {
        uint32_t rows = chunk == NULL ? CHUNK_ROWS_FIRST : 2 * chunk->capacity;
        if (rows > CHUNK_ROWS_FIRST && rows > CHUNK_BYTES_LAST / layout->row_bytes) {
            rows = chunk->capacity;
        }
        struct tuple_chunk *more =
            nu_arena_alloc(strings, sizeof *more + (size_t)rows * layout->row_bytes, 16);
        if (more == NULL) {
            return false;
        }
        *more = (struct tuple_chunk){.capacity = rows};
        if (chunk == NULL) {
            bag->first = more;
        } else {
            chunk->next = more;
        }
        bag->last = chunk = more;
    }
    unsigned char *to = chunk->rows + (size_t)chunk->count * layout->row_bytes;
    memset(to, 0, layout->row_bytes);
    if (!tuple_copy(layout, tuple, to, NULL, strings)) {
        return false;
    }
    chunk->count++;
    bag->count++;
    return true;
}

static void bag_join(struct tuple_bag *into, const struct tuple_bag *from)
{
    if (from->count == 0) {
        return;
    }
    if (into->count == 0) {
        *into = *from;
        return;
    }
    /* What is free in into's last chunk stays so. */
    into->last->next = from->first;
    into->last = from->last;
    into->count += from->count;
}

/* ---- all of them --------------------------------------------------------------------------------
 */

/* Whether a row counts: its filter, and its arguments are present unless NULLs are kept. */
static bool row_counts(const struct group_aggregate *aggregate, const struct group_rows *from,
                       uint32_t row)
{
    const struct vec *inputs = &from->inputs[aggregate->input];
    const bool pair = group_function(aggregate->measure.function)->argument_count == 2;

    if (aggregate->gate != UINT32_MAX) {
        const struct vec *gate = &from->inputs[aggregate->gate];
        if (!vec_is_valid(gate, row) ||
            ((const uint8_t *)gate->data)[gate->constant ? 0 : row] == 0) {
            return false;
        }
    }
    return aggregate->keeps_nulls ||
           (vec_is_valid(&inputs[0], row) && (!pair || vec_is_valid(&inputs[1], row)));
}

bool group_tuple_take(const struct group_aggregate *aggregate, void *state, unsigned char *tuple,
                      struct nu_arena *strings)
{
    switch (aggregate->form) {
        case GROUP_BEST: return best_take(aggregate, state, tuple, strings);
        case GROUP_SET:
        case GROUP_TALLY: return set_add(&aggregate->tuple, state, tuple, false, strings);
        default: return bag_add(&aggregate->tuple, state, tuple, strings);
    }
}

bool group_tuples_update(const struct group *group, const struct group_aggregate *aggregate,
                         const struct group_rows *from, const uint16_t *positions, uint32_t count,
                         unsigned char *const *rows, struct nu_arena *strings)
{
    const struct row_layout *layout = &aggregate->tuple;
    const struct vec *inputs = &from->inputs[aggregate->input];
    _Alignas(16) unsigned char tuple[TUPLE_BYTES_MAX];
    uint64_t hashes[BATCH_ROWS];
    bool ok = true;

    assert(layout->row_bytes <= TUPLE_BYTES_MAX);
    if (group_form_is_set(aggregate->form)) {
        hash_keys(from->batch, inputs, layout->column_count, group->job->hash_bits_kept, hashes);
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        const uint32_t row = batch_row(from->batch, positions[i]);
        void *state = rows[i] + aggregate->state_offset;
        if (!row_counts(aggregate, from, row)) {
            continue;
        }
        tuple_borrow(layout, inputs, row, tuple);
        if (group_form_is_set(aggregate->form)) {
            memcpy(tuple, &hashes[positions[i]], sizeof hashes[0]);
        }
        if (aggregate->form == GROUP_TALLY) {
            *tuple_tally(tuple) = 1;
        }
        ok = group_tuple_take(aggregate, state, tuple, strings);
    }
    return ok;
}

static void best_join(const struct group_aggregate *aggregate, struct tuple_best *into,
                      const struct tuple_best *from)
{
    if (from->tuple != NULL &&
        (into->tuple == NULL || tuple_order(aggregate, from->tuple, into->tuple) < 0)) {
        into->tuple = from->tuple;
    }
}

static bool set_join(const struct row_layout *layout, struct tuple_set *into,
                     const struct tuple_set *from, struct nu_arena *strings)
{
    if (into->count == 0) {
        *into = *from;
        return true;
    }
    for (uint64_t s = 0; from->slot_bits != 0 && s < UINT64_C(1) << from->slot_bits; s++) {
        if (from->slots[s] != NULL && !set_add(layout, into, from->slots[s], true, strings)) {
            return false;
        }
    }
    return true;
}

bool group_tuples_combine(const struct group_aggregate *aggregate, unsigned char *const *into,
                          unsigned char *const *from, uint32_t count, struct nu_arena *strings)
{
    for (uint32_t i = 0; i < count; i++) {
        void *state = into[i] + aggregate->state_offset;
        const void *other = from[i] + aggregate->state_offset;
        switch (aggregate->form) {
            case GROUP_BEST: best_join(aggregate, state, other); break;
            case GROUP_SET:
            case GROUP_TALLY:
                if (!set_join(&aggregate->tuple, state, other, strings)) {
                    return false;
                }
                break;
            default: bag_join(state, other); break;
        }
    }
    return true;
}
