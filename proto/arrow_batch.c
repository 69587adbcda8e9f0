#include "arrow_batch.h"

#include "arrow_column.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* More rows than any body could hold, and few enough that rows * 16 cannot overflow. */
#define ROWS_MAX (INT64_MAX / 32)

/* The walk over a message's nodes and buffers, in the order of the fields. */
struct walk {
    const struct arrow_message *message;
    const uint8_t *body;
    size_t body_bytes;
    uint32_t node, buffer;
    struct exec_error *err;
};

/* Offsets of a column without rows, where writers may leave the buffer out. */
static const int64_t no_offsets[1];

static const struct exec_column_buffers empty_dictionary = {
    .type = {.kind = EXEC_TYPE_UTF8}, .offsets = no_offsets, .offset_bytes = 8};

static enum exec_code buffer_next(struct walk *walk, const char *name, size_t bytes_min,
                                  const uint8_t **bytes_out, size_t *size_out)
{
    struct arrow_slice slice;

    if (walk->buffer == walk->message->buffer_count) {
        return EXEC_FAIL(walk->err, EXEC_BAD_DATA, "arrow column '%.64s': too few buffers", name);
    }
    slice = arrow_batch_buffer(walk->message, walk->buffer++);
    if (slice.offset < 0 || slice.length < 0 || (uint64_t)slice.offset > walk->body_bytes ||
        (uint64_t)slice.length > walk->body_bytes - (uint64_t)slice.offset) {
        return EXEC_FAIL(walk->err, EXEC_BAD_DATA,
                         "arrow column '%.64s': a buffer at %" PRId64 " of %" PRId64
                         " bytes is outside its body of %zu",
                         name, slice.offset, slice.length, walk->body_bytes);
    }
    if ((uint64_t)slice.length < bytes_min) {
        return EXEC_FAIL(walk->err, EXEC_BAD_DATA,
                         "arrow column '%.64s': a buffer of %" PRId64 " bytes, %zu are needed",
                         name, slice.length, bytes_min);
    }
    *bytes_out = walk->body + slice.offset;
    *size_out = (size_t)slice.length;
    return EXEC_OK;
}

static enum exec_code node_next(struct walk *walk, const char *name,
                                struct exec_column_buffers *column)
{
    struct arrow_node node;

    if (walk->node == walk->message->node_count) {
        return EXEC_FAIL(walk->err, EXEC_BAD_DATA, "arrow column '%.64s': too few field nodes",
                         name);
    }
    node = arrow_batch_node(walk->message, walk->node++);
    if (node.length != walk->message->row_count || node.length > ROWS_MAX) {
        return EXEC_FAIL(walk->err, EXEC_BAD_DATA,
                         "arrow column '%.64s': %" PRId64 " rows in a batch of %" PRId64, name,
                         node.length, walk->message->row_count);
    }
    if (node.null_count < 0 || node.null_count > node.length) {
        return EXEC_FAIL(walk->err, EXEC_BAD_DATA,
                         "arrow column '%.64s': %" PRId64 " nulls in %" PRId64 " rows", name,
                         node.null_count, node.length);
    }
    column->row_count = (uint64_t)node.length;
    column->null_count = (uint64_t)node.null_count;
    return EXEC_OK;
}

static enum exec_code validity_next(struct walk *walk, const char *name,
                                    struct exec_column_buffers *column)
{
    const size_t bytes_min = column->null_count == 0 ? 0 : (column->row_count + 7) / 8;
    size_t size;
    enum exec_code code = buffer_next(walk, name, bytes_min, &column->validity, &size);

    if (column->null_count == 0) {
        column->validity = NULL;
    }
    return code;
}

static enum exec_code offsets_next(struct walk *walk, const char *name,
                                   struct exec_column_buffers *column)
{
    const size_t bytes_min =
        column->row_count == 0 ? 0 : (column->row_count + 1) * column->offset_bytes;
    const uint8_t *offsets;
    size_t size;
    enum exec_code code = buffer_next(walk, name, bytes_min, &offsets, &size);

    column->offsets = code == EXEC_OK && size >= column->offset_bytes ? (const void *)offsets
                                                                      : (const void *)no_offsets;
    return code;
}

static size_t values_bytes_min(const struct exec_column_buffers *column)
{
    if (column->index_bytes != 0) {
        return column->row_count * column->index_bytes;
    }
    if (column->offset_bytes != 0) {
        return 0; /* the offsets say, and whoever reads them checks */
    }
    return column->type.kind == EXEC_TYPE_BOOL
               ? (column->row_count + 7) / 8
               : column->row_count * exec_type_width(column->type.kind);
}

static enum exec_code column_next(struct walk *walk, const struct arrow_field *field,
                                  struct exec_column_buffers *column)
{
    const uint8_t *values = NULL;
    enum exec_code code;

    column->type = field->type;
    column->index_bytes = field->index_bytes;
    column->offset_bytes = field->index_bytes == 0 ? field->offset_bytes : 0;
    code = node_next(walk, field->name, column);
    if (code == EXEC_OK) {
        code = validity_next(walk, field->name, column);
    }
    if (code == EXEC_OK && column->offset_bytes != 0) {
        code = offsets_next(walk, field->name, column);
    }
    if (code == EXEC_OK) {
        code = buffer_next(walk, field->name, values_bytes_min(column), &values,
                           &column->values_bytes);
    }
    column->values = values;
    return code;
}

static enum exec_code walk_end(const struct walk *walk)
{
    if (walk->node != walk->message->node_count || walk->buffer != walk->message->buffer_count) {
        return EXEC_FAIL(walk->err, EXEC_BAD_DATA,
                         "an arrow batch of %" PRIu32 " nodes and %" PRIu32
                         " buffers where the schema has %" PRIu32 " and %" PRIu32,
                         walk->message->node_count, walk->message->buffer_count, walk->node,
                         walk->buffer);
    }
    return EXEC_OK;
}

/* ---- unsigned indices ----------------------------------------------------------------------- */

/* Narrow unsigned indices become int32, since a column's indices are signed; wide ones are taken as
 * they are: one above the signed maximum reads as negative and is refused like any index outside.
 */
static bool field_widens(const struct arrow_field *field)
{
    return field->index_is_unsigned && (field->index_bytes == 1 || field->index_bytes == 2);
}

static void indices_widen(struct exec_column_buffers *column, int32_t *wide)
{
    const uint8_t *narrow = column->values;

    for (uint64_t row = 0; row < column->row_count; row++) {
        uint16_t index;
        if (column->index_bytes == 1) {
            wide[row] = narrow[row];
        } else {
            memcpy(&index, narrow + row * sizeof index, sizeof index);
            wide[row] = index;
        }
    }
    column->values = wide;
    column->values_bytes = column->row_count * sizeof *wide;
    column->index_bytes = sizeof *wide;
}

static enum exec_code dictionary_set(const struct arrow_field *field,
                                     struct arrow_dictionary *dictionary,
                                     struct exec_column_buffers *column, struct exec_error *err)
{
    if (dictionary != NULL) {
        column->dictionary = &dictionary->column;
        return EXEC_OK;
    }
    if (column->null_count != column->row_count) {
        return EXEC_FAIL(err, EXEC_BAD_DATA,
                         "arrow column '%.64s': its dictionary %" PRId64 " has not come",
                         field->name, field->dictionary_id);
    }
    column->dictionary = &empty_dictionary; /* all NULL: nobody will look into it */
    return EXEC_OK;
}

/* ---- building ------------------------------------------------------------------------------- */

/* NULL-terminated, with a reference each; NULL: no memory. */
static struct arrow_dictionary **dictionaries_hold(struct arrow_dictionary *const *dictionaries,
                                                   uint32_t count)
{
    struct arrow_dictionary **held = calloc((size_t)count + 1, sizeof(struct arrow_dictionary *));
    uint32_t at = 0;

    for (uint32_t i = 0; held != NULL && i < count; i++) {
        if (dictionaries[i] != NULL) {
            arrow_dictionary_retain(dictionaries[i]);
            held[at++] = dictionaries[i];
        }
    }
    return held;
}

static enum exec_code columns_build(struct walk *walk, const struct arrow_field *fields,
                                    uint32_t field_count,
                                    struct arrow_dictionary *const *dictionaries, int32_t *wide,
                                    struct exec_column_buffers *columns)
{
    enum exec_code code = EXEC_OK;

    for (uint32_t i = 0; i < field_count && code == EXEC_OK; i++) {
        code = column_next(walk, &fields[i], &columns[i]);
        if (code == EXEC_OK && fields[i].index_bytes != 0) {
            code = dictionary_set(&fields[i], dictionaries[i], &columns[i], walk->err);
        }
        if (code == EXEC_OK && field_widens(&fields[i])) {
            indices_widen(&columns[i], wide);
            wide += columns[i].row_count;
        }
    }
    return code == EXEC_OK ? walk_end(walk) : code;
}

/* How many widened indices to make room for. An index takes at least a byte of the body: more of
 * them than bytes means a lie about the rows or buffers that overlap. */
static enum exec_code widened_count(const struct arrow_message *message,
                                    const struct arrow_field *fields, uint32_t field_count,
                                    size_t body_bytes, size_t *count_out, struct exec_error *err)
{
    const uint64_t rows = (uint64_t)message->row_count;
    size_t count = 0;

    for (uint32_t i = 0; i < field_count; i++) {
        if (!field_widens(&fields[i])) {
            continue;
        }
        if (rows > body_bytes - count) {
            return EXEC_FAIL(err, EXEC_BAD_DATA,
                             "arrow column '%.64s': more indices than its body has bytes",
                             fields[i].name);
        }
        count += rows;
    }
    *count_out = count;
    return EXEC_OK;
}

enum exec_code arrow_batch_build(const struct arrow_message *message,
                                 const struct arrow_field *fields, uint32_t field_count, void *body,
                                 size_t body_bytes, struct arrow_dictionary *const *dictionaries,
                                 struct arrow_batch *batch, struct exec_error *err)
{
    struct walk walk = {.message = message, .body = body, .body_bytes = body_bytes, .err = err};
    const size_t columns_bytes = ((size_t)field_count + 1) * sizeof *batch->columns;
    struct exec_column_buffers *columns;
    struct arrow_dictionary **held;
    size_t wide_count = 0;
    enum exec_code code = widened_count(message, fields, field_count, body_bytes, &wide_count, err);

    if (code != EXEC_OK) {
        return code;
    }
    columns = calloc(1, columns_bytes + wide_count * sizeof(int32_t));
    if (columns == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for an arrow batch");
    }
    code = columns_build(&walk, fields, field_count, dictionaries,
                         (int32_t *)(void *)((uint8_t *)columns + columns_bytes), columns);
    if (code != EXEC_OK) {
        free(columns);
        return code;
    }
    held = dictionaries_hold(dictionaries, field_count);
    if (held == NULL) {
        free(columns);
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for an arrow batch");
    }
    *batch = (struct arrow_batch){.columns = columns,
                                  .column_count = field_count,
                                  .row_count = (uint64_t)message->row_count,
                                  .body = body,
                                  .dictionaries = held};
    return EXEC_OK;
}

enum exec_code arrow_batch_dictionary(const struct arrow_message *message,
                                      const struct arrow_field *field, const void *body,
                                      size_t body_bytes, struct exec_column_buffers *column_out,
                                      struct exec_error *err)
{
    struct walk walk = {.message = message, .body = body, .body_bytes = body_bytes, .err = err};
    struct arrow_field values = *field;
    enum exec_code code;

    values.index_bytes = 0; /* the dictionary itself is plain */
    *column_out = (struct exec_column_buffers){.row_count = 0};
    code = column_next(&walk, &values, column_out);
    return code == EXEC_OK ? walk_end(&walk) : code;
}

/* ---- the door ------------------------------------------------------------------------------- */

void arrow_batch_fini(struct arrow_batch *batch)
{
    struct arrow_dictionary **held = batch->dictionaries;

    for (size_t i = 0; held != NULL && held[i] != NULL; i++) {
        arrow_dictionary_release(held[i]);
    }
    free(held);
    free(batch->columns);
    batch->dictionaries = NULL;
    batch->columns = NULL;
    batch->column_count = 0;
}

/* Dictionaries are many times larger than a batch may be; the reader's own remember their check. */
static enum exec_code dictionary_check(const struct arrow_batch *batch,
                                       const struct exec_column_buffers *dictionary,
                                       const char *name, struct exec_error *err)
{
    struct arrow_dictionary **held = batch->dictionaries;

    for (size_t i = 0; held != NULL && held[i] != NULL; i++) {
        if (&held[i]->column == dictionary) {
            return arrow_dictionary_check(held[i], err);
        }
    }
    return arrow_column_check_plain(dictionary, name, err);
}

enum exec_code arrow_batch_validate(const struct arrow_batch *batch,
                                    const struct exec_schema *schema, struct exec_error *err)
{
    if (batch->column_count != schema->field_count) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "an arrow batch of %" PRIu32 " columns for %" PRIu32,
                         batch->column_count, schema->field_count);
    }
    for (uint32_t i = 0; i < batch->column_count; i++) {
        const struct exec_column_buffers *column = &batch->columns[i];
        const char *name = schema->fields[i].name;
        enum exec_code code;

        if (!exec_type_equal(&column->type, &schema->fields[i].type)) {
            return EXEC_FAIL(err, EXEC_BAD_DATA, "arrow column '%.64s': not of the schema's type",
                             name);
        }
        if (column->index_bytes == 0) {
            code = arrow_column_check_plain(column, name, err);
        } else {
            code = dictionary_check(batch, column->dictionary, name, err);
            if (code == EXEC_OK) {
                code = arrow_column_check_indices(column, name, err);
            }
        }
        if (code != EXEC_OK) {
            return code;
        }
    }
    return EXEC_OK;
}
