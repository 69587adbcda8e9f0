/* Goal:   messages come out of the gRPC framing whole and in order for any split of the bytes; bad
 *         prefixes are told apart; memory follows the bytes that came, not those announced.
 * Method: three messages, one of them empty, cut at every pair of places; single prefixes. */
#include "proto/grpc_frame.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_BYTES = 1000, STREAM_BYTES = 3 * GRPC_PREFIX_BYTES + 7 + 0 + 11 };

static const char *const messages[] = {"message", "", "and another"};

static void stream_make(uint8_t stream[STREAM_BYTES])
{
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        grpc_prefix_write(stream + at, (uint32_t)strlen(messages[i]));
        memcpy(stream + at + GRPC_PREFIX_BYTES, messages[i], strlen(messages[i]));
        at += GRPC_PREFIX_BYTES + strlen(messages[i]);
    }
    cr_assert_eq(at, STREAM_BYTES);
}

/* Feeds one piece; counts and checks the messages that become whole. */
static void piece_feed(struct grpc_frame_reader *reader, const uint8_t *bytes, size_t size,
                       size_t *count)
{
    size_t at = 0, used;

    do {
        const enum grpc_frame_result result = grpc_frame_feed(reader, bytes + at, size - at, &used);
        at += used;
        if (result == GRPC_FRAME_MORE) {
            cr_assert_eq(at, size, "MORE takes all input");
            return;
        }
        cr_assert_eq(result, GRPC_FRAME_MESSAGE);
        cr_assert_eq(reader->message_bytes, strlen(messages[*count]));
        cr_assert_eq(memcmp(reader->message, messages[*count], reader->message_bytes), 0);
        if (*count == 0) { /* a taken message stays the taker's */
            free(reader->message);
            reader->message = NULL;
        }
        ++*count;
    } while (at < size);
}

Test(grpc_frame, any_split_gives_the_same_messages)
{
    uint8_t stream[STREAM_BYTES];

    stream_make(stream);
    for (size_t first = 0; first <= STREAM_BYTES; first++) {
        for (size_t second = first; second <= STREAM_BYTES; second++) {
            struct grpc_frame_reader reader;
            size_t count = 0;
            grpc_frame_reader_init(&reader, LIMIT_BYTES);
            cr_assert(grpc_frame_at_boundary(&reader));
            piece_feed(&reader, stream, first, &count);
            piece_feed(&reader, stream + first, second - first, &count);
            if (second < STREAM_BYTES && second > STREAM_BYTES - 11) {
                cr_assert_not(grpc_frame_at_boundary(&reader), "inside the last message");
            }
            piece_feed(&reader, stream + second, STREAM_BYTES - second, &count);
            cr_assert_eq(count, 3, "cut at %zu and %zu", first, second);
            cr_assert(grpc_frame_at_boundary(&reader));
            grpc_frame_reader_fini(&reader);
        }
    }
}

Test(grpc_frame, bad_prefixes_are_told_apart)
{
    static const struct {
        uint8_t prefix[GRPC_PREFIX_BYTES];
        enum grpc_frame_result result;
    } rows[] = {
        {{0, 0, 0, 3, 233}, GRPC_FRAME_TOO_BIG}, /* 1001 */
        {{0, 255, 255, 255, 255}, GRPC_FRAME_TOO_BIG},
        {{0, 0, 0, 3, 232}, GRPC_FRAME_MORE}, /* 1000 */
        {{1, 0, 0, 0, 1}, GRPC_FRAME_COMPRESSED},
        {{2, 0, 0, 0, 1}, GRPC_FRAME_BAD_FLAG},
        {{255, 0, 0, 0, 1}, GRPC_FRAME_BAD_FLAG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct grpc_frame_reader reader;
        size_t used;
        grpc_frame_reader_init(&reader, LIMIT_BYTES);
        cr_assert_eq(grpc_frame_feed(&reader, rows[i].prefix, GRPC_PREFIX_BYTES, &used),
                     rows[i].result);
        grpc_frame_reader_fini(&reader);
    }
}

Test(grpc_frame, memory_follows_the_bytes_that_came)
{
    struct grpc_frame_reader reader;
    uint8_t prefix[GRPC_PREFIX_BYTES];
    size_t used;

    grpc_frame_reader_init(&reader, UINT32_MAX);
    grpc_prefix_write(prefix, UINT32_MAX);
    cr_assert_eq(grpc_frame_feed(&reader, prefix, sizeof prefix, &used), GRPC_FRAME_MORE);
    cr_assert_leq(reader.message_room, 4096);
    grpc_frame_reader_fini(&reader);
}
