/* JSON -> message. What is built looks as if protobuf-c had unpacked it, so that its own free
 * works. */
#include "proto/job_json.h"

#include "base64.h"
#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "json_fields.h"
#include "json_place.h"
#include "json_time.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 256, DEPTH_MAX = 64, WHAT_BYTES = 256 };

struct json_reader {
    const char *text;
    size_t size;
    const char *name; /* of the file */
    struct exec_error *err;
    uint32_t depth;
};

static size_t path_write(const struct json_step *step, char *path, size_t room)
{
    size_t used;
    int wrote;

    if (step->outer == NULL) {
        path[0] = '\0';
        return 0;
    }
    used = path_write(step->outer, path, room);
    if (step->key != NULL) {
        wrote = snprintf(path + used, room - used, "%s%.64s", used == 0 ? "" : ".", step->key);
    } else {
        wrote = snprintf(path + used, room - used, "[%zu]", step->index + 1);
    }
    used += (size_t)wrote;
    return used < room ? used : room - 1;
}

/* "job.json:3:14: plan.rels[1].scan: what is wrong". Always false. */
EXEC_PRINTF(3, 4)
static bool read_fail(const struct json_reader *reader, const struct json_step *step,
                      const char *fmt, ...)
{
    char path[PATH_BYTES];
    char what[WHAT_BYTES];
    uint64_t line;
    uint32_t column;
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    path_write(step, path, sizeof path);
    json_place(reader->text, reader->size, step, &line, &column);
    EXEC_FAIL(reader->err, EXEC_BAD_SPEC, "%s:%" PRIu64 ":%" PRIu32 ": %s%s%s", reader->name, line,
              column, path, path[0] == '\0' ? "" : ": ", what);
    reader->err->line = line;
    reader->err->column = column;
    return false;
}

static bool memory_fail(const struct json_reader *reader)
{
    EXEC_FAIL(reader->err, EXEC_MEMORY_BUDGET, "no memory to read %s", reader->name);
    return false;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* An integer written as a number, a string of digits, or a number like 1e3. */
static bool integer_read(const json_t *json, bool *negative_out, uint64_t *magnitude_out)
{
    if (json_is_integer(json)) {
        const json_int_t value = json_integer_value(json);
        *negative_out = value < 0;
        *magnitude_out = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        return true;
    }
    if (json_is_real(json)) {
        const double value = json_real_value(json);
        *negative_out = value < 0;
        *magnitude_out = fabs(value) < 9007199254740992.0 ? (uint64_t)fabs(value) : 0;
        return fabs(value) < 9007199254740992.0 && value == trunc(value);
    }
    if (json_is_string(json)) {
        const char *text = json_string_value(json);
        char *end;
        *negative_out = text[0] == '-';
        text += *negative_out;
        errno = 0;
        *magnitude_out = strtoull(text, &end, 10);
        return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    }
    return false;
}

static bool signed_read(const struct json_reader *reader, const struct json_step *step,
                        const json_t *json, uint64_t max, int64_t *value_out)
{
    bool negative;
    uint64_t magnitude;

    if (!integer_read(json, &negative, &magnitude)) {
        return read_fail(reader, step, "an integer is expected");
    }
    if (magnitude > max + negative) {
        return read_fail(reader, step, "the number is too large");
    }
    *value_out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

static bool unsigned_read(const struct json_reader *reader, const struct json_step *step,
                          const json_t *json, uint64_t max, uint64_t *value_out)
{
    bool negative;

    if (!integer_read(json, &negative, value_out)) {
        return read_fail(reader, step, "an integer is expected");
    }
    if (negative && *value_out != 0) {
        return read_fail(reader, step, "the number may not be negative");
    }
    return *value_out <= max || read_fail(reader, step, "the number is too large");
}

static bool double_read(const struct json_reader *reader, const struct json_step *step,
                        const json_t *json, double *value_out)
{
    if (json_is_number(json)) {
        *value_out = json_number_value(json);
        return true;
    }
    if (json_is_string(json)) {
        const char *text = json_string_value(json);
        char *end;
        if (strcmp(text, "NaN") == 0 || strcmp(text, "Infinity") == 0 ||
            strcmp(text, "-Infinity") == 0 ||
            (text[0] != '\0' && strspn(text, "0123456789+-.eE") == strlen(text))) {
            *value_out = strtod(text, &end);
            if (*end == '\0') {
                return true;
            }
        }
    }
    return read_fail(reader, step, "a number is expected");
}

/* ---- texts ---------------------------------------------------------------------------------- */

static bool string_read(const struct json_reader *reader, const struct json_step *step,
                        const json_t *json, char **value_out)
{
    if (!json_is_string(json)) {
        return read_fail(reader, step, "a string is expected");
    }
    *value_out = strdup(json_string_value(json));
    return *value_out != NULL || memory_fail(reader);
}

static bool bytes_read(const struct json_reader *reader, const struct json_step *step,
                       const json_t *json, ProtobufCBinaryData *value_out)
{
    if (!json_is_string(json)) {
        return read_fail(reader, step, "a base64 string is expected");
    }
    uint8_t *bytes = malloc(json_string_length(json) / 4 * 3 + 3);
    if (bytes == NULL) {
        return memory_fail(reader);
    }
    if (!base64_decode(json_string_value(json), json_string_length(json), bytes, &value_out->len)) {
        free(bytes);
        value_out->len = 0;
        return read_fail(reader, step, "the string is not base64");
    }
    value_out->data = bytes;
    return true;
}

static bool enum_read(const struct json_reader *reader, const struct json_step *step,
                      const json_t *json, const ProtobufCEnumDescriptor *descriptor,
                      int32_t *value_out)
{
    if (json_is_string(json)) {
        const ProtobufCEnumValue *value =
            protobuf_c_enum_descriptor_get_value_by_name(descriptor, json_string_value(json));
        if (value == NULL) {
            return read_fail(reader, step, "'%.64s' is no value of %s", json_string_value(json),
                             descriptor->name);
        }
        *value_out = value->value;
        return true;
    }
    int64_t number;
    if (!json_is_integer(json)) {
        return read_fail(reader, step, "a name of %s is expected", descriptor->name);
    }
    if (!signed_read(reader, step, json, INT32_MAX, &number)) {
        return false;
    }
    *value_out = (int32_t)number;
    return true;
}

/* ---- messages ------------------------------------------------------------------------------- */

static ProtobufCMessage *message_read(struct json_reader *reader, const struct json_step *step,
                                      const json_t *json,
                                      const ProtobufCMessageDescriptor *descriptor);

/* What one value needs, by its field's type. */
static bool value_read(struct json_reader *reader, const struct json_step *step, const json_t *json,
                       const ProtobufCFieldDescriptor *field, void *out)
{
    int64_t number = 0;
    uint64_t count = 0;
    double real = 0;

    switch (field->type) {
        case PROTOBUF_C_TYPE_INT32:
        case PROTOBUF_C_TYPE_SINT32:
        case PROTOBUF_C_TYPE_SFIXED32:
            if (!signed_read(reader, step, json, INT32_MAX, &number)) {
                return false;
            }
            *(int32_t *)out = (int32_t)number;
            return true;
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64: return signed_read(reader, step, json, INT64_MAX, out);
        case PROTOBUF_C_TYPE_UINT32:
        case PROTOBUF_C_TYPE_FIXED32:
            if (!unsigned_read(reader, step, json, UINT32_MAX, &count)) {
                return false;
            }
            *(uint32_t *)out = (uint32_t)count;
            return true;
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64: return unsigned_read(reader, step, json, UINT64_MAX, out);
        case PROTOBUF_C_TYPE_DOUBLE: return double_read(reader, step, json, out);
        case PROTOBUF_C_TYPE_FLOAT:
            if (!double_read(reader, step, json, &real)) {
                return false;
            }
            *(float *)out = (float)real;
            return true;
        case PROTOBUF_C_TYPE_BOOL:
            *(protobuf_c_boolean *)out = json_is_true(json);
            return json_is_boolean(json) || read_fail(reader, step, "true or false is expected");
        case PROTOBUF_C_TYPE_ENUM: return enum_read(reader, step, json, field->descriptor, out);
        case PROTOBUF_C_TYPE_STRING: return string_read(reader, step, json, out);
        case PROTOBUF_C_TYPE_BYTES: return bytes_read(reader, step, json, out);
        default:
            *(ProtobufCMessage **)out = message_read(reader, step, json, field->descriptor);
            return *(ProtobufCMessage **)out != NULL;
    }
}

/* The count grows with the values that are whole, so that a half-read message can be freed. */
static bool repeated_read(struct json_reader *reader, const struct json_step *step,
                          const json_t *json, const ProtobufCFieldDescriptor *field,
                          ProtobufCMessage *message)
{
    size_t *count = (void *)((char *)message + field->quantifier_offset);
    void **list = (void *)((char *)message + field->offset);
    const size_t value_bytes = json_field_bytes(field);

    if (!json_is_array(json)) {
        return read_fail(reader, step, "a list is expected");
    }
    if (json_array_size(json) == 0) {
        return true;
    }
    *list = calloc(json_array_size(json), value_bytes);
    if (*list == NULL) {
        return memory_fail(reader);
    }
    for (size_t i = 0; i < json_array_size(json); i++) {
        const struct json_step inner = {.outer = step, .index = i};
        if (!value_read(reader, &inner, json_array_get(json, i), field,
                        (char *)*list + *count * value_bytes)) {
            return false;
        }
        ++*count;
    }
    return true;
}

static ProtobufCMessage *message_new(const struct json_reader *reader,
                                     const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message = calloc(1, descriptor->sizeof_message);

    if (message == NULL) {
        memory_fail(reader);
        return NULL;
    }
    descriptor->message_init(message);
    return message;
}

/* Keys of our maps are strings; any other would need its text turned into a number. */
static bool map_entry_read(struct json_reader *reader, const struct json_step *step,
                           const char *key, const json_t *json,
                           const ProtobufCFieldDescriptor *field, ProtobufCMessage **entry_out)
{
    const ProtobufCMessageDescriptor *descriptor = field->descriptor;
    ProtobufCMessage *entry;
    char **key_at;

    if (descriptor->fields[0].type != PROTOBUF_C_TYPE_STRING) {
        return read_fail(reader, step, "maps with keys other than strings are not read");
    }
    entry = message_new(reader, descriptor);
    if (entry == NULL) {
        return false;
    }
    key_at = (void *)((char *)entry + descriptor->fields[0].offset);
    *key_at = strdup(key);
    if (*key_at == NULL || !value_read(reader, step, json, &descriptor->fields[1],
                                       (char *)entry + descriptor->fields[1].offset)) {
        const bool no_memory = *key_at == NULL;
        protobuf_c_message_free_unpacked(entry, NULL);
        return no_memory ? memory_fail(reader) : false;
    }
    *entry_out = entry;
    return true;
}

static bool map_read(struct json_reader *reader, const struct json_step *step, json_t *json,
                     const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
    size_t *count = (void *)((char *)message + field->quantifier_offset);
    ProtobufCMessage ***list = (void *)((char *)message + field->offset);
    const char *key;
    json_t *value;

    if (!json_is_object(json)) {
        return read_fail(reader, step, "an object is expected");
    }
    if (json_object_size(json) == 0) {
        return true;
    }
    *list = calloc(json_object_size(json), sizeof(ProtobufCMessage *));
    if (*list == NULL) {
        return memory_fail(reader);
    }
    json_object_foreach(json, key, value)
    {
        const struct json_step inner = {.outer = step, .key = key};
        if (!map_entry_read(reader, &inner, key, value, field, &(*list)[*count])) {
            return false;
        }
        ++*count;
    }
    return true;
}

static bool oneof_read(struct json_reader *reader, const struct json_step *step, const json_t *json,
                       const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
    uint32_t *chosen = (void *)((char *)message + field->quantifier_offset);

    if (*chosen != 0) {
        const ProtobufCFieldDescriptor *other =
            protobuf_c_message_descriptor_get_field(message->descriptor, *chosen);
        return read_fail(reader, step, "only one of '%s' and '%s' may be set", other->name,
                         field->name);
    }
    if (!value_read(reader, step, json, field, (char *)message + field->offset)) {
        return false;
    }
    *chosen = field->id;
    return true;
}

static bool is_seen(const ProtobufCFieldDescriptor *field,
                    const ProtobufCFieldDescriptor *const *seen, size_t seen_count)
{
    for (size_t i = 0; i < seen_count; i++) {
        if (seen[i] == field) {
            return true;
        }
    }
    return false;
}

static bool field_read(struct json_reader *reader, const struct json_step *step, json_t *json,
                       const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
    if (json_field_is_map(field)) {
        return map_read(reader, step, json, field, message);
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return repeated_read(reader, step, json, field, message);
    }
    if (json_field_is_oneof(field)) {
        return oneof_read(reader, step, json, field, message);
    }
    return value_read(reader, step, json, field, (char *)message + field->offset);
}

enum { FIELDS_MAX = 64 };

static bool fields_read(struct json_reader *reader, const struct json_step *step, json_t *json,
                        ProtobufCMessage *message)
{
    const ProtobufCFieldDescriptor *seen[FIELDS_MAX];
    size_t seen_count = 0;
    const char *key;
    json_t *value;

    json_object_foreach(json, key, value)
    {
        const struct json_step inner = {.outer = step, .key = key};
        const ProtobufCFieldDescriptor *field = json_field_find(message->descriptor, key);
        if (field == NULL) {
            return read_fail(reader, &inner, "%s has no such field", message->descriptor->name);
        }
        if (json_is_null(value)) {
            continue; /* unset */
        }
        if (is_seen(field, seen, seen_count) || seen_count == FIELDS_MAX) {
            return read_fail(reader, &inner, "the field is there twice, under both its names");
        }
        seen[seen_count++] = field;
        if (!field_read(reader, &inner, value, field, message)) {
            return false;
        }
    }
    return true;
}

/* Duration and Timestamp have texts of their own. */
static bool time_read(const struct json_reader *reader, const struct json_step *step,
                      const json_t *json, ProtobufCMessage *message)
{
    const char *text = json_is_string(json) ? json_string_value(json) : "";

    if (message->descriptor == &google__protobuf__duration__descriptor) {
        Google__Protobuf__Duration *duration = (void *)message;
        return json_duration_parse(text, &duration->seconds, &duration->nanos) ||
               read_fail(reader, step, "a duration like \"1.5s\" is expected");
    }
    Google__Protobuf__Timestamp *timestamp = (void *)message;
    return json_timestamp_parse(text, &timestamp->seconds, &timestamp->nanos) ||
           read_fail(reader, step, "a time like \"2013-01-01T05:00:00Z\" is expected");
}

static bool content_read(struct json_reader *reader, const struct json_step *step, json_t *json,
                         ProtobufCMessage *message)
{
    if (message->descriptor == &google__protobuf__duration__descriptor ||
        message->descriptor == &google__protobuf__timestamp__descriptor) {
        return time_read(reader, step, json, message);
    }
    if (!json_is_object(json)) {
        return read_fail(reader, step, "an object (%s) is expected", message->descriptor->name);
    }
    if (reader->depth == DEPTH_MAX) {
        return read_fail(reader, step, "nested deeper than %d", DEPTH_MAX);
    }
    reader->depth++;
    const bool done = fields_read(reader, step, json, message);
    reader->depth--;
    return done;
}

static ProtobufCMessage *message_read(struct json_reader *reader, const struct json_step *step,
                                      const json_t *json,
                                      const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message = message_new(reader, descriptor);
    json_t *borrowed;

    memcpy(&borrowed, &json, sizeof borrowed); /* jansson iterates over non-const objects only */
    if (message != NULL && !content_read(reader, step, borrowed, message)) {
        protobuf_c_message_free_unpacked(message, NULL);
        return NULL;
    }
    return message;
}

ProtobufCMessage *json_to_message(const ProtobufCMessageDescriptor *descriptor, const char *text,
                                  size_t size, const char *name, struct exec_error *err)
{
    const struct json_step root = {.outer = NULL};
    struct json_reader reader = {.text = text, .size = size, .name = name, .err = err};
    json_error_t error;
    ProtobufCMessage *message;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);

    if (size == 0) {
        EXEC_FAIL(err, EXEC_BAD_SPEC, "%s is empty", name);
        err->line = 1;
        return NULL;
    }
    if (json == NULL) {
        EXEC_FAIL(err, EXEC_BAD_SPEC, "%s:%d:%d: %s", name, error.line, error.column, error.text);
        err->line = error.line > 0 ? (uint64_t)error.line : 0;
        err->column = error.column > 0 ? (uint32_t)error.column : 0;
        return NULL;
    }
    message = message_read(&reader, &root, json, descriptor);
    json_decref(json);
    return message;
}
