#include "wire_reader.h"

#include "exec/job_spec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum exec_code wire_fail(const struct wire_reader *reader, enum exec_code code, const char *fmt,
                         ...)
{
    char place[32] = "";
    char what[sizeof reader->err->detail];
    va_list args;

    if (reader->rel != 0) {
        snprintf(place, sizeof place, "rels[%" PRIu32 "].", reader->rel);
    } else if (reader->expr != 0) {
        snprintf(place, sizeof place, "exprs[%" PRIu32 "].", reader->expr);
    }
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    exec_fail(reader->err, code, 0, __func__, "%s%s", place, what);
    reader->err->rel = reader->rel;
    reader->err->expr = reader->expr;
    return code;
}

enum exec_code wire_fail_memory(const struct wire_reader *reader)
{
    return EXEC_FAIL(reader->err, EXEC_MEMORY_BUDGET, "no memory to translate the message");
}

enum exec_code wire_enum_check(const struct wire_reader *reader, const char *field,
                               const ProtobufCEnumDescriptor *descriptor, int value, bool zero_ok,
                               int known_max)
{
    const ProtobufCEnumValue *row;

    if (value == 0) {
        return zero_ok ? EXEC_OK : wire_fail(reader, EXEC_BAD_SPEC, "%s is not set", field);
    }
    row = protobuf_c_enum_descriptor_get_value(descriptor, value);
    if (row == NULL) {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s: %s has no value %d", field, descriptor->name,
                         value);
    }
    if (value > known_max) {
        return wire_fail(reader, EXEC_NOT_IMPLEMENTED, "%s: %s is not implemented yet", field,
                         row->name);
    }
    return EXEC_OK;
}

enum exec_code wire_name_check(const struct wire_reader *reader, const char *field,
                               const char *name)
{
    if (name == NULL || name[0] == '\0') {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s is empty", field);
    }
    if (strlen(name) > EXEC_NAME_BYTES_MAX) {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s: %zu bytes, at most %d are taken", field,
                         strlen(name), EXEC_NAME_BYTES_MAX);
    }
    return EXEC_OK;
}

enum exec_code wire_count_check(const struct wire_reader *reader, const char *field, size_t count,
                                size_t count_max)
{
    if (count > count_max) {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s: %zu entries, at most %zu are taken", field,
                         count, count_max);
    }
    return EXEC_OK;
}
