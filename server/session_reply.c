#include "session_reply.h"

#include "h2_conn.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Names and literal values live forever, so nghttp2 need not copy the names. */
static nghttp2_nv reply_field(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value),
                        .flags = NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

enum { HEADER_FIELDS = 4, TRAILER_FIELDS_MAX = 3 };

static size_t reply_trailers(const struct session *session, char status_text[4],
                             nghttp2_nv fields_out[TRAILER_FIELDS_MAX])
{
    size_t count = 0;

    snprintf(status_text, 4, "%u", (unsigned)session->status % 100);
    fields_out[count++] = reply_field("grpc-status", status_text);
    if (session->status_text != NULL && session->status_text[0] != '\0') {
        fields_out[count++] = reply_field("grpc-message", session->status_text);
    }
    if (session->status_details != NULL) {
        fields_out[count++] = reply_field("grpc-status-details-bin", session->status_details);
    }
    return count;
}

static size_t reply_headers(nghttp2_nv *fields_out)
{
    fields_out[0] = reply_field(":status", "200");
    fields_out[1] = reply_field("content-type", "application/grpc");
    fields_out[2] = reply_field("grpc-accept-encoding", "identity");
    fields_out[3] = reply_field("server", "morseld/" MORSEL_VERSION);
    return HEADER_FIELDS;
}

/* One answer without a body: everything in a single header block. */
static void reply_trailers_only(struct session *session)
{
    char status_text[4];
    nghttp2_nv fields[HEADER_FIELDS + TRAILER_FIELDS_MAX];
    size_t count = reply_headers(fields);

    count += reply_trailers(session, status_text, fields + count);
    session->trailers_sent = true;
    nghttp2_submit_response(session->conn->h2, session->stream_id, fields, count, NULL);
}

static void reply_finish(struct session *session, uint32_t *data_flags)
{
    char status_text[4];
    nghttp2_nv fields[TRAILER_FIELDS_MAX];
    const size_t count = reply_trailers(session, status_text, fields);

    *data_flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    session->trailers_sent = true;
    nghttp2_submit_trailer(session->conn->h2, session->stream_id, fields, count);
}

/* nghttp2 asks for the next DATA frame's length; send_data in h2_callbacks.c takes the bytes. */
static ssize_t reply_read(nghttp2_session *h2, int32_t stream_id, uint8_t *buffer, size_t room,
                          uint32_t *data_flags, nghttp2_data_source *source, void *user_data)
{
    struct session *session = source->ptr;

    (void)h2;
    (void)stream_id;
    (void)buffer;
    (void)user_data;
    assert(session->magic == SESSION_MAGIC);
    const size_t queued = session->queue.queued_bytes;
    if (queued == 0 && !session->status_set) {
        session->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    const size_t size = queued < room ? queued : room;
    if (size > 0) {
        *data_flags |= NGHTTP2_DATA_FLAG_NO_COPY;
        session->promised_bytes = size;
    }
    if (size == queued && session->status_set) {
        reply_finish(session, data_flags);
    }
    return (ssize_t)size;
}

static void reply_start(struct session *session)
{
    nghttp2_nv fields[HEADER_FIELDS];
    const size_t count = reply_headers(fields);
    const nghttp2_data_provider provider = {.source = {.ptr = session},
                                            .read_callback = reply_read};

    nghttp2_submit_response(session->conn->h2, session->stream_id, fields, count, &provider);
}

void session_reply_flush(struct session *session)
{
    if (!session->response_started) {
        session->response_started = true;
        if (session->status_set && session->queue.queued_bytes == 0) {
            reply_trailers_only(session);
        } else {
            reply_start(session);
        }
    } else if (session->deferred) {
        session->deferred = false;
        nghttp2_session_resume_data(session->conn->h2, session->stream_id);
    }
    h2_conn_wake(session->conn);
}

void session_reply_http(struct session *session, const char *http_status)
{
    const nghttp2_nv field = reply_field(":status", http_status);

    session->response_started = true;
    session->trailers_sent = true;
    session->status_set = true;
    session->status = GRPC_UNKNOWN;
    nghttp2_submit_response(session->conn->h2, session->stream_id, &field, 1, NULL);
    h2_conn_wake(session->conn);
}

void session_reply_reset(struct session *session)
{
    const uint32_t code =
        session->status == GRPC_RESOURCE_EXHAUSTED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_CANCEL;

    session->trailers_sent = true;
    session->step = SESSION_closed;
    nghttp2_submit_rst_stream(session->conn->h2, NGHTTP2_FLAG_NONE, session->stream_id, code);
    h2_conn_wake(session->conn);
}
