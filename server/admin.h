#ifndef ADMIN_H
#define ADMIN_H

#include "config.h"
#include "metrics.h"

#include "exec/exec.h"

/* The admin port: /metrics, /healthz, /readyz over HTTP/1.1 by libmicrohttpd, in a thread of its
 * own that reads figures and nothing else. GET and HEAD only; a Host header that is neither an
 * address nor a name of ours is refused (DNS rebinding). */

struct admin {
    const struct config *config;
    const struct metrics *metrics;
    const struct exec_engine *engine;
    struct MHD_Daemon *http;
    uint16_t port;
};

enum { ADMIN_TICK_LATE_MS = 5000 };

/* Binds config->admin_listen, or takes over `fd` when it is not -1. */
enum exec_code admin_start(struct admin *admin, const struct config *config,
                           const struct metrics *metrics, const struct exec_engine *engine, int fd,
                           struct exec_error *err);
/* Joins the thread. Harmless when it never started. */
void admin_stop(struct admin *admin);

/* True when `host` (with or without a port) may be asked for. */
bool admin_host_allowed(const struct config *config, const char *host);

#endif
