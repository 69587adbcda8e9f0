#ifndef H2_CONN_INTERNAL_H
#define H2_CONN_INTERNAL_H

#include "h2_conn.h"

/* Between h2_host.c and h2_conn.c. */

/* Collects and writes what may be written; acts upon violations; may close the connection. Never
 * called from inside nghttp2. */
void h2_conn_pump(struct h2_conn *conn);

/* Four times a second: time limits of the connection and its streams. */
void h2_conn_tick(struct h2_conn *conn, uint64_t now_ms);

/* First step of a graceful end: no new stream is wanted. */
void h2_conn_drain(struct h2_conn *conn, enum metrics_goaway reason);

/* Ends at once. The struct is freed by the close callback. */
void h2_conn_close(struct h2_conn *conn);

#endif
