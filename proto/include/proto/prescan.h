#ifndef PROTO_PRESCAN_H
#define PROTO_PRESCAN_H

#include "exec/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

/* One pass over protobuf bytes before protobuf-c may unpack them: protobuf-c 1.4 recurses without a
 * limit, amplifies memory and takes any bytes for UTF-8. No allocation. */
struct prescan_limits {
    uint32_t depth_max;       /* 16 */
    uint32_t fields_max;      /* 20,000, all levels together */
    size_t message_bytes_max; /* 1 MiB for control messages */
};
extern const struct prescan_limits prescan_control_limits;

/* Checks wire types, lengths, depth, field count, groups, UTF-8 and embedded NULs of string fields,
 * and fields the descriptor does not know: a set unknown field is EXEC_NOT_IMPLEMENTED naming
 * message and field number, everything else EXEC_BAD_SPEC (sizes: EXEC_LIMIT) naming the path to
 * it. */
enum exec_code prescan_message(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                               size_t size, const struct prescan_limits *limits,
                               struct exec_error *err);

/* prescan, then unpack into memory of its own; NULL and err on failure. Free with
 * protobuf_c_message_free_unpacked(message, NULL). */
ProtobufCMessage *wire_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                              size_t size, const struct prescan_limits *limits,
                              struct exec_error *err);

#endif
