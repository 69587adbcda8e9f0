#ifndef CLIENT_MORSEL_CONNECTION_H
#define CLIENT_MORSEL_CONNECTION_H

#include "grpc_call.h"
#include "morsel_error.h"

#include <protobuf-c/protobuf-c.h>

struct morsel_connection {
    uint32_t magic;
    struct grpc_channel channel;
    bool connected; /* channel is initialised */
    uint64_t connect_timeout_ms;
    int wake_fd;             /* eventfd written by morsel_interrupt */
    atomic_bool interrupted; /* release in morsel_interrupt, acquire in channel_step */
    char address[CHANNEL_ADDRESS_BYTES];
    char server[64];
};

/* A point on the clock; 0 ms: never. */
uint64_t connection_deadline(uint64_t timeout_ms);

/* Starts a call on a live channel, connecting anew when the old one broke while idle or was asked
 * to leave. 0, or -1 and err. End it with connection_end_call. */
int connection_start_call(struct morsel_connection *connection, struct grpc_call *call,
                          const char *path, uint64_t deadline_ns, struct morsel_error *err);
void connection_end_call(struct morsel_connection *connection, struct grpc_call *call);

/* A whole unary call: `request` packed, the answer unpacked (free with
 * protobuf_c_message_free_unpacked). A refused stream is tried once more. NULL and err on failure.
 */
ProtobufCMessage *connection_unary(struct morsel_connection *connection, const char *path,
                                   const ProtobufCMessage *request,
                                   const ProtobufCMessageDescriptor *answer, uint64_t timeout_ms,
                                   struct morsel_error *err);

/* Packs into malloc'd memory; NULL: out of memory. */
uint8_t *connection_pack(const ProtobufCMessage *message, size_t *size_out);

#endif
