#ifndef UPLOAD_FRAMES_H
#define UPLOAD_FRAMES_H

#include "exec/error.h"
#include "morsel/v1/job_service.pb-c.h"
#include "proto/grpc_frame.h"

/* The request stream of UploadTable, read from bytes in any split. Begin and commit are small and
 * collected; the Arrow bytes of ArrowChunk.data are handed on as they come, so a message of any
 * size needs no memory. */

struct upload_frames_events {
    /* false: stop, the owner has filled its error. */
    bool (*begin)(void *owner, const Morsel__V1__UploadBegin *begin);
    bool (*arrow)(void *owner, const uint8_t *bytes, size_t size);
    bool (*commit)(void *owner, const Morsel__V1__UploadCommit *commit);
};

enum { UPLOAD_SMALL_BYTES_MAX = 64 << 10 };

enum upload_frames_state {
    UPLOAD_PREFIX,      /* the 5 bytes before a message */
    UPLOAD_FIRST,       /* its first byte tells begin and commit from arrow */
    UPLOAD_SMALL,       /* collects begin or commit */
    UPLOAD_CHUNK_SIZE,  /* length of the ArrowChunk */
    UPLOAD_CHUNK_TAG,   /* tag of its next field */
    UPLOAD_CHUNK_VALUE, /* a number that does not matter to us */
    UPLOAD_DATA_SIZE,
    UPLOAD_DATA,
};

struct upload_frames {
    const struct upload_frames_events *events;
    void *owner;
    enum upload_frames_state state;
    uint8_t prefix[GRPC_PREFIX_BYTES];
    uint32_t prefix_have;
    uint32_t message_left; /* bytes of the message that have not come */
    uint32_t data_left;
    uint8_t *small;
    uint32_t small_have, small_bytes;
    uint64_t varint;
    uint32_t varint_shift;
};

enum upload_frames_result {
    UPLOAD_FRAMES_OK,
    UPLOAD_FRAMES_STOPPED, /* an event said so */
    UPLOAD_FRAMES_BAD,     /* err is filled */
    UPLOAD_FRAMES_COMPRESSED,
    UPLOAD_FRAMES_BAD_FLAG,
};

void upload_frames_init(struct upload_frames *frames, const struct upload_frames_events *events,
                        void *owner);
enum upload_frames_result upload_frames_feed(struct upload_frames *frames, const uint8_t *bytes,
                                             size_t size, struct exec_error *err);
/* True between messages. */
bool upload_frames_at_boundary(const struct upload_frames *frames);
void upload_frames_fini(struct upload_frames *frames);

#endif
