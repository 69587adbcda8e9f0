#include "client/grpc_fake.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fake_stream {
    struct fake_server *server;
    const uint8_t *body;
    size_t body_bytes, given;
    bool next; /* of FAKE_CALM_FIRST: behind the first call */
};

struct fake_connection {
    struct fake_server *server;
    int fd;
    nghttp2_session *session;
    bool end; /* close once everything is sent */
    struct fake_stream streams[64];
    unsigned stream_count;
};

#define NV(name, value)                                                                           \
    {                                                                                             \
        (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), strlen(name), strlen(value), \
            NGHTTP2_NV_FLAG_NONE                                                                  \
    }

static size_t trailers(const struct fake_server *server, nghttp2_nv nv_out[3])
{
    const nghttp2_nv status = NV("grpc-status", server->status);
    const nghttp2_nv message = NV("grpc-message", server->message == NULL ? "" : server->message);
    const nghttp2_nv details =
        NV("grpc-status-details-bin", server->details == NULL ? "" : server->details);

    nv_out[0] = status;
    nv_out[1] = message;
    nv_out[2] = details;
    return server->details != NULL ? 3 : 2;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream_id, uint8_t *buffer, size_t room,
                         uint32_t *flags, nghttp2_data_source *source, void *owner)
{
    struct fake_stream *stream = source->ptr;
    const struct fake_server *server = stream->server;
    struct fake_connection *connection = owner;

    if (server->behaviour == FAKE_BODY_FOREVER && stream->given == stream->body_bytes) {
        stream->given = 0;
    }
    const size_t left = stream->body_bytes - stream->given;
    const size_t cap = server->frame_bytes == 0 ? room : server->frame_bytes;
    const size_t size = left < cap ? left : cap;
    memcpy(buffer, stream->body + stream->given, size);
    stream->given += size;
    if (stream->given == stream->body_bytes && server->behaviour != FAKE_BODY_FOREVER) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (server->behaviour == FAKE_CALM_FIRST && !stream->next) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream_id,
                                      NGHTTP2_ENHANCE_YOUR_CALM);
        } else if (server->behaviour == FAKE_CLOSE) {
            connection->end = true;
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        } else if (server->behaviour != FAKE_NO_TRAILERS) {
            nghttp2_nv nv[3];
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            nghttp2_submit_trailer(session, stream_id, nv, trailers(server, nv));
        }
    }
    return (ssize_t)size;
}

static void answer(struct fake_connection *connection, int32_t stream_id)
{
    struct fake_server *server = connection->server;
    const unsigned call = atomic_fetch_add(&server->calls, 1);
    nghttp2_nv headers[5] = {NV(":status", "200"), NV("content-type", "application/grpc"),
                             NV("server", "fake/1")};

    if (server->behaviour == FAKE_SILENT) {
        return;
    }
    if (server->behaviour == FAKE_REFUSE_FIRST && call == 0) {
        nghttp2_submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE, stream_id,
                                  NGHTTP2_REFUSED_STREAM);
        return;
    }
    if (server->behaviour == FAKE_HTTP_404) {
        const nghttp2_nv not_found[] = {NV(":status", "404"), NV("content-type", "text/plain")};
        nghttp2_submit_response(connection->session, stream_id, not_found, 2, NULL);
        return;
    }
    if (server->behaviour == FAKE_TRAILERS_ONLY) {
        nghttp2_nv nv[3];
        const size_t count = trailers(server, nv);
        memcpy(headers + 2, nv, count * sizeof nv[0]);
        nghttp2_submit_response(connection->session, stream_id, headers, 2 + count, NULL);
        return;
    }
    struct fake_stream *stream = &connection->streams[connection->stream_count++ % 64];
    const bool next = server->behaviour == FAKE_CALM_FIRST && call > 0;
    *stream = (struct fake_stream){
        .server = server,
        .body = next ? server->next_body : server->body,
        .body_bytes = next ? server->next_body_bytes : server->body_bytes,
        .next = next,
    };
    const nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read_body};
    nghttp2_submit_response(connection->session, stream_id, headers, 3, &provider);
    if (server->behaviour == FAKE_GOAWAY_AFTER) {
        nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE, stream_id, NGHTTP2_NO_ERROR,
                              NULL, 0);
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
    struct fake_connection *connection = owner;
    const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

    (void)session;
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        atomic_fetch_add(&connection->server->resets, 1);
    }
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) && end) {
        answer(connection, frame->hd.stream_id);
    }
    return 0;
}

static int on_chunk(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data,
                    size_t size, void *owner)
{
    struct fake_connection *connection = owner;

    (void)session, (void)flags, (void)stream_id, (void)data;
    atomic_fetch_add(&connection->server->received_bytes, size);
    return 0;
}

static void serve(struct fake_server *server, int fd)
{
    struct fake_connection connection = {.server = server, .fd = fd};
    nghttp2_session_callbacks *callbacks = NULL;
    uint8_t in[65536];

    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_chunk);
    nghttp2_session_server_new(&connection.session, callbacks, &connection);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(connection.session, NGHTTP2_FLAG_NONE, NULL, 0);
    while (!atomic_load(&server->stop)) {
        const uint8_t *out = NULL;
        ssize_t size = 0;
        while ((size = nghttp2_session_mem_send(connection.session, &out)) > 0) {
            for (ssize_t at = 0; at < size && !atomic_load(&server->stop);) {
                const ssize_t sent = send(fd, out + at, (size_t)(size - at), MSG_NOSIGNAL);
                if (sent < 0 && errno != EAGAIN) {
                    goto end;
                }
                at += sent > 0 ? sent : 0;
            }
            atomic_fetch_add(&server->sent_bytes, (size_t)size);
        }
        if (connection.end || (!nghttp2_session_want_read(connection.session) &&
                               !nghttp2_session_want_write(connection.session))) {
            break;
        }
        struct pollfd polled = {fd, POLLIN, 0};
        if (poll(&polled, 1, 10) > 0) {
            const ssize_t got = recv(fd, in, sizeof in, 0);
            if (got <= 0 || nghttp2_session_mem_recv(connection.session, in, (size_t)got) < 0) {
                break;
            }
        }
    }
end:
    nghttp2_session_del(connection.session);
}

static void *run(void *argument)
{
    struct fake_server *server = argument;

    while (!atomic_load(&server->stop)) {
        struct pollfd polled = {server->listen_fd, POLLIN, 0};
        if (poll(&polled, 1, 10) <= 0) {
            continue;
        }
        const int fd = accept(server->listen_fd, NULL, NULL);
        if (fd < 0) {
            continue;
        }
        atomic_fetch_add(&server->connections, 1);
        const struct timeval tick = {.tv_usec = 10000};
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tick, sizeof tick);
        if (server->behaviour == FAKE_NOT_HTTP2 || server->behaviour == FAKE_MUTE) {
            static const char text[] = "220 mail.example.org ESMTP at your service, welcome\r\n";
            if (server->behaviour == FAKE_NOT_HTTP2) {
                (void)!send(fd, text, sizeof text - 1, MSG_NOSIGNAL);
            }
            while (!atomic_load(&server->stop)) {
                usleep(5000);
            }
        } else {
            serve(server, fd);
        }
        close(fd);
    }
    return NULL;
}

void fake_start(struct fake_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    server->status = server->status == NULL ? "0" : server->status;
    server->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(bind(server->listen_fd, (struct sockaddr *)&address, sizeof address) == 0);
    assert(listen(server->listen_fd, 16) == 0);
    assert(getsockname(server->listen_fd, (struct sockaddr *)&address, &size) == 0);
    snprintf(server->address, sizeof server->address, "127.0.0.1:%u", ntohs(address.sin_port));
    assert(pthread_create(&server->thread, NULL, run, server) == 0);
}

void fake_stop(struct fake_server *server)
{
    atomic_store(&server->stop, true);
    pthread_join(server->thread, NULL);
    close(server->listen_fd);
}
