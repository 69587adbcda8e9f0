#include "h2_conn_internal.h"

#include "h2_callbacks.h"
#include "log.h"
#include "service.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_TICK_MS = 250 };

void h2_conn_wake(struct h2_conn *conn)
{
    struct h2_host *host = conn->host;

    if (conn->woken || conn->state == H2_CLOSED) {
        return;
    }
    conn->woken = true;
    conn->woken_next = host->woken;
    host->woken = conn;
}

static void host_idle(uv_idle_t *idle)
{
    (void)idle; /* being active keeps the loop from sleeping; prepare does the work */
}

/* Pumps everything woken so far, once. What is woken meanwhile waits for the next turn, and an
 * active idle handle makes that turn come at once. */
static void host_pump(struct h2_host *host)
{
    struct h2_conn *batch = host->woken;

    host->woken = NULL;
    while (batch != NULL) {
        struct h2_conn *conn = batch;
        batch = conn->woken_next;
        conn->woken = false;
        h2_conn_pump(conn);
    }
    if (host->woken != NULL) {
        uv_idle_start(&host->idle, host_idle);
    } else {
        uv_idle_stop(&host->idle);
    }
}

static void host_prepare(uv_prepare_t *handle)
{
    host_pump(handle->data);
}

static void host_check(uv_check_t *handle)
{
    host_pump(handle->data);
}

static void host_tick(uv_timer_t *timer)
{
    struct h2_host *host = timer->data;
    struct metrics *metrics = host->env->metrics;
    const uint64_t now_ms = uv_now(host->env->loop);

    metrics_observe(&metrics->loop_lag_seconds,
                    now_ms > host->tick_due_ms ? (now_ms - host->tick_due_ms) * 1000000 : 0);
    host->tick_due_ms = now_ms + HOST_TICK_MS;
    metrics_set(&metrics->loop_tick_ms, metrics_monotonic_ns() / 1000000);

    host->stalled_streams = 0;
    for (struct h2_conn *conn = host->conns; conn != NULL; conn = conn->next) {
        h2_conn_tick(conn, now_ms);
    }
    metrics_set(&metrics->rpc_stalled_streams, host->stalled_streams);
}

int h2_host_init(struct h2_host *host, struct service_env *env)
{
    memset(host, 0, sizeof *host);
    host->env = env;
    host->callbacks = h2_callbacks_create();
    host->option = h2_option_create();
    host->read_buffer = malloc(H2_READ_BYTES);
    if (host->callbacks == NULL || host->option == NULL || host->read_buffer == NULL) {
        return UV_ENOMEM;
    }
    uv_prepare_init(env->loop, &host->prepare);
    uv_check_init(env->loop, &host->check);
    uv_idle_init(env->loop, &host->idle);
    uv_timer_init(env->loop, &host->tick);
    host->prepare.data = host;
    host->check.data = host;
    host->idle.data = host;
    host->tick.data = host;
    uv_prepare_start(&host->prepare, host_prepare);
    uv_check_start(&host->check, host_check);
    host->tick_due_ms = uv_now(env->loop) + HOST_TICK_MS;
    metrics_set(&env->metrics->loop_tick_ms, metrics_monotonic_ns() / 1000000);
    return uv_timer_start(&host->tick, host_tick, HOST_TICK_MS, HOST_TICK_MS);
}

void h2_host_close(struct h2_host *host)
{
    uv_close((uv_handle_t *)&host->prepare, NULL);
    uv_close((uv_handle_t *)&host->check, NULL);
    uv_close((uv_handle_t *)&host->idle, NULL);
    uv_close((uv_handle_t *)&host->tick, NULL);
    nghttp2_session_callbacks_del(host->callbacks);
    nghttp2_option_del(host->option);
    free(host->read_buffer);
}

void h2_host_drain(struct h2_host *host, void (*empty)(void *owner), void *owner)
{
    host->draining = true;
    host->empty = empty;
    host->owner = owner;
    for (struct h2_conn *conn = host->conns; conn != NULL; conn = conn->next) {
        h2_conn_drain(conn, METRICS_GOAWAY_drain);
    }
    if (host->conn_count == 0) {
        empty(owner);
    }
}

void h2_host_close_all(struct h2_host *host)
{
    for (struct h2_conn *conn = host->conns; conn != NULL; conn = conn->next) {
        h2_conn_close(conn);
    }
}
