#ifndef WIRE_TYPES_H
#define WIRE_TYPES_H

#include "exec/job_spec.h"
#include "morsel/v1/types.pb-c.h"
#include "wire_reader.h"

/* Types, schemas and literals, both ways. `field` is the field's path for errors. */

enum exec_code wire_type_read(const struct wire_reader *reader, const char *field,
                              const Morsel__V1__DataType *message, struct exec_type *type_out);
/* message NULL: an empty schema. Names are borrowed from the message. */
enum exec_code wire_schema_read(const struct wire_reader *reader, const char *field,
                                const Morsel__V1__Schema *message, struct exec_schema *schema_out);
/* Bytes are borrowed from the message. Without a type the value's own is taken: bool, int64,
 * uint64, float64, utf8, binary. */
enum exec_code wire_literal_read(const struct wire_reader *reader, const char *field,
                                 const Morsel__V1__Literal *message,
                                 struct exec_literal *literal_out);

/* The other way; NULL: no memory. Nothing is borrowed. */
Morsel__V1__DataType *wire_type_write(struct wire_memory *memory, const struct exec_type *type);
Morsel__V1__Schema *wire_schema_write(struct wire_memory *memory, const struct exec_schema *schema);
Morsel__V1__Literal *wire_literal_write(struct wire_memory *memory,
                                        const struct exec_literal *literal);

/* An initialised message, NULL: no memory. */
void *wire_message_new(struct wire_memory *memory, const ProtobufCMessageDescriptor *descriptor);

#endif
