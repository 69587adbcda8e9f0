#ifndef PROTO_JOB_JSON_H
#define PROTO_JOB_JSON_H

#include "exec/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* Protobuf's JSON mapping over protobuf-c descriptors (JSON itself by jansson): lowerCamelCase and
 * snake_case names, int64 as string or number, bytes as base64, enums by name or number, Duration
 * "1.5s", Timestamp RFC 3339, maps as objects, null = unset. An unknown field is an error naming
 * line and column. */

/* Returns a message to free with protobuf_c_message_free_unpacked(message, NULL), or NULL and err
 * (err->line, err->column and the field's path in detail; `name` is the file for the message). */
ProtobufCMessage *json_to_message(const ProtobufCMessageDescriptor *descriptor, const char *text,
                                  size_t size, const char *name, struct exec_error *err);

/* Returns malloc'd, NUL-terminated, indented JSON with lowerCamelCase names; NULL: no memory. */
char *json_from_message(const ProtobufCMessage *message);

#endif
