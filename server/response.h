#ifndef RESPONSE_H
#define RESPONSE_H

#include "proto/arrow_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of one stream on their way out: a queue of gRPC messages. Bulk is never copied: a part
 * is a short head (gRPC prefix and envelope) and a slice of somebody's list of pieces. A part lives
 * until the socket took its last byte; then the body behind it is let go. Loop thread only. */

/* Memory behind one or more parts. `release` runs when the last part is gone. */
struct response_body {
    uint32_t refs;
    void (*release)(struct response_body *body);
};

enum { RESPONSE_HEAD_BYTES = 64 };

struct response_part {
    struct response_part *next;
    struct response_body *body; /* NULL: the head is all there is */
    const struct arrow_piece *pieces;
    size_t piece_skip; /* bytes of pieces[0] that belong to an earlier part */
    size_t body_bytes;
    uint32_t refs;
    uint8_t head_bytes;
    uint8_t head[RESPONSE_HEAD_BYTES];
};

struct response_queue {
    struct response_part *first, *last;
    size_t queued_bytes;             /* not handed out yet */
    size_t first_taken;              /* bytes of `first` that are handed out */
    const struct arrow_piece *piece; /* where the next body byte of `first` is */
    size_t piece_taken;
};

/* Appends a part; `head` is prefix and envelope. `pieces` starts with the piece that holds the
 * first byte, `piece_skip` bytes in. Takes one reference of `body` (may be NULL). False: no memory.
 */
bool response_queue_add(struct response_queue *queue, const uint8_t *head, size_t head_bytes,
                        struct response_body *body, const struct arrow_piece *pieces,
                        size_t piece_skip, size_t body_bytes);

/* One small message: malloc'd bytes become the queue's, also on failure. */
bool response_queue_add_message(struct response_queue *queue, uint8_t *message, size_t size);

/* Hands out the next `size` bytes (at most queued_bytes) piece by piece. `emit` keeps `part` alive
 * with response_part_retain for as long as it needs the bytes. */
typedef void response_emit_fn(void *owner, struct response_part *part, const void *bytes,
                              size_t size);
void response_queue_take(struct response_queue *queue, size_t size, response_emit_fn *emit,
                         void *owner);

/* Drops what may be dropped without cutting a message in two, but keeps the next `promised` bytes.
 */
void response_queue_trim(struct response_queue *queue, size_t promised);
/* Drops all. */
void response_queue_clear(struct response_queue *queue);
/* True when the next byte is the first of a message. */
bool response_queue_at_boundary(const struct response_queue *queue);

void response_part_retain(struct response_part *part);
void response_part_release(struct response_part *part);

#endif
