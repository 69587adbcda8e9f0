#ifndef LISTENER_H
#define LISTENER_H

#include "h2_conn.h"

#include "exec/error.h"

/* The gRPC port. */
struct listener {
    uv_tcp_t tcp;
    struct h2_host *host;
    bool open;
    char address[80]; /* as bound: "127.0.0.1:7432" */
    uint16_t port;
};

/* Binds `address` (HOST:PORT), or takes over `fd` when it is not -1. EXEC_OK, EXEC_BAD_SPEC (no
 * such address) or EXEC_IO ("address already in use"). */
enum exec_code listener_open(struct listener *listener, struct h2_host *host, const char *address,
                             int fd, struct exec_error *err);
void listener_close(struct listener *listener);

/* A bound and listening socket for the admin port, which is not on the loop. -1 and err on failure;
 * *port_out is the port that was taken. */
int listener_bind_plain(const char *address, uint16_t *port_out, struct exec_error *err);

#endif
