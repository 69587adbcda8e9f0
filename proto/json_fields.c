#include "json_fields.h"

#include <ctype.h>
#include <string.h>

void json_field_name(const ProtobufCFieldDescriptor *field, char name_out[JSON_NAME_BYTES])
{
    size_t out = 0;

    for (const char *at = field->name; *at != '\0' && out + 1 < JSON_NAME_BYTES; at++) {
        if (*at == '_' && at[1] != '\0') {
            at++;
            name_out[out++] = (char)toupper((unsigned char)*at);
        } else {
            name_out[out++] = *at;
        }
    }
    name_out[out] = '\0';
}

const ProtobufCFieldDescriptor *json_field_find(const ProtobufCMessageDescriptor *descriptor,
                                                const char *name)
{
    char camel[JSON_NAME_BYTES];

    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        json_field_name(&descriptor->fields[i], camel);
        if (strcmp(camel, name) == 0 || strcmp(descriptor->fields[i].name, name) == 0) {
            return &descriptor->fields[i];
        }
    }
    return NULL;
}

bool json_field_is_map(const ProtobufCFieldDescriptor *field)
{
    static const char suffix[] = "Entry";
    const ProtobufCMessageDescriptor *entry = field->descriptor;

    if (field->label != PROTOBUF_C_LABEL_REPEATED || field->type != PROTOBUF_C_TYPE_MESSAGE ||
        entry->n_fields != 2 || strlen(entry->short_name) < sizeof suffix) {
        return false;
    }
    return strcmp(entry->fields[0].name, "key") == 0 && entry->fields[0].id == 1 &&
           strcmp(entry->fields[1].name, "value") == 0 && entry->fields[1].id == 2 &&
           strcmp(entry->short_name + strlen(entry->short_name) - (sizeof suffix - 1), suffix) == 0;
}

bool json_field_is_oneof(const ProtobufCFieldDescriptor *field)
{
    return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
}

size_t json_field_bytes(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
        case PROTOBUF_C_TYPE_DOUBLE: return 8;
        case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
        case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
        default: return 4;
    }
}
