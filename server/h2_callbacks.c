#include "h2_callbacks.h"

#include "h2_conn.h"
#include "log.h"
#include "service.h"

#include <assert.h>

static uint64_t callback_now(const struct h2_conn *conn)
{
    return uv_now(conn->host->env->loop);
}

static struct session *callback_session(nghttp2_session *h2, int32_t stream_id)
{
    struct session *session = nghttp2_session_get_stream_user_data(h2, stream_id);

    assert(session == NULL || session->magic == SESSION_MAGIC);
    return session;
}

static void callback_violation(struct h2_conn *conn, enum h2_violation violation)
{
    if (conn->violation == H2_FINE) {
        conn->violation = violation;
    }
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *user_data)
{
    struct h2_conn *conn = user_data;

    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0; /* trailers of a request mean nothing to gRPC */
    }
    struct session *session = session_create(conn, frame->hd.stream_id);
    if (session == NULL) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    session->next = conn->sessions;
    if (conn->sessions != NULL) {
        conn->sessions->prev = session;
    }
    conn->sessions = session;
    conn->session_count++;
    return nghttp2_session_set_stream_user_data(h2, frame->hd.stream_id, session);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_bytes, const uint8_t *value, size_t value_bytes, uint8_t flags,
                     void *user_data)
{
    struct h2_conn *conn = user_data;
    struct session *session = callback_session(h2, frame->hd.stream_id);

    (void)flags;
    if (session == NULL || session_header(session, name, name_bytes, value, value_bytes)) {
        return 0;
    }
    callback_violation(conn, h2_limits_header_strike(&conn->limits));
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_data_chunk(nghttp2_session *h2, uint8_t flags, int32_t stream_id,
                         const uint8_t *bytes, size_t size, void *user_data)
{
    struct h2_conn *conn = user_data;
    struct session *session = callback_session(h2, stream_id);

    (void)flags;
    conn->active_ms = callback_now(conn);
    /* The connection's window goes back at once: one slow upload must not hold up its neighbours.
     */
    if (nghttp2_session_consume_connection(h2, size) != 0) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (session != NULL) {
        session_data(session, bytes, size);
    } else {
        nghttp2_session_consume_stream(h2, stream_id, size);
    }
    return 0;
}

static int on_frame_recv(nghttp2_session *h2, const nghttp2_frame *frame, void *user_data)
{
    struct h2_conn *conn = user_data;

    if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) {
        return 0;
    }
    struct session *session = callback_session(h2, frame->hd.stream_id);
    if (session == NULL) {
        return 0;
    }
    conn->active_ms = callback_now(conn);
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        session_headers_end(session);
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        session_input_end(session);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t stream_id, uint32_t error_code,
                           void *user_data)
{
    struct h2_conn *conn = user_data;
    struct session *session = callback_session(h2, stream_id);

    (void)error_code;
    if (session == NULL) {
        return 0;
    }
    if (session->prev != NULL) {
        session->prev->next = session->next;
    } else {
        conn->sessions = session->next;
    }
    if (session->next != NULL) {
        session->next->prev = session->prev;
    }
    conn->session_count--;
    conn->active_ms = callback_now(conn);
    session_close(session);
    return 0;
}

static int on_invalid_frame(nghttp2_session *h2, const nghttp2_frame *frame, int error_code,
                            void *user_data)
{
    struct h2_conn *conn = user_data;

    (void)h2;
    (void)frame;
    (void)error_code;
    callback_violation(conn, h2_limits_invalid_frame(&conn->limits));
    return 0;
}

/* An answer given before the client closed its side ends with RST_STREAM NO_ERROR; submitted here,
 * because it would overtake trailers that are still queued. */
static void frame_ends_answer(nghttp2_session *h2, const nghttp2_frame *frame)
{
    const struct session *session = callback_session(h2, frame->hd.stream_id);

    if (session != NULL && !session->input_ended) {
        nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
}

static int on_frame_send(nghttp2_session *h2, const nghttp2_frame *frame, void *user_data)
{
    struct h2_conn *conn = user_data;

    switch (frame->hd.type) {
        case NGHTTP2_HEADERS:
            if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
                frame_ends_answer(h2, frame);
            }
            h2_limits_sent_data(&conn->limits, callback_now(conn));
            break;
        case NGHTTP2_DATA:
        case NGHTTP2_WINDOW_UPDATE: h2_limits_sent_data(&conn->limits, callback_now(conn)); break;
        case NGHTTP2_RST_STREAM:
            /* NO_ERROR ends an early answer; every other code was provoked by the peer. */
            if (frame->rst_stream.error_code != NGHTTP2_NO_ERROR) {
                callback_violation(conn, h2_limits_own_reset(&conn->limits, callback_now(conn)));
            }
            break;
        default: break;
    }
    return 0;
}

static ssize_t data_read_length(nghttp2_session *h2, uint8_t frame_type, int32_t stream_id,
                                int32_t session_window, int32_t stream_window,
                                uint32_t remote_frame_bytes_max, void *user_data)
{
    int64_t length = H2_FRAME_BYTES_MAX;

    (void)h2;
    (void)frame_type;
    (void)stream_id;
    (void)user_data;
    length = length < remote_frame_bytes_max ? length : (int64_t)remote_frame_bytes_max;
    length = length < session_window ? length : session_window;
    length = length < stream_window ? length : stream_window;
    return (ssize_t)length;
}

static int send_data(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *frame_header,
                     size_t length, nghttp2_data_source *source, void *user_data)
{
    struct h2_conn *conn = user_data;
    struct session *session = source->ptr;

    (void)h2;
    (void)frame; /* no padding is ever asked for */
    assert(session->magic == SESSION_MAGIC);
    /* mem_send goes on until windows or data run out; this is what stops it. */
    if (!h2_output_has_room(&conn->output)) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    h2_output_copy(&conn->output, frame_header, H2_FRAME_HEADER_BYTES);
    response_queue_take(&session->queue, length, h2_output_emit, &conn->output);
    session->promised_bytes = 0;
    session->moved_ms = callback_now(conn);
    conn->active_ms = session->moved_ms;
    return 0;
}

static int on_error(nghttp2_session *h2, int code, const char *text, size_t text_bytes,
                    void *user_data)
{
    const struct h2_conn *conn = user_data;

    (void)h2;
    log_line(conn->host->env->log, EXEC_LOG_DEBUG, "http2 %s: %.*s (%d)", conn->peer,
             (int)text_bytes, text, code);
    return 0;
}

nghttp2_session_callbacks *h2_callbacks_create(void)
{
    nghttp2_session_callbacks *callbacks = NULL;

    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        return NULL;
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, data_read_length);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    nghttp2_session_callbacks_set_error_callback2(callbacks, on_error);
    return callbacks;
}

nghttp2_option *h2_option_create(void)
{
    nghttp2_option *option = NULL;

    if (nghttp2_option_new(&option) != 0) {
        return NULL;
    }
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_settings(option, 32);
    nghttp2_option_set_max_outbound_ack(option, 64);
    nghttp2_option_set_max_continuations(option, 8);
    nghttp2_option_set_stream_reset_rate_limit(option, 200, 20);
    return option;
}
