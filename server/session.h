#ifndef SESSION_H
#define SESSION_H

#include "h2_limits.h"
#include "response.h"

#include "exec/error.h"
#include "proto/grpc_frame.h"
#include "proto/grpc_status.h"

#include <nghttp2/nghttp2.h>
#include <protobuf-c/protobuf-c.h>

/* One RPC stream, from its headers to its trailers: a table of steps (session_steps.def). nghttp2's
 * callbacks only store what arrived and run the table. Loop thread only. A session is freed when
 * its stream closes, and nowhere else. */

struct h2_conn;
struct service_env;
struct rpc_method;

enum session_step {
#define SESSION_STEP(name, help) SESSION_##name,
#include "session_steps.def"
};

enum { SESSION_MAGIC = 0x5e551014, SESSION_PATH_BYTES = 128 };

struct session {
    uint32_t magic;
    int32_t stream_id;
    struct h2_conn *conn;
    struct service_env *env;
    struct session *next, *prev; /* of the connection */
    enum session_step step;

    /* The request. */
    struct h2_header_budget header_budget;
    char path[SESSION_PATH_BYTES];
    bool is_post, is_grpc, headers_bad_timeout, headers_whole, input_ended;
    bool message_whole;  /* RPC_ONE: `frames` holds the request */
    uint64_t timeout_ns; /* of grpc-timeout; 0: none */
    uint64_t opened_ms, input_ms;
    const uint8_t *input; /* valid inside session_data only */
    size_t input_bytes;
    size_t withheld_bytes; /* of the stream's receive window */
    struct grpc_frame_reader frames;
    const struct rpc_method *rpc; /* NULL until known */
    void *call;
    bool attached; /* the handler has been called and not detached */

    /* The response. */
    struct response_queue queue;
    size_t promised_bytes; /* told to nghttp2, not yet taken */
    uint64_t moved_ms;     /* when the peer last took a byte, or bytes began to wait */
    /* A failed stream whose trailers do not get out by then is reset; 0: the stall limit decides.
     */
    uint64_t finish_by_ms;
    bool response_started, deferred, status_set, trailers_sent;
    enum grpc_code status;
    const char *end_reason; /* in words, for the handler's detach; NULL: the client went away */
    char *status_text;      /* encoded grpc-message; NULL: none */
    char *status_details;   /* grpc-status-details-bin; NULL: none */
};

/* ---- for h2_conn.c ----------------------------------------------------------------------------
 */

struct session *session_create(struct h2_conn *conn, int32_t stream_id); /* NULL: no memory */
/* False: the header list is too big, the stream is to be reset. */
bool session_header(struct session *session, const uint8_t *name, size_t name_bytes,
                    const uint8_t *value, size_t value_bytes);
void session_headers_end(struct session *session);
void session_data(struct session *session, const uint8_t *bytes, size_t size);
void session_input_end(struct session *session);
/* Four times a second. */
void session_tick(struct session *session, uint64_t now_ms);
/* "the client took no byte for 60 s (result_stall_timeout)" */
enum { SESSION_STALL_TEXT_BYTES = 96 };
void session_stall_text(uint64_t stall_ms, char text_out[SESSION_STALL_TEXT_BYTES]);
/* The stream is gone. Frees the session. */
void session_close(struct session *session);

/* ---- for services -----------------------------------------------------------------------------
 */

/* Queues one message. On lack of memory the call fails. */
void session_send(struct session *session, const ProtobufCMessage *message);
/* Queues a slice of bulk behind `head` (see response_queue_add). */
void session_send_bulk(struct session *session, const uint8_t *head, size_t head_bytes,
                       struct response_body *body, const struct arrow_piece *pieces,
                       size_t piece_skip, size_t body_bytes);

/* End the call: status OK after what is queued. Detaches the handler. */
void session_finish(struct session *session);
/* End the call with an error; drops queued messages that have not begun to leave. Detaches the
 * handler. A later call for the same session is ignored. */
void session_fail(struct session *session, const struct exec_error *error, uint64_t retry_after_ms);
void session_fail_status(struct session *session, enum grpc_code status, const char *fmt, ...)
    EXEC_PRINTF(3, 4);

/* Gives receive window back for `size` bytes of RPC_RAW input. */
void session_consume(struct session *session, size_t size);

/* Address of the peer, for logs. */
const char *session_peer(const struct session *session);

/* Unpacks a request; NULL when it was malformed and the call has failed. */
ProtobufCMessage *session_unpack(struct session *session,
                                 const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                                 size_t size);

#endif
