#ifndef PROTO_ARROW_WRITER_H
#define PROTO_ARROW_WRITER_H

#include "exec/column_buffers.h"
#include "exec/error.h"

#include <stdint.h>

/* Arrow IPC stream writing (format/Columnar.rst, metadata V5). The metadata goes through the
 * FlatBuffers library; bodies are never copied: a record batch is a header block and a list of
 * pieces that point into the column buffers. Stateless, any thread. */

/* Schema message, encapsulated (continuation, length, padding). malloc'd; NULL: no memory. */
uint8_t *arrow_write_schema(const struct exec_schema *schema, size_t *size_out);

struct arrow_piece {
    const void *bytes;
    size_t size;
};

struct arrow_batch_message {
    uint8_t *header;            /* malloc'd; the first piece */
    struct arrow_piece *pieces; /* malloc'd; header, then buffers and padding in body order */
    uint32_t piece_count;
    size_t size; /* of all pieces; a multiple of 8 */
};

/* Columns plain, all of row_count rows. 64-bit offsets are written as 32-bit ones. 0 or -1: no
 * memory, or a column of more than 2 GiB of text. */
int arrow_write_batch(const struct exec_column_buffers *columns, uint32_t column_count,
                      uint64_t row_count, struct arrow_batch_message *message_out);
void arrow_batch_message_fini(struct arrow_batch_message *message);

enum { ARROW_EOS_BYTES = 8 };
extern const uint8_t arrow_end_of_stream[ARROW_EOS_BYTES];

#endif
