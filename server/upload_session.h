#ifndef UPLOAD_SESSION_H
#define UPLOAD_SESSION_H

#include "service.h"

/* Aborts every upload that has not been committed: the server stops. */
void upload_session_abort_all(struct service_env *env);

#endif
