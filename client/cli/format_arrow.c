/* An Arrow IPC stream: the bytes any Arrow library reads. The end marker is written only for a
 * whole result. */
#include "batch_writer.h"
#include "proto/arrow_writer.h"

#include <errno.h>
#include <stdlib.h>

static void arrow_begin(struct batch_writer *writer)
{
    size_t size = 0;
    uint8_t *message = arrow_write_schema(writer->schema, &size);

    if (message == NULL) {
        writer->output->failure = ENOMEM;
        return;
    }
    output_write(writer->output, message, size);
    free(message);
}

static void arrow_batch_write(struct batch_writer *writer,
                              const struct exec_column_buffers *columns, uint64_t row_count)
{
    struct arrow_batch_message message;

    if (arrow_write_batch(columns, writer->schema->field_count, row_count, &message) != 0) {
        writer->output->failure = ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < message.piece_count; i++) {
        output_write(writer->output, message.pieces[i].bytes, message.pieces[i].size);
    }
    arrow_batch_message_fini(&message);
    writer->row_count += row_count;
}

static void arrow_end(struct batch_writer *writer)
{
    output_write(writer->output, arrow_end_of_stream, ARROW_EOS_BYTES);
}

static void arrow_destroy(struct batch_writer *writer)
{
    free(writer);
}

struct batch_writer *format_arrow_create(void)
{
    static const struct batch_writer_ops ops = {arrow_begin, arrow_batch_write, arrow_end,
                                                arrow_destroy};
    struct batch_writer *writer = calloc(1, sizeof *writer);

    if (writer != NULL) {
        writer->ops = &ops;
    }
    return writer;
}
