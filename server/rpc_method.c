#include "rpc_method.h"

#include <string.h>

static const struct rpc_method rpc_methods[] = {
#define RPC(name, service, method, input) \
    {"/" service "/" method, service, method, RPC_##name, RPC_##input, &rpc_##name},
#include "rpc_methods.def"
    {"", "unknown", "unknown", RPC_COUNT, RPC_ONE, NULL},
};

const struct rpc_method *rpc_method_find(const char *path)
{
    for (uint32_t id = 0; id < RPC_COUNT; id++) {
        if (strcmp(rpc_methods[id].path, path) == 0) {
            return &rpc_methods[id];
        }
    }
    return NULL;
}

const struct rpc_method *rpc_method_row(uint32_t id)
{
    return &rpc_methods[id];
}
