#include "listener.h"

#include "config.h"
#include "log.h"
#include "service.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LISTEN_BACKLOG = 512 };

static void listener_accept(uv_stream_t *stream, int status)
{
    struct listener *listener = stream->data;

    if (status < 0) {
        log_line(listener->host->env->log, EXEC_LOG_WARNING, "cannot accept a connection: %s",
                 uv_strerror(status));
        return;
    }
    h2_conn_accept(listener->host, stream);
}

/* Blocks for a name; only called at the start. */
static enum exec_code listener_resolve(const char *address, struct sockaddr_storage *out,
                                       socklen_t *bytes_out, struct exec_error *err)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char host[CONFIG_TEXT_BYTES];
    char port_text[8];
    uint16_t port = 0;

    if (!config_split_address(address, host, &port)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "'%s' is not HOST:PORT", address);
    }
    snprintf(port_text, sizeof port_text, "%u", port);
    const int failed = getaddrinfo(host, port_text, &hints, &found);
    if (failed != 0) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "'%s': %s", address, gai_strerror(failed));
    }
    memcpy(out, found->ai_addr, found->ai_addrlen);
    *bytes_out = found->ai_addrlen;
    freeaddrinfo(found);
    return EXEC_OK;
}

static uint16_t listener_port(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)(const void *)address)->sin6_port
                     : ((const struct sockaddr_in *)(const void *)address)->sin_port);
}

static enum exec_code listener_failed(struct exec_error *err, const char *address, int uv_error)
{
    return EXEC_FAIL_ERRNO(err, EXEC_IO, -uv_error, "cannot listen on %s: %s", address,
                           uv_strerror(uv_error));
}

enum exec_code listener_open(struct listener *listener, struct h2_host *host, const char *address,
                             int fd, struct exec_error *err)
{
    struct sockaddr_storage bound;
    socklen_t bound_bytes = 0;
    int size = sizeof bound;

    memset(listener, 0, sizeof *listener);
    listener->host = host;
    int failed = uv_tcp_init(host->env->loop, &listener->tcp);
    if (failed != 0) {
        return listener_failed(err, address, failed);
    }
    listener->open = true;
    listener->tcp.data = listener;
    if (fd >= 0) {
        failed = uv_tcp_open(&listener->tcp, fd);
    } else {
        const enum exec_code code = listener_resolve(address, &bound, &bound_bytes, err);
        if (code != EXEC_OK) {
            return code;
        }
        failed = uv_tcp_bind(&listener->tcp, (const struct sockaddr *)&bound, 0);
    }
    if (failed == 0) {
        failed = uv_listen((uv_stream_t *)&listener->tcp, LISTEN_BACKLOG, listener_accept);
    }
    if (failed == 0) {
        failed = uv_tcp_getsockname(&listener->tcp, (struct sockaddr *)&bound, &size);
    }
    if (failed != 0) {
        return listener_failed(err, address, failed);
    }
    char text[INET6_ADDRSTRLEN] = "?";
    listener->port = listener_port(&bound);
    if (bound.ss_family == AF_INET6) {
        uv_ip6_name((const struct sockaddr_in6 *)(const void *)&bound, text, sizeof text);
    } else {
        uv_ip4_name((const struct sockaddr_in *)(const void *)&bound, text, sizeof text);
    }
    snprintf(listener->address, sizeof listener->address,
             bound.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, listener->port);
    return EXEC_OK;
}

void listener_close(struct listener *listener)
{
    if (listener->open) {
        listener->open = false;
        uv_close((uv_handle_t *)&listener->tcp, NULL);
    }
}

int listener_bind_plain(const char *address, uint16_t *port_out, struct exec_error *err)
{
    struct sockaddr_storage bound;
    socklen_t bytes = 0;
    const int one = 1;

    if (listener_resolve(address, &bound, &bytes, err) != EXEC_OK) {
        return -1;
    }
    const int fd = socket(bound.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        listener_failed(err, address, -errno);
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(fd, (const struct sockaddr *)&bound, bytes) != 0 || listen(fd, 32) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &bytes) != 0) {
        listener_failed(err, address, -errno);
        close(fd);
        return -1;
    }
    *port_out = listener_port(&bound);
    return fd;
}
