#include "wire_types.h"

#include "proto/wire_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME(exec, wire) _Static_assert((int)(exec) == (int)(wire), #exec " is " #wire)
#define SAME_KIND(name) SAME(EXEC_TYPE_##name, MORSEL__V1__TYPE_KIND__TYPE_KIND_##name)
#define TYPE(NAME, text, width_bytes) SAME_KIND(NAME);
#include "exec/types.def"
#define SAME_UNIT(name) SAME(EXEC_UNIT_##name, MORSEL__V1__TIME_UNIT__TIME_UNIT_##name)
SAME_UNIT(SECOND);
SAME_UNIT(MILLI);
SAME_UNIT(MICRO);
SAME_UNIT(NANO);

enum { FIELD_PATH_BYTES = 160, DECIMAL_BYTES = 16 };

void *wire_message_new(struct wire_memory *memory, const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message = wire_memory_array(memory, 1, descriptor->sizeof_message);

    if (message != NULL) {
        descriptor->message_init(message);
    }
    return message;
}

/* ---- types ---------------------------------------------------------------------------------- */

static enum exec_code decimal_read(const struct wire_reader *reader, const char *field,
                                   const Morsel__V1__DataType *message, struct exec_type *type)
{
    if (message->precision < 1 || message->precision > EXEC_DECIMAL_DIGITS_MAX) {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s.precision: %" PRIu32 " is not in 1..%d", field,
                         message->precision, EXEC_DECIMAL_DIGITS_MAX);
    }
    if (message->scale < 0 || (uint32_t)message->scale > message->precision) {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s.scale: %" PRId32 " is not in 0..%" PRIu32,
                         field, message->scale, message->precision);
    }
    type->precision = (uint8_t)message->precision;
    type->scale = (int8_t)message->scale;
    return EXEC_OK;
}

static enum exec_code timestamp_read(const struct wire_reader *reader, const char *field,
                                     const Morsel__V1__DataType *message, struct exec_type *type)
{
    char path[FIELD_PATH_BYTES];
    enum exec_code code;

    snprintf(path, sizeof path, "%s.unit", field);
    code = wire_enum_check(reader, path, &morsel__v1__time_unit__descriptor, (int)message->unit,
                           false, EXEC_UNIT_NANO);
    if (code != EXEC_OK) {
        return code;
    }
    if (strlen(message->time_zone) >= sizeof type->zone) {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s.time_zone: longer than %zu bytes", field,
                         sizeof type->zone - 1);
    }
    type->unit = (uint8_t)message->unit;
    snprintf(type->zone, sizeof type->zone, "%s", message->time_zone);
    return EXEC_OK;
}

enum exec_code wire_type_read(const struct wire_reader *reader, const char *field,
                              const Morsel__V1__DataType *message, struct exec_type *type_out)
{
    char path[FIELD_PATH_BYTES];
    struct exec_type type = {.kind = EXEC_TYPE_NONE};
    enum exec_code code;

    if (message == NULL) {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s is not set", field);
    }
    snprintf(path, sizeof path, "%s.kind", field);
    code = wire_enum_check(reader, path, &morsel__v1__type_kind__descriptor, (int)message->kind,
                           false, EXEC_TYPE_COUNT - 1);
    if (code != EXEC_OK) {
        return code;
    }
    type.kind = (uint8_t)message->kind;
    if (type.kind == EXEC_TYPE_DECIMAL128) {
        code = decimal_read(reader, field, message, &type);
    } else if (message->precision != 0 || message->scale != 0) {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s: precision and scale are for decimal128",
                         field);
    }
    if (type.kind == EXEC_TYPE_TIMESTAMP) {
        code = timestamp_read(reader, field, message, &type);
    } else if (message->unit != 0 || message->time_zone[0] != '\0') {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s: unit and time_zone are for timestamp", field);
    }
    if (code == EXEC_OK) {
        *type_out = type;
    }
    return code;
}

Morsel__V1__DataType *wire_type_write(struct wire_memory *memory, const struct exec_type *type)
{
    Morsel__V1__DataType *message = wire_message_new(memory, &morsel__v1__data_type__descriptor);

    if (message == NULL) {
        return NULL;
    }
    message->kind = (Morsel__V1__TypeKind)type->kind;
    message->precision = type->precision;
    message->scale = type->scale;
    message->unit = (Morsel__V1__TimeUnit)type->unit;
    message->time_zone = wire_memory_text(memory, type->zone);
    return message->time_zone == NULL ? NULL : message;
}

/* ---- schemas -------------------------------------------------------------------------------- */

static enum exec_code schema_read_into(const struct wire_reader *reader, const char *field,
                                       const Morsel__V1__Schema *message,
                                       struct exec_field *fields_out)
{
    for (size_t i = 0; i < message->n_fields; i++) {
        const Morsel__V1__Field *from = message->fields[i];
        char path[FIELD_PATH_BYTES];
        enum exec_code code;

        snprintf(path, sizeof path, "%s.fields[%zu].name", field, i + 1);
        code = wire_name_check(reader, path, from->name);
        if (code != EXEC_OK) {
            return code;
        }
        snprintf(path, sizeof path, "%s.fields[%zu].type", field, i + 1);
        code = wire_type_read(reader, path, from->type, &fields_out[i].type);
        if (code != EXEC_OK) {
            return code;
        }
        fields_out[i].name = from->name;
        fields_out[i].not_null = from->not_null;
    }
    return EXEC_OK;
}

enum exec_code wire_schema_read(const struct wire_reader *reader, const char *field,
                                const Morsel__V1__Schema *message, struct exec_schema *schema_out)
{
    char path[FIELD_PATH_BYTES];
    struct exec_field *fields;
    enum exec_code code;

    *schema_out = (struct exec_schema){.field_count = 0};
    if (message == NULL || message->n_fields == 0) {
        return EXEC_OK;
    }
    snprintf(path, sizeof path, "%s.fields", field);
    code = wire_count_check(reader, path, message->n_fields, EXEC_COLUMNS_MAX);
    if (code != EXEC_OK) {
        return code;
    }
    fields = wire_memory_array(reader->memory, message->n_fields, sizeof *fields);
    if (fields == NULL) {
        return wire_fail_memory(reader);
    }
    code = schema_read_into(reader, field, message, fields);
    *schema_out = (struct exec_schema){fields, (uint32_t)message->n_fields};
    return code;
}

Morsel__V1__Schema *wire_schema_write(struct wire_memory *memory, const struct exec_schema *schema)
{
    Morsel__V1__Schema *message = wire_message_new(memory, &morsel__v1__schema__descriptor);

    if (message == NULL) {
        return NULL;
    }
    message->n_fields = schema->field_count;
    message->fields = wire_memory_array(memory, schema->field_count, sizeof *message->fields);
    for (uint32_t i = 0; message->fields != NULL && i < schema->field_count; i++) {
        Morsel__V1__Field *field = wire_message_new(memory, &morsel__v1__field__descriptor);
        if (field == NULL) {
            return NULL;
        }
        field->name = wire_memory_text(memory, schema->fields[i].name);
        field->type = wire_type_write(memory, &schema->fields[i].type);
        field->not_null = schema->fields[i].not_null;
        if (field->name == NULL || field->type == NULL) {
            return NULL;
        }
        message->fields[i] = field;
    }
    return message->fields == NULL ? NULL : message;
}

/* ---- literals ------------------------------------------------------------------------------- */

static const struct {
    int64_t min, max;
} signed_range[] = {
    [EXEC_TYPE_INT8] = {INT8_MIN, INT8_MAX},     [EXEC_TYPE_INT16] = {INT16_MIN, INT16_MAX},
    [EXEC_TYPE_INT32] = {INT32_MIN, INT32_MAX},  [EXEC_TYPE_INT64] = {INT64_MIN, INT64_MAX},
    [EXEC_TYPE_DATE32] = {INT32_MIN, INT32_MAX}, [EXEC_TYPE_TIMESTAMP] = {INT64_MIN, INT64_MAX},
};
static const uint64_t unsigned_max[] = {
    [EXEC_TYPE_UINT8] = UINT8_MAX,
    [EXEC_TYPE_UINT16] = UINT16_MAX,
    [EXEC_TYPE_UINT32] = UINT32_MAX,
    [EXEC_TYPE_UINT64] = UINT64_MAX,
};

static bool type_is_unsigned(uint8_t kind)
{
    return kind >= EXEC_TYPE_UINT8 && kind <= EXEC_TYPE_UINT64;
}

static bool type_is_signed(uint8_t kind)
{
    return (kind >= EXEC_TYPE_INT8 && kind <= EXEC_TYPE_INT64) || kind == EXEC_TYPE_DATE32 ||
           kind == EXEC_TYPE_TIMESTAMP;
}

static enum exec_code literal_misfit(const struct wire_reader *reader, const char *field,
                                     const struct exec_literal *literal, const char *member)
{
    char text[EXEC_TYPE_TEXT_BYTES];

    return wire_fail(reader, EXEC_BAD_SPEC, "%s.%s does not fit the type %s", field, member,
                     exec_type_text(&literal->type, text));
}

static enum exec_code int_read(const struct wire_reader *reader, const char *field, int64_t value,
                               struct exec_literal *literal)
{
    const uint8_t kind = literal->type.kind;

    if (type_is_signed(kind) && value >= signed_range[kind].min &&
        value <= signed_range[kind].max) {
        literal->value.i64 = value;
        return EXEC_OK;
    }
    if (type_is_unsigned(kind) && value >= 0 && (uint64_t)value <= unsigned_max[kind]) {
        literal->value.u64 = (uint64_t)value;
        return EXEC_OK;
    }
    return literal_misfit(reader, field, literal, "int_value");
}

static enum exec_code uint_read(const struct wire_reader *reader, const char *field, uint64_t value,
                                struct exec_literal *literal)
{
    const uint8_t kind = literal->type.kind;

    if (type_is_unsigned(kind) && value <= unsigned_max[kind]) {
        literal->value.u64 = value;
        return EXEC_OK;
    }
    if (type_is_signed(kind) && value <= (uint64_t)signed_range[kind].max) {
        literal->value.i64 = (int64_t)value;
        return EXEC_OK;
    }
    return literal_misfit(reader, field, literal, "uint_value");
}

static enum exec_code decimal_value_read(const struct wire_reader *reader, const char *field,
                                         const ProtobufCBinaryData *bytes,
                                         struct exec_literal *literal)
{
    uint64_t high;

    if (literal->type.kind != EXEC_TYPE_DECIMAL128) {
        return literal_misfit(reader, field, literal, "decimal_value");
    }
    if (bytes->len != DECIMAL_BYTES) {
        return wire_fail(reader, EXEC_BAD_SPEC, "%s.decimal_value: %zu bytes, 16 are needed", field,
                         bytes->len);
    }
    memcpy(&literal->value.decimal.low, bytes->data, 8);
    memcpy(&high, bytes->data + 8, 8);
    literal->value.decimal.high = (int64_t)high;
    return EXEC_OK;
}

static uint8_t literal_own_kind(Morsel__V1__Literal__ValueCase value_case)
{
    switch (value_case) {
        case MORSEL__V1__LITERAL__VALUE_BOOL_VALUE: return EXEC_TYPE_BOOL;
        case MORSEL__V1__LITERAL__VALUE_INT_VALUE: return EXEC_TYPE_INT64;
        case MORSEL__V1__LITERAL__VALUE_UINT_VALUE: return EXEC_TYPE_UINT64;
        case MORSEL__V1__LITERAL__VALUE_DOUBLE_VALUE: return EXEC_TYPE_FLOAT64;
        case MORSEL__V1__LITERAL__VALUE_STRING_VALUE: return EXEC_TYPE_UTF8;
        case MORSEL__V1__LITERAL__VALUE_BYTES_VALUE: return EXEC_TYPE_BINARY;
        default: return EXEC_TYPE_NONE;
    }
}

static enum exec_code literal_value_read(const struct wire_reader *reader, const char *field,
                                         const Morsel__V1__Literal *message,
                                         struct exec_literal *literal)
{
    const uint8_t kind = literal->type.kind;

    switch (message->value_case) {
        case MORSEL__V1__LITERAL__VALUE_NULL_VALUE:
            literal->is_null = true;
            return message->null_value
                       ? EXEC_OK
                       : wire_fail(reader, EXEC_BAD_SPEC, "%s.null_value is false", field);
        case MORSEL__V1__LITERAL__VALUE_BOOL_VALUE:
            literal->value.boolean = message->bool_value;
            return kind == EXEC_TYPE_BOOL ? EXEC_OK
                                          : literal_misfit(reader, field, literal, "bool_value");
        case MORSEL__V1__LITERAL__VALUE_INT_VALUE:
            return int_read(reader, field, message->int_value, literal);
        case MORSEL__V1__LITERAL__VALUE_UINT_VALUE:
            return uint_read(reader, field, message->uint_value, literal);
        case MORSEL__V1__LITERAL__VALUE_DOUBLE_VALUE:
            literal->value.f64 = message->double_value;
            return kind == EXEC_TYPE_FLOAT64 || kind == EXEC_TYPE_FLOAT32
                       ? EXEC_OK
                       : literal_misfit(reader, field, literal, "double_value");
        case MORSEL__V1__LITERAL__VALUE_STRING_VALUE:
            literal->value.text.bytes = message->string_value;
            literal->value.text.size = strlen(message->string_value);
            return kind == EXEC_TYPE_UTF8 ? EXEC_OK
                                          : literal_misfit(reader, field, literal, "string_value");
        case MORSEL__V1__LITERAL__VALUE_BYTES_VALUE:
            literal->value.text.bytes = (const char *)message->bytes_value.data;
            literal->value.text.size = message->bytes_value.len;
            return kind == EXEC_TYPE_BINARY ? EXEC_OK
                                            : literal_misfit(reader, field, literal, "bytes_value");
        case MORSEL__V1__LITERAL__VALUE_DECIMAL_VALUE:
            return decimal_value_read(reader, field, &message->decimal_value, literal);
        case MORSEL__V1__LITERAL__VALUE_INTERVAL_VALUE:
            return wire_fail(reader, EXEC_NOT_IMPLEMENTED, "%s.interval_value: not implemented yet",
                             field);
        default: return wire_fail(reader, EXEC_BAD_SPEC, "%s has no value", field);
    }
}

enum exec_code wire_literal_read(const struct wire_reader *reader, const char *field,
                                 const Morsel__V1__Literal *message,
                                 struct exec_literal *literal_out)
{
    struct exec_literal literal;
    char path[FIELD_PATH_BYTES];
    enum exec_code code;

    memset(&literal, 0, sizeof literal);
    if (message->type != NULL) {
        snprintf(path, sizeof path, "%s.type", field);
        code = wire_type_read(reader, path, message->type, &literal.type);
        if (code != EXEC_OK) {
            return code;
        }
    } else {
        literal.type.kind = literal_own_kind(message->value_case);
    }
    code = literal_value_read(reader, field, message, &literal);
    if (code == EXEC_OK) {
        *literal_out = literal;
    }
    return code;
}

static bool bytes_write(struct wire_memory *memory, const void *bytes, size_t size,
                        ProtobufCBinaryData *out)
{
    out->data = wire_memory_array(memory, size, 1);
    out->len = size;
    if (out->data != NULL && size != 0) {
        memcpy(out->data, bytes, size);
    }
    return out->data != NULL;
}

static bool text_value_write(struct wire_memory *memory, const struct exec_literal *literal,
                             Morsel__V1__Literal *message)
{
    const size_t size = literal->value.text.size;

    if (literal->type.kind == EXEC_TYPE_BINARY) {
        message->value_case = MORSEL__V1__LITERAL__VALUE_BYTES_VALUE;
        return bytes_write(memory, literal->value.text.bytes, size, &message->bytes_value);
    }
    message->value_case = MORSEL__V1__LITERAL__VALUE_STRING_VALUE;
    message->string_value = wire_memory_array(memory, size + 1, 1);
    if (message->string_value != NULL && size != 0) {
        memcpy(message->string_value, literal->value.text.bytes, size);
    }
    return message->string_value != NULL;
}

static bool literal_value_write(struct wire_memory *memory, const struct exec_literal *literal,
                                Morsel__V1__Literal *message)
{
    const uint8_t kind = literal->type.kind;
    uint8_t decimal[DECIMAL_BYTES];

    if (literal->is_null) {
        message->value_case = MORSEL__V1__LITERAL__VALUE_NULL_VALUE;
        message->null_value = 1;
    } else if (kind == EXEC_TYPE_BOOL) {
        message->value_case = MORSEL__V1__LITERAL__VALUE_BOOL_VALUE;
        message->bool_value = literal->value.boolean;
    } else if (type_is_signed(kind)) {
        message->value_case = MORSEL__V1__LITERAL__VALUE_INT_VALUE;
        message->int_value = literal->value.i64;
    } else if (type_is_unsigned(kind)) {
        message->value_case = MORSEL__V1__LITERAL__VALUE_UINT_VALUE;
        message->uint_value = literal->value.u64;
    } else if (kind == EXEC_TYPE_FLOAT32 || kind == EXEC_TYPE_FLOAT64) {
        message->value_case = MORSEL__V1__LITERAL__VALUE_DOUBLE_VALUE;
        message->double_value = literal->value.f64;
    } else if (kind == EXEC_TYPE_UTF8 || kind == EXEC_TYPE_BINARY) {
        return text_value_write(memory, literal, message);
    } else if (kind == EXEC_TYPE_DECIMAL128) {
        memcpy(decimal, &literal->value.decimal.low, 8);
        memcpy(decimal + 8, &literal->value.decimal.high, 8);
        message->value_case = MORSEL__V1__LITERAL__VALUE_DECIMAL_VALUE;
        return bytes_write(memory, decimal, sizeof decimal, &message->decimal_value);
    }
    return true;
}

Morsel__V1__Literal *wire_literal_write(struct wire_memory *memory,
                                        const struct exec_literal *literal)
{
    Morsel__V1__Literal *message = wire_message_new(memory, &morsel__v1__literal__descriptor);

    if (message == NULL) {
        return NULL;
    }
    if (literal->type.kind != EXEC_TYPE_NONE) {
        message->type = wire_type_write(memory, &literal->type);
        if (message->type == NULL) {
            return NULL;
        }
    }
    return literal_value_write(memory, literal, message) ? message : NULL;
}

/* ---- the door ------------------------------------------------------------------------------- */

enum exec_code wire_schema_from_message(const Morsel__V1__Schema *message,
                                        struct exec_field *fields_out,
                                        struct exec_schema *schema_out, struct exec_error *err)
{
    const struct wire_reader reader = {.err = err};
    enum exec_code code =
        wire_count_check(&reader, "schema.fields", message->n_fields, EXEC_COLUMNS_MAX);

    if (code == EXEC_OK) {
        code = schema_read_into(&reader, "schema", message, fields_out);
    }
    if (code == EXEC_OK) {
        *schema_out = (struct exec_schema){fields_out, (uint32_t)message->n_fields};
    }
    return code;
}

/* One malloc block: header, field pointers, fields, types. Names and zones are borrowed, which
 * protobuf-c's structs can only say without const. */
struct schema_block {
    Morsel__V1__Schema schema;
    struct schema_block_field {
        Morsel__V1__Field field;
        Morsel__V1__DataType type;
        char zone[EXEC_ZONE_BYTES];
    } fields[];
};

Morsel__V1__Schema *wire_schema_message(const struct exec_schema *schema)
{
    const size_t count = schema->field_count;
    const size_t fields_bytes =
        sizeof(struct schema_block) + count * sizeof(struct schema_block_field);
    struct schema_block *block;
    Morsel__V1__Field **list;

    block = calloc(1, fields_bytes + (count + 1) * sizeof *list);
    if (block == NULL) {
        return NULL;
    }
    list = (void *)((char *)block + fields_bytes);
    morsel__v1__schema__init(&block->schema);
    block->schema.n_fields = count;
    block->schema.fields = list;
    for (size_t i = 0; i < count; i++) {
        const struct exec_field *from = &schema->fields[i];
        struct schema_block_field *to = &block->fields[i];
        morsel__v1__field__init(&to->field);
        morsel__v1__data_type__init(&to->type);
        memcpy(&to->field.name, &from->name, sizeof to->field.name);
        memcpy(to->zone, from->type.zone, sizeof to->zone);
        to->field.not_null = from->not_null;
        to->field.type = &to->type;
        to->type.kind = (Morsel__V1__TypeKind)from->type.kind;
        to->type.precision = from->type.precision;
        to->type.scale = from->type.scale;
        to->type.unit = (Morsel__V1__TimeUnit)from->type.unit;
        to->type.time_zone = to->zone;
        list[i] = &to->field;
    }
    return &block->schema;
}
