#ifndef PROTO_ARROW_READER_H
#define PROTO_ARROW_READER_H

#include "exec/column_buffers.h"
#include "exec/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Arrow IPC stream reading from untrusted bytes in any split. Every flatbuffer passes the Verifier;
 * every buffer is bounds-checked against its body; offsets and UTF-8 are left to whoever copies
 * (exec_upload_append) or to arrow_batch_validate. Reads: every type of exec/types.def, large_utf8,
 * large_binary, date32, dictionary<utf8 or binary> with integer indices. Anything else, compression
 * and big-endian bodies end in EXEC_NOT_IMPLEMENTED naming the field and its type. */

struct arrow_reader;

enum arrow_event {
    ARROW_MORE,   /* all input taken */
    ARROW_SCHEMA, /* arrow_reader_schema is there */
    ARROW_BATCH,  /* *batch is filled */
    ARROW_END,    /* end-of-stream marker; anything after it is an error */
    ARROW_ERROR,
};

/* One record batch; `body` is malloc'd and owned by the caller (free it when the columns are not
 * needed any more), columns point into it (and, for dictionaries, into a reference-counted
 * dictionary that arrow_batch_fini lets go). Batches may be fini'd on any thread and outlive the
 * reader. */
struct arrow_batch {
    struct exec_column_buffers *columns; /* malloc'd with it: freed by arrow_batch_fini */
    uint32_t column_count;
    uint64_t row_count;
    void *body;
    void *dictionaries; /* the reader's, released by arrow_batch_fini */
};
void arrow_batch_fini(struct arrow_batch *batch); /* all but `body` */

/* message_bytes_max: of one encapsulated message. NULL: no memory. */
struct arrow_reader *arrow_reader_create(size_t message_bytes_max);
void arrow_reader_destroy(struct arrow_reader *reader);

enum arrow_event arrow_reader_feed(struct arrow_reader *reader, const uint8_t *bytes, size_t size,
                                   size_t *used_out, struct arrow_batch *batch,
                                   struct exec_error *err);
const struct exec_schema *arrow_reader_schema(const struct arrow_reader *reader);
bool arrow_reader_at_boundary(const struct arrow_reader *reader);

/* Checks what the engine would check: offsets monotone and inside, indices inside, UTF-8. For
 * clients that read the columns themselves. */
enum exec_code arrow_batch_validate(const struct arrow_batch *batch,
                                    const struct exec_schema *schema, struct exec_error *err);

#endif
