#ifndef TESTS_CLIENT_GRPC_FAKE_H
#define TESTS_CLIENT_GRPC_FAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A gRPC server that answers every call as a test tells it to: one thread, one connection at a
 * time. */

enum fake_behaviour {
    FAKE_ANSWER,        /* body, then trailers with status */
    FAKE_TRAILERS_ONLY, /* one HEADERS frame */
    FAKE_NO_TRAILERS,   /* body, then END_STREAM */
    FAKE_SILENT,        /* never answers a call */
    FAKE_REFUSE_FIRST,  /* REFUSED_STREAM for the first call, then FAKE_ANSWER */
    FAKE_CLOSE,         /* body, then the connection breaks */
    FAKE_GOAWAY_AFTER,  /* FAKE_ANSWER, then GOAWAY and the end of the connection */
    FAKE_HTTP_404,
    FAKE_NOT_HTTP2,  /* some text, then silence */
    FAKE_MUTE,       /* accepts, and sends nothing at all */
    FAKE_CALM_FIRST, /* body, then RST_STREAM(ENHANCE_YOUR_CALM); FAKE_ANSWER of next_body later */
    FAKE_BODY_FOREVER, /* the body again and again, as fast as the windows allow */
};

struct fake_server {
    enum fake_behaviour behaviour;
    const uint8_t *body;
    size_t body_bytes;
    const uint8_t *next_body; /* FAKE_CALM_FIRST */
    size_t next_body_bytes;
    size_t frame_bytes;                     /* of DATA frames; 0: as large as fits */
    const char *status, *message, *details; /* message, details may be NULL */

    char address[32];
    int listen_fd;
    pthread_t thread;
    atomic_bool stop;
    atomic_uint connections, calls, resets; /* seen; resets: RST_STREAM by the client */
    atomic_size_t sent_bytes;
    atomic_size_t received_bytes; /* of request messages */
};

/* Fill in the first part, then start. */
void fake_start(struct fake_server *server);
void fake_stop(struct fake_server *server);

#endif
