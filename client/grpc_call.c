#include "grpc_call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_MAGIC = 0x6763616c, CALL_HEADER_FIELDS_MAX = 64, CALL_HEADER_BYTES_MAX = 32768 };

/* The first end wins. */
static void call_end(struct grpc_call *call, enum call_end end, enum grpc_code status,
                     const char *message)
{
    if (call->end != CALL_OPEN) {
        return;
    }
    call->end = end;
    call->status = status;
    snprintf(call->message, sizeof call->message, "%s", message);
}

static void call_break(struct grpc_call *call, const char *text)
{
    call->closed = true;
    call_end(call, CALL_TRANSPORT, GRPC_UNAVAILABLE, text);
}

void grpc_call_answered(struct grpc_call *call)
{
    if (call->have_status && call->end == CALL_OPEN) {
        call->end = CALL_STATUS;
    }
}

/* Ended on our side: tell the server at once, then forget. */
static void call_reset(struct grpc_call *call)
{
    if (call->closed || call->stream_id <= 0 || call->channel->broken) {
        return;
    }
    nghttp2_submit_rst_stream(call->channel->session, NGHTTP2_FLAG_NONE, call->stream_id,
                              NGHTTP2_CANCEL);
    grpc_channel_flush(call->channel);
}

/* ---- callbacks: they only store -------------------------------------------------------------- */

static struct grpc_call *call_of(void *owner, int32_t stream_id)
{
    struct grpc_channel *channel = owner;

    return channel->call != NULL && channel->call->stream_id == stream_id ? channel->call : NULL;
}

static bool is(const uint8_t *name, size_t name_bytes, const char *text)
{
    return name_bytes == strlen(text) && memcmp(name, text, name_bytes) == 0;
}

static enum grpc_code parse_status(const uint8_t *value, size_t column_value_bytes)
{
    unsigned code = 0;

    for (size_t i = 0; i < column_value_bytes; i++) {
        if (value[i] < '0' || value[i] > '9' || i > 2) {
            return GRPC_UNKNOWN;
        }
        code = code * 10 + (unsigned)(value[i] - '0');
    }
    return column_value_bytes == 0 || code >= GRPC_CODE_COUNT ? GRPC_UNKNOWN : (enum grpc_code)code;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_bytes, const uint8_t *value, size_t column_value_bytes,
                     uint8_t flags, void *owner)
{
    struct grpc_call *call = call_of(owner, frame->hd.stream_id);

    (void)session, (void)flags;
    if (call == NULL) {
        return 0;
    }
    call->header_fields++;
    call->header_bytes += (uint32_t)(name_bytes + column_value_bytes + 32);
    if (call->header_fields > CALL_HEADER_FIELDS_MAX ||
        call->header_bytes > CALL_HEADER_BYTES_MAX) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (is(name, name_bytes, ":status")) {
        call->http_status = atoi((const char *)value);
    } else if (is(name, name_bytes, "content-type")) {
        call->grpc_content = column_value_bytes >= 16 && memcmp(value, "application/grpc", 16) == 0;
    } else if (is(name, name_bytes, "server")) {
        snprintf(call->server, sizeof call->server, "%.*s", (int)column_value_bytes,
                 (const char *)value);
    } else if (is(name, name_bytes, "grpc-status")) {
        call->have_status = true;
        call->status = parse_status(value, column_value_bytes);
    } else if (is(name, name_bytes, "grpc-message")) {
        grpc_message_decode((const char *)value, column_value_bytes, call->message,
                            sizeof call->message);
    } else if (is(name, name_bytes, "grpc-status-details-bin") &&
               column_value_bytes < sizeof call->details) {
        memcpy(call->details, value, column_value_bytes);
        call->details_bytes = column_value_bytes;
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data,
                   size_t size, void *owner)
{
    struct grpc_call *call = call_of(owner, stream_id);

    (void)flags;
    nghttp2_session_consume_connection(session, size);
    if (call == NULL || call->end != CALL_OPEN) {
        return 0;
    }
    if (call->inbox_begin == call->inbox_end) {
        call->inbox_begin = call->inbox_end = 0;
    }
    if (call->inbox_end + size > call->inbox_room) {
        const size_t have = call->inbox_end - call->inbox_begin;
        size_t room = call->inbox_room == 0 ? CHANNEL_READ_BYTES : call->inbox_room;
        while (room < have + size) {
            room *= 2;
        }
        uint8_t *moved = malloc(room);
        if (moved == NULL) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        if (have > 0) {
            memcpy(moved, call->inbox + call->inbox_begin, have);
        }
        free(call->inbox);
        call->inbox = moved;
        call->inbox_room = room;
        call->inbox_begin = 0;
        call->inbox_end = have;
    }
    memcpy(call->inbox + call->inbox_end, data, size);
    call->inbox_end += size;
    return 0;
}

/* What gRPC's "HTTP to status" table says about answers that are not gRPC's. */
static enum grpc_code status_of_http(int http_status)
{
    switch (http_status) {
        case 400: return GRPC_INTERNAL;
        case 401: return GRPC_UNAUTHENTICATED;
        case 403: return GRPC_PERMISSION_DENIED;
        case 404: return GRPC_UNIMPLEMENTED;
        case 429:
        case 502:
        case 503:
        case 504: return GRPC_UNAVAILABLE;
        default: return GRPC_UNKNOWN;
    }
}

static void call_end_without_status(struct grpc_call *call, uint32_t error_code)
{
    char text[128];

    switch (error_code) {
        case NGHTTP2_REFUSED_STREAM:
            call_end(call, CALL_REFUSED, GRPC_UNAVAILABLE, "the server refused the call");
            return;
        case NGHTTP2_CANCEL:
            call_end(call, CALL_STATUS, GRPC_CANCELLED, "the server cancelled the call");
            return;
        case NGHTTP2_ENHANCE_YOUR_CALM:
            call_end(call, CALL_STATUS, GRPC_RESOURCE_EXHAUSTED,
                     "the server ended the stream (a client that takes no byte for its "
                     "result_stall_timeout loses its job)");
            return;
        case NGHTTP2_INADEQUATE_SECURITY:
            call_end(call, CALL_STATUS, GRPC_PERMISSION_DENIED, "the server asks for TLS");
            return;
        case NGHTTP2_NO_ERROR: break;
        default:
            snprintf(text, sizeof text, "the server reset the call: %s",
                     nghttp2_http2_strerror(error_code));
            call_end(call, CALL_TRANSPORT, GRPC_INTERNAL, text);
            return;
    }
    if (call->http_status != 200 || !call->grpc_content) {
        snprintf(text, sizeof text, "not a gRPC answer: HTTP status %d", call->http_status);
        call_end(call, CALL_TRANSPORT, status_of_http(call->http_status), text);
        return;
    }
    call_end(call, CALL_TRANSPORT, GRPC_INTERNAL, "the server ended the call without a status");
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
                           void *owner)
{
    struct grpc_call *call = call_of(owner, stream_id);

    (void)session;
    if (call == NULL) {
        return 0;
    }
    call->closed = true;
    if (call->have_status && call->end == CALL_OPEN) {
        call->end = CALL_STATUS;
    } else {
        call_end_without_status(call, error_code);
    }
    return 0;
}

void grpc_call_set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}

/* The request's bytes: prefix, message, and then nothing until the next message is set. */
static ssize_t read_request(nghttp2_session *session, int32_t stream_id, uint8_t *buffer,
                            size_t room, uint32_t *flags, nghttp2_data_source *source, void *owner)
{
    struct grpc_call *call = source->ptr;
    size_t made = 0;

    (void)session, (void)stream_id, (void)owner;
    while (made < room && call->out_sent < call->out_bytes) {
        const bool in_prefix = call->out_sent < GRPC_PREFIX_BYTES;
        const uint8_t *from = in_prefix ? call->prefix + call->out_sent
                                        : call->out + (call->out_sent - GRPC_PREFIX_BYTES);
        size_t size = (in_prefix ? (size_t)GRPC_PREFIX_BYTES : call->out_bytes) - call->out_sent;
        size = size < room - made ? size : room - made;
        memcpy(buffer + made, from, size);
        call->out_sent += size;
        made += size;
    }
    if (call->out_sent == call->out_bytes && call->out_last) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        return (ssize_t)made;
    }
    if (made == 0) {
        call->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)made;
}

/* ---- the caller's side ------------------------------------------------------------------------
 */

#define HEADER(name, value)                                                                       \
    {                                                                                             \
        (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), strlen(name), strlen(value), \
            NGHTTP2_NV_FLAG_NONE                                                                  \
    }

int grpc_call_init(struct grpc_call *call, struct grpc_channel *channel, const char *path,
                   uint64_t deadline_ns)
{
    char timeout[16] = "";
    nghttp2_data_provider provider = {.source.ptr = call, .read_callback = read_request};

    assert(channel->call == NULL);
    *call = (struct grpc_call){.magic = CALL_MAGIC, .channel = channel, .deadline_ns = deadline_ns};
    grpc_frame_reader_init(&call->reader, CALL_MESSAGE_BYTES_MAX);
    if (channel->broken) {
        call_break(call, channel->text);
        return -1;
    }
    const uint64_t now = grpc_clock_ns();
    if (deadline_ns != UINT64_MAX) {
        grpc_timeout_format(deadline_ns > now ? deadline_ns - now : 1, timeout);
    }
    const nghttp2_nv headers[] = {
        HEADER(":method", "POST"),
        HEADER(":scheme", "http"),
        HEADER(":path", path),
        HEADER(":authority", channel->authority),
        HEADER("te", "trailers"),
        HEADER("content-type", "application/grpc"),
        HEADER("user-agent", "morsel/0.1.0"),
        HEADER("grpc-accept-encoding", "identity"),
        HEADER("grpc-timeout", timeout), /* last: left out without a deadline */
    };
    const size_t header_count = sizeof headers / sizeof headers[0] - (timeout[0] == '\0' ? 1 : 0);
    call->stream_id =
        nghttp2_submit_request(channel->session, NULL, headers, header_count, &provider, NULL);
    if (call->stream_id < 0) {
        call->closed = true;
        call_end(call, CALL_REFUSED, GRPC_UNAVAILABLE, nghttp2_strerror(call->stream_id));
        return -1;
    }
    channel->call = call;
    return 0;
}

/* One round of the channel; ends the call on deadline, interrupt and break. False: wait_until_ns
 * came. */
static bool call_step(struct grpc_call *call, uint64_t wait_until_ns)
{
    const uint64_t until = call->deadline_ns < wait_until_ns ? call->deadline_ns : wait_until_ns;

    switch (grpc_channel_step(call->channel, until)) {
        case CHANNEL_OK: break;
        case CHANNEL_TIMEOUT:
            if (grpc_clock_ns() < call->deadline_ns) {
                return false;
            }
            call_end(call, CALL_DEADLINE, GRPC_DEADLINE_EXCEEDED, "the deadline passed");
            call_reset(call);
            break;
        case CHANNEL_INTERRUPTED:
            call_end(call, CALL_INTERRUPTED, GRPC_CANCELLED, "cancelled here");
            call_reset(call);
            break;
        case CHANNEL_BROKEN: call_break(call, call->channel->text); break;
    }
    return true;
}

static int send_out(struct grpc_call *call)
{
    if (call->deferred) {
        call->deferred = false;
        nghttp2_session_resume_data(call->channel->session, call->stream_id);
    }
    while (call->end == CALL_OPEN && call->out_sent < call->out_bytes) {
        /* Everything may fit the socket at once: send first, wait only for what is left. */
        grpc_channel_flush(call->channel);
        if (call->out_sent == call->out_bytes) {
            break;
        }
        call_step(call, UINT64_MAX);
    }
    grpc_channel_flush(call->channel);
    return call->end == CALL_OPEN ? 0 : -1;
}

int grpc_call_send(struct grpc_call *call, const void *message, size_t size, bool last)
{
    if (call->end != CALL_OPEN) {
        return -1;
    }
    if (size > CALL_MESSAGE_BYTES_MAX) {
        call_end(call, CALL_LOCAL, GRPC_RESOURCE_EXHAUSTED, "the request is above 64 MiB");
        call_reset(call);
        return -1;
    }
    grpc_prefix_write(call->prefix, (uint32_t)size);
    call->out = message;
    call->out_bytes = GRPC_PREFIX_BYTES + size;
    call->out_sent = 0;
    call->out_last = last;
    return send_out(call);
}

int grpc_call_send_end(struct grpc_call *call)
{
    if (call->end != CALL_OPEN) {
        return -1;
    }
    call->out_last = true;
    return send_out(call);
}

static const char *frame_text(enum grpc_frame_result result)
{
    switch (result) {
        case GRPC_FRAME_TOO_BIG: return "the server sent a message above 64 MiB";
        case GRPC_FRAME_BAD_FLAG: return "the server sent a message with a bad prefix";
        case GRPC_FRAME_COMPRESSED: return "the server sent a compressed message";
        case GRPC_FRAME_NO_MEMORY: return "out of memory for a message";
        case GRPC_FRAME_MORE:
        case GRPC_FRAME_MESSAGE: break;
    }
    return "the server sent a bad message";
}

/* 1: a message; 0: the inbox is empty; -1: the call was ended. */
static int take_message(struct grpc_call *call, uint8_t **message_out, size_t *size_out)
{
    const size_t have = call->inbox_end - call->inbox_begin;
    size_t used = 0;

    if (have == 0) {
        return 0;
    }
    const enum grpc_frame_result result =
        grpc_frame_feed(&call->reader, call->inbox + call->inbox_begin, have, &used);
    call->inbox_begin += used;
    if (!call->closed && !call->channel->broken) {
        nghttp2_session_consume_stream(call->channel->session, call->stream_id, used);
    }
    if (result == GRPC_FRAME_MORE) {
        return 0;
    }
    if (result != GRPC_FRAME_MESSAGE) {
        call->end = CALL_OPEN; /* damage outranks the status that came with it */
        call_end(call, CALL_LOCAL, GRPC_INTERNAL, frame_text(result));
        call_reset(call);
        return -1;
    }
    *message_out = call->reader.message;
    *size_out = call->reader.message_bytes;
    call->reader.message = NULL;
    call->reader.message_room = 0;
    return 1;
}

int grpc_call_receive(struct grpc_call *call, uint64_t wait_until_ns, uint8_t **message_out,
                      size_t *size_out)
{
    assert(call->magic == CALL_MAGIC);
    for (;;) {
        if (call->end == CALL_OPEN || call->end == CALL_STATUS || call->end == CALL_TRANSPORT) {
            const int taken = take_message(call, message_out, size_out);
            if (taken != 0) {
                return taken;
            }
        }
        if (call->end == CALL_STATUS && call->status == GRPC_OK &&
            !grpc_frame_at_boundary(&call->reader)) {
            call->end = CALL_OPEN;
            call_end(call, CALL_LOCAL, GRPC_INTERNAL, "the server's answer ends inside a message");
        }
        if (call->end != CALL_OPEN) {
            return call->end == CALL_STATUS && call->status == GRPC_OK ? 0 : -1;
        }
        if (!call_step(call, wait_until_ns)) {
            return 2;
        }
    }
}

void grpc_call_fini(struct grpc_call *call)
{
    assert(call->magic == CALL_MAGIC);
    call_reset(call);
    if (call->channel->call == call) {
        call->channel->call = NULL;
    }
    grpc_frame_reader_fini(&call->reader);
    free(call->inbox);
    call->magic = 0;
}
