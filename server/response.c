#include "response.h"

#include "proto/grpc_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static size_t part_bytes(const struct response_part *part)
{
    return part->head_bytes + part->body_bytes;
}

void response_part_retain(struct response_part *part)
{
    part->refs++;
}

void response_part_release(struct response_part *part)
{
    assert(part->refs > 0);
    if (--part->refs > 0) {
        return;
    }
    if (part->body != NULL && --part->body->refs == 0) {
        part->body->release(part->body);
    }
    free(part);
}

/* The first part changed: its body starts at its first piece. */
static void queue_rewind(struct response_queue *queue)
{
    queue->first_taken = 0;
    queue->piece = queue->first != NULL ? queue->first->pieces : NULL;
    queue->piece_taken = queue->first != NULL ? queue->first->piece_skip : 0;
}

bool response_queue_add(struct response_queue *queue, const uint8_t *head, size_t head_bytes,
                        struct response_body *body, const struct arrow_piece *pieces,
                        size_t piece_skip, size_t body_bytes)
{
    assert(head_bytes <= RESPONSE_HEAD_BYTES);
    struct response_part *part = malloc(sizeof *part);

    if (part == NULL) {
        return false;
    }
    *part = (struct response_part){.body = body,
                                   .pieces = pieces,
                                   .piece_skip = piece_skip,
                                   .body_bytes = body_bytes,
                                   .refs = 1,
                                   .head_bytes = (uint8_t)head_bytes};
    memcpy(part->head, head, head_bytes);
    if (body != NULL) {
        body->refs++;
    }
    if (queue->first == NULL) {
        queue->first = part;
        queue->last = part;
        queue_rewind(queue);
    } else {
        queue->last->next = part;
        queue->last = part;
    }
    queue->queued_bytes += part_bytes(part);
    return true;
}

/* A message in one malloc'd block. */
struct message_body {
    struct response_body body;
    struct arrow_piece piece;
};

static void message_body_release(struct response_body *body)
{
    struct message_body *message = (struct message_body *)body;

    free((void *)(uintptr_t)message->piece.bytes);
    free(message);
}

bool response_queue_add_message(struct response_queue *queue, uint8_t *message, size_t size)
{
    uint8_t prefix[GRPC_PREFIX_BYTES];
    struct message_body *body = malloc(sizeof *body);

    if (body == NULL) {
        free(message);
        return false;
    }
    body->body = (struct response_body){.refs = 1, .release = message_body_release};
    body->piece = (struct arrow_piece){.bytes = message, .size = size};
    grpc_prefix_write(prefix, (uint32_t)size);
    const bool added =
        response_queue_add(queue, prefix, sizeof prefix, &body->body, &body->piece, 0, size);
    if (--body->body.refs == 0) {
        message_body_release(&body->body);
    }
    return added;
}

static void queue_pop(struct response_queue *queue)
{
    struct response_part *part = queue->first;

    queue->first = part->next;
    if (queue->first == NULL) {
        queue->last = NULL;
    }
    queue_rewind(queue);
    response_part_release(part);
}

void response_queue_take(struct response_queue *queue, size_t size, response_emit_fn *emit,
                         void *owner)
{
    assert(size <= queue->queued_bytes);
    queue->queued_bytes -= size;
    while (size > 0) {
        struct response_part *part = queue->first;
        const uint8_t *bytes = NULL;
        size_t have = 0;

        if (queue->first_taken < part->head_bytes) {
            bytes = part->head + queue->first_taken;
            have = part->head_bytes - queue->first_taken;
        } else {
            while (queue->piece->size == queue->piece_taken) {
                queue->piece++;
                queue->piece_taken = 0;
            }
            bytes = (const uint8_t *)queue->piece->bytes + queue->piece_taken;
            have = queue->piece->size - queue->piece_taken;
            const size_t left = part_bytes(part) - queue->first_taken;
            have = have < left ? have : left;
        }
        const size_t step = have < size ? have : size;
        if (queue->first_taken >= part->head_bytes) {
            queue->piece_taken += step;
        }
        queue->first_taken += step;
        size -= step;
        emit(owner, part, bytes, step);
        if (queue->first_taken == part_bytes(part)) {
            queue_pop(queue);
        }
    }
}

void response_queue_trim(struct response_queue *queue, size_t promised)
{
    struct response_part *part = queue->first;
    struct response_part *kept = NULL;
    size_t kept_bytes = 0;

    while (part != NULL && ((kept == NULL && queue->first_taken > 0) || kept_bytes < promised)) {
        kept_bytes += part_bytes(part) - (kept == NULL ? queue->first_taken : 0);
        kept = part;
        part = part->next;
    }
    queue->queued_bytes = kept_bytes;
    queue->last = kept;
    if (kept != NULL) {
        kept->next = NULL;
    } else {
        queue->first = NULL;
        queue_rewind(queue);
    }
    while (part != NULL) {
        struct response_part *next = part->next;
        response_part_release(part);
        part = next;
    }
}

void response_queue_clear(struct response_queue *queue)
{
    while (queue->first != NULL) {
        queue_pop(queue);
    }
    queue->queued_bytes = 0;
}

bool response_queue_at_boundary(const struct response_queue *queue)
{
    return queue->first_taken == 0;
}
