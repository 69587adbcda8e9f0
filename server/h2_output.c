#include "h2_output.h"

#include <stdlib.h>
#include <string.h>

enum { OUTPUT_BUFS_START = 64, OUTPUT_BUFS_KEEP = 1024 };

bool h2_output_init(struct h2_output *output)
{
    memset(output, 0, sizeof *output);
    output->control = malloc(H2_CONTROL_BYTES);
    return output->control != NULL;
}

void h2_output_fini(struct h2_output *output)
{
    h2_output_reset(output);
    free(output->bufs);
    free(output->held);
    free(output->control);
    memset(output, 0, sizeof *output);
}

bool h2_output_has_room(const struct h2_output *output)
{
    return output->bytes < H2_OUTPUT_BYTES_MAX &&
           output->control_used + H2_CONTROL_RESERVE_BYTES <= H2_CONTROL_BYTES && !output->broken;
}

/* Room for one more element of `element_bytes`; the array doubles. */
static bool output_grow(void **array, size_t count, size_t *room, size_t element_bytes)
{
    if (count < *room) {
        return true;
    }
    const size_t fresh_room = *room == 0 ? OUTPUT_BUFS_START : *room * 2;
    void *fresh = realloc(*array, fresh_room * element_bytes);
    if (fresh == NULL) {
        return false;
    }
    *array = fresh;
    *room = fresh_room;
    return true;
}

static void output_point(struct h2_output *output, const void *bytes, size_t size)
{
    output->bytes += size;
    if (output->buf_count > 0) {
        uv_buf_t *last = &output->bufs[output->buf_count - 1];
        if (last->base + last->len == (const char *)bytes) {
            last->len += size;
            return;
        }
    }
    void *bufs = output->bufs;
    if (!output_grow(&bufs, output->buf_count, &output->buf_room, sizeof *output->bufs)) {
        output->broken = true;
        return;
    }
    output->bufs = bufs;
    output->bufs[output->buf_count++] = (uv_buf_t){.base = (char *)(uintptr_t)bytes, .len = size};
}

bool h2_output_copy(struct h2_output *output, const uint8_t *bytes, size_t size)
{
    if (size > H2_CONTROL_BYTES - output->control_used) {
        return false;
    }
    uint8_t *copy = output->control + output->control_used;
    memcpy(copy, bytes, size);
    output->control_used += size;
    output_point(output, copy, size);
    return true;
}

void h2_output_emit(void *owner, struct response_part *part, const void *bytes, size_t size)
{
    struct h2_output *output = owner;

    if (size <= H2_SMALL_PIECE_BYTES &&
        output->control_used + size + H2_CONTROL_RESERVE_BYTES <= H2_CONTROL_BYTES) {
        h2_output_copy(output, bytes, size);
        return;
    }
    if (output->held_count == 0 || output->held[output->held_count - 1] != part) {
        void *held = output->held;
        if (!output_grow(&held, output->held_count, &output->held_room, sizeof *output->held)) {
            output->broken = true;
            return;
        }
        output->held = held;
        output->held[output->held_count++] = part;
        response_part_retain(part);
    }
    output_point(output, bytes, size);
}

size_t h2_output_skip(struct h2_output *output, size_t size, uv_buf_t **bufs_out)
{
    uv_buf_t *buf = output->bufs;
    size_t left = output->buf_count;

    while (left > 0 && size >= buf->len) {
        size -= buf->len;
        buf++;
        left--;
    }
    if (left > 0) {
        buf->base += size;
        buf->len -= size;
    }
    *bufs_out = buf;
    return left;
}

void h2_output_reset(struct h2_output *output)
{
    for (size_t i = 0; i < output->held_count; i++) {
        response_part_release(output->held[i]);
    }
    output->held_count = 0;
    output->buf_count = 0;
    output->control_used = 0;
    output->bytes = 0;
    if (output->buf_room > OUTPUT_BUFS_KEEP) {
        free(output->bufs); /* a very wide table must not leave a large array behind */
        output->bufs = NULL;
        output->buf_room = 0;
    }
}
