#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdint.h>

/* systemd's two protocols without libsystemd: sd_notify(3) datagrams and LISTEN_FDS sockets. All of
 * it is silent when the daemon was not started by systemd. */

/* One or more lines such as "READY=1". Never blocks. */
void notify_send(const char *state);

/* RELOADING=1 with the MONOTONIC_USEC that systemd wants beside it. */
void notify_reloading(void);

/* Half of WATCHDOG_USEC, in milliseconds; 0 when no watchdog is set for this process. */
uint64_t notify_watchdog_ms(void);

/* The file descriptor that systemd passed under this name (LISTEN_FDNAMES), -1 when there is none.
 * A single unnamed socket counts as "grpc". */
int notify_listen_fd(const char *name);

#endif
