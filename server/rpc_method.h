#ifndef RPC_METHOD_H
#define RPC_METHOD_H

#include "service.h"

/* The rows of rpc_methods.def, looked up by path. */
struct rpc_method {
    const char *path; /* "/morsel.v1.JobService/ExecuteJob" */
    const char *service, *method;
    enum rpc_id id;
    enum rpc_input input;
    const struct rpc_handler *handler;
};

/* NULL: there is no such method. */
const struct rpc_method *rpc_method_find(const char *path);
/* Service and method of an id, "unknown" for RPC_COUNT: labels of the figures. */
const struct rpc_method *rpc_method_row(uint32_t id);

#endif
