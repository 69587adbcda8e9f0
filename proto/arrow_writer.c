#include "proto/arrow_writer.h"

#include "arrow_flatbuffers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const uint8_t arrow_end_of_stream[ARROW_EOS_BYTES] = {0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0};

static const uint8_t padding[ARROW_ALIGN_BYTES];

enum { COLUMN_BUFFERS_MAX = 3, COLUMN_PIECES_MAX = 2 * COLUMN_BUFFERS_MAX };

/* A batch while its pieces are laid out. */
struct layout {
    struct arrow_node *nodes;
    struct arrow_slice *buffers;
    size_t node_count, buffer_count;
    int64_t body_bytes;
    struct arrow_piece *pieces;
    uint32_t piece_count;
};

uint8_t *arrow_write_schema(const struct exec_schema *schema, size_t *size_out)
{
    return arrow_metadata_schema(schema, size_out);
}

static void piece_add(struct layout *layout, const void *bytes, size_t size)
{
    if (size != 0) {
        layout->pieces[layout->piece_count++] = (struct arrow_piece){bytes, size};
    }
}

/* Buffer.length is the real size, the next buffer begins at a multiple of 64. */
static void buffer_add(struct layout *layout, const void *bytes, size_t size)
{
    const size_t tail = size % ARROW_ALIGN_BYTES;
    const size_t padding_bytes = tail == 0 ? 0 : ARROW_ALIGN_BYTES - tail;

    layout->buffers[layout->buffer_count++] =
        (struct arrow_slice){layout->body_bytes, (int64_t)size};
    layout->body_bytes += (int64_t)(size + padding_bytes);
    piece_add(layout, bytes, size);
    piece_add(layout, padding, padding_bytes);
}

static size_t fixed_bytes(const struct exec_column_buffers *column, uint64_t row_count)
{
    return column->type.kind == EXEC_TYPE_BOOL ? (row_count + 7) / 8
                                               : row_count * exec_type_width(column->type.kind);
}

static bool column_has_offsets(const struct exec_column_buffers *column)
{
    return column->type.kind == EXEC_TYPE_UTF8 || column->type.kind == EXEC_TYPE_BINARY;
}

static void column_add(struct layout *layout, const struct exec_column_buffers *column,
                       uint64_t row_count, const void *offsets)
{
    int32_t end;

    assert(column->index_bytes == 0);
    assert(column->null_count == 0 || column->validity != NULL);
    layout->nodes[layout->node_count++] =
        (struct arrow_node){(int64_t)row_count, (int64_t)column->null_count};
    buffer_add(layout, column->validity, column->null_count == 0 ? 0 : (row_count + 7) / 8);
    if (!column_has_offsets(column)) {
        buffer_add(layout, column->values, fixed_bytes(column, row_count));
        return;
    }
    memcpy(&end, (const uint8_t *)offsets + row_count * sizeof end, sizeof end);
    buffer_add(layout, offsets, (row_count + 1) * sizeof end);
    buffer_add(layout, column->values, (size_t)end);
}

/* ---- 64-bit offsets ------------------------------------------------------------------------- */

/* Rows of columns whose 64-bit offsets have to be written as 32-bit ones: our schemas say utf8 and
 * binary, never their large twins. */
static size_t wide_offsets_count(const struct exec_column_buffers *columns, uint32_t column_count,
                                 uint64_t row_count)
{
    size_t count = 0;

    for (uint32_t i = 0; i < column_count; i++) {
        count +=
            column_has_offsets(&columns[i]) && columns[i].offset_bytes == 8 ? row_count + 1 : 0;
    }
    return count;
}

static bool offsets_narrow(const struct exec_column_buffers *column, uint64_t row_count,
                           int32_t *narrow)
{
    const uint8_t *wide = column->offsets;

    for (uint64_t row = 0; row <= row_count; row++) {
        int64_t offset;
        memcpy(&offset, wide + row * sizeof offset, sizeof offset);
        if (offset < 0 || offset > INT32_MAX) {
            return false;
        }
        narrow[row] = (int32_t)offset;
    }
    return true;
}

static bool columns_add(struct layout *layout, const struct exec_column_buffers *columns,
                        uint32_t column_count, uint64_t row_count, int32_t *narrow)
{
    static const int32_t no_offsets[1];

    for (uint32_t i = 0; i < column_count; i++) {
        const void *offsets = columns[i].offsets;
        if (offsets == NULL) {
            assert(row_count == 0 || !column_has_offsets(&columns[i]));
            offsets = no_offsets;
        } else if (columns[i].offset_bytes == 8) {
            if (!offsets_narrow(&columns[i], row_count, narrow)) {
                return false;
            }
            offsets = narrow;
            narrow += row_count + 1;
        }
        column_add(layout, &columns[i], row_count, offsets);
    }
    return true;
}

int arrow_write_batch(const struct exec_column_buffers *columns, uint32_t column_count,
                      uint64_t row_count, struct arrow_batch_message *message_out)
{
    const size_t buffers_max = (size_t)column_count * COLUMN_BUFFERS_MAX;
    const size_t narrow_count = wide_offsets_count(columns, column_count, row_count);
    struct layout layout = {.piece_count = 1}; /* the header comes first */
    size_t header_bytes;
    uint8_t *header;

    /* One block: pieces, then the narrowed offsets they may point to. */
    layout.pieces = malloc((1 + (size_t)column_count * COLUMN_PIECES_MAX) * sizeof *layout.pieces +
                           narrow_count * sizeof(int32_t));
    layout.nodes = malloc((column_count + 1) * sizeof *layout.nodes);
    layout.buffers = malloc((buffers_max + 1) * sizeof *layout.buffers);
    if (layout.pieces == NULL || layout.nodes == NULL || layout.buffers == NULL) {
        goto fail;
    }
    if (!columns_add(
            &layout, columns, column_count, row_count,
            (int32_t *)(void *)(layout.pieces + 1 + (size_t)column_count * COLUMN_PIECES_MAX))) {
        goto fail;
    }
    header =
        arrow_metadata_batch((int64_t)row_count, layout.nodes, layout.node_count, layout.buffers,
                             layout.buffer_count, layout.body_bytes, &header_bytes);
    if (header == NULL) {
        goto fail;
    }
    layout.pieces[0] = (struct arrow_piece){header, header_bytes};
    *message_out = (struct arrow_batch_message){.header = header,
                                                .pieces = layout.pieces,
                                                .piece_count = layout.piece_count,
                                                .size = header_bytes + (size_t)layout.body_bytes};
    free(layout.nodes);
    free(layout.buffers);
    return 0;

fail:
    free(layout.pieces);
    free(layout.nodes);
    free(layout.buffers);
    return -1;
}

void arrow_batch_message_fini(struct arrow_batch_message *message)
{
    free(message->header);
    free(message->pieces);
    *message = (struct arrow_batch_message){.header = NULL};
}
