#include "proto/grpc_frame.h"

void grpc_prefix_write(uint8_t prefix_out[GRPC_PREFIX_BYTES], uint32_t message_bytes)
{
    prefix_out[0] = 0;
    prefix_out[1] = (uint8_t)(message_bytes >> 24);
    prefix_out[2] = (uint8_t)(message_bytes >> 16);
    prefix_out[3] = (uint8_t)(message_bytes >> 8);
    prefix_out[4] = (uint8_t)message_bytes;
}
