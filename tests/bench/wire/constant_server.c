/* A gRPC server that answers every call with the same message, sent `count` times out of one
 * buffer: what this machine's libuv, nghttp2 and client let through when the server has nothing to
 * do. It writes as morseld does: frames of 256 KiB at most, a mebibyte a write, no copies.
 *
 *   constant_server MESSAGE_FILE COUNT
 *
 * prints its port on 127.0.0.1 and serves until its standard input ends. */
#include <nghttp2/nghttp2.h>
#include <uv.h>

#include <assert.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAME_BYTES_MAX = 256 << 10,
    WRITE_BYTES_MAX = 1 << 20,
    READ_BYTES = 64 << 10,
    FRAMES_MAX = 256, /* of one write; small ones come when windows are small */
    CONTROL_BYTES = 64 << 10,
    CONTROL_RESERVE_BYTES = 20 << 10, /* the largest block nghttp2 hands out at once */
    FRAME_HEADER_BYTES = 9,
    PREFIX_BYTES = 5,
};

/* What is sent: the gRPC prefix and the message, `count` times. */
static struct {
    char *bytes;
    size_t size;
    uint64_t count;
} content;

static uv_loop_t *loop;
static nghttp2_session_callbacks *callbacks;

struct connection {
    uv_tcp_t tcp;
    uv_write_t write;
    nghttp2_session *h2;
    bool writing;
    uint64_t left; /* bytes of the answer under way; one call at a time */
    uint8_t read_buffer[READ_BYTES], control[CONTROL_BYTES];
    size_t control_used, bytes, buf_count;
    uv_buf_t bufs[FRAMES_MAX * 3];
};

static void fail(const char *what)
{
    fprintf(stderr, "constant_server: %s\n", what);
    exit(1);
}

/* ---- output ---------------------------------------------------------------------------------- */

static bool has_room(const struct connection *conn)
{
    return conn->bytes < WRITE_BYTES_MAX && conn->buf_count + 3 <= FRAMES_MAX * 3 &&
           conn->control_used + CONTROL_RESERVE_BYTES <= CONTROL_BYTES;
}

static void point(struct connection *conn, const void *bytes, size_t size)
{
    conn->bytes += size;
    conn->bufs[conn->buf_count++] = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)size);
}

static void copy(struct connection *conn, const void *bytes, size_t size)
{
    uint8_t *to = conn->control + conn->control_used;

    memcpy(to, bytes, size);
    conn->control_used += size;
    point(conn, to, size);
}

static void pump(struct connection *conn);

static void written(uv_write_t *request, int status)
{
    struct connection *conn = request->data;

    conn->writing = false;
    conn->bytes = conn->buf_count = conn->control_used = 0;
    if (status == 0) {
        pump(conn);
    }
}

static void pump(struct connection *conn)
{
    while (!conn->writing) {
        while (has_room(conn)) {
            const uint8_t *bytes = NULL;
            const ssize_t size = nghttp2_session_mem_send(conn->h2, &bytes);
            if (size <= 0) {
                break;
            }
            copy(conn, bytes, (size_t)size);
        }
        if (conn->bytes == 0) {
            return;
        }
        uv_stream_t *stream = (uv_stream_t *)&conn->tcp;
        uv_buf_t *buf = conn->bufs;
        int sent = uv_try_write(stream, buf, (unsigned)conn->buf_count);
        if (sent == (int)conn->bytes) {
            conn->bytes = conn->buf_count = conn->control_used = 0;
            continue;
        }
        for (sent = sent < 0 ? 0 : sent; (size_t)sent >= buf->len; buf++) {
            sent -= (int)buf->len;
            conn->buf_count--;
        }
        buf->base += sent;
        buf->len -= (size_t)sent;
        conn->writing = true;
        conn->write.data = conn;
        if (uv_write(&conn->write, stream, buf, (unsigned)conn->buf_count, written) != 0) {
            return;
        }
    }
}

/* ---- HTTP/2 ---------------------------------------------------------------------------------- */

static ssize_t read_length(nghttp2_session *h2, uint8_t type, int32_t stream_id,
                           int32_t session_window, int32_t stream_window, uint32_t frame_max,
                           void *user_data)
{
    int64_t length = FRAME_BYTES_MAX;

    (void)h2, (void)type, (void)stream_id, (void)user_data;
    length = length < frame_max ? length : (int64_t)frame_max;
    length = length < session_window ? length : session_window;
    return (ssize_t)(length < stream_window ? length : stream_window);
}

static ssize_t read_answer(nghttp2_session *h2, int32_t stream_id, uint8_t *buffer, size_t room,
                           uint32_t *flags, nghttp2_data_source *source, void *user_data)
{
    static const nghttp2_nv trailer = {(uint8_t *)(uintptr_t) "grpc-status",
                                       (uint8_t *)(uintptr_t) "0", 11, 1, NGHTTP2_NV_FLAG_NONE};
    const struct connection *conn = user_data;

    (void)buffer, (void)source;
    if (conn->left <= room) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(h2, stream_id, &trailer, 1);
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    return (ssize_t)(conn->left < room ? conn->left : room);
}

static int send_answer(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *header,
                       size_t length, nghttp2_data_source *source, void *user_data)
{
    struct connection *conn = user_data;

    (void)h2, (void)frame, (void)source;
    if (!has_room(conn)) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    copy(conn, header, FRAME_HEADER_BYTES);
    while (length > 0) {
        const size_t at = content.size - 1 - (size_t)((conn->left - 1) % content.size);
        const size_t step = length < content.size - at ? length : content.size - at;
        if (conn->buf_count == FRAMES_MAX * 3) {
            return NGHTTP2_ERR_CALLBACK_FAILURE; /* a message far smaller than a frame */
        }
        point(conn, content.bytes + at, step);
        length -= step;
        conn->left -= step;
    }
    return 0;
}

static int frame_received(nghttp2_session *h2, const nghttp2_frame *frame, void *user_data)
{
    static const nghttp2_nv headers[] = {
        {(uint8_t *)(uintptr_t) ":status", (uint8_t *)(uintptr_t) "200", 7, 3, 0},
        {(uint8_t *)(uintptr_t) "content-type", (uint8_t *)(uintptr_t) "application/grpc", 12, 16,
         0},
    };
    struct connection *conn = user_data;

    if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        const nghttp2_data_provider provider = {.read_callback = read_answer};
        conn->left = content.size * content.count;
        nghttp2_submit_response(h2, frame->hd.stream_id, headers, 2, &provider);
    }
    return 0;
}

/* ---- sockets --------------------------------------------------------------------------------- */

static void closed(uv_handle_t *handle)
{
    struct connection *conn = handle->data;

    nghttp2_session_del(conn->h2);
    free(conn);
}

static void read_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct connection *conn = handle->data;

    (void)suggested;
    *buf = uv_buf_init((char *)conn->read_buffer, READ_BYTES);
}

static void received(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    struct connection *conn = stream->data;

    if (size < 0 ||
        nghttp2_session_mem_recv(conn->h2, (const uint8_t *)buf->base, (size_t)size) < 0) {
        uv_close((uv_handle_t *)stream, closed);
        return;
    }
    pump(conn);
}

static void accepted(uv_stream_t *listener, int status)
{
    struct connection *conn = calloc(1, sizeof *conn);

    if (status < 0 || conn == NULL || uv_tcp_init(loop, &conn->tcp) != 0 ||
        uv_accept(listener, (uv_stream_t *)&conn->tcp) != 0 ||
        nghttp2_session_server_new(&conn->h2, callbacks, conn) != 0 ||
        nghttp2_submit_settings(conn->h2, NGHTTP2_FLAG_NONE, NULL, 0) != 0) {
        fail("cannot accept");
    }
    conn->tcp.data = conn;
    uv_tcp_nodelay(&conn->tcp, 1);
    uv_read_start((uv_stream_t *)&conn->tcp, read_room, received);
    pump(conn);
}

static void input_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static char room[64];

    (void)handle, (void)suggested;
    *buf = uv_buf_init(room, sizeof room);
}

static void input_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    (void)stream, (void)buf;
    if (size < 0) {
        exit(0); /* whoever started us is done */
    }
}

static void content_read(const char *path, const char *count)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || ftell(file) <= 0) {
        fail("cannot read the message");
    }
    const size_t size = (size_t)ftell(file);
    content.count = strtoull(count, NULL, 10);
    content.size = PREFIX_BYTES + size;
    content.bytes = malloc(content.size);
    rewind(file);
    if (content.bytes == NULL || content.count == 0 ||
        fread(content.bytes + PREFIX_BYTES, 1, size, file) != size) {
        fail("cannot read the message");
    }
    const uint32_t length = htonl((uint32_t)size);
    content.bytes[0] = 0;
    memcpy(content.bytes + 1, &length, sizeof length);
    fclose(file);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address;
    int address_bytes = sizeof address;
    uv_tcp_t listener;
    uv_pipe_t input;

    if (argc != 3) {
        fail("usage: constant_server MESSAGE_FILE COUNT");
    }
    content_read(argv[1], argv[2]);
    loop = uv_default_loop();
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_answer);
    nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, read_length);
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(loop, &listener);
    if (uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, 16, accepted) != 0 ||
        uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &address_bytes) != 0) {
        fail("cannot listen");
    }
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
    uv_pipe_init(loop, &input, 0);
    if (uv_pipe_open(&input, 0) == 0) {
        uv_read_start((uv_stream_t *)&input, input_room, input_read);
    }
    return uv_run(loop, UV_RUN_DEFAULT);
}
