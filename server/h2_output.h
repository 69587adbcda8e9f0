#ifndef H2_OUTPUT_H
#define H2_OUTPUT_H

#include "response.h"

#include <uv.h>

/* One batch of bytes for the socket: control bytes are copied, response pieces are pointed to and
 * held until the batch is written. */

enum {
    H2_CONTROL_BYTES = 64 << 10,
    H2_CONTROL_RESERVE_BYTES = 20 << 10, /* the largest block nghttp2 hands out at once */
    H2_OUTPUT_BYTES_MAX = 1 << 20,
    H2_SMALL_PIECE_BYTES = 512, /* cheaper to copy than to point to */
};

struct h2_output {
    uv_buf_t *bufs;
    size_t buf_count, buf_room;
    struct response_part **held;
    size_t held_count, held_room;
    uint8_t *control; /* H2_CONTROL_BYTES */
    size_t control_used;
    size_t bytes;
    bool broken; /* no memory: the connection must end */
};

bool h2_output_init(struct h2_output *output);
void h2_output_fini(struct h2_output *output);

/* True while another control block or frame may be added. */
bool h2_output_has_room(const struct h2_output *output);
/* `size` must fit the control room. False when it does not. */
bool h2_output_copy(struct h2_output *output, const uint8_t *bytes, size_t size);
/* A response_emit_fn; owner is the output. */
void h2_output_emit(void *owner, struct response_part *part, const void *bytes, size_t size);
/* Cuts `size` written bytes off the front of the buffer list; returns the buffers left, and moves
 * *bufs_out to them. */
size_t h2_output_skip(struct h2_output *output, size_t size, uv_buf_t **bufs_out);
/* Everything is written, or never will be: lets go of all parts. */
void h2_output_reset(struct h2_output *output);

#endif
