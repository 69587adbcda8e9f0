#ifndef ARROW_FLATBUFFERS_H
#define ARROW_FLATBUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The C face of arrow_flatbuffers.cc, the only file that knows FlatBuffers. No exception leaves it.
 */

#ifdef __cplusplus
extern "C" {
#endif

#include "exec/error.h"
#include "exec/types.h"

/* Encapsulated messages begin with the continuation word and the metadata's length; both they and
 * the buffers of a body are padded to 64 bytes, so that a stream that was read or mapped at an
 * aligned address holds aligned buffers. */
enum { ARROW_PREFIX_BYTES = 8, ARROW_ALIGN_BYTES = 64 };
#define ARROW_CONTINUATION UINT32_C(0xFFFFFFFF)

struct arrow_node {
    int64_t length;
    int64_t null_count;
};

struct arrow_slice {
    int64_t offset;
    int64_t length;
};

/* ---- writing: malloc'd encapsulated metadata; NULL: no memory ------------------------------- */

uint8_t *arrow_metadata_schema(const struct exec_schema *schema, size_t *size_out);
uint8_t *arrow_metadata_batch(int64_t row_count, const struct arrow_node *nodes, size_t node_count,
                              const struct arrow_slice *buffers, size_t buffer_count,
                              int64_t body_bytes, size_t *size_out);

/* ---- reading -------------------------------------------------------------------------------- */

enum arrow_message_kind {
    ARROW_MESSAGE_OTHER,
    ARROW_MESSAGE_SCHEMA,
    ARROW_MESSAGE_DICTIONARY,
    ARROW_MESSAGE_BATCH,
};

/* A verified message; everything in it points into the metadata. */
struct arrow_message {
    enum arrow_message_kind kind;
    int64_t body_bytes;
    const void *schema; /* for arrow_schema_read */
    const void *batch;  /* of a batch or a dictionary, for arrow_batch_node and _buffer */
    int64_t dictionary_id;
    bool is_delta;
    int64_t row_count;
    uint32_t node_count, buffer_count;
};

/* How one field of a foreign schema lies in a body. */
struct arrow_field {
    char *name; /* malloc'd */
    struct exec_type type;
    bool nullable;
    uint8_t offset_bytes; /* 4 or 8 for utf8 and binary, else 0 */
    uint8_t index_bytes;  /* dictionary indices, 0: plain */
    bool index_is_unsigned;
    int64_t dictionary_id;
};

/* metadata: aligned to 8 bytes. Returns EXEC_OK, EXEC_BAD_DATA, EXEC_NOT_IMPLEMENTED (big-endian,
 * compressed bodies) or EXEC_LIMIT. */
enum exec_code arrow_message_read(const uint8_t *metadata, size_t size,
                                  struct arrow_message *message, struct exec_error *err);

/* fields_out: malloc'd, of *count_out (at most ARROW_FIELDS_MAX); written only on EXEC_OK. A type
 * that is not read here is EXEC_NOT_IMPLEMENTED naming field and type. */
enum { ARROW_FIELDS_MAX = 4096 };
enum exec_code arrow_schema_read(const struct arrow_message *message,
                                 struct arrow_field **fields_out, uint32_t *count_out,
                                 struct exec_error *err);
void arrow_fields_free(struct arrow_field *fields, uint32_t count);

/* at < node_count, at < buffer_count */
struct arrow_node arrow_batch_node(const struct arrow_message *message, uint32_t at);
struct arrow_slice arrow_batch_buffer(const struct arrow_message *message, uint32_t at);

#ifdef __cplusplus
}
#endif

#endif
