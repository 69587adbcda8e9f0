#include "upload_frames.h"

#include "proto/prescan.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAG_ARROW = 2 << 3 | 2,   /* UploadTableRequest.arrow */
    TAG_ROWS = 1 << 3,        /* ArrowChunk.row_count */
    TAG_OFFSET = 2 << 3,      /* .row_offset */
    TAG_CONTINUES = 3 << 3,   /* .continues */
    TAG_DATA = 1000 << 3 | 2, /* .data */
};

void upload_frames_init(struct upload_frames *frames, const struct upload_frames_events *events,
                        void *owner)
{
    *frames = (struct upload_frames){.events = events, .owner = owner};
}

void upload_frames_fini(struct upload_frames *frames)
{
    free(frames->small);
    frames->small = NULL;
}

bool upload_frames_at_boundary(const struct upload_frames *frames)
{
    return frames->state == UPLOAD_PREFIX && frames->prefix_have == 0;
}

static enum upload_frames_result frames_bad(struct exec_error *err, const char *what)
{
    EXEC_FAIL(err, EXEC_BAD_SPEC, "UploadTableRequest: %s", what);
    return UPLOAD_FRAMES_BAD;
}

/* A whole begin or commit. */
static enum upload_frames_result frames_small(struct upload_frames *frames, struct exec_error *err)
{
    const struct upload_frames_events *events = frames->events;
    ProtobufCMessage *message =
        wire_unpack(&morsel__v1__upload_table_request__descriptor, frames->small,
                    frames->small_bytes, &prescan_control_limits, err);
    bool go_on = true;

    free(frames->small);
    frames->small = NULL;
    frames->state = UPLOAD_PREFIX;
    if (message == NULL) {
        return UPLOAD_FRAMES_BAD;
    }
    const Morsel__V1__UploadTableRequest *request = (const Morsel__V1__UploadTableRequest *)message;
    enum upload_frames_result result = UPLOAD_FRAMES_OK;
    switch (request->payload_case) {
        case MORSEL__V1__UPLOAD_TABLE_REQUEST__PAYLOAD_BEGIN:
            go_on = events->begin(frames->owner, request->begin);
            break;
        case MORSEL__V1__UPLOAD_TABLE_REQUEST__PAYLOAD_COMMIT:
            go_on = events->commit(frames->owner, request->commit);
            break;
        default: result = frames_bad(err, "payload is not set, or more than one is"); break;
    }
    protobuf_c_message_free_unpacked(message, NULL);
    return go_on ? result : UPLOAD_FRAMES_STOPPED;
}

static enum upload_frames_result frames_prefix(struct upload_frames *frames, uint8_t byte,
                                               struct exec_error *err)
{
    frames->prefix[frames->prefix_have++] = byte;
    if (frames->prefix_have == 1 && byte != 0) {
        return byte == 1 ? UPLOAD_FRAMES_COMPRESSED : UPLOAD_FRAMES_BAD_FLAG;
    }
    if (frames->prefix_have < GRPC_PREFIX_BYTES) {
        return UPLOAD_FRAMES_OK;
    }
    frames->prefix_have = 0;
    frames->message_left = (uint32_t)frames->prefix[1] << 24 | (uint32_t)frames->prefix[2] << 16 |
                           (uint32_t)frames->prefix[3] << 8 | frames->prefix[4];
    if (frames->message_left == 0) {
        return frames_bad(err, "payload is not set");
    }
    frames->state = UPLOAD_FIRST;
    return UPLOAD_FRAMES_OK;
}

static enum upload_frames_result frames_first(struct upload_frames *frames, uint8_t byte,
                                              struct exec_error *err)
{
    if (byte == TAG_ARROW) {
        frames->message_left--;
        frames->state = UPLOAD_CHUNK_SIZE;
        return UPLOAD_FRAMES_OK;
    }
    if (frames->message_left > UPLOAD_SMALL_BYTES_MAX) {
        EXEC_FAIL(err, EXEC_LIMIT, "UploadTableRequest: begin and commit take at most %d bytes",
                  UPLOAD_SMALL_BYTES_MAX);
        return UPLOAD_FRAMES_BAD;
    }
    frames->small_bytes = frames->message_left;
    frames->small_have = 0;
    frames->small = malloc(frames->small_bytes);
    if (frames->small == NULL) {
        EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for a message");
        return UPLOAD_FRAMES_BAD;
    }
    frames->small[frames->small_have++] = byte;
    frames->state = UPLOAD_SMALL;
    return frames->small_have == frames->small_bytes ? frames_small(frames, err) : UPLOAD_FRAMES_OK;
}

/* One byte of a varint; *whole_out tells when `varint` is complete. */
static enum upload_frames_result frames_varint(struct upload_frames *frames, uint8_t byte,
                                               bool *whole_out, struct exec_error *err)
{
    if (frames->message_left == 0 || frames->varint_shift > 63) {
        return frames_bad(err, "a number of arrow is malformed");
    }
    frames->message_left--;
    frames->varint |= (uint64_t)(byte & 0x7f) << frames->varint_shift;
    frames->varint_shift += 7;
    *whole_out = (byte & 0x80) == 0;
    return UPLOAD_FRAMES_OK;
}

static enum upload_frames_result frames_chunk_tag(struct upload_frames *frames, uint64_t tag,
                                                  struct exec_error *err)
{
    switch (tag) {
        case TAG_ROWS:
        case TAG_OFFSET:
        case TAG_CONTINUES: frames->state = UPLOAD_CHUNK_VALUE; return UPLOAD_FRAMES_OK;
        case TAG_DATA: frames->state = UPLOAD_DATA_SIZE; return UPLOAD_FRAMES_OK;
        default:
            EXEC_FAIL(err, EXEC_NOT_IMPLEMENTED,
                      "UploadTableRequest: arrow: unknown field %llu of wire type %u",
                      (unsigned long long)(tag >> 3), (unsigned)(tag & 7));
            return UPLOAD_FRAMES_BAD;
    }
}

/* A varint of the ArrowChunk is complete. */
static enum upload_frames_result frames_number(struct upload_frames *frames, struct exec_error *err)
{
    const uint64_t number = frames->varint;

    frames->varint = 0;
    frames->varint_shift = 0;
    switch (frames->state) {
        case UPLOAD_CHUNK_SIZE:
            if (number != frames->message_left) {
                return frames_bad(err, "arrow is not the only field, or its length is wrong");
            }
            frames->state = UPLOAD_CHUNK_TAG;
            break;
        case UPLOAD_CHUNK_TAG: return frames_chunk_tag(frames, number, err);
        case UPLOAD_CHUNK_VALUE: frames->state = UPLOAD_CHUNK_TAG; break;
        default: /* UPLOAD_DATA_SIZE */
            if (number > frames->message_left) {
                return frames_bad(err, "arrow.data is longer than its message");
            }
            frames->data_left = (uint32_t)number;
            frames->state = number > 0 ? UPLOAD_DATA : UPLOAD_CHUNK_TAG;
            break;
    }
    return UPLOAD_FRAMES_OK;
}

/* Takes at least one byte; *used_out tells how many. */
static enum upload_frames_result frames_step(struct upload_frames *frames, const uint8_t *bytes,
                                             size_t size, size_t *used_out, struct exec_error *err)
{
    enum upload_frames_result result = UPLOAD_FRAMES_OK;
    bool whole = false;
    size_t step = size;

    *used_out = 1;
    switch (frames->state) {
        case UPLOAD_PREFIX: return frames_prefix(frames, bytes[0], err);
        case UPLOAD_FIRST: return frames_first(frames, bytes[0], err);
        case UPLOAD_SMALL:
            step = step < frames->small_bytes - frames->small_have
                       ? step
                       : frames->small_bytes - frames->small_have;
            memcpy(frames->small + frames->small_have, bytes, step);
            frames->small_have += (uint32_t)step;
            *used_out = step;
            return frames->small_have == frames->small_bytes ? frames_small(frames, err)
                                                             : UPLOAD_FRAMES_OK;
        case UPLOAD_DATA:
            step = step < frames->data_left ? step : frames->data_left;
            frames->data_left -= (uint32_t)step;
            frames->message_left -= (uint32_t)step;
            *used_out = step;
            if (frames->data_left == 0) {
                frames->state = UPLOAD_CHUNK_TAG;
            }
            return frames->events->arrow(frames->owner, bytes, step) ? UPLOAD_FRAMES_OK
                                                                     : UPLOAD_FRAMES_STOPPED;
        default:
            result = frames_varint(frames, bytes[0], &whole, err);
            return result == UPLOAD_FRAMES_OK && whole ? frames_number(frames, err) : result;
    }
}

enum upload_frames_result upload_frames_feed(struct upload_frames *frames, const uint8_t *bytes,
                                             size_t size, struct exec_error *err)
{
    enum upload_frames_result result = UPLOAD_FRAMES_OK;

    while (size > 0 && result == UPLOAD_FRAMES_OK) {
        size_t used = 0;
        result = frames_step(frames, bytes, size, &used, err);
        bytes += used;
        size -= used;
        if (frames->state == UPLOAD_CHUNK_TAG && frames->message_left == 0 &&
            frames->varint_shift == 0) {
            frames->state = UPLOAD_PREFIX; /* the ArrowChunk is whole */
        }
    }
    return result;
}
