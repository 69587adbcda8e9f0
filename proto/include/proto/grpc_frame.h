#ifndef PROTO_GRPC_FRAME_H
#define PROTO_GRPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The 5-byte gRPC prefix (1 byte compressed flag, 4 bytes big-endian length) over any split of the
 * bytes. */
enum { GRPC_PREFIX_BYTES = 5 };

void grpc_prefix_write(uint8_t prefix_out[GRPC_PREFIX_BYTES], uint32_t message_bytes);

enum grpc_frame_result {
    GRPC_FRAME_MORE,       /* all input taken, no whole message yet */
    GRPC_FRAME_MESSAGE,    /* `message` is whole; feed the rest of the input again */
    GRPC_FRAME_TOO_BIG,    /* length above the limit: RESOURCE_EXHAUSTED */
    GRPC_FRAME_BAD_FLAG,   /* flag > 1: INTERNAL */
    GRPC_FRAME_COMPRESSED, /* flag 1: UNIMPLEMENTED, we accept identity only */
    GRPC_FRAME_NO_MEMORY,
};

/* Collects one message at a time. `message` is malloc'd by the reader and the caller may take it
 * (set it to NULL); otherwise it is reused. After an error the reader must not be fed again. */
struct grpc_frame_reader {
    uint32_t message_bytes_max;
    uint8_t prefix[GRPC_PREFIX_BYTES];
    uint32_t prefix_have;
    uint32_t message_bytes, message_have;
    uint8_t *message;
    size_t message_room;
};
void grpc_frame_reader_init(struct grpc_frame_reader *reader, uint32_t message_bytes_max);
enum grpc_frame_result grpc_frame_feed(struct grpc_frame_reader *reader, const uint8_t *data,
                                       size_t size, size_t *used_out);
/* True between messages: the only state in which the end of the stream is clean. */
bool grpc_frame_at_boundary(const struct grpc_frame_reader *reader);
void grpc_frame_reader_fini(struct grpc_frame_reader *reader);

#endif
