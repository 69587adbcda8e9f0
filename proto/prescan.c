/* The pass over protobuf bytes that decides whether protobuf-c may see them. Recursion follows the
 * message nesting and is cut at PRESCAN_DEPTH_CAP whatever the caller's limits say. */
#include "proto/prescan.h"

#include "wire_utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const struct prescan_limits prescan_control_limits = {
    .depth_max = 16, .fields_max = 20000, .message_bytes_max = 1 << 20};

enum { PRESCAN_DEPTH_CAP = 64, PATH_BYTES = 256, VARINT_BYTES_MAX = 10 };

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_GROUP_BEGIN = 3,
    WIRE_GROUP_END = 4,
    WIRE_FIXED32 = 5,
};

/* One message under way, linked to the one around it; `field` is the field the scan is in. */
struct level {
    const struct level *outer;
    const ProtobufCMessageDescriptor *descriptor;
    const uint8_t *begin, *end;
    const uint8_t *field_begin; /* where the tag of `field` stands */
    const ProtobufCFieldDescriptor *field;
};

struct scan {
    const struct prescan_limits *limits;
    uint32_t field_count;
    uint32_t depth;
    struct exec_error *err;
};

static bool varint_read(const uint8_t **at, const uint8_t *end, uint64_t *value_out)
{
    uint64_t value = 0;

    for (int i = 0; i < VARINT_BYTES_MAX && *at + i < end; i++) {
        const uint8_t byte = (*at)[i];
        if (i == VARINT_BYTES_MAX - 1 && byte > 1) {
            return false; /* more than 64 bits */
        }
        value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if ((byte & 0x80) == 0) {
            *at += i + 1;
            *value_out = value;
            return true;
        }
    }
    return false;
}

static bool tag_read(const uint8_t **at, const uint8_t *end, uint32_t *number, uint32_t *wire_type)
{
    uint64_t tag;

    if (!varint_read(at, end, &tag) || tag > UINT32_MAX || tag >> 3 == 0) {
        return false;
    }
    *number = (uint32_t)(tag >> 3);
    *wire_type = (uint32_t)(tag & 7);
    return true;
}

/* Steps over a value; false when it runs over the end. */
static bool value_skip(const uint8_t **at, const uint8_t *end, uint32_t wire_type,
                       const uint8_t **payload, size_t *payload_bytes)
{
    const uint8_t *begin = *at;
    uint64_t size = 0;

    switch (wire_type) {
        case WIRE_VARINT:
            if (!varint_read(at, end, &size)) {
                return false;
            }
            size = 0;
            break;
        case WIRE_FIXED64: size = 8; break;
        case WIRE_FIXED32: size = 4; break;
        default:
            if (!varint_read(at, end, &size)) {
                return false;
            }
            begin = *at;
            break;
    }
    if (size > (size_t)(end - *at)) {
        return false;
    }
    *payload = begin;
    *payload_bytes = (size_t)size;
    *at += size;
    return true;
}

/* How many fields of this number stand in the message up to and with the current one. */
static uint32_t occurrence(const struct level *level)
{
    const uint8_t *at = level->begin;
    uint32_t count = 1;

    while (at < level->field_begin) {
        uint32_t number, wire_type;
        const uint8_t *payload;
        size_t payload_bytes;
        if (!tag_read(&at, level->end, &number, &wire_type) ||
            !value_skip(&at, level->end, wire_type, &payload, &payload_bytes)) {
            break; /* not reached: the scan has been here */
        }
        count += number == level->field->id;
    }
    return count;
}

/* "morsel.v1.ExecuteJobRequest.plan.rels[3].scan": entries of repeated fields count from 1, like
 * every index of a plan. */
static size_t path_write(const struct level *level, char *path, size_t room)
{
    size_t used;
    int wrote;

    if (level->outer != NULL) {
        used = path_write(level->outer, path, room);
    } else {
        wrote = snprintf(path, room, "%s", level->descriptor->name);
        used = (size_t)wrote < room ? (size_t)wrote : room - 1;
    }
    if (level->field == NULL) {
        return used;
    }
    if (level->field->label == PROTOBUF_C_LABEL_REPEATED) {
        wrote = snprintf(path + used, room - used, ".%s[%" PRIu32 "]", level->field->name,
                         occurrence(level));
    } else {
        wrote = snprintf(path + used, room - used, ".%s", level->field->name);
    }
    used += (size_t)wrote;
    return used < room ? used : room - 1;
}

static enum exec_code scan_fail(const struct scan *scan, const struct level *level,
                                enum exec_code code, const char *what)
{
    char path[PATH_BYTES];

    path_write(level, path, sizeof path);
    return EXEC_FAIL(scan->err, code, "%s: %s", path, what);
}

static enum wire_type wire_type_of(ProtobufCType type)
{
    switch (type) {
        case PROTOBUF_C_TYPE_SFIXED32:
        case PROTOBUF_C_TYPE_FIXED32:
        case PROTOBUF_C_TYPE_FLOAT: return WIRE_FIXED32;
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_FIXED64:
        case PROTOBUF_C_TYPE_DOUBLE: return WIRE_FIXED64;
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_BYTES:
        case PROTOBUF_C_TYPE_MESSAGE: return WIRE_BYTES;
        default: return WIRE_VARINT;
    }
}

static enum exec_code count_field(struct scan *scan, const struct level *level)
{
    if (++scan->field_count > scan->limits->fields_max) {
        char what[80];
        snprintf(what, sizeof what, "more than %" PRIu32 " fields in the message",
                 scan->limits->fields_max);
        return scan_fail(scan, level, EXEC_LIMIT, what);
    }
    return EXEC_OK;
}

/* Each element counts as a field: one byte becomes up to eight in memory. */
static enum exec_code packed_scan(struct scan *scan, const struct level *level,
                                  const uint8_t *payload, size_t size)
{
    const enum wire_type wire_type = wire_type_of(level->field->type);
    const uint8_t *at = payload;

    while (at < payload + size) {
        const uint8_t *value;
        size_t value_bytes;
        if (!value_skip(&at, payload + size, wire_type, &value, &value_bytes)) {
            return scan_fail(scan, level, EXEC_BAD_SPEC, "a packed value is cut off");
        }
        const enum exec_code code = count_field(scan, level);
        if (code != EXEC_OK) {
            return code;
        }
    }
    return EXEC_OK;
}

static enum exec_code string_scan(const struct scan *scan, const struct level *level,
                                  const uint8_t *payload, size_t size)
{
    if (size != 0 && memchr(payload, '\0', size) != NULL) {
        return scan_fail(scan, level, EXEC_BAD_SPEC, "the text holds a NUL byte");
    }
    if (!wire_utf8_valid(payload, size)) {
        return scan_fail(scan, level, EXEC_BAD_SPEC, "the text is not UTF-8");
    }
    return EXEC_OK;
}

static enum exec_code level_scan(struct scan *scan, struct level *level);

static enum exec_code message_scan(struct scan *scan, const struct level *outer,
                                   const uint8_t *payload, size_t size)
{
    const uint32_t depth_max =
        scan->limits->depth_max < PRESCAN_DEPTH_CAP ? scan->limits->depth_max : PRESCAN_DEPTH_CAP;
    struct level level = {.outer = outer,
                          .descriptor = outer->field->descriptor,
                          .begin = payload,
                          .end = payload + size};

    if (scan->depth == depth_max) {
        char what[64];
        snprintf(what, sizeof what, "messages nest deeper than %" PRIu32, depth_max);
        return scan_fail(scan, outer, EXEC_LIMIT, what);
    }
    scan->depth++;
    const enum exec_code code = level_scan(scan, &level);
    scan->depth--;
    return code;
}

static enum exec_code value_scan(struct scan *scan, const struct level *level, uint32_t wire_type,
                                 const uint8_t *payload, size_t size)
{
    const enum wire_type expected = wire_type_of(level->field->type);

    if (wire_type == WIRE_BYTES && expected != WIRE_BYTES &&
        level->field->label == PROTOBUF_C_LABEL_REPEATED) {
        return packed_scan(scan, level, payload, size);
    }
    if (wire_type != expected) {
        return scan_fail(scan, level, EXEC_BAD_SPEC, "the wire type is not the field's");
    }
    if (level->field->type == PROTOBUF_C_TYPE_STRING) {
        return string_scan(scan, level, payload, size);
    }
    if (level->field->type == PROTOBUF_C_TYPE_MESSAGE) {
        return message_scan(scan, level, payload, size);
    }
    return EXEC_OK;
}

static enum exec_code unknown_fail(const struct scan *scan, struct level *level, uint32_t number)
{
    char what[128];

    level->field = NULL;
    snprintf(what, sizeof what, "field number %" PRIu32 " of message %s is not known", number,
             level->descriptor->name);
    return scan_fail(scan, level, EXEC_NOT_IMPLEMENTED, what);
}

static enum exec_code level_scan(struct scan *scan, struct level *level)
{
    const uint8_t *at = level->begin;

    while (at < level->end) {
        uint32_t number, wire_type;
        const uint8_t *payload;
        size_t payload_bytes;
        enum exec_code code;

        level->field_begin = at;
        level->field = NULL;
        if (!tag_read(&at, level->end, &number, &wire_type)) {
            return scan_fail(scan, level, EXEC_BAD_SPEC, "a field tag is damaged");
        }
        if (wire_type == WIRE_GROUP_BEGIN || wire_type == WIRE_GROUP_END) {
            return scan_fail(scan, level, EXEC_BAD_SPEC, "groups are not supported");
        }
        if (wire_type > WIRE_FIXED32) {
            return scan_fail(scan, level, EXEC_BAD_SPEC, "a field has no wire type");
        }
        level->field = protobuf_c_message_descriptor_get_field(level->descriptor, number);
        if (level->field == NULL) {
            return unknown_fail(scan, level, number);
        }
        if (!value_skip(&at, level->end, wire_type, &payload, &payload_bytes)) {
            return scan_fail(scan, level, EXEC_BAD_SPEC, "the value is cut off");
        }
        code = count_field(scan, level);
        if (code == EXEC_OK) {
            code = value_scan(scan, level, wire_type, payload, payload_bytes);
        }
        if (code != EXEC_OK) {
            return code;
        }
    }
    level->field = NULL;
    return EXEC_OK;
}

enum exec_code prescan_message(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                               size_t size, const struct prescan_limits *limits,
                               struct exec_error *err)
{
    struct scan scan = {.limits = limits, .depth = 1, .err = err};
    struct level level = {.descriptor = descriptor, .begin = bytes, .end = bytes};

    if (size > limits->message_bytes_max) {
        return EXEC_FAIL(err, EXEC_LIMIT, "%s: %zu bytes, at most %zu are taken", descriptor->name,
                         size, limits->message_bytes_max);
    }
    if (size != 0) {
        level.end = bytes + size;
    }
    return level_scan(&scan, &level);
}
