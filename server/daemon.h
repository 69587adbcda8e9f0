#ifndef DAEMON_H
#define DAEMON_H

#include "config.h"

/* The whole server on one loop: wires the parts, runs until it is told to stop, takes them down. */

struct daemon;

struct daemon_options {
    struct config config; /* checked */
    bool signals;         /* SIGTERM, SIGINT: drain; SIGHUP: reload; not wanted inside a test */
    /* Reads the settings again for SIGHUP. NULL: reload keeps what is there. */
    enum exec_code (*reload)(void *owner, struct config *config_out, struct exec_error *err);
    void *reload_owner;
};

/* Binds, starts the engine, is ready to serve. Blocks while workers start. */
enum exec_code daemon_create(const struct daemon_options *options, struct daemon **daemon_out,
                             struct exec_error *err);
/* Serves until daemon_stop or a signal; returns when everything has been let go. */
void daemon_run(struct daemon *daemon);
/* Any thread: begins the drain. Must not be called after daemon_run returned. */
void daemon_stop(struct daemon *daemon);
void daemon_destroy(struct daemon *daemon);

uint16_t daemon_grpc_port(const struct daemon *daemon);
uint16_t daemon_admin_port(const struct daemon *daemon); /* 0: none */

#endif
