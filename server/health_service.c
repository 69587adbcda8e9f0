#include "health_service.h"

#include "rpc_method.h"

#include "grpc/health/v1/health.pb-c.h"

#include <stdlib.h>
#include <string.h>

struct health_watch {
    struct health_watch *next, *prev;
    struct session *session;
};

static bool health_knows(const char *service)
{
    if (service[0] == '\0') {
        return true; /* the server as a whole */
    }
    for (uint32_t id = 0; id < RPC_COUNT; id++) {
        if (strcmp(rpc_method_row(id)->service, service) == 0) {
            return true;
        }
    }
    return false;
}

static void health_send(struct session *session, bool known)
{
    Grpc__Health__V1__HealthCheckResponse response;

    grpc__health__v1__health_check_response__init(&response);
    if (!known) {
        response.status = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN;
    } else if (session->env->health->serving) {
        response.status = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
    } else {
        response.status = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING;
    }
    session_send(session, &response.base);
}

static void check_message(struct session *session, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *message =
        session_unpack(session, &grpc__health__v1__health_check_request__descriptor, bytes, size);

    if (message == NULL) {
        return;
    }
    const Grpc__Health__V1__HealthCheckRequest *request =
        (const Grpc__Health__V1__HealthCheckRequest *)message;
    if (health_knows(request->service)) {
        health_send(session, true);
        session_finish(session);
    } else {
        session_fail_status(session, GRPC_NOT_FOUND, "no service '%s'", request->service);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

const struct rpc_handler rpc_health_check = {.message = check_message};

/* A watch stays open; the state changes once, when the server begins to stop. */
static void watch_message(struct session *session, const uint8_t *bytes, size_t size)
{
    struct health *health = session->env->health;
    ProtobufCMessage *message =
        session_unpack(session, &grpc__health__v1__health_check_request__descriptor, bytes, size);

    if (message == NULL) {
        return;
    }
    const bool known =
        health_knows(((const Grpc__Health__V1__HealthCheckRequest *)message)->service);
    protobuf_c_message_free_unpacked(message, NULL);
    struct health_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for a watch");
        return;
    }
    watch->session = session;
    watch->next = health->watches;
    if (watch->next != NULL) {
        watch->next->prev = watch;
    }
    health->watches = watch;
    session->call = watch;
    health_send(session, known);
    if (!health->serving) {
        session_fail_status(session, GRPC_UNAVAILABLE, "the server is shutting down");
    }
}

static void watch_detach(struct session *session)
{
    struct health_watch *watch = session->call;

    if (watch == NULL) {
        return;
    }
    if (watch->prev != NULL) {
        watch->prev->next = watch->next;
    } else {
        session->env->health->watches = watch->next;
    }
    if (watch->next != NULL) {
        watch->next->prev = watch->prev;
    }
    free(watch);
}

const struct rpc_handler rpc_health_watch = {.message = watch_message, .detach = watch_detach};

void health_service_stop(struct health *health)
{
    health->serving = false;
    while (health->watches != NULL) {
        struct session *session = health->watches->session;
        health_send(session, true);
        /* Ends with OK, so that the message before it is not dropped. */
        session_finish(session);
    }
}
