#ifndef JSON_FIELDS_H
#define JSON_FIELDS_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

/* What the JSON mapping needs to know about protobuf-c descriptors. */

enum { JSON_NAME_BYTES = 128 };

/* "row_limit" -> "rowLimit" */
void json_field_name(const ProtobufCFieldDescriptor *field, char name_out[JSON_NAME_BYTES]);

/* By either name; NULL: none. */
const ProtobufCFieldDescriptor *json_field_find(const ProtobufCMessageDescriptor *descriptor,
                                                const char *name);

/* A map<key, value>: protobuf-c sees a repeated message of two fields. */
bool json_field_is_map(const ProtobufCFieldDescriptor *field);

bool json_field_is_oneof(const ProtobufCFieldDescriptor *field);

/* Bytes of one value in memory. */
size_t json_field_bytes(const ProtobufCFieldDescriptor *field);

#endif
