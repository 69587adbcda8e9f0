#include "h2_conn_internal.h"

#include "config.h"
#include "log.h"
#include "service.h"

#include <assert.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAIN_FINAL_MS = 250 }; /* more than a round trip: late streams are still served */

/* ---- nghttp2's memory, counted and bounded ----------------------------------------------------
 */

static void *conn_realloc(void *block, size_t size, void *user_data)
{
    struct h2_conn *conn = user_data;
    const size_t old_bytes = block != NULL ? malloc_usable_size(block) : 0;

    if (conn->h2_bytes - old_bytes + size > H2_MEMORY_BYTES_MAX) {
        return NULL;
    }
    void *fresh = realloc(block, size);
    if (fresh == NULL) {
        return NULL;
    }
    const size_t new_bytes = malloc_usable_size(fresh);
    conn->h2_bytes += new_bytes - old_bytes;
    metrics_add(&conn->host->env->metrics->net_bytes, new_bytes - old_bytes);
    return fresh;
}

static void *conn_malloc(size_t size, void *user_data)
{
    return conn_realloc(NULL, size, user_data);
}

static void *conn_calloc(size_t count, size_t size, void *user_data)
{
    void *block = conn_realloc(NULL, count * size, user_data);

    if (block != NULL) {
        memset(block, 0, count * size);
    }
    return block;
}

static void conn_free(void *block, void *user_data)
{
    struct h2_conn *conn = user_data;
    const size_t bytes = block != NULL ? malloc_usable_size(block) : 0;

    conn->h2_bytes -= bytes;
    metrics_sub(&conn->host->env->metrics->net_bytes, bytes);
    free(block);
}

/* ---- the end ----------------------------------------------------------------------------------
 */

static void conn_closed(uv_handle_t *handle)
{
    struct h2_conn *conn = handle->data;
    struct h2_host *host = conn->host;

    assert(conn->magic == H2_CONN_MAGIC);
    if (conn->prev != NULL) {
        conn->prev->next = conn->next;
    } else {
        host->conns = conn->next;
    }
    if (conn->next != NULL) {
        conn->next->prev = conn->prev;
    }
    host->conn_count--;
    metrics_set(&host->env->metrics->connections, host->conn_count);
    nghttp2_session_del(conn->h2);
    h2_output_fini(&conn->output);
    metrics_sub(&host->env->metrics->net_bytes, sizeof *conn + H2_CONTROL_BYTES);
    conn->magic = 0;
    free(conn);
    if (host->conn_count == 0 && host->empty != NULL) {
        host->empty(host->owner);
    }
}

static void conn_unwake(struct h2_conn *conn)
{
    struct h2_conn **link = &conn->host->woken;

    while (conn->woken && *link != NULL) {
        if (*link == conn) {
            *link = conn->woken_next;
            conn->woken = false;
            return;
        }
        link = &(*link)->woken_next;
    }
}

void h2_conn_close(struct h2_conn *conn)
{
    if (conn->state == H2_CLOSED) {
        return;
    }
    conn->state = H2_CLOSED;
    conn_unwake(conn);
    while (conn->sessions != NULL) {
        struct session *session = conn->sessions;
        conn->sessions = session->next;
        nghttp2_session_set_stream_user_data(conn->h2, session->stream_id, NULL);
        session_close(session);
    }
    conn->session_count = 0;
    uv_close((uv_handle_t *)&conn->tcp, conn_closed);
}

static void conn_set_state(struct h2_conn *conn, enum h2_conn_state state)
{
    conn->state = state;
    conn->state_since_ms = uv_now(conn->host->env->loop);
}

static void conn_shut(uv_shutdown_t *request, int status)
{
    (void)status; /* the peer may be gone already */
    free(request);
}

/* All is said: closes our side and lets the peer read it before the socket goes. */
static void conn_linger(struct h2_conn *conn)
{
    uv_shutdown_t *request = malloc(sizeof *request);

    if (request == NULL || uv_shutdown(request, (uv_stream_t *)&conn->tcp, conn_shut) != 0) {
        free(request);
        h2_conn_close(conn);
        return;
    }
    conn_set_state(conn, H2_LINGERING);
}

static void conn_violate(struct h2_conn *conn, enum h2_violation violation)
{
    struct service_env *env = conn->host->env;

    if (conn->state >= H2_TERMINATING) {
        return;
    }
    metrics_add(&env->metrics->violations[violation], 1);
    metrics_add(&env->metrics->goaways[METRICS_GOAWAY_violation], 1);
    log_line(env->log, EXEC_LOG_WARNING, "http2 %s: closing the connection, too many or bad: %s",
             conn->peer, h2_violation_name(violation));
    conn_set_state(conn, H2_TERMINATING);
    nghttp2_session_terminate_session(conn->h2, NGHTTP2_ENHANCE_YOUR_CALM);
}

void h2_conn_drain(struct h2_conn *conn, enum metrics_goaway reason)
{
    if (conn->state != H2_OPEN) {
        return;
    }
    metrics_add(&conn->host->env->metrics->goaways[reason], 1);
    conn_set_state(conn, H2_DRAINING);
    nghttp2_submit_shutdown_notice(conn->h2);
    h2_conn_wake(conn);
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void conn_written(uv_write_t *request, int status)
{
    struct h2_conn *conn = request->data;

    assert(conn->magic == H2_CONN_MAGIC);
    conn->writing = false;
    h2_output_reset(&conn->output);
    if (status < 0) {
        h2_conn_close(conn);
        return;
    }
    h2_conn_wake(conn);
}

/* Fills the output batch. False: the connection must end. */
static bool conn_collect(struct h2_conn *conn)
{
    while (h2_output_has_room(&conn->output)) {
        const uint8_t *bytes = NULL;
        const ssize_t size = nghttp2_session_mem_send(conn->h2, &bytes);
        if (size < 0) {
            return false;
        }
        if (size == 0) {
            break;
        }
        if (!h2_output_copy(&conn->output, bytes, (size_t)size)) {
            return false;
        }
    }
    return !conn->output.broken;
}

/* Writes the batch. Returns true when all of it left at once. */
static bool conn_write(struct h2_conn *conn)
{
    struct h2_output *output = &conn->output;
    uv_stream_t *stream = (uv_stream_t *)&conn->tcp;
    uv_buf_t *bufs = output->bufs;
    int count = uv_try_write(stream, bufs, (unsigned)output->buf_count);

    if (count < 0 && count != UV_EAGAIN) {
        h2_conn_close(conn);
        return false;
    }
    if (count >= 0 && (size_t)count == output->bytes) {
        h2_output_reset(output);
        return true;
    }
    const size_t left = h2_output_skip(output, count < 0 ? 0 : (size_t)count, &bufs);
    conn->write_request.data = conn;
    conn->writing = true;
    conn->write_since_ms = uv_now(conn->host->env->loop);
    if (uv_write(&conn->write_request, stream, bufs, (unsigned)left, conn_written) != 0) {
        conn->writing = false;
        h2_conn_close(conn);
    }
    return false;
}

void h2_conn_pump(struct h2_conn *conn)
{
    size_t turn_bytes = 0;

    if (conn->violation != H2_FINE) {
        conn_violate(conn, conn->violation);
    }
    while (!conn->writing && conn->state < H2_LINGERING) {
        if (!conn_collect(conn)) {
            h2_conn_close(conn);
            return;
        }
        if (conn->violation != H2_FINE && conn->state < H2_TERMINATING) {
            conn_violate(conn, conn->violation);
            continue;
        }
        if (conn->output.bytes == 0) {
            break;
        }
        turn_bytes += conn->output.bytes;
        if (!conn_write(conn)) {
            return;
        }
        if (turn_bytes >= H2_TURN_BYTES_MAX) {
            h2_conn_wake(conn); /* others first */
            return;
        }
    }
    if (conn->writing || conn->state >= H2_LINGERING) {
        return;
    }
    const bool done =
        nghttp2_session_want_read(conn->h2) == 0 && nghttp2_session_want_write(conn->h2) == 0;
    const bool drained =
        conn->state == H2_DRAINING && conn->goaway_final && conn->session_count == 0;
    if (done || drained) {
        conn_linger(conn);
    }
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static void conn_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct h2_conn *conn = handle->data;

    (void)suggested;
    *buf = uv_buf_init((char *)conn->host->read_buffer, H2_READ_BYTES);
}

static void conn_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    struct h2_conn *conn = stream->data;
    const uint64_t now_ms = uv_now(conn->host->env->loop);

    assert(conn->magic == H2_CONN_MAGIC);
    if (size < 0) {
        h2_conn_close(conn);
        return;
    }
    if (size == 0 || conn->state >= H2_TERMINATING) {
        return; /* a terminated peer may talk on; nobody listens */
    }
    const uint8_t *bytes = (const uint8_t *)buf->base;
    const enum h2_violation violation = h2_limits_input(&conn->limits, bytes, (size_t)size, now_ms);
    if (violation == H2_FINE) {
        const ssize_t used = nghttp2_session_mem_recv(conn->h2, bytes, (size_t)size);
        if (used < 0) {
            if (used == NGHTTP2_ERR_BAD_CLIENT_MAGIC || used == NGHTTP2_ERR_NOMEM) {
                h2_conn_close(conn);
                return;
            }
            conn->violation = H2_VIOLATION_invalid_frames;
        }
    } else if (conn->violation == H2_FINE) {
        conn->violation = violation;
    }
    h2_conn_wake(conn);
}

/* ---- the start --------------------------------------------------------------------------------
 */

static bool conn_start_http2(struct h2_conn *conn)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, H2_RECEIVE_FRAME_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEADER_BYTES_MAX},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    nghttp2_mem memory = {.mem_user_data = conn,
                          .malloc = conn_malloc,
                          .free = conn_free,
                          .calloc = conn_calloc,
                          .realloc = conn_realloc};

    if (nghttp2_session_server_new3(&conn->h2, conn->host->callbacks, conn, conn->host->option,
                                    &memory) != 0) {
        return false;
    }
    return nghttp2_submit_settings(conn->h2, NGHTTP2_FLAG_NONE, settings,
                                   sizeof settings / sizeof settings[0]) == 0 &&
           nghttp2_session_set_local_window_size(conn->h2, NGHTTP2_FLAG_NONE, 0,
                                                 H2_CONNECTION_WINDOW_BYTES) == 0;
}

/* "192.0.2.1:4711", "[2001:db8::1]:4711". */
static void conn_name_peer(struct h2_conn *conn, struct sockaddr_storage *address)
{
    char host[INET6_ADDRSTRLEN] = "?";
    int address_bytes = sizeof *address;

    memset(address, 0, sizeof *address);
    if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)address, &address_bytes) != 0) {
        snprintf(conn->peer, sizeof conn->peer, "?");
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)address;
        uv_ip6_name(v6, host, sizeof host);
        snprintf(conn->peer, sizeof conn->peer, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        const struct sockaddr_in *v4 = (const void *)address;
        uv_ip4_name(v4, host, sizeof host);
        snprintf(conn->peer, sizeof conn->peer, "%s:%u", host, ntohs(v4->sin_port));
    }
}

/* Length of the peer's text up to its port. */
static size_t conn_address_bytes(const struct h2_conn *conn)
{
    const char *colon = strrchr(conn->peer, ':');

    return colon != NULL ? (size_t)(colon - conn->peer) : 0;
}

/* True when one more connection may stay. Loopback is one address for many programs. */
static bool conn_within_limits(const struct h2_conn *conn)
{
    const struct config *config = conn->host->env->config;
    const size_t size = conn_address_bytes(conn);
    uint64_t same = 0;

    if (conn->host->conn_count > config->connections_max) {
        return false;
    }
    if (strncmp(conn->peer, "127.", 4) == 0 || strncmp(conn->peer, "[::1]", 5) == 0) {
        return true;
    }
    for (const struct h2_conn *other = conn->host->conns; other != NULL; other = other->next) {
        same += conn_address_bytes(other) == size && strncmp(other->peer, conn->peer, size) == 0;
    }
    return same <= config->connections_per_address_max;
}

void h2_conn_accept(struct h2_host *host, uv_stream_t *listener)
{
    struct h2_conn *conn = calloc(1, sizeof *conn);
    struct sockaddr_storage address;

    if (conn == NULL) {
        return; /* the backlog keeps it until the next wake-up */
    }
    conn->magic = H2_CONN_MAGIC;
    conn->host = host;
    conn->active_ms = uv_now(host->env->loop);
    conn->tcp.data = conn;
    if (uv_tcp_init(host->env->loop, &conn->tcp) != 0) {
        free(conn);
        return;
    }
    conn->next = host->conns;
    if (host->conns != NULL) {
        host->conns->prev = conn;
    }
    host->conns = conn;
    host->conn_count++;
    metrics_set(&host->env->metrics->connections, host->conn_count);
    metrics_add(&host->env->metrics->net_bytes, sizeof *conn + H2_CONTROL_BYTES);
    h2_limits_init(&conn->limits, conn->active_ms);

    const bool accepted = uv_accept(listener, (uv_stream_t *)&conn->tcp) == 0;
    conn_name_peer(conn, &address);
    if (!accepted || !conn_within_limits(conn)) {
        metrics_add(&host->env->metrics->connections_refused_total, 1);
        h2_conn_close(conn);
        return;
    }
    metrics_add(&host->env->metrics->connections_accepted_total, 1);
    uv_tcp_nodelay(&conn->tcp, 1);
    if (!h2_output_init(&conn->output) || !conn_start_http2(conn) ||
        uv_read_start((uv_stream_t *)&conn->tcp, conn_alloc, conn_read) != 0) {
        h2_conn_close(conn);
        return;
    }
    h2_conn_wake(conn);
}

/* ---- time -------------------------------------------------------------------------------------
 */

/* Not one byte fits into the socket any more. */
static void conn_stalled(struct h2_conn *conn, uint64_t stall_ms)
{
    char text[SESSION_STALL_TEXT_BYTES];

    session_stall_text(stall_ms, text);
    log_line(conn->host->env->log, EXEC_LOG_WARNING, "http2 %s: closing the connection: %s",
             conn->peer, text);
    for (struct session *session = conn->sessions; session != NULL; session = session->next) {
        session->end_reason = text;
    }
    h2_conn_close(conn);
}

void h2_conn_tick(struct h2_conn *conn, uint64_t now_ms)
{
    const uint64_t stall_ms = conn->host->env->config->result_stall_timeout / 1000000;

    if (conn->state == H2_CLOSED) {
        return;
    }
    if ((conn->state == H2_LINGERING && now_ms - conn->state_since_ms >= H2_LINGER_MS) ||
        (conn->state == H2_TERMINATING && now_ms - conn->state_since_ms >= H2_CLOSE_MS)) {
        h2_conn_close(conn);
        return;
    }
    if (conn->writing && now_ms - conn->write_since_ms >= stall_ms) {
        conn_stalled(conn, stall_ms);
        return;
    }
    for (struct session *session = conn->sessions; session != NULL; session = session->next) {
        session_tick(session, now_ms);
        conn->host->stalled_streams +=
            session->queue.queued_bytes > 0 && now_ms - session->moved_ms >= 1000;
    }
    const enum h2_violation violation = h2_limits_tick(&conn->limits, now_ms);
    if (violation != H2_FINE && conn->violation == H2_FINE) {
        conn->violation = violation;
    }
    if (conn->state == H2_OPEN && conn->session_count == 0 &&
        now_ms - conn->active_ms >= H2_IDLE_MS) {
        h2_conn_drain(conn, METRICS_GOAWAY_idle);
    }
    if (conn->state == H2_DRAINING && !conn->goaway_final &&
        now_ms - conn->state_since_ms >= DRAIN_FINAL_MS) {
        conn->goaway_final = true;
        nghttp2_submit_goaway(conn->h2, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(conn->h2), NGHTTP2_NO_ERROR,
                              NULL, 0);
    }
    h2_conn_wake(conn);
}
