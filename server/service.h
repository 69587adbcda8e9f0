#ifndef SERVICE_H
#define SERVICE_H

#include "session.h"

#include <uv.h>

/* What a service may reach; made once by daemon.c. Loop thread only. */
struct service_env {
    uv_loop_t *loop;
    struct exec_engine *engine;
    struct bridge *bridge;
    struct job_table *jobs;
    struct admission *admission;
    struct metrics *metrics;
    struct health *health;
    struct config *config;
    struct log *log;
    struct upload_call *uploads; /* those that are not over for the engine */
    uint64_t started_ns;         /* CLOCK_MONOTONIC */
    bool draining;               /* no new work is taken */
};

/* How an RPC takes its request. */
enum rpc_input {
    RPC_ONE,  /* exactly one message, handed over when the client has closed its side */
    RPC_EACH, /* every message as it comes */
    RPC_RAW,  /* bytes as they come; the handler frames them and gives the window back */
};

/* One row of rpc_methods.def. A handler keeps its state in session->call. */
struct rpc_handler {
    /* RPC_ONE, RPC_EACH: one whole message, borrowed for the call. */
    void (*message)(struct session *session, const uint8_t *bytes, size_t size);
    /* RPC_RAW: some bytes; session_consume must be called for them, now or later. */
    void (*data)(struct session *session, const uint8_t *bytes, size_t size);
    /* RPC_EACH, RPC_RAW: the client closed its side. */
    void (*end)(struct session *session);
    /* The call is over: a status is set or the stream is gone. Exactly once when `message` or
     * `data` was called; afterwards the session must not be touched. May be NULL. */
    void (*detach)(struct session *session);
};

enum rpc_id {
#define RPC(name, service, method, input) RPC_##name,
#include "rpc_methods.def"
    RPC_COUNT /* also the index of "unknown method" in the figures */
};

#define RPC(name, service, method, input) extern const struct rpc_handler rpc_##name;
#include "rpc_methods.def"

#endif
