#include "arrow_flatbuffers.h"

#include "arrow_format_generated.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace fb = flatbuffers;
namespace af = arrow_format;

namespace
{

enum { DEPTH_MAX = 32, TABLES_MAX = 1 << 17, BUFFERS_MAX = 3 * ARROW_FIELDS_MAX };

/* Prefix, flatbuffer and padding in one malloc block. */
uint8_t *encapsulate(const fb::FlatBufferBuilder &builder, size_t *size_out)
{
    const size_t bare = ARROW_PREFIX_BYTES + builder.GetSize();
    const size_t size = (bare + ARROW_ALIGN_BYTES - 1) / ARROW_ALIGN_BYTES * ARROW_ALIGN_BYTES;
    auto *bytes = static_cast<uint8_t *>(calloc(1, size));

    if (bytes == nullptr) {
        return nullptr;
    }
    fb::WriteScalar(bytes, ARROW_CONTINUATION);
    fb::WriteScalar(bytes + 4, static_cast<uint32_t>(size - ARROW_PREFIX_BYTES));
    memcpy(bytes + ARROW_PREFIX_BYTES, builder.GetBufferPointer(), builder.GetSize());
    *size_out = size;
    return bytes;
}

struct type_offset {
    af::Type kind;
    fb::Offset<void> table;
};

type_offset int_type(fb::FlatBufferBuilder &builder, int bit_width, bool is_signed)
{
    return {af::Type_Int, af::CreateInt(builder, bit_width, is_signed).Union()};
}

type_offset timestamp_type(fb::FlatBufferBuilder &builder, const exec_type &type)
{
    fb::Offset<fb::String> zone;

    if (type.zone[0] != '\0') {
        zone = builder.CreateString(type.zone, strnlen(type.zone, sizeof type.zone));
    }
    const auto unit = static_cast<af::TimeUnit>(type.unit - EXEC_UNIT_SECOND);
    return {af::Type_Timestamp, af::CreateTimestamp(builder, unit, zone).Union()};
}

type_offset type_write(fb::FlatBufferBuilder &builder, const exec_type &type)
{
    switch (type.kind) {
        case EXEC_TYPE_BOOL: return {af::Type_Bool, af::CreateBool(builder).Union()};
        case EXEC_TYPE_INT8: return int_type(builder, 8, true);
        case EXEC_TYPE_INT16: return int_type(builder, 16, true);
        case EXEC_TYPE_INT32: return int_type(builder, 32, true);
        case EXEC_TYPE_INT64: return int_type(builder, 64, true);
        case EXEC_TYPE_UINT8: return int_type(builder, 8, false);
        case EXEC_TYPE_UINT16: return int_type(builder, 16, false);
        case EXEC_TYPE_UINT32: return int_type(builder, 32, false);
        case EXEC_TYPE_UINT64: return int_type(builder, 64, false);
        case EXEC_TYPE_FLOAT32:
            return {af::Type_FloatingPoint,
                    af::CreateFloatingPoint(builder, af::Precision_SINGLE).Union()};
        case EXEC_TYPE_FLOAT64:
            return {af::Type_FloatingPoint,
                    af::CreateFloatingPoint(builder, af::Precision_DOUBLE).Union()};
        case EXEC_TYPE_DECIMAL128:
            return {af::Type_Decimal,
                    af::CreateDecimal(builder, type.precision, type.scale).Union()};
        case EXEC_TYPE_UTF8: return {af::Type_Utf8, af::CreateUtf8(builder).Union()};
        case EXEC_TYPE_BINARY: return {af::Type_Binary, af::CreateBinary(builder).Union()};
        case EXEC_TYPE_DATE32:
            return {af::Type_Date, af::CreateDate(builder, af::DateUnit_DAY).Union()};
        default: assert(type.kind == EXEC_TYPE_TIMESTAMP); return timestamp_type(builder, type);
    }
}

uint8_t *schema_write(const exec_schema &schema, size_t *size_out)
{
    fb::FlatBufferBuilder builder;
    std::vector<fb::Offset<af::Field>> fields;

    for (uint32_t i = 0; i < schema.field_count; i++) {
        const exec_field &field = schema.fields[i];
        const auto name = builder.CreateString(field.name);
        const type_offset type = type_write(builder, field.type);
        /* Readers such as arrow-java and apache-arrow JS want the vector of children to be there.
         */
        const auto children = builder.CreateVector(std::vector<fb::Offset<af::Field>>());
        fields.push_back(
            af::CreateField(builder, name, !field.not_null, type.kind, type.table, 0, children));
    }
    const auto table =
        af::CreateSchema(builder, af::Endianness_Little, builder.CreateVector(fields));
    builder.Finish(af::CreateMessage(builder, af::MetadataVersion_V5, af::MessageHeader_Schema,
                                     table.Union(), 0));
    return encapsulate(builder, size_out);
}

uint8_t *batch_write(int64_t row_count, const std::vector<af::FieldNode> &nodes,
                     const std::vector<af::Buffer> &buffers, int64_t body_bytes, size_t *size_out)
{
    fb::FlatBufferBuilder builder;
    const auto node_table = builder.CreateVectorOfStructs(nodes);
    const auto buffer_table = builder.CreateVectorOfStructs(buffers);
    const auto batch = af::CreateRecordBatch(builder, row_count, node_table, buffer_table);

    builder.Finish(af::CreateMessage(builder, af::MetadataVersion_V5, af::MessageHeader_RecordBatch,
                                     batch.Union(), body_bytes));
    return encapsulate(builder, size_out);
}

/* ---- reading -------------------------------------------------------------------------------- */

exec_code unsupported(exec_error *err, const char *name, const char *type)
{
    return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "arrow field '%.64s': type %s is not read yet",
                     name, type);
}

exec_code int_read(const af::Int *type, const char *name, exec_type *out, exec_error *err)
{
    switch (type->bit_width()) {
        case 8: out->kind = type->is_signed() ? EXEC_TYPE_INT8 : EXEC_TYPE_UINT8; return EXEC_OK;
        case 16: out->kind = type->is_signed() ? EXEC_TYPE_INT16 : EXEC_TYPE_UINT16; return EXEC_OK;
        case 32: out->kind = type->is_signed() ? EXEC_TYPE_INT32 : EXEC_TYPE_UINT32; return EXEC_OK;
        case 64: out->kind = type->is_signed() ? EXEC_TYPE_INT64 : EXEC_TYPE_UINT64; return EXEC_OK;
        default:
            return EXEC_FAIL(err, EXEC_BAD_DATA, "arrow field '%.64s': integers of %d bits", name,
                             type->bit_width());
    }
}

exec_code decimal_read(const af::Decimal *type, const char *name, exec_type *out, exec_error *err)
{
    if (type->bit_width() != 128) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "arrow field '%.64s': type decimal%d is not read yet", name,
                         type->bit_width());
    }
    if (type->precision() < 1 || type->precision() > EXEC_DECIMAL_DIGITS_MAX || type->scale() < 0 ||
        type->scale() > type->precision()) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "arrow field '%.64s': type decimal128(%d,%d) is not read yet", name,
                         type->precision(), type->scale());
    }
    out->kind = EXEC_TYPE_DECIMAL128;
    out->precision = static_cast<uint8_t>(type->precision());
    out->scale = static_cast<int8_t>(type->scale());
    return EXEC_OK;
}

exec_code timestamp_read(const af::Timestamp *type, const char *name, exec_type *out,
                         exec_error *err)
{
    const fb::String *zone = type->timezone();

    if (type->unit() < af::TimeUnit_SECOND || type->unit() > af::TimeUnit_NANOSECOND) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "arrow field '%.64s': timestamp unit %d", name,
                         type->unit());
    }
    out->kind = EXEC_TYPE_TIMESTAMP;
    out->unit = static_cast<uint8_t>(type->unit() + EXEC_UNIT_SECOND);
    if (zone == nullptr) {
        return EXEC_OK;
    }
    if (zone->size() >= sizeof out->zone || strlen(zone->c_str()) != zone->size()) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "arrow field '%.64s': a time zone of %u bytes, at most %zu are read", name,
                         zone->size(), sizeof out->zone - 1);
    }
    memcpy(out->zone, zone->c_str(), zone->size());
    return EXEC_OK;
}

exec_code type_read(const af::Field *field, const char *name, arrow_field *out, exec_error *err)
{
    if (field->type() == nullptr) { /* the Verifier lets a union have a kind and no table */
        return EXEC_FAIL(err, EXEC_BAD_DATA, "arrow field '%.64s': no type", name);
    }
    switch (field->type_type()) {
        case af::Type_Bool: out->type.kind = EXEC_TYPE_BOOL; return EXEC_OK;
        case af::Type_Int: return int_read(field->type_as_Int(), name, &out->type, err);
        case af::Type_FloatingPoint:
            if (field->type_as_FloatingPoint()->precision() == af::Precision_SINGLE) {
                out->type.kind = EXEC_TYPE_FLOAT32;
                return EXEC_OK;
            }
            if (field->type_as_FloatingPoint()->precision() == af::Precision_DOUBLE) {
                out->type.kind = EXEC_TYPE_FLOAT64;
                return EXEC_OK;
            }
            return unsupported(err, name, "float16");
        case af::Type_Decimal: return decimal_read(field->type_as_Decimal(), name, &out->type, err);
        case af::Type_Utf8:
        case af::Type_LargeUtf8:
            out->type.kind = EXEC_TYPE_UTF8;
            out->offset_bytes = field->type_type() == af::Type_Utf8 ? 4 : 8;
            return EXEC_OK;
        case af::Type_Binary:
        case af::Type_LargeBinary:
            out->type.kind = EXEC_TYPE_BINARY;
            out->offset_bytes = field->type_type() == af::Type_Binary ? 4 : 8;
            return EXEC_OK;
        case af::Type_Date:
            out->type.kind = EXEC_TYPE_DATE32;
            return field->type_as_Date()->unit() == af::DateUnit_DAY
                       ? EXEC_OK
                       : unsupported(err, name, "date64");
        case af::Type_Timestamp:
            return timestamp_read(field->type_as_Timestamp(), name, &out->type, err);
        default: return unsupported(err, name, af::EnumNameType(field->type_type()));
    }
}

exec_code dictionary_read(const af::DictionaryEncoding *dictionary, const char *name,
                          arrow_field *out, exec_error *err)
{
    const af::Int *index = dictionary->index_type();
    const int bits = index == nullptr ? 32 : index->bit_width();

    if (out->offset_bytes == 0) {
        char text[EXEC_TYPE_TEXT_BYTES];
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "arrow field '%.64s': type dictionary of %s is not read yet", name,
                         exec_type_text(&out->type, text));
    }
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "arrow field '%.64s': dictionary indices of %d bits",
                         name, bits);
    }
    out->index_bytes = static_cast<uint8_t>(bits / 8);
    out->index_is_unsigned = index != nullptr && !index->is_signed();
    out->dictionary_id = dictionary->id();
    return EXEC_OK;
}

exec_code field_read(const af::Field *field, uint32_t at, arrow_field *out, exec_error *err)
{
    const fb::String *name = field->name();
    exec_code code;

    if (name != nullptr && strlen(name->c_str()) != name->size()) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "arrow field %u: the name holds a NUL byte", at + 1);
    }
    out->name = strdup(name == nullptr ? "" : name->c_str());
    if (out->name == nullptr) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory to read an arrow schema");
    }
    out->nullable = field->nullable();
    code = type_read(field, out->name, out, err);
    if (code == EXEC_OK && field->children() != nullptr && field->children()->size() != 0) {
        code = unsupported(err, out->name, "with child fields");
    }
    if (code == EXEC_OK && field->dictionary() != nullptr) {
        code = dictionary_read(field->dictionary(), out->name, out, err);
    }
    return code;
}

exec_code batch_read(const af::RecordBatch *batch, arrow_message *message, exec_error *err)
{
    if (batch == nullptr) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "an arrow dictionary message without data");
    }
    if (batch->compression() != nullptr) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                         "compressed arrow bodies (compression) are not read yet");
    }
    message->batch = batch;
    message->row_count = batch->length();
    message->node_count = batch->nodes() == nullptr ? 0 : batch->nodes()->size();
    message->buffer_count = batch->buffers() == nullptr ? 0 : batch->buffers()->size();
    if (message->row_count < 0) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "an arrow batch of a negative length");
    }
    if (message->buffer_count > BUFFERS_MAX) {
        return EXEC_FAIL(err, EXEC_LIMIT, "an arrow batch of %u buffers, at most %d are read",
                         message->buffer_count, BUFFERS_MAX);
    }
    return EXEC_OK;
}

} // namespace

uint8_t *arrow_metadata_schema(const exec_schema *schema, size_t *size_out)
{
    try {
        return schema_write(*schema, size_out);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

uint8_t *arrow_metadata_batch(int64_t row_count, const arrow_node *nodes, size_t node_count,
                              const arrow_slice *buffers, size_t buffer_count, int64_t body_bytes,
                              size_t *size_out)
{
    try {
        std::vector<af::FieldNode> node_list;
        std::vector<af::Buffer> buffer_list;
        for (size_t i = 0; i < node_count; i++) {
            node_list.emplace_back(nodes[i].length, nodes[i].null_count);
        }
        for (size_t i = 0; i < buffer_count; i++) {
            buffer_list.emplace_back(buffers[i].offset, buffers[i].length);
        }
        return batch_write(row_count, node_list, buffer_list, body_bytes, size_out);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

enum exec_code arrow_message_read(const uint8_t *metadata, size_t size, arrow_message *message,
                                  exec_error *err)
{
    fb::Verifier verifier(metadata, size, DEPTH_MAX, TABLES_MAX);

    *message = arrow_message();
    if (!af::VerifyMessageBuffer(verifier)) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "damaged arrow metadata");
    }
    const af::Message *root = af::GetMessage(metadata);
    if (root->version() < af::MetadataVersion_V4 || root->version() > af::MetadataVersion_V5) {
        return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "arrow metadata version %d is not read",
                         root->version() + 1);
    }
    message->body_bytes = root->body_length();
    if (message->body_bytes < 0) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "an arrow body of a negative length");
    }
    if (const af::Schema *schema = root->header_as_Schema()) {
        message->kind = ARROW_MESSAGE_SCHEMA;
        message->schema = schema;
        return schema->endianness() == af::Endianness_Little
                   ? EXEC_OK
                   : EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "big-endian arrow data is not read");
    }
    if (const af::DictionaryBatch *dictionary = root->header_as_DictionaryBatch()) {
        message->kind = ARROW_MESSAGE_DICTIONARY;
        message->dictionary_id = dictionary->id();
        message->is_delta = dictionary->is_delta();
        return batch_read(dictionary->data(), message, err);
    }
    if (const af::RecordBatch *batch = root->header_as_RecordBatch()) {
        message->kind = ARROW_MESSAGE_BATCH;
        return batch_read(batch, message, err);
    }
    return EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED, "an arrow message of kind %s is not read",
                     af::EnumNameMessageHeader(root->header_type()));
}

enum exec_code arrow_schema_read(const arrow_message *message, arrow_field **fields_out,
                                 uint32_t *count_out, exec_error *err)
{
    const auto *schema = static_cast<const af::Schema *>(message->schema);
    const uint32_t count = schema->fields() == nullptr ? 0 : schema->fields()->size();
    exec_code code = EXEC_OK;

    if (count > ARROW_FIELDS_MAX) {
        return EXEC_FAIL(err, EXEC_LIMIT, "an arrow schema of %u fields, at most %d are read",
                         count, ARROW_FIELDS_MAX);
    }
    auto *fields = static_cast<arrow_field *>(calloc(count + 1, sizeof(arrow_field)));
    if (fields == nullptr) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory to read an arrow schema");
    }
    for (uint32_t i = 0; i < count && code == EXEC_OK; i++) {
        code = field_read(schema->fields()->Get(i), i, &fields[i], err);
    }
    if (code != EXEC_OK) {
        arrow_fields_free(fields, count);
        return code;
    }
    *fields_out = fields;
    *count_out = count;
    return EXEC_OK;
}

void arrow_fields_free(arrow_field *fields, uint32_t count)
{
    for (uint32_t i = 0; fields != nullptr && i < count; i++) {
        free(fields[i].name);
    }
    free(fields);
}

/* The Verifier checks where a vector of structs lies but not that its elements are aligned: their
 * bytes are copied out. The format is little-endian like every machine this runs on. */
arrow_node arrow_batch_node(const arrow_message *message, uint32_t at)
{
    const auto *batch = static_cast<const af::RecordBatch *>(message->batch);
    arrow_node node;

    static_assert(sizeof node == sizeof(af::FieldNode), "one layout");
    memcpy(&node, batch->nodes()->Data() + at * sizeof node, sizeof node);
    return node;
}

arrow_slice arrow_batch_buffer(const arrow_message *message, uint32_t at)
{
    const auto *batch = static_cast<const af::RecordBatch *>(message->batch);
    arrow_slice slice;

    static_assert(sizeof slice == sizeof(af::Buffer), "one layout");
    memcpy(&slice, batch->buffers()->Data() + at * sizeof slice, sizeof slice);
    return slice;
}
