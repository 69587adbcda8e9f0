#include "io/csv_rows.h"

#include "io/csv_types.h"
#include "vec/string_view.h"
#include "vec/utf8.h"

#include <string.h>

enum { ALIGN_BYTES = 64 };

static size_t align_up(size_t bytes)
{
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static uint8_t output_kind(const struct csv_layout *layout, uint32_t output)
{
    return layout->columns[layout->outputs[output]].type.kind;
}

size_t csv_rows_bytes(const struct csv_layout *layout)
{
    const uint32_t count = layout->output_count;
    size_t bytes = align_up(layout->column_count * sizeof(struct csv_field)) +
                   align_up(count * sizeof(struct vec)) + align_up(count * sizeof(void *)) +
                   align_up(count * sizeof(uint64_t *)) + align_up(count * sizeof(bool));

    for (uint32_t i = 0; i < count; i++) {
        bytes += align_up(BATCH_ROWS * exec_type_width(output_kind(layout, i))) +
                 align_up(BATCH_WORDS * sizeof(uint64_t));
    }
    return bytes;
}

static void *carve(unsigned char **cursor, size_t bytes)
{
    void *piece = *cursor;
    *cursor += align_up(bytes);
    return piece;
}

void csv_rows_init(struct csv_rows *rows, const struct csv_layout *layout, void *memory)
{
    const uint32_t count = layout->output_count;
    unsigned char *cursor = memory;

    rows->fields = carve(&cursor, layout->column_count * sizeof(struct csv_field));
    rows->vecs = carve(&cursor, count * sizeof(struct vec));
    rows->data = carve(&cursor, count * sizeof(void *));
    rows->valid = carve(&cursor, count * sizeof(uint64_t *));
    rows->has_nulls = carve(&cursor, count * sizeof(bool));
    for (uint32_t i = 0; i < count; i++) {
        rows->data[i] = carve(&cursor, BATCH_ROWS * exec_type_width(output_kind(layout, i)));
        rows->valid[i] = carve(&cursor, BATCH_WORDS * sizeof(uint64_t));
    }
    csv_rows_reset(rows, layout);
}

void csv_rows_reset(struct csv_rows *rows, const struct csv_layout *layout)
{
    rows->row_count = 0;
    for (uint32_t i = 0; i < layout->output_count; i++) {
        memset(rows->valid[i], 0xff, BATCH_WORDS * sizeof(uint64_t));
        rows->has_nulls[i] = false;
    }
}

/* ---- one value ------------------------------------------------------------------------------ */

static void put_null(struct csv_rows *rows, uint32_t output, size_t width)
{
    const uint32_t row = rows->row_count;

    memset((unsigned char *)rows->data[output] + row * width, 0, width);
    rows->valid[output][row / 64] &= ~(UINT64_C(1) << (row % 64));
    rows->has_nulls[output] = true;
}

static void put_text(struct csv_rows *rows, uint32_t output, const struct csv_field *field)
{
    ((struct string_view *)rows->data[output])[rows->row_count] =
        string_view_make(field->bytes, field->size);
}

static bool put_number(const struct csv_layout *layout, const struct csv_column *column,
                       struct csv_field *field, void *value, struct csv_fault *fault)
{
    char plain[CSV_GROUPED_BYTES + 1];
    char *text = field->bytes;
    size_t size = field->size;

    if (exec_type_is_numeric(column->type.kind)) {
        csv_ungroup(&text, &size, layout->dialect.thousands, plain);
    }
    const enum csv_parse parsed = csv_parse_value(&column->type, text, size, value);
    if (parsed != CSV_PARSED) {
        fault->kind = parsed == CSV_NOT_OF_TYPE ? CSV_FAULT_TYPE : CSV_FAULT_RANGE;
        return false;
    }
    const enum csv_loss loss =
        column->inferred ? csv_value_loss(&column->type, text, size, value) : CSV_LOSS_NONE;
    fault->kind = loss == CSV_LOSS_ZEROS    ? CSV_FAULT_ZEROS
                  : loss == CSV_LOSS_DIGITS ? CSV_FAULT_DIGITS
                                            : CSV_FAULT_NONE;
    return loss == CSV_LOSS_NONE;
}

static bool put_value(struct csv_rows *rows, uint32_t output, const struct csv_layout *layout,
                      struct csv_field *field, struct csv_fault *fault)
{
    const struct csv_column *column = &layout->columns[layout->outputs[output]];
    const uint8_t kind = column->type.kind;

    if (kind == EXEC_TYPE_UTF8 || kind == EXEC_TYPE_BINARY) {
        put_text(rows, output, field);
        return true;
    }
    return put_number(layout, column, field,
                      (unsigned char *)rows->data[output] + rows->row_count * exec_type_width(kind),
                      fault);
}

/* Reads up to seven bytes behind the row, which are there (CSV_SLACK_BYTES): a character of the
 * next row makes it false at worst. */
static bool looks_ascii(const char *row, const char *row_end)
{
    uint64_t seen = 0;

    for (; row < row_end; row += sizeof seen) {
        uint64_t word;
        memcpy(&word, row, sizeof word);
        seen |= word;
    }
    return (seen & UINT64_C(0x8080808080808080)) == 0;
}

/* Before anything of the row is unescaped. All columns of texts, also those that nobody asked for:
 * whether a file is text must not depend on the query. Valid rows cost one pass. */
static bool check_utf8(struct csv_rows *rows, const struct csv_layout *layout, const char *row,
                       const char *row_end, struct csv_fault *fault)
{
    if (looks_ascii(row, row_end) || utf8_is_valid(row, (size_t)(row_end - row))) {
        return true;
    }
    for (uint32_t c = 0; c < layout->column_count; c++) {
        const struct csv_field *field = &rows->fields[c];
        if (layout->columns[c].type.kind == EXEC_TYPE_UTF8 &&
            !utf8_is_valid(field->bytes, field->size)) {
            fault->kind = CSV_FAULT_UTF8;
            fault->bad_byte = utf8_valid_bytes(field->bytes, field->size) + 1;
            fault->column = c + 1;
            csv_fault_set_text(fault, field->bytes, field->size);
            return false;
        }
    }
    return true;
}

static bool put_row(struct csv_rows *rows, const struct csv_layout *layout, struct csv_fault *fault)
{
    for (uint32_t i = 0; i < layout->output_count; i++) {
        const struct csv_column *column = &layout->columns[layout->outputs[i]];
        struct csv_field *field = &rows->fields[layout->outputs[i]];
        if (csv_is_null(&layout->nulls, field)) {
            put_null(rows, i, exec_type_width(column->type.kind));
            continue;
        }
        if (field->escaped) {
            csv_field_unescape(field, layout->dialect.quote);
        }
        if (!put_value(rows, i, layout, field, fault)) {
            fault->column = layout->outputs[i] + 1;
            csv_fault_set_text(fault, field->bytes, field->size);
            return false;
        }
    }
    return true;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static enum csv_read row_fault(enum csv_row row, uint32_t field_count, struct csv_fault *fault)
{
    fault->kind = row == CSV_ROW_LONG         ? CSV_FAULT_LONG_LINE
                  : row == CSV_ROW_OPEN_QUOTE ? CSV_FAULT_OPEN_QUOTE
                                              : CSV_FAULT_AFTER_QUOTE;
    fault->column = row == CSV_ROW_LONG ? 0 : field_count;
    return CSV_READ_FAULT;
}

enum csv_read csv_rows_read(struct csv_rows *rows, const struct csv_layout *layout,
                            struct csv_text *text, const char *stop, struct csv_fault *fault)
{
    while (rows->row_count < BATCH_ROWS) {
        uint32_t field_count = 0;
        if (!layout->dialect.keep_blank) {
            csv_text_skip_blank(text, stop == NULL ? text->end : stop);
        }
        if (stop != NULL && text->at >= stop) {
            return CSV_READ_STOP;
        }
        const char *row_begin = text->at;
        const enum csv_row row =
            csv_text_row(&layout->dialect, text, rows->fields, layout->column_count, &field_count);
        if (row == CSV_ROW_CUT || row == CSV_ROW_NONE) {
            return row == CSV_ROW_CUT ? CSV_READ_CUT : CSV_READ_END;
        }
        *fault = (struct csv_fault){.line_feeds = text->row_line_feeds};
        if (row != CSV_ROW) {
            return row_fault(row, field_count, fault);
        }
        if (field_count != layout->column_count) {
            fault->kind = CSV_FAULT_RAGGED;
            fault->field_count = field_count;
            return CSV_READ_FAULT;
        }
        if (!check_utf8(rows, layout, row_begin, text->at, fault) ||
            !put_row(rows, layout, fault)) {
            return CSV_READ_FAULT;
        }
        rows->row_count++;
    }
    return CSV_READ_FULL;
}

void csv_rows_batch(struct csv_rows *rows, const struct csv_layout *layout, struct batch *batch_out)
{
    for (uint32_t i = 0; i < layout->output_count; i++) {
        rows->vecs[i] = (struct vec){
            .data = rows->data[i],
            .valid = rows->has_nulls[i] ? rows->valid[i] : NULL,
            .kind = output_kind(layout, i),
        };
    }
    *batch_out = (struct batch){
        .row_count = rows->row_count,
        .sel_count = rows->row_count,
        .columns = rows->vecs,
        .column_count = layout->output_count,
    };
}
