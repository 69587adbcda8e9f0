/* protobuf-c's unpack, on bytes that passed the pre-scan and out of zeroed, counted memory: 1.4
 * leaves some of what it allocates unset (protobuf-c issue 703) and knows no limit. */
#include "proto/prescan.h"

#include <stdlib.h>

/* A message of prescan_control_limits has at most 20,000 fields of at most some 200 bytes each;
 * beyond comes only from merging the same field over and over. */
enum { UNPACK_BASE_BYTES = 8 << 20, UNPACK_BYTES_PER_BYTE = 4 };

struct unpack_budget {
    size_t left_bytes; /* what was freed does not come back: it counts work, too */
};

static void *budget_alloc(void *owner, size_t size)
{
    struct unpack_budget *budget = owner;

    if (size > budget->left_bytes) {
        return NULL;
    }
    budget->left_bytes -= size;
    return calloc(1, size);
}

static void budget_free(void *owner, void *memory)
{
    (void)owner;
    free(memory);
}

ProtobufCMessage *wire_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                              size_t size, const struct prescan_limits *limits,
                              struct exec_error *err)
{
    struct unpack_budget budget = {.left_bytes = UNPACK_BASE_BYTES + UNPACK_BYTES_PER_BYTE * size};
    ProtobufCAllocator allocator = {
        .alloc = budget_alloc, .free = budget_free, .allocator_data = &budget};
    static const uint8_t nothing[1];
    ProtobufCMessage *message;

    if (prescan_message(descriptor, bytes, size, limits, err) != EXEC_OK) {
        return NULL;
    }
    message =
        protobuf_c_message_unpack(descriptor, &allocator, size, bytes == NULL ? nothing : bytes);
    if (message == NULL) {
        EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: the message cannot be unpacked", descriptor->name);
    }
    return message;
}
