#include "column_value.h"
#include "morsel_result.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct morsel_batch {
    uint32_t magic;
    struct arrow_batch arrow;
};

enum { BATCH_MAGIC = 0x6d626174 };

struct morsel_batch *batch_wrap(struct arrow_batch *batch, const struct exec_schema *schema)
{
    struct morsel_batch *wrapped = calloc(1, sizeof *wrapped);

    assert(batch->column_count == schema->field_count);
    if (wrapped == NULL) {
        result_batch_free(batch);
        return NULL;
    }
    wrapped->magic = BATCH_MAGIC;
    wrapped->arrow = *batch;
    return wrapped;
}

void morsel_batch_free(struct morsel_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    assert(batch->magic == BATCH_MAGIC);
    batch->magic = 0;
    result_batch_free(&batch->arrow);
    free(batch);
}

static const struct exec_column_buffers *column_of(const struct morsel_batch *batch,
                                                   uint32_t column, uint64_t row)
{
    assert(batch->magic == BATCH_MAGIC);
    assert(column < batch->arrow.column_count);
    assert(row < batch->arrow.row_count);
    return &batch->arrow.columns[column];
}

uint64_t morsel_batch_rows(const struct morsel_batch *batch)
{
    assert(batch->magic == BATCH_MAGIC);
    return batch->arrow.row_count;
}

bool morsel_batch_is_null(const struct morsel_batch *batch, uint32_t column, uint64_t row)
{
    return column_value_is_null(column_of(batch, column, row), row);
}

bool morsel_batch_bool(const struct morsel_batch *batch, uint32_t column, uint64_t row)
{
    const struct exec_column_buffers *buffers = column_of(batch, column, row);

    assert(buffers->type.kind == EXEC_TYPE_BOOL);
    return column_value_bool(buffers, row);
}

int64_t morsel_batch_int64(const struct morsel_batch *batch, uint32_t column, uint64_t row)
{
    const struct exec_column_buffers *buffers = column_of(batch, column, row);
    const enum exec_type_kind kind = (enum exec_type_kind)buffers->type.kind;

    assert(exec_type_is_integer(kind) || kind == EXEC_TYPE_DATE32 || kind == EXEC_TYPE_TIMESTAMP);
    return column_value_int64(buffers, row);
}

double morsel_batch_double(const struct morsel_batch *batch, uint32_t column, uint64_t row)
{
    const struct exec_column_buffers *buffers = column_of(batch, column, row);

    assert(exec_type_is_numeric((enum exec_type_kind)buffers->type.kind));
    return column_value_double(buffers, row);
}

static bool is_text(const struct exec_column_buffers *buffers)
{
    return buffers->type.kind == EXEC_TYPE_UTF8 || buffers->type.kind == EXEC_TYPE_BINARY;
}

const char *morsel_batch_bytes(const struct morsel_batch *batch, uint32_t column, uint64_t row,
                               size_t *size_out)
{
    const struct exec_column_buffers *buffers = column_of(batch, column, row);

    assert(is_text(buffers));
    if (column_value_is_null(buffers, row)) {
        *size_out = 0;
        return "";
    }
    return column_value_bytes(buffers, row, size_out);
}

size_t morsel_batch_text(const struct morsel_batch *batch, uint32_t column, uint64_t row,
                         char *text_out, size_t text_bytes)
{
    const struct exec_column_buffers *buffers = column_of(batch, column, row);
    char text[COLUMN_VALUE_TEXT_BYTES] = "";
    const char *from = text;
    size_t size = 0;

    if (!column_value_is_null(buffers, row)) {
        if (is_text(buffers)) {
            from = column_value_bytes(buffers, row, &size);
        } else {
            size = column_value_text(buffers, row, text);
        }
    }
    if (text_bytes > 0) {
        const size_t copied = size < text_bytes - 1 ? size : text_bytes - 1;
        if (copied > 0) {
            memcpy(text_out, from, copied);
        }
        text_out[copied] = '\0';
    }
    return size;
}
