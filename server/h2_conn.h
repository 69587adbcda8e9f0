#ifndef H2_CONN_H
#define H2_CONN_H

#include "h2_limits.h"
#include "h2_output.h"
#include "metrics.h"
#include "session.h"

#include <nghttp2/nghttp2.h>
#include <uv.h>

/* HTTP/2 connections: nghttp2 on libuv streams. Bytes go out once per loop turn: whoever has
 * something to send calls h2_conn_wake, and the host's prepare and check handles pump every woken
 * connection. nghttp2 is never entered from inside one of its callbacks. */

enum {
    H2_CONN_MAGIC = 0x4b2c0442,
    H2_STREAMS_MAX = 64,
    H2_FRAME_BYTES_MAX = 256 << 10, /* of DATA we send */
    H2_RECEIVE_FRAME_BYTES = 1 << 20,
    H2_STREAM_WINDOW_BYTES = 4 << 20,
    H2_CONNECTION_WINDOW_BYTES = 16 << 20,
    H2_READ_BYTES = 256 << 10,
    H2_TURN_BYTES_MAX = 8 << 20,   /* written for one connection in one loop turn */
    H2_MEMORY_BYTES_MAX = 8 << 20, /* nghttp2's own, for one connection */
    H2_IDLE_MS = 600 * 1000,
    H2_LINGER_MS = 1000,
    H2_CLOSE_MS = 5000, /* a closing connection that cannot flush */
};

struct h2_host;

enum h2_conn_state { H2_OPEN, H2_DRAINING, H2_TERMINATING, H2_LINGERING, H2_CLOSED };

struct h2_conn {
    uint32_t magic;
    enum h2_conn_state state;
    struct h2_host *host;
    struct h2_conn *next, *prev;
    struct h2_conn *woken_next;
    bool woken;
    uv_tcp_t tcp;
    nghttp2_session *h2;
    size_t h2_bytes; /* malloc'd by nghttp2 */
    struct h2_limits limits;
    enum h2_violation violation; /* found inside a callback, acted upon after it */
    struct h2_output output;
    uv_write_t write_request;
    bool writing, reading_stopped, goaway_final;
    uint64_t write_since_ms, active_ms, state_since_ms;
    struct session *sessions;
    uint32_t session_count;
    char peer[72];
};

struct h2_host {
    struct service_env *env;
    struct h2_conn *conns;
    uint32_t conn_count;
    struct h2_conn *woken;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle;
    uv_timer_t tick;
    uint64_t tick_due_ms;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    uint8_t *read_buffer; /* shared: bytes are used up before the next read */
    uint32_t stalled_streams;
    bool draining;
    void (*empty)(void *owner); /* while draining: the last connection is gone */
    void *owner;
};

/* 0 or a negative errno. */
int h2_host_init(struct h2_host *host, struct service_env *env);
/* Closes its handles; every connection must be closed. */
void h2_host_close(struct h2_host *host);
/* Shutdown notice now, the final GOAWAY a quarter of a second later, then each connection closes
 * when its last stream is done. `empty` is called at once or later. */
void h2_host_drain(struct h2_host *host, void (*empty)(void *owner), void *owner);
/* Closes every connection without further ado. */
void h2_host_close_all(struct h2_host *host);

/* Takes over an accepted connection: `listener` must have one pending. */
void h2_conn_accept(struct h2_host *host, uv_stream_t *listener);

/* Something is to be sent. May be called from anywhere on the loop. */
void h2_conn_wake(struct h2_conn *conn);

#endif
