#include "response.h"

#include "h2_output.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Goal:   the queue hands out exactly the bytes that were put in, for any split, keeps bodies alive
 * as long as the output points to them, and never cuts a message when it drops the rest. Method:
 * parts with random piece lists and slices; a flat copy beside them as the oracle; seeded. */

static uint32_t released;

static void body_release(struct response_body *body)
{
    (void)body;
    released++;
}

static uint8_t bytes[100000];
static uint8_t expected[200000];
static size_t expected_bytes;

static void put(struct response_queue *queue, struct response_body *body,
                struct arrow_piece *pieces, size_t skip, size_t size)
{
    uint8_t head[8];
    size_t left = size;

    memset(head, 0xee, sizeof head);
    cr_assert(response_queue_add(queue, head, sizeof head, body, pieces, skip, size));
    memcpy(expected + expected_bytes, head, sizeof head);
    expected_bytes += sizeof head;
    for (; left > 0; pieces++, skip = 0) {
        const size_t step = pieces->size - skip < left ? pieces->size - skip : left;
        memcpy(expected + expected_bytes, (const uint8_t *)pieces->bytes + skip, step);
        expected_bytes += step;
        left -= step;
    }
}

static void collect(void *owner, struct response_part *part, const void *data, size_t size)
{
    uint8_t **to = owner;

    (void)part;
    memcpy(*to, data, size);
    *to += size;
}

Test(response, bytes_come_out_as_they_went_in)
{
    static uint8_t got[sizeof expected];
    struct response_queue queue = {0};
    struct response_body body = {.refs = 1, .release = body_release};
    struct arrow_piece pieces[40];
    uint8_t *to = got;

    srand(7);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)rand();
    }
    size_t at = 0;
    for (uint32_t i = 0; i < 40; i++) {
        pieces[i] =
            (struct arrow_piece){.bytes = bytes + at, .size = i % 5 == 0 ? 0 : rand() % 2000};
        at += pieces[i].size;
    }
    /* Slices of one list, as a large record batch is sent. */
    size_t skip = 0;
    uint32_t first = 0;
    for (size_t left = at; left > 0;) {
        const size_t slice = left < 3001 ? left : 3001;
        put(&queue, &body, pieces + first, skip, slice);
        left -= slice;
        skip += slice;
        while (left > 0 && skip >= pieces[first].size) {
            skip -= pieces[first++].size;
        }
    }
    cr_assert_eq(queue.queued_bytes, expected_bytes);
    while (queue.queued_bytes > 0) {
        const size_t step = 1 + (size_t)rand() % 700;
        response_queue_take(&queue, step < queue.queued_bytes ? step : queue.queued_bytes, collect,
                            &to);
    }
    cr_assert_eq((size_t)(to - got), expected_bytes);
    cr_assert_arr_eq(got, expected, expected_bytes);
    cr_assert_eq(body.refs, 1, "every part is gone");
}

Test(response, output_keeps_bodies_until_written)
{
    struct response_queue queue = {0};
    struct h2_output output;
    struct response_body body = {.refs = 1, .release = body_release};
    struct arrow_piece piece = {.bytes = bytes, .size = 5000};

    cr_assert(h2_output_init(&output));
    put(&queue, &body, &piece, 0, 5000);
    body.refs--;
    response_queue_take(&queue, queue.queued_bytes, h2_output_emit, &output);
    cr_assert_eq(released, 0);
    cr_assert_eq(output.bytes, 5008);
    uv_buf_t *bufs = NULL;
    cr_assert_eq(h2_output_skip(&output, 9, &bufs), 1);
    cr_assert_eq((const uint8_t *)bufs->base, bytes + 1);
    cr_assert_eq(bufs->len, 4999);
    h2_output_reset(&output);
    cr_assert_eq(released, 1);
    h2_output_fini(&output);
}

Test(response, trim_keeps_a_begun_message)
{
    struct response_queue queue = {0};
    struct response_body body = {.refs = 1, .release = body_release};
    struct arrow_piece piece = {.bytes = bytes, .size = 100};
    static uint8_t sink[1000];
    uint8_t *to = sink;

    for (uint32_t i = 0; i < 4; i++) {
        put(&queue, &body, &piece, 0, 100);
    }
    response_queue_take(&queue, 108 + 20, collect, &to); /* inside the second */
    cr_assert(!response_queue_at_boundary(&queue));
    response_queue_trim(&queue, 0);
    cr_assert_eq(queue.queued_bytes, 88);
    put(&queue, &body, &piece, 0, 100);
    response_queue_trim(&queue, 89); /* one byte of the next was promised */
    cr_assert_eq(queue.queued_bytes, 88 + 108);
    response_queue_take(&queue, queue.queued_bytes, collect, &to);
    cr_assert_eq(body.refs, 1);
    put(&queue, &body, &piece, 0, 100);
    response_queue_trim(&queue, 0);
    cr_assert_eq(queue.queued_bytes, 0);
    cr_assert_null(queue.first);
    cr_assert_eq(body.refs, 1);
}
