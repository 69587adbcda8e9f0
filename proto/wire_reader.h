#ifndef WIRE_READER_H
#define WIRE_READER_H

#include "exec/error.h"
#include "wire_memory.h"

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

/* A message being translated: where the result's arrays go and where in the plan we are, so that
 * every refusal names its place. */
struct wire_reader {
    struct wire_memory *memory;
    struct exec_error *err;
    uint32_t rel;  /* 1-based, 0: not in a relation */
    uint32_t expr; /* 1-based, 0: not in an expression */
};

/* Fills the error: "rels[3].join.type: ...". The text begins with the field. Returns `code`. */
enum exec_code wire_fail(const struct wire_reader *reader, enum exec_code code, const char *fmt,
                         ...) EXEC_PRINTF(3, 4);
enum exec_code wire_fail_memory(const struct wire_reader *reader);

/* An enum value: 0 is EXEC_BAD_SPEC unless `zero_ok`, a value without a name EXEC_BAD_SPEC, one
 * above known_max (a later version's) EXEC_NOT_IMPLEMENTED. */
enum exec_code wire_enum_check(const struct wire_reader *reader, const char *field,
                               const ProtobufCEnumDescriptor *descriptor, int value, bool zero_ok,
                               int known_max);

/* A name that may not be empty nor longer than EXEC_NAME_BYTES_MAX. */
enum exec_code wire_name_check(const struct wire_reader *reader, const char *field,
                               const char *name);

enum exec_code wire_count_check(const struct wire_reader *reader, const char *field, size_t count,
                                size_t count_max);

#endif
