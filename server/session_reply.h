#ifndef SESSION_REPLY_H
#define SESSION_REPLY_H

#include "session.h"

/* How a session's answer becomes HTTP/2: headers, DATA from the response queue, trailers. */

/* Something was queued or the status was set: starts the response, wakes a deferred stream. */
void session_reply_flush(struct session *session);

/* A plain HTTP answer without gRPC (405, 415). */
void session_reply_http(struct session *session, const char *http_status);

/* The trailers cannot get through: resets the stream with the code that maps to the status. */
void session_reply_reset(struct session *session);

#endif
