#include "hash/hash_vec.h"
#include "op/group_phase.h"
#include "op/group_tuples.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of states, as a client sends them, into groups. Nothing is believed: what is not exactly as
 * op/group_phase.h says is refused. */

enum { HEADER_BYTES_MAX = 4 + 2 * (EXEC_KEYS_MAX + 2), TUPLE_BYTES_MAX = 1024 };

/* ---- what the states of an aggregate are --------------------------------------------------------
 */

bool group_measure_counts(const struct group_measure *measure)
{
    return measure->function == EXEC_AGG_COUNT_STAR ||
           (measure->function == EXEC_AGG_COUNT && !measure->distinct);
}

const struct exec_type *group_state_type(const struct group_aggregate *aggregate)
{
    static const struct exec_type counted = {.kind = EXEC_TYPE_BOOL};

    return group_measure_counts(&aggregate->measure) ? &counted
                                                     : expr_type(aggregate->measure.argument);
}

enum agg_state_kind group_state_kind(const struct group_aggregate *aggregate)
{
    const enum vec_storage storage =
        aggregate->form == GROUP_HASHED ? VEC_U64 : vec_storage(group_state_type(aggregate)->kind);

    return agg_state_kind(aggregate->measure.function, storage);
}

/* ---- errors -------------------------------------------------------------------------------------
 */

static bool fail_state(const struct group *group, uint32_t m, const char *why)
{
    struct exec_error err;

    EXEC_FAIL(&err, EXEC_BAD_DATA, "measure %" PRIu32 ", %s: a state is not one of PARTIAL: %s",
              m + 1, group_function_name(group->aggregates[m].measure.function), why);
    group_fail(group, &err);
    return false;
}

static const char *check_header(const struct group_aggregate *aggregate, struct state_reader *in)
{
    unsigned char wanted[HEADER_BYTES_MAX];
    unsigned char found[HEADER_BYTES_MAX];
    struct state_writer writer = {.bytes = wanted};

    group_state_header(aggregate, &writer);
    if (!state_read(in, found, writer.size)) {
        return "it is shorter than its header";
    }
    if (found[0] != GROUP_STATE_VERSION) {
        return "its version is another";
    }
    return memcmp(found, wanted, writer.size) == 0
               ? NULL
               : "it is of another function, or of arguments of other types";
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

/* A value into its place; long strings are borrowed. */
static const char *read_value(struct state_reader *in, const struct exec_type *type,
                              const struct row_column *column, unsigned char *tuple)
{
    unsigned char *value = tuple + column->offset;
    uint32_t size;

    if (vec_storage(type->kind) != VEC_VIEW) {
        if (!state_read(in, value, column->width)) {
            return "a row is cut short";
        }
        return state_value_check(type, value) ? NULL : "a value is none of its type";
    }
    if (!state_read_u32(in, &size) || size > in->left) {
        return "a row is cut short";
    }
    const char *why = state_text_check(type, in->bytes, size);
    if (why != NULL) {
        return why;
    }
    const struct string_view view = string_view_make((const char *)in->bytes, size);
    memcpy(value, &view, sizeof view);
    in->bytes += size;
    in->left -= size;
    return NULL;
}

/* Columns in which a row that counts has no NULL. */
static bool must_be_there(const struct group_aggregate *aggregate, uint32_t column)
{
    return !aggregate->keeps_nulls &&
           column < group_function(aggregate->measure.function)->argument_count;
}

static const char *read_tuple(const struct group_aggregate *aggregate, struct state_reader *in,
                              unsigned char *tuple)
{
    const struct group_measure *measure = &aggregate->measure;
    const struct row_layout *layout = &aggregate->tuple;
    uint8_t there;

    memset(tuple, 0, layout->row_bytes);
    if (aggregate->form == GROUP_TALLY) {
        uint64_t count;
        if (!state_read_u64(in, &count)) {
            return "a row is cut short";
        }
        if (count == 0 || count > UINT64_C(1) << AGG_STATE_COUNT_MAX_BITS) {
            return "a count is 0 or above 2^40";
        }
        *tuple_tally(tuple) = count;
    }
    for (uint32_t c = 0; c < layout->column_count; c++) {
        const struct row_column *column = &layout->columns[c];
        const struct exec_type *type =
            expr_type(c == 0 ? measure->argument : measure->others[c - 1]);
        if (!state_read_u8(in, &there) || there > 1) {
            return "a row is cut short";
        }
        if (there == 0 && must_be_there(aggregate, c)) {
            return "a value is missing";
        }
        if (there == 0) {
            continue;
        }
        tuple[column->validity_byte] |= column->validity_bit;
        const char *why = read_value(in, type, column, tuple);
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

/* The hash a set keeps with its values. */
static void hash_tuple(const struct group *group, const struct group_aggregate *aggregate,
                       unsigned char *tuple)
{
    const struct row_column *column = &aggregate->tuple.columns[0];
    const struct batch batch = {.row_count = 1, .sel_count = 1};
    const struct vec value = {
        .data = tuple + column->offset, .kind = column->kind, .constant = true};
    uint64_t hash;

    hash_keys(&batch, &value, 1, group->job->hash_bits_kept, &hash);
    memcpy(tuple, &hash, sizeof hash);
}

static bool take_tuples(const struct group *group, uint32_t m, struct state_reader *in,
                        unsigned char *state, struct nu_arena *strings)
{
    const struct group_aggregate *aggregate = &group->aggregates[m];
    _Alignas(16) unsigned char tuple[TUPLE_BYTES_MAX];

    for (uint64_t t = 0; in->left != 0; t++) {
        const char *why = aggregate->form == GROUP_BEST && t > 0 ? "it has more than one row"
                                                                 : read_tuple(aggregate, in, tuple);
        if (why != NULL) {
            return fail_state(group, m, why);
        }
        if (group_form_is_set(aggregate->form)) {
            hash_tuple(group, aggregate, tuple);
        }
        if (!group_tuple_take(aggregate, state, tuple, strings)) {
            return false;
        }
    }
    return true;
}

/* ---- one column ---------------------------------------------------------------------------------
 */

static bool take_state(const struct group *group, uint32_t m, const struct string_view *bytes,
                       unsigned char *row, struct nu_arena *strings)
{
    const struct group_aggregate *aggregate = &group->aggregates[m];
    struct state_reader in = {.bytes = (const unsigned char *)string_view_bytes(bytes),
                              .left = bytes->size};
    unsigned char *state = row + aggregate->state_offset;
    const char *why = check_header(aggregate, &in);

    if (why != NULL) {
        return fail_state(group, m, why);
    }
    if (aggregate->form == GROUP_BEST || group_form_keeps(aggregate->form)) {
        return take_tuples(group, m, &in, state, strings);
    }
    switch (agg_state_take(group_state_kind(aggregate), group_state_type(aggregate),
                           aggregate->kernel, &in, state, strings, &why)) {
        case AGG_STATE_TAKEN: return true;
        case AGG_STATE_NO_MEMORY: return false;
        default: return fail_state(group, m, why);
    }
}

bool group_states_take(const struct group *group, uint32_t m, const struct vec *states,
                       const uint16_t *source, uint32_t count, unsigned char *const *rows,
                       struct nu_arena *strings)
{
    const struct string_view *views = states->data;

    for (uint32_t i = 0; i < count; i++) {
        if (vec_is_valid(states, source[i]) &&
            !take_state(group, m, &views[states->constant ? 0 : source[i]], rows[i], strings)) {
            return false;
        }
    }
    return true;
}
