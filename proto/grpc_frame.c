#include "proto/grpc_frame.h"

#include <stdlib.h>
#include <string.h>

/* The buffer grows with the bytes that arrived, not with the length that was announced: a peer that
 * only claims to send a large message costs nothing. */
enum { GRPC_FIRST_ROOM_BYTES = 4096 };

void grpc_prefix_write(uint8_t prefix_out[GRPC_PREFIX_BYTES], uint32_t message_bytes)
{
    prefix_out[0] = 0;
    prefix_out[1] = (uint8_t)(message_bytes >> 24);
    prefix_out[2] = (uint8_t)(message_bytes >> 16);
    prefix_out[3] = (uint8_t)(message_bytes >> 8);
    prefix_out[4] = (uint8_t)message_bytes;
}

void grpc_frame_reader_init(struct grpc_frame_reader *reader, uint32_t message_bytes_max)
{
    *reader = (struct grpc_frame_reader){.message_bytes_max = message_bytes_max};
}

void grpc_frame_reader_fini(struct grpc_frame_reader *reader)
{
    free(reader->message);
    reader->message = NULL;
    reader->message_room = 0;
}

bool grpc_frame_at_boundary(const struct grpc_frame_reader *reader)
{
    const bool whole =
        reader->prefix_have == GRPC_PREFIX_BYTES && reader->message_have == reader->message_bytes;
    return reader->prefix_have == 0 || whole;
}

static enum grpc_frame_result prefix_read(struct grpc_frame_reader *reader)
{
    const uint8_t *prefix = reader->prefix;
    const uint32_t message_bytes = (uint32_t)prefix[1] << 24 | (uint32_t)prefix[2] << 16 |
                                   (uint32_t)prefix[3] << 8 | prefix[4];

    if (prefix[0] > 1) {
        return GRPC_FRAME_BAD_FLAG;
    }
    if (prefix[0] == 1) {
        return GRPC_FRAME_COMPRESSED;
    }
    if (message_bytes > reader->message_bytes_max) {
        return GRPC_FRAME_TOO_BIG;
    }
    reader->message_bytes = message_bytes;
    reader->message_have = 0;
    return GRPC_FRAME_MORE;
}

/* Makes room for `want` bytes (at least one, so that an empty message has an address too). */
static bool room_make(struct grpc_frame_reader *reader, size_t want)
{
    size_t room = reader->message == NULL ? 0 : reader->message_room;
    uint8_t *message;

    if (room != 0 && room >= want) {
        return true;
    }
    room = room * 2 > want ? room * 2 : want;
    room = room < GRPC_FIRST_ROOM_BYTES ? GRPC_FIRST_ROOM_BYTES : room;
    message = realloc(reader->message, room);
    if (message == NULL) {
        return false;
    }
    reader->message = message;
    reader->message_room = room;
    return true;
}

enum grpc_frame_result grpc_frame_feed(struct grpc_frame_reader *reader, const uint8_t *data,
                                       size_t size, size_t *used_out)
{
    size_t used = 0;

    *used_out = 0;
    if (reader->prefix_have == GRPC_PREFIX_BYTES && reader->message_have == reader->message_bytes) {
        reader->prefix_have = 0; /* the message before was handed out */
        reader->message_bytes = 0;
        reader->message_have = 0;
    }
    if (reader->prefix_have < GRPC_PREFIX_BYTES) {
        while (used < size && reader->prefix_have < GRPC_PREFIX_BYTES) {
            reader->prefix[reader->prefix_have++] = data[used++];
        }
        *used_out = used;
        if (reader->prefix_have < GRPC_PREFIX_BYTES) {
            return GRPC_FRAME_MORE;
        }
        const enum grpc_frame_result result = prefix_read(reader);
        if (result != GRPC_FRAME_MORE) {
            return result;
        }
    }
    const uint32_t missing = reader->message_bytes - reader->message_have;
    const uint32_t take = size - used < missing ? (uint32_t)(size - used) : missing;
    if (!room_make(reader, (size_t)reader->message_have + take)) {
        return GRPC_FRAME_NO_MEMORY;
    }
    if (take != 0) {
        memcpy(reader->message + reader->message_have, data + used, take);
    }
    reader->message_have += take;
    *used_out = used + take;
    return reader->message_have == reader->message_bytes ? GRPC_FRAME_MESSAGE : GRPC_FRAME_MORE;
}
