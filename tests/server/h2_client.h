#ifndef H2_CLIENT_H
#define H2_CLIENT_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A gRPC client over nghttp2 and one blocking socket, for tests: it can do what stock clients do
 * not. */

enum { CLIENT_STREAMS_MAX = 128 };

struct client_stream {
    int32_t id;
    const uint8_t *body; /* borrowed */
    size_t body_bytes, body_sent;
    bool half_open; /* do not end the request */
    bool closed;
    uint32_t reset_code;          /* of the close */
    int http_status, grpc_status; /* -1: none came */
    char message[1024], accept_encoding[32];
    uint8_t *data;
    size_t data_bytes, data_room;
};

struct h2_client {
    int fd;
    nghttp2_session *h2;
    bool manual_windows, goaway, gone;
    uint32_t goaway_code;
    uint8_t frame[17]; /* walker over what came: header and the first 8 bytes */
    uint32_t frame_have, frame_left;
    struct client_stream streams[CLIENT_STREAMS_MAX];
    uint32_t stream_count;
};

/* manual_windows: stream windows of 64 KiB that never move by themselves. */
void client_connect(struct h2_client *client, uint16_t port, bool manual_windows);
void client_close(struct h2_client *client);
/* POST with gRPC headers; `extra` may be NULL. */
struct client_stream *client_call(struct h2_client *client, const char *method, const char *path,
                                  const char *content_type, const uint8_t *body, size_t body_bytes,
                                  bool half_open);
/* Sends what is to be sent, reads until `stream` closed (NULL: never), the connection ended or the
 * time is over. */
void client_run(struct h2_client *client, const struct client_stream *stream, int timeout_ms);
/* Raw bytes past nghttp2. */
void client_send_raw(struct h2_client *client, const void *bytes, size_t size);

#endif
