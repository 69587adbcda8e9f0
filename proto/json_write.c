/* Message -> JSON: set fields in the order of their numbers, defaults left out. */
#include "proto/job_json.h"

#include "base64.h"
#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "json_fields.h"
#include "json_time.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32, INDENT = 2 };

/* All functions return a new reference, NULL for no memory (or a text that is not UTF-8). */
static json_t *message_write(const ProtobufCMessage *message);

/* 64-bit integers are strings: JavaScript's numbers end at 2^53. */
static json_t *int64_write(int64_t value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%" PRId64, value);
    return json_string(text);
}

static json_t *uint64_write(uint64_t value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return json_string(text);
}

static json_t *double_write(double value)
{
    if (isnan(value)) {
        return json_string("NaN");
    }
    if (isinf(value)) {
        return json_string(value > 0 ? "Infinity" : "-Infinity");
    }
    return json_real(value);
}

static json_t *bytes_write(const ProtobufCBinaryData *bytes)
{
    char *text = malloc(BASE64_TEXT_BYTES(bytes->len));
    json_t *json;

    if (text == NULL) {
        return NULL;
    }
    base64_encode(bytes->data, bytes->len, BASE64_PADDED, text);
    json = json_string(text);
    free(text);
    return json;
}

static json_t *enum_write(const ProtobufCEnumDescriptor *descriptor, int value)
{
    const ProtobufCEnumValue *row = protobuf_c_enum_descriptor_get_value(descriptor, value);
    return row == NULL ? json_integer(value) : json_string(row->name);
}

static json_t *value_write(const ProtobufCFieldDescriptor *field, const void *at)
{
    switch (field->type) {
        case PROTOBUF_C_TYPE_INT32:
        case PROTOBUF_C_TYPE_SINT32:
        case PROTOBUF_C_TYPE_SFIXED32: return json_integer(*(const int32_t *)at);
        case PROTOBUF_C_TYPE_UINT32:
        case PROTOBUF_C_TYPE_FIXED32: return json_integer(*(const uint32_t *)at);
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64: return int64_write(*(const int64_t *)at);
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64: return uint64_write(*(const uint64_t *)at);
        case PROTOBUF_C_TYPE_FLOAT: return double_write((double)*(const float *)at);
        case PROTOBUF_C_TYPE_DOUBLE: return double_write(*(const double *)at);
        case PROTOBUF_C_TYPE_BOOL: return json_boolean(*(const protobuf_c_boolean *)at);
        case PROTOBUF_C_TYPE_ENUM: return enum_write(field->descriptor, *(const int *)at);
        case PROTOBUF_C_TYPE_STRING: {
            const char *text = *(char *const *)at;
            return json_string(text == NULL ? "" : text);
        }
        case PROTOBUF_C_TYPE_BYTES: return bytes_write(at);
        default: return message_write(*(ProtobufCMessage *const *)at);
    }
}

static json_t *repeated_write(const ProtobufCFieldDescriptor *field, const char *list, size_t count)
{
    const size_t value_bytes = json_field_bytes(field);
    json_t *array = json_array();

    for (size_t i = 0; array != NULL && i < count; i++) {
        if (json_array_append_new(array, value_write(field, list + i * value_bytes)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *map_write(const ProtobufCFieldDescriptor *field, const char *list, size_t count)
{
    const ProtobufCMessageDescriptor *entry = field->descriptor;
    json_t *object = json_object();

    for (size_t i = 0; object != NULL && i < count; i++) {
        const char *at = ((char *const *)(const void *)list)[i];
        const char *key = *(char *const *)(const void *)(at + entry->fields[0].offset);
        if (json_object_set_new(
                object, key, value_write(&entry->fields[1], at + entry->fields[1].offset)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* Bit by bit, as proto3 does: -0.0 is not the default. */
static bool is_default(const ProtobufCFieldDescriptor *field, const char *at)
{
    static const char zeros[8];
    ProtobufCBinaryData bytes;
    const char *text;

    switch (field->type) {
        case PROTOBUF_C_TYPE_STRING:
            text = *(char *const *)(const void *)at;
            return text == NULL || text[0] == '\0';
        case PROTOBUF_C_TYPE_BYTES: memcpy(&bytes, at, sizeof bytes); return bytes.len == 0;
        default: return memcmp(at, zeros, json_field_bytes(field)) == 0;
    }
}

/* *json_out stays NULL for a field that is not set. */
static bool field_write(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                        json_t **json_out)
{
    const char *at = (const char *)message + field->offset;
    const void *quantifier = (const char *)message + field->quantifier_offset;

    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        const size_t count = *(const size_t *)quantifier;
        const char *list = *(char *const *)(const void *)at;
        if (count == 0) {
            return true;
        }
        *json_out = json_field_is_map(field) ? map_write(field, list, count)
                                             : repeated_write(field, list, count);
        return *json_out != NULL;
    }
    if (json_field_is_oneof(field) ? *(const uint32_t *)quantifier != field->id
                                   : is_default(field, at)) {
        return true;
    }
    *json_out = value_write(field, at);
    return *json_out != NULL;
}

static json_t *time_write(const ProtobufCMessage *message)
{
    char text[JSON_TIME_TEXT_BYTES];

    if (message->descriptor == &google__protobuf__duration__descriptor) {
        const Google__Protobuf__Duration *duration = (const void *)message;
        json_duration_format(duration->seconds, duration->nanos, text);
    } else {
        const Google__Protobuf__Timestamp *timestamp = (const void *)message;
        json_timestamp_format(timestamp->seconds, timestamp->nanos, text);
    }
    return json_string(text);
}

static json_t *message_write(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    json_t *object;

    if (descriptor == &google__protobuf__duration__descriptor ||
        descriptor == &google__protobuf__timestamp__descriptor) {
        return time_write(message);
    }
    object = json_object();
    for (unsigned i = 0; object != NULL && i < descriptor->n_fields; i++) {
        json_t *value = NULL;
        char name[JSON_NAME_BYTES];
        json_field_name(&descriptor->fields[i], name);
        if (!field_write(message, &descriptor->fields[i], &value) ||
            (value != NULL && json_object_set_new(object, name, value) != 0)) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

char *json_from_message(const ProtobufCMessage *message)
{
    json_t *json = message_write(message);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_INDENT(INDENT));

    json_decref(json);
    return text;
}
