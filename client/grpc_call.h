#ifndef CLIENT_GRPC_CALL_H
#define CLIENT_GRPC_CALL_H

#include "grpc_channel.h"
#include "proto/grpc_frame.h"
#include "proto/grpc_status.h"

#include <stddef.h>

/* One gRPC call on a channel, blocking with a deadline. The bytes of received DATA wait in `inbox`
 * and are given back to the stream's window when grpc_call_receive takes them, which bounds the
 * inbox by the window. */

enum { CALL_MESSAGE_BYTES_MAX = 64 << 20, CALL_MESSAGE_TEXT_BYTES = GRPC_MESSAGE_ENCODED_BYTES };

enum call_end {
    CALL_OPEN,
    CALL_STATUS, /* the server's trailers: status, message, details */
    CALL_LOCAL,  /* ended here: status and message say why */
    CALL_DEADLINE,
    CALL_INTERRUPTED,
    CALL_TRANSPORT,
    CALL_REFUSED, /* not processed by the server: safe to try again */
};

struct grpc_call {
    uint32_t magic;
    struct grpc_channel *channel;
    int32_t stream_id;
    uint64_t deadline_ns;
    enum call_end end;
    bool closed; /* the stream is gone for nghttp2 */

    /* The request side: one message at a time, prefix first. */
    uint8_t prefix[GRPC_PREFIX_BYTES];
    const uint8_t *out;
    size_t out_bytes, out_sent; /* prefix included */
    bool out_last, deferred;

    /* The response side. */
    int http_status;
    bool grpc_content, have_status;
    uint32_t header_fields, header_bytes;
    uint8_t *inbox;
    size_t inbox_begin, inbox_end, inbox_room;
    struct grpc_frame_reader reader;

    enum grpc_code status;
    char message[GRPC_MESSAGE_BYTES + 1];
    char details[GRPC_DETAILS_BYTES];
    size_t details_bytes;
    char server[64]; /* the `server` response header */
};

/* Sends the request headers for "/pkg.Service/Method". The call is embedded in the caller's memory
 * and must be ended by grpc_call_fini. Returns 0, or -1 with call->end set. */
int grpc_call_init(struct grpc_call *call, struct grpc_channel *channel, const char *path,
                   uint64_t deadline_ns);

/* Sends one message and waits until nghttp2 has taken it. `last` closes the request side. Returns
 * 0, or -1 when the call has ended (the server may end it early: see call->end). */
int grpc_call_send(struct grpc_call *call, const void *message, size_t size, bool last);

/* Closes the request side without a message. */
int grpc_call_send_end(struct grpc_call *call);

/* Waits for one message. 1: *message_out is malloc'd and the caller's; 0: the call has ended with
 * status OK; -1: it ended otherwise; 2: wait_until_ns came first (the call goes on). */
int grpc_call_receive(struct grpc_call *call, uint64_t wait_until_ns, uint8_t **message_out,
                      size_t *size_out);

/* Resets the stream when it is still open, frees. */
void grpc_call_fini(struct grpc_call *call);

/* For grpc_channel.c: the nghttp2 callbacks of a stream, filled in here. */
void grpc_call_set_callbacks(nghttp2_session_callbacks *callbacks);
/* The server's side of the stream has ended; ours may be open still (an upload refused early). */
void grpc_call_answered(struct grpc_call *call);

#endif
