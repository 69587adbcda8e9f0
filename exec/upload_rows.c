#include "upload_rows.h"

#include "vec/string_view.h"
#include "vec/utf8.h"
#include "vec/value.h"

#include <inttypes.h>
#include <string.h>

/* One column on its way in. */
struct upload_column {
    const struct exec_field *field;
    const struct exec_column_buffers *buffers;
    uint32_t number; /* 1-based */
    struct exec_error *err;
};

static enum exec_code fail_column(const struct upload_column *column, enum exec_code code,
                                  const char *what)
{
    EXEC_FAIL(column->err, code, "column %u '%.100s': %s", column->number, column->field->name,
              what);
    column->err->column = column->number;
    return code;
}

static enum exec_code fail_row(const struct upload_column *column, uint64_t row, const char *what)
{
    EXEC_FAIL(column->err, EXEC_BAD_DATA, "column %u '%.100s' row %" PRIu64 ": %s", column->number,
              column->field->name, row + 1, what);
    column->err->column = column->number;
    return EXEC_BAD_DATA;
}

/* ---- shapes --------------------------------------------------------------------------------- */

static bool is_text(uint8_t kind)
{
    return kind == EXEC_TYPE_UTF8 || kind == EXEC_TYPE_BINARY;
}

static enum exec_code check_plain(const struct upload_column *column,
                                  const struct exec_column_buffers *buffers)
{
    const uint64_t rows = buffers->row_count;
    const size_t width = exec_type_width(buffers->type.kind);

    if (buffers->validity == NULL && buffers->null_count != 0) {
        return fail_column(column, EXEC_BAD_DATA, "nulls are announced, but there is no validity");
    }
    if (is_text(buffers->type.kind)) {
        if (buffers->offset_bytes != 4 && buffers->offset_bytes != 8) {
            return fail_column(column, EXEC_BAD_DATA, "offsets have neither 4 nor 8 bytes");
        }
        if (rows > 0 && buffers->offsets == NULL) {
            return fail_column(column, EXEC_BAD_DATA, "offsets are missing");
        }
        return EXEC_OK;
    }
    const uint64_t needed = buffers->type.kind == EXEC_TYPE_BOOL ? rows / 8 + (rows % 8 != 0)
                            : rows > UINT64_MAX / width          ? UINT64_MAX
                                                                 : rows * width;
    if (needed > buffers->values_bytes || (needed > 0 && buffers->values == NULL)) {
        return fail_column(column, EXEC_BAD_DATA, "the values are shorter than the rows need");
    }
    return EXEC_OK;
}

static enum exec_code check_dictionary(const struct upload_column *column)
{
    const struct exec_column_buffers *buffers = column->buffers;
    const uint8_t width = buffers->index_bytes;

    if (width != 1 && width != 2 && width != 4 && width != 8) {
        return fail_column(column, EXEC_BAD_DATA,
                           "dictionary indices have no size of 1, 2, 4 or 8");
    }
    if (buffers->dictionary == NULL || buffers->dictionary->index_bytes != 0) {
        return fail_column(column, EXEC_BAD_DATA, "the dictionary is missing or one itself");
    }
    if (!exec_type_equal(&buffers->dictionary->type, &column->field->type)) {
        return fail_column(column, EXEC_SCHEMA_MISMATCH, "the dictionary is of another type");
    }
    if (buffers->validity == NULL && buffers->null_count != 0) {
        return fail_column(column, EXEC_BAD_DATA, "nulls are announced, but there is no validity");
    }
    if (buffers->row_count > buffers->values_bytes / width) {
        return fail_column(column, EXEC_BAD_DATA, "the indices are shorter than the rows need");
    }
    return check_plain(column, buffers->dictionary);
}

enum exec_code upload_check_columns(const struct exec_schema *schema,
                                    const struct exec_column_buffers *columns,
                                    struct exec_error *err)
{
    for (uint32_t c = 0; c < schema->field_count; c++) {
        const struct upload_column column = {&schema->fields[c], &columns[c], c + 1, err};
        char given[EXEC_TYPE_TEXT_BYTES];
        char wanted[EXEC_TYPE_TEXT_BYTES];

        if (columns[c].row_count != columns[0].row_count) {
            return EXEC_FAIL(err, EXEC_BAD_DATA,
                             "column %u '%.100s' has %" PRIu64 " rows, but the first has %" PRIu64,
                             c + 1, schema->fields[c].name, columns[c].row_count,
                             columns[0].row_count);
        }
        if (!exec_type_equal(&columns[c].type, &schema->fields[c].type)) {
            return EXEC_FAIL(err, EXEC_SCHEMA_MISMATCH, "column %u '%.100s' is %s, expected %s",
                             c + 1, schema->fields[c].name, exec_type_text(&columns[c].type, given),
                             exec_type_text(&schema->fields[c].type, wanted));
        }
        const enum exec_code code = columns[c].index_bytes != 0 ? check_dictionary(&column)
                                                                : check_plain(&column, &columns[c]);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return EXEC_OK;
}

/* ---- nulls ---------------------------------------------------------------------------------- */

static bool is_present(const struct exec_column_buffers *buffers, uint64_t row)
{
    return buffers->validity == NULL || (buffers->validity[row / 8] >> (row % 8) & 1) != 0;
}

static bool read_valid(const struct exec_column_buffers *buffers, uint64_t row, uint32_t count,
                       struct nu_arena *scratch, struct vec *vec)
{
    if (buffers->validity == NULL) {
        return true;
    }
    uint64_t *valid = nu_arena_calloc(scratch, BATCH_WORDS * sizeof *valid, 64);
    if (valid == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        valid[i / 64] |= (uint64_t)is_present(buffers, row + i) << (i % 64);
    }
    vec->valid = valid;
    return true;
}

/* ---- values --------------------------------------------------------------------------------- */

static int64_t load_signed(const void *values, uint8_t width, uint64_t at)
{
    const unsigned char *bytes = (const unsigned char *)values + at * width;
    int64_t wide = 0;
    int32_t word;
    int16_t half;

    switch (width) {
        case 1: return (int8_t)bytes[0];
        case 2: memcpy(&half, bytes, sizeof half); return half;
        case 4: memcpy(&word, bytes, sizeof word); return word;
        default: memcpy(&wide, bytes, sizeof wide); return wide;
    }
}

/* NULL: fine; else what is wrong. */
static const char *read_text(const struct exec_column_buffers *buffers, uint64_t row,
                             struct string_view *view_out)
{
    const int64_t begin = load_signed(buffers->offsets, buffers->offset_bytes, row);
    const int64_t end = load_signed(buffers->offsets, buffers->offset_bytes, row + 1);

    if (begin < 0 || end < begin) {
        return "offsets are negative or go backwards";
    }
    if ((uint64_t)end > buffers->values_bytes || (end > begin && buffers->values == NULL)) {
        return "an offset points behind the values";
    }
    if (end - begin > UINT32_MAX) {
        return "a value has 4 GiB or more";
    }
    const char *bytes = end > begin ? (const char *)buffers->values + begin : "";
    if (buffers->type.kind == EXEC_TYPE_UTF8 && !utf8_is_valid(bytes, (size_t)(end - begin))) {
        return "the text is not valid UTF-8";
    }
    *view_out = string_view_make(bytes, (uint32_t)(end - begin));
    return NULL;
}

static bool decimal_fits(const unsigned char *bytes, uint8_t precision)
{
    vec_decimal value;
    vec_decimal limit = 1;

    memcpy(&value, bytes, sizeof value);
    for (uint8_t i = 0; i < precision; i++) {
        limit *= 10;
    }
    return value > -limit && value < limit;
}

/* One present value of a plain column. */
static const char *read_value(const struct exec_column_buffers *buffers, uint64_t row,
                              unsigned char *out)
{
    const uint8_t kind = buffers->type.kind;
    const size_t width = exec_type_width(kind);
    const unsigned char *values = buffers->values;

    if (is_text(kind)) {
        struct string_view view;
        const char *wrong = read_text(buffers, row, &view);
        if (wrong == NULL) {
            memcpy(out, &view, sizeof view);
        }
        return wrong;
    }
    if (kind == EXEC_TYPE_BOOL) {
        *out = values[row / 8] >> (row % 8) & 1;
        return NULL;
    }
    memcpy(out, values + row * width, width);
    if (kind == EXEC_TYPE_DECIMAL128 && !decimal_fits(out, buffers->type.precision)) {
        return "the value does not fit the decimal's precision";
    }
    return NULL;
}

/* Types that any bytes are a value of. */
static bool is_bytes(uint8_t kind)
{
    return !is_text(kind) && kind != EXEC_TYPE_BOOL && kind != EXEC_TYPE_DECIMAL128;
}

static enum exec_code read_plain(const struct upload_column *column, uint64_t row, uint32_t count,
                                 unsigned char *data)
{
    const size_t width = exec_type_width(column->field->type.kind);

    if (is_bytes(column->field->type.kind)) {
        memcpy(data, (const unsigned char *)column->buffers->values + row * width, count * width);
        return EXEC_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_present(column->buffers, row + i)) {
            memset(data + i * width, 0, width);
            continue;
        }
        const char *wrong = read_value(column->buffers, row + i, data + i * width);
        if (wrong != NULL) {
            return fail_row(column, row + i, wrong);
        }
    }
    return EXEC_OK;
}

static enum exec_code read_dictionary(const struct upload_column *column, uint64_t row,
                                      uint32_t count, unsigned char *data, uint64_t *valid)
{
    const struct exec_column_buffers *buffers = column->buffers;
    const struct exec_column_buffers *dictionary = buffers->dictionary;
    const size_t width = exec_type_width(column->field->type.kind);

    for (uint32_t i = 0; i < count; i++) {
        memset(data + i * width, 0, width);
        if (!is_present(buffers, row + i)) {
            continue;
        }
        const int64_t index = load_signed(buffers->values, buffers->index_bytes, row + i);
        if (index < 0 || (uint64_t)index >= dictionary->row_count) {
            return fail_row(column, row + i, "the index is outside the dictionary");
        }
        if (!is_present(dictionary, (uint64_t)index)) {
            valid[i / 64] &= ~(UINT64_C(1) << (i % 64));
            continue;
        }
        const char *wrong = read_value(dictionary, (uint64_t)index, data + i * width);
        if (wrong != NULL) {
            return fail_row(column, row + i, wrong);
        }
    }
    return EXEC_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static enum exec_code check_promise(const struct upload_column *column, uint64_t row,
                                    uint32_t count, const struct vec *vec)
{
    for (uint32_t i = 0; column->field->not_null && vec->valid != NULL && i < count; i++) {
        if (!bitmap_get(vec->valid, i)) {
            return fail_row(column, row + i, "null in a column that promises none");
        }
    }
    return EXEC_OK;
}

static enum exec_code fail_memory(struct exec_error *err)
{
    return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory left in the tables budget for an upload");
}

static enum exec_code read_column(const struct upload_column *column, uint64_t row, uint32_t count,
                                  struct nu_arena *scratch, struct vec *vec)
{
    const uint8_t kind = column->field->type.kind;
    const struct exec_column_buffers *buffers = column->buffers;
    unsigned char *data = nu_arena_alloc(scratch, BATCH_ROWS * exec_type_width(kind), 64);

    *vec = (struct vec){.data = data, .kind = kind};
    if (data == NULL || !read_valid(buffers, row, count, scratch, vec)) {
        return fail_memory(column->err);
    }
    enum exec_code code;
    if (buffers->index_bytes == 0) {
        code = read_plain(column, row, count, data);
    } else {
        uint64_t *valid = nu_arena_alloc(scratch, BATCH_WORDS * sizeof *valid, 64);
        if (valid == NULL) {
            return fail_memory(column->err);
        }
        if (vec->valid != NULL) {
            memcpy(valid, vec->valid, BATCH_WORDS * sizeof *valid);
        } else {
            memset(valid, 0xff, BATCH_WORDS * sizeof *valid);
        }
        vec->valid = valid;
        code = read_dictionary(column, row, count, data, valid);
    }
    return code == EXEC_OK ? check_promise(column, row, count, vec) : code;
}

enum exec_code upload_read_rows(const struct exec_schema *schema,
                                const struct exec_column_buffers *columns, uint64_t row,
                                uint32_t count, struct nu_arena *scratch, struct vec *vecs,
                                struct exec_error *err)
{
    for (uint32_t c = 0; c < schema->field_count; c++) {
        const struct upload_column column = {&schema->fields[c], &columns[c], c + 1, err};
        const enum exec_code code = read_column(&column, row, count, scratch, &vecs[c]);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return EXEC_OK;
}
