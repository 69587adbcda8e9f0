#include "h2_client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct client_stream *stream_of(nghttp2_session *h2, int32_t id)
{
    return nghttp2_session_get_stream_user_data(h2, id);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_bytes, const uint8_t *value, size_t value_bytes, uint8_t flags,
                     void *user_data)
{
    struct client_stream *stream = stream_of(h2, frame->hd.stream_id);

    (void)flags;
    (void)user_data;
    (void)name_bytes;
    if (strcmp((const char *)name, ":status") == 0) {
        stream->http_status = atoi((const char *)value);
    } else if (strcmp((const char *)name, "grpc-status") == 0) {
        stream->grpc_status = atoi((const char *)value);
    } else if (strcmp((const char *)name, "grpc-message") == 0) {
        const size_t room = sizeof stream->message - 1;
        memcpy(stream->message, value, value_bytes < room ? value_bytes : room);
    } else if (strcmp((const char *)name, "grpc-accept-encoding") == 0) {
        memcpy(stream->accept_encoding, value, value_bytes < 31 ? value_bytes : 31);
    }
    return 0;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t size,
                   void *user_data)
{
    struct client_stream *stream = stream_of(h2, id);

    (void)flags;
    (void)user_data;
    if (stream->data_bytes + size > stream->data_room) {
        stream->data_room = (stream->data_bytes + size) * 2;
        stream->data = realloc(stream->data, stream->data_room);
        assert(stream->data != NULL);
    }
    memcpy(stream->data + stream->data_bytes, data, size);
    stream->data_bytes += size;
    return 0;
}

static int on_close(nghttp2_session *h2, int32_t id, uint32_t code, void *user_data)
{
    struct client_stream *stream = stream_of(h2, id);

    (void)user_data;
    stream->closed = true;
    stream->reset_code = code;
    return 0;
}

/* Looks for GOAWAY in the raw bytes: after raw sends nghttp2 may have lost track. */
static void walk(struct h2_client *client, const uint8_t *bytes, size_t size)
{
    for (; size > 0; bytes++, size--) {
        if (client->frame_have >= 9) {
            client->frame_left--;
        }
        if (client->frame_have < sizeof client->frame) {
            client->frame[client->frame_have++] = *bytes;
        }
        const uint8_t *f = client->frame;
        if (client->frame_have == 9) {
            client->frame_left = (uint32_t)f[0] << 16 | (uint32_t)f[1] << 8 | f[2];
        }
        if (client->frame_have >= 9 && client->frame_left == 0) {
            if (f[3] == NGHTTP2_GOAWAY) {
                client->goaway = true;
                client->goaway_code = (uint32_t)f[15] << 8 | f[16];
            }
            client->frame_have = 0;
        }
    }
}

static ssize_t read_body(nghttp2_session *h2, int32_t id, uint8_t *buffer, size_t room,
                         uint32_t *flags, nghttp2_data_source *source, void *user_data)
{
    struct client_stream *stream = source->ptr;
    const size_t left = stream->body_bytes - stream->body_sent;
    const size_t size = left < room ? left : room;

    (void)h2;
    (void)id;
    (void)user_data;
    if (size == 0 && stream->half_open) {
        return NGHTTP2_ERR_DEFERRED;
    }
    memcpy(buffer, stream->body + stream->body_sent, size);
    stream->body_sent += size;
    if (stream->body_sent == stream->body_bytes && !stream->half_open) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)size;
}

void client_connect(struct h2_client *client, uint16_t port, bool manual_windows)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;

    memset(client, 0, sizeof *client);
    client->manual_windows = manual_windows;
    client->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(client->fd >= 0);
    const int failed = connect(client->fd, (const struct sockaddr *)&address, sizeof address);
    assert(failed == 0);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, manual_windows);
    nghttp2_session_client_new2(&client->h2, callbacks, client, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(client->h2, NGHTTP2_FLAG_NONE, NULL, 0);
    if (manual_windows) { /* only the streams are to stall */
        nghttp2_session_set_local_window_size(client->h2, NGHTTP2_FLAG_NONE, 0, 1 << 30);
    }
}

void client_close(struct h2_client *client)
{
    close(client->fd);
    nghttp2_session_del(client->h2);
    for (uint32_t i = 0; i < client->stream_count; i++) {
        free(client->streams[i].data);
    }
}

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

struct client_stream *client_call(struct h2_client *client, const char *method, const char *path,
                                  const char *content_type, const uint8_t *body, size_t body_bytes,
                                  bool half_open)
{
    struct client_stream *stream = &client->streams[client->stream_count++];
    const nghttp2_nv fields[] = {field(":method", method), field(":scheme", "http"),
                                 field(":path", path),     field(":authority", "localhost"),
                                 field("te", "trailers"),  field("content-type", content_type)};
    const nghttp2_data_provider provider = {.source = {.ptr = stream}, .read_callback = read_body};

    assert(client->stream_count <= CLIENT_STREAMS_MAX);
    *stream = (struct client_stream){.body = body,
                                     .body_bytes = body_bytes,
                                     .half_open = half_open,
                                     .http_status = -1,
                                     .grpc_status = -1};
    stream->id = nghttp2_submit_request(client->h2, NULL, fields, 6, &provider, stream);
    assert(stream->id > 0);
    return stream;
}

void client_send_raw(struct h2_client *client, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size > 0 && !client->gone) {
        const ssize_t sent = send(client->fd, at, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            client->gone = true;
            return;
        }
        at += sent;
        size -= (size_t)sent;
    }
}

static int64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void client_run(struct h2_client *client, const struct client_stream *stream, int timeout_ms)
{
    static __thread uint8_t buffer[65536];
    const int64_t until = clock_ms() + timeout_ms;

    for (;;) {
        const uint8_t *bytes = NULL;
        ssize_t size = 0;
        while ((size = nghttp2_session_mem_send(client->h2, &bytes)) > 0) {
            client_send_raw(client, bytes, (size_t)size);
        }
        const int64_t left = until - clock_ms();
        if ((stream != NULL && stream->closed) || client->gone || left <= 0) {
            return;
        }
        struct pollfd readable = {.fd = client->fd, .events = POLLIN};
        if (poll(&readable, 1, (int)left) <= 0) {
            continue;
        }
        size = recv(client->fd, buffer, sizeof buffer, 0);
        walk(client, buffer, size > 0 ? (size_t)size : 0);
        if (size <= 0 || nghttp2_session_mem_recv(client->h2, buffer, (size_t)size) < 0) {
            client->gone = true;
        }
    }
}
