/* The framing on any bytes in any pieces: the first byte says how they are cut. */
#include "proto/grpc_frame.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct grpc_frame_reader reader;
    const size_t step = size == 0 ? 1 : 1 + data[0] % 32;
    size_t at = 1;

    grpc_frame_reader_init(&reader, 1 << 16);
    while (at < size) {
        const size_t piece = size - at < step ? size - at : step;
        size_t used;
        const enum grpc_frame_result result = grpc_frame_feed(&reader, data + at, piece, &used);
        if (used > piece || (result == GRPC_FRAME_MORE && used != piece)) {
            abort();
        }
        if (result > GRPC_FRAME_MESSAGE) {
            break;
        }
        at += used;
    }
    grpc_frame_reader_fini(&reader);
    return 0;
}
