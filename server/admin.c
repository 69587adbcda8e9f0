#include "admin.h"

#include "listener.h"
#include "metrics_page.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    ADMIN_CONNECTIONS_MAX = 32,
    ADMIN_CONNECTIONS_PER_ADDRESS = 8,
    ADMIN_TIMEOUT_SECONDS = 10,
    ADMIN_MEMORY_BYTES = 16 << 10,
};

/* ---- who may ask ------------------------------------------------------------------------------
 */

static bool admin_is_address(const char *host)
{
    struct in6_addr scratch;

    return inet_pton(AF_INET, host, &scratch) == 1 || inet_pton(AF_INET6, host, &scratch) == 1;
}

/* `name` is one of a comma separated list. */
static bool admin_listed(const char *list, const char *name)
{
    const size_t size = strlen(name);

    while (*list != '\0') {
        const size_t item = strcspn(list, ", ");
        if (item == size && strncasecmp(list, name, size) == 0) {
            return true;
        }
        list += item + (list[item] != '\0');
    }
    return false;
}

bool admin_host_allowed(const struct config *config, const char *host)
{
    char name[CONFIG_TEXT_BYTES];
    char own[CONFIG_TEXT_BYTES] = "";

    if (strlen(host) >= sizeof name) {
        return false;
    }
    if (host[0] == '[') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(host + 1, "]"), host + 1);
    } else {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(host, ":"), host);
    }
    gethostname(own, sizeof own - 1);
    return admin_is_address(name) || strcasecmp(name, "localhost") == 0 ||
           (own[0] != '\0' && strcasecmp(name, own) == 0) ||
           admin_listed(config->admin_hosts, name);
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static enum MHD_Result admin_reply(struct MHD_Connection *connection, unsigned status, char *text,
                                   size_t size, enum MHD_ResponseMemoryMode mode, const char *type)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(size, text, mode);

    if (response == NULL) {
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result admin_say(struct MHD_Connection *connection, unsigned status,
                                 const char *text)
{
    return admin_reply(connection, status, (char *)(uintptr_t)text, strlen(text),
                       MHD_RESPMEM_PERSISTENT, "text/plain; charset=utf-8");
}

static enum MHD_Result admin_metrics(const struct admin *admin, struct MHD_Connection *connection)
{
    size_t size = 0;
    char *text = metrics_page_render(admin->metrics, admin->engine, &size);

    if (text == NULL) {
        return admin_say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory\n");
    }
    return admin_reply(connection, MHD_HTTP_OK, text, size, MHD_RESPMEM_MUST_FREE,
                       "text/plain; version=0.0.4; charset=utf-8");
}

static enum MHD_Result admin_health(const struct admin *admin, struct MHD_Connection *connection)
{
    const uint64_t tick_ms = metrics_get(&admin->metrics->loop_tick_ms);
    const bool late = metrics_monotonic_ns() / 1000000 > tick_ms + ADMIN_TICK_LATE_MS;

    return late ? admin_say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the event loop is stuck\n")
                : admin_say(connection, MHD_HTTP_OK, "ok\n");
}

static enum MHD_Result admin_ready(const struct admin *admin, struct MHD_Connection *connection)
{
    switch (atomic_load_explicit(&admin->metrics->state, memory_order_relaxed)) {
        case METRICS_READY: return admin_say(connection, MHD_HTTP_OK, "ready\n");
        case METRICS_DRAINING:
            return admin_say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "draining\n");
        default: return admin_say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "starting\n");
    }
}

static enum MHD_Result admin_answer(void *owner, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version,
                                    const char *upload_data, size_t *upload_data_size,
                                    void **request)
{
    static int headers_seen;
    const struct admin *admin = owner;
    const char *host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

    (void)version;
    (void)upload_data;
    if (*request == NULL) {
        *request = &headers_seen; /* the first call has headers only; answer on the second */
        return MHD_YES;
    }
    if (*upload_data_size != 0) {
        *upload_data_size = 0; /* no request has a body that matters */
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return admin_say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
    }
    if (host == NULL || !admin_host_allowed(admin->config, host)) {
        return admin_say(connection, MHD_HTTP_FORBIDDEN,
                         "this host name is not ours (setting admin_hosts)\n");
    }
    if (strcmp(url, "/metrics") == 0) {
        return admin_metrics(admin, connection);
    }
    if (strcmp(url, "/healthz") == 0) {
        return admin_health(admin, connection);
    }
    if (strcmp(url, "/readyz") == 0) {
        return admin_ready(admin, connection);
    }
    return admin_say(connection, MHD_HTTP_NOT_FOUND, "try /metrics, /healthz or /readyz\n");
}

/* ---- the thread -------------------------------------------------------------------------------
 */

static void admin_silent(void *owner, const char *fmt, va_list args)
{
    (void)owner;
    (void)fmt;
    (void)args; /* what a scraper did wrong is in its own answer */
}

enum exec_code admin_start(struct admin *admin, const struct config *config,
                           const struct metrics *metrics, const struct exec_engine *engine, int fd,
                           struct exec_error *err)
{
    struct sockaddr_storage bound;
    socklen_t bytes = sizeof bound;

    *admin = (struct admin){.config = config, .metrics = metrics, .engine = engine};
    if (fd < 0) {
        fd = listener_bind_plain(config->admin_listen, &admin->port, err);
    } else if (getsockname(fd, (struct sockaddr *)&bound, &bytes) == 0) {
        admin->port = bound.ss_family == AF_INET6
                          ? ntohs(((const struct sockaddr_in6 *)(const void *)&bound)->sin6_port)
                          : ntohs(((const struct sockaddr_in *)(const void *)&bound)->sin_port);
    }
    if (fd < 0) {
        return err->code;
    }
    admin->http = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL, NULL, admin_answer, admin,
        MHD_OPTION_EXTERNAL_LOGGER, admin_silent, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)ADMIN_CONNECTIONS_MAX,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)ADMIN_CONNECTIONS_PER_ADDRESS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)ADMIN_TIMEOUT_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)ADMIN_MEMORY_BYTES, MHD_OPTION_END);
    if (admin->http == NULL) {
        close(fd);
        return EXEC_FAIL(err, EXEC_IO, "the admin port on %s could not start",
                         config->admin_listen);
    }
    return EXEC_OK;
}

void admin_stop(struct admin *admin)
{
    if (admin->http != NULL) {
        MHD_stop_daemon(admin->http); /* closes the socket too */
        admin->http = NULL;
    }
}
