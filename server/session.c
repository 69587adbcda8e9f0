#include "session.h"

#include "h2_conn.h"
#include "rpc_method.h"
#include "service.h"
#include "session_reply.h"

#include "config.h"
#include "log.h"
#include "proto/prescan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { REQUEST_TIMEOUT_MS = 60000, FINISH_GRACE_MS = 2000 };

static uint64_t session_now(const struct session *session)
{
    return uv_now(session->env->loop);
}

const char *session_peer(const struct session *session)
{
    return session->conn->peer;
}

struct session *session_create(struct h2_conn *conn, int32_t stream_id)
{
    struct session *session = calloc(1, sizeof *session);

    if (session == NULL) {
        return NULL;
    }
    session->magic = SESSION_MAGIC;
    session->stream_id = stream_id;
    session->conn = conn;
    session->env = conn->host->env;
    session->opened_ms = session_now(session);
    session->input_ms = session->opened_ms;
    session->moved_ms = session->opened_ms;
    grpc_frame_reader_init(&session->frames, (uint32_t)prescan_control_limits.message_bytes_max);
    return session;
}

/* ---- the handler's side -----------------------------------------------------------------------
 */

static void session_detach(struct session *session)
{
    if (!session->attached) {
        return;
    }
    session->attached = false;
    if (session->rpc->handler->detach != NULL) {
        session->rpc->handler->detach(session);
    }
    session->call = NULL;
}

/* Ends that somebody waits for. A client that pauses before it reads of any other failure has as
 * long as a client that pauses before it reads a result. */
static bool session_must_hurry(enum grpc_code status)
{
    return status == GRPC_CANCELLED || status == GRPC_DEADLINE_EXCEEDED ||
           status == GRPC_RESOURCE_EXHAUSTED || status == GRPC_UNAVAILABLE;
}

static void session_set_status(struct session *session, enum grpc_code status)
{
    session->status = status;
    session->status_set = true;
    if (status != GRPC_OK) {
        response_queue_trim(&session->queue, session->promised_bytes);
        if (session_must_hurry(status)) {
            session->finish_by_ms = session_now(session) + FINISH_GRACE_MS;
        }
    }
    session_detach(session);
    session_reply_flush(session);
}

void session_finish(struct session *session)
{
    if (!session->status_set) {
        session_set_status(session, GRPC_OK);
    }
}

void session_fail(struct session *session, const struct exec_error *error, uint64_t retry_after_ms)
{
    char details[GRPC_DETAILS_BYTES];

    if (session->status_set) {
        return;
    }
    if (wire_error_details_encode(error, retry_after_ms, details) > 0) {
        session->status_details = strdup(details);
    }
    session_fail_status(session, wire_error_grpc_code(error->code), "%s", error->detail);
}

void session_fail_status(struct session *session, enum grpc_code status, const char *fmt, ...)
{
    char text[GRPC_MESSAGE_BYTES];
    char encoded[GRPC_MESSAGE_ENCODED_BYTES];
    va_list args;

    if (session->status_set) {
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    grpc_message_encode(text, encoded);
    session->status_text = strdup(encoded);
    session->end_reason = text;
    session_set_status(session, status);
    session->end_reason = NULL;
}

void session_send(struct session *session, const ProtobufCMessage *message)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(size > 0 ? size : 1);

    if (session->status_set) {
        free(bytes);
        return;
    }
    if (bytes == NULL) {
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for a message");
        return;
    }
    protobuf_c_message_pack(message, bytes);
    const bool was_empty = session->queue.queued_bytes == 0;
    if (!response_queue_add_message(&session->queue, bytes, size)) {
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for a message");
        return;
    }
    if (was_empty) {
        session->moved_ms = session_now(session);
    }
    session_reply_flush(session);
}

void session_send_bulk(struct session *session, const uint8_t *head, size_t head_bytes,
                       struct response_body *body, const struct arrow_piece *pieces,
                       size_t piece_skip, size_t body_bytes)
{
    if (session->status_set) {
        return;
    }
    if (session->queue.queued_bytes == 0) {
        session->moved_ms = session_now(session);
    }
    if (!response_queue_add(&session->queue, head, head_bytes, body, pieces, piece_skip,
                            body_bytes)) {
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for a message");
        return;
    }
    session_reply_flush(session);
}

void session_consume(struct session *session, size_t size)
{
    assert(size <= session->withheld_bytes);
    session->withheld_bytes -= size;
    nghttp2_session_consume_stream(session->conn->h2, session->stream_id, size);
    h2_conn_wake(session->conn);
}

ProtobufCMessage *session_unpack(struct session *session,
                                 const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                                 size_t size)
{
    struct exec_error err;
    ProtobufCMessage *message = wire_unpack(descriptor, bytes, size, &prescan_control_limits, &err);

    if (message == NULL) {
        session_fail(session, &err, 0);
    }
    return message;
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static enum session_step step_read_headers(struct session *session)
{
    if (!session->headers_whole) {
        return SESSION_read_headers;
    }
    if (!session->is_post) {
        session_reply_http(session, "405");
        return SESSION_closed;
    }
    if (!session->is_grpc) {
        session_reply_http(session, "415");
        return SESSION_closed;
    }
    session->rpc = rpc_method_find(session->path);
    metrics_add(&session->env->metrics->rpc_in_flight, 1);
    if (session->rpc == NULL) {
        session->rpc = rpc_method_row(RPC_COUNT);
        session_fail_status(session, GRPC_UNIMPLEMENTED, "unknown method %s", session->path);
        return SESSION_send_rest;
    }
    if (session->headers_bad_timeout) {
        session_fail_status(session, GRPC_INTERNAL, "grpc-timeout is malformed");
        return SESSION_send_rest;
    }
    return SESSION_read_request;
}

/* Turns what the frame reader refused into a status. */
static void session_bad_frame(struct session *session, enum grpc_frame_result result)
{
    switch (result) {
        case GRPC_FRAME_TOO_BIG:
            session_fail_status(session, GRPC_RESOURCE_EXHAUSTED,
                                "the request message is larger than %u bytes",
                                session->frames.message_bytes_max);
            break;
        case GRPC_FRAME_COMPRESSED:
            session_fail_status(session, GRPC_UNIMPLEMENTED,
                                "compressed messages are not supported: send identity");
            break;
        case GRPC_FRAME_NO_MEMORY:
            session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for the request");
            break;
        case GRPC_FRAME_BAD_FLAG:
        case GRPC_FRAME_MORE:
        case GRPC_FRAME_MESSAGE:
            session_fail_status(session, GRPC_INTERNAL,
                                "the compressed flag of a message is neither 0 nor 1");
            break;
    }
}

static void session_hand_over(struct session *session)
{
    session->attached = true;
    session->rpc->handler->message(session, session->frames.message, session->frames.message_bytes);
}

/* RPC_ONE and RPC_EACH: cuts the input into messages. */
static void session_read_messages(struct session *session)
{
    while (session->input_bytes > 0 && !session->status_set) {
        size_t used = 0;
        if (session->message_whole) {
            session_fail_status(session, GRPC_UNIMPLEMENTED,
                                "%s takes one request message, more came", session->path);
            return;
        }
        const enum grpc_frame_result result =
            grpc_frame_feed(&session->frames, session->input, session->input_bytes, &used);
        session->input += used;
        session->input_bytes -= used;
        if (result == GRPC_FRAME_MORE) {
            continue;
        }
        if (result != GRPC_FRAME_MESSAGE) {
            session_bad_frame(session, result);
        } else if (session->rpc->input == RPC_EACH) {
            session_hand_over(session);
        } else {
            session->message_whole = true;
        }
    }
}

static void session_request_whole(struct session *session)
{
    if (session->rpc->input == RPC_RAW) {
        session->attached = true;
        session->rpc->handler->end(session);
    } else if (session->rpc->input == RPC_ONE && session->message_whole) {
        session_hand_over(session);
    } else if (!grpc_frame_at_boundary(&session->frames)) {
        session_fail_status(session, GRPC_INTERNAL, "the request ended inside a message");
    } else if (session->rpc->input == RPC_EACH) {
        session->attached = true;
        session->rpc->handler->end(session);
    } else {
        session_fail_status(session, GRPC_INTERNAL, "%s takes one request message, none came",
                            session->path);
    }
}

static enum session_step step_read_request(struct session *session)
{
    if (session->rpc->input == RPC_RAW && session->input_bytes > 0) {
        session->attached = true;
        session->rpc->handler->data(session, session->input, session->input_bytes);
        session->input_bytes = 0;
    } else {
        session_read_messages(session);
    }
    if (session->status_set) {
        return SESSION_send_rest;
    }
    if (!session->input_ended) {
        return SESSION_read_request;
    }
    session_request_whole(session);
    return SESSION_answer;
}

static enum session_step step_answer(struct session *session)
{
    return session->status_set ? SESSION_send_rest : SESSION_answer;
}

static enum session_step step_send_rest(struct session *session)
{
    session->input_bytes = 0; /* nobody wants the rest of the request */
    return session->trailers_sent ? SESSION_closed : SESSION_send_rest;
}

static enum session_step step_closed(struct session *session)
{
    session->input_bytes = 0;
    return SESSION_closed;
}

static enum session_step (*const session_steps[])(struct session *) = {
#define SESSION_STEP(name, help) [SESSION_##name] = step_##name,
#include "session_steps.def"
};

static void session_run(struct session *session)
{
    enum session_step before = session->step;

    do {
        before = session->step;
        session->step = session_steps[before](session);
    } while (session->step != before);
}

/* ---- events -----------------------------------------------------------------------------------
 */

static bool header_is(const uint8_t *name, size_t name_bytes, const char *want)
{
    return name_bytes == strlen(want) && memcmp(name, want, name_bytes) == 0;
}

/* "application/grpc" by itself or with a suffix behind + or ;. */
static bool content_type_is_grpc(const uint8_t *value, size_t size)
{
    static const char grpc[] = "application/grpc";
    const size_t grpc_bytes = sizeof grpc - 1;

    return size >= grpc_bytes && memcmp(value, grpc, grpc_bytes) == 0 &&
           (size == grpc_bytes || value[grpc_bytes] == '+' || value[grpc_bytes] == ';');
}

bool session_header(struct session *session, const uint8_t *name, size_t name_bytes,
                    const uint8_t *value, size_t value_bytes)
{
    if (!h2_header_budget_take(&session->header_budget, name_bytes, value_bytes)) {
        return false;
    }
    if (session->headers_whole) {
        return true; /* trailers */
    }
    if (header_is(name, name_bytes, ":method")) {
        session->is_post = header_is(value, value_bytes, "POST");
    } else if (header_is(name, name_bytes, ":path")) {
        const size_t size = value_bytes < SESSION_PATH_BYTES ? value_bytes : SESSION_PATH_BYTES - 1;
        memcpy(session->path, value, size);
        session->path[size] = '\0';
    } else if (header_is(name, name_bytes, "content-type")) {
        session->is_grpc = content_type_is_grpc(value, value_bytes);
    } else if (header_is(name, name_bytes, "grpc-timeout")) {
        session->headers_bad_timeout =
            !grpc_timeout_parse((const char *)value, value_bytes, &session->timeout_ns);
        /* "0n" is what a client sends whose deadline has passed; here 0 would mean none. */
        session->timeout_ns += session->timeout_ns == 0;
    }
    return true;
}

void session_headers_end(struct session *session)
{
    session->headers_whole = true;
    session_run(session);
}

void session_data(struct session *session, const uint8_t *bytes, size_t size)
{
    const bool raw = session->rpc != NULL && session->rpc->input == RPC_RAW;

    session->input = bytes;
    session->input_bytes = size;
    session->input_ms = session_now(session);
    session->withheld_bytes += size;
    session_run(session);
    session->input_bytes = 0;
    /* Only a running upload decides itself when its window goes back. */
    if (!raw || session->step != SESSION_read_request) {
        session_consume(session, session->withheld_bytes);
    }
}

void session_input_end(struct session *session)
{
    session->input_ended = true;
    session_run(session);
}

void session_stall_text(uint64_t stall_ms, char text_out[SESSION_STALL_TEXT_BYTES])
{
    const bool whole = stall_ms % 1000 == 0;

    snprintf(text_out, SESSION_STALL_TEXT_BYTES,
             "the client took no byte for %llu %s (result_stall_timeout)",
             (unsigned long long)(whole ? stall_ms / 1000 : stall_ms), whole ? "s" : "ms");
}

static void session_stalled(struct session *session, uint64_t stall_ms)
{
    struct exec_error err;
    char text[SESSION_STALL_TEXT_BYTES];

    session_stall_text(stall_ms, text);
    EXEC_FAIL(&err, EXEC_LIMIT, "%s", text);
    log_line(session->env->log, EXEC_LOG_WARNING, "%s %s: %s", session_peer(session), session->path,
             text);
    session_fail(session, &err, 0);
}

void session_tick(struct session *session, uint64_t now_ms)
{
    const uint64_t stall_ms = session->env->config->result_stall_timeout / 1000000;

    if (session->step == SESSION_closed) {
        return;
    }
    if (session->finish_by_ms != 0 && now_ms >= session->finish_by_ms &&
        now_ms - session->moved_ms >= FINISH_GRACE_MS && !session->trailers_sent) {
        session_reply_reset(session);
        return;
    }
    if (session->status_set && session->queue.queued_bytes == 0) {
        return;
    }
    if (session->queue.queued_bytes > 0 && now_ms - session->moved_ms >= stall_ms) {
        if (session->status_set) {
            session_reply_reset(session); /* finished, but nobody takes the rest */
        } else {
            session_stalled(session, stall_ms);
        }
        return;
    }
    /* Jobs keep their own, finer deadline; this one is for everything else, uploads above all. */
    if (!session->status_set && session->timeout_ns > 0 &&
        now_ms - session->opened_ms > session->timeout_ns / 1000000 + FINISH_GRACE_MS) {
        session_fail_status(session, GRPC_DEADLINE_EXCEEDED, "the deadline of the call has passed");
        return;
    }
    if (session->input_ended || session->rpc == NULL || session->rpc->input == RPC_EACH) {
        return;
    }
    const uint64_t limit_ms = session->rpc->input == RPC_RAW ? stall_ms : REQUEST_TIMEOUT_MS;
    const uint64_t since_ms =
        session->rpc->input == RPC_RAW ? session->input_ms : session->opened_ms;
    if (session->withheld_bytes == 0 && now_ms - since_ms >= limit_ms) {
        session_fail_status(session, GRPC_DEADLINE_EXCEEDED,
                            "the rest of the request did not come within %llu ms",
                            (unsigned long long)limit_ms);
    }
}

void session_close(struct session *session)
{
    struct metrics *metrics = session->env->metrics;

    session_detach(session);
    if (session->rpc != NULL) {
        const enum grpc_code code = session->status_set ? session->status : GRPC_CANCELLED;
        metrics_add(&metrics->rpcs[session->rpc->id][code], 1);
        metrics_sub(&metrics->rpc_in_flight, 1);
    }
    response_queue_clear(&session->queue);
    grpc_frame_reader_fini(&session->frames);
    free(session->status_text);
    free(session->status_details);
    session->magic = 0;
    free(session);
}
