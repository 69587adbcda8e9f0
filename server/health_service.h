#ifndef HEALTH_SERVICE_H
#define HEALTH_SERVICE_H

#include "service.h"

/* grpc.health.v1: whether the server takes work. Every service of rpc_methods.def and the empty
 * name share one state. Loop thread only. */
struct health {
    bool serving;
    struct health_watch *watches;
};

/* Tells every watcher NOT_SERVING and ends its stream, so that the connection can drain. */
void health_service_stop(struct health *health);

#endif
