/* An Arrow stream of a stranger: everything that is read is touched. Some inputs are cut into
 * pieces. */
#include "proto/arrow_reader.h"

#include "arrow_column.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the first and last byte of what the sizes promise, which AddressSanitizer watches. */
static uint64_t column_touch(const struct exec_column_buffers *column)
{
    const uint8_t *values = column->values;
    uint64_t sum = 0;

    if (column->values_bytes != 0) {
        sum += values[0] + values[column->values_bytes - 1];
    }
    if (column->row_count != 0 && column->validity != NULL) {
        sum += column->validity[(column->row_count - 1) / 8];
    }
    if (column->offset_bytes != 0) {
        sum += (uint64_t)arrow_column_offset(column, column->row_count);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arrow_reader *reader = arrow_reader_create(1 << 20);
    const size_t step = size % 4 == 0 ? 61 : size;
    size_t at = 0;
    enum arrow_event event = ARROW_MORE;
    volatile uint64_t sum = 0;

    while (reader != NULL && at < size && event != ARROW_ERROR) {
        const size_t piece = size - at < step ? size - at : step;
        struct arrow_batch batch;
        struct exec_error err;
        size_t used;
        event = arrow_reader_feed(reader, data + at, piece, &used, &batch, &err);
        at += used;
        if (event == ARROW_BATCH) {
            for (uint32_t i = 0; i < batch.column_count; i++) {
                sum += column_touch(&batch.columns[i]);
            }
            sum += arrow_batch_validate(&batch, arrow_reader_schema(reader), &err);
            free(batch.body);
            arrow_batch_fini(&batch);
        }
    }
    arrow_reader_destroy(reader);
    return 0;
}
