#include "config.h"
#include "service.h"

#include "grpc/reflection/v1/reflection.pb-c.h"
#include "proto/descriptors.h"

#include <stdlib.h>

/* gRPC server reflection, v1 and v1alpha: the same messages under two names. The descriptors are
 * made at build time; nothing is parsed here. */

enum {
    REFLECTION_FILES_MAX = 32,
    REFLECTION_SERVICES_MAX = 32,
    REFLECTION_QUEUE_BYTES = 4 << 20, /* of answers that the client has not taken */
};

typedef Grpc__Reflection__V1__ServerReflectionRequest reflection_request;
typedef Grpc__Reflection__V1__ServerReflectionResponse reflection_response;

static void reflect_error(struct session *session, reflection_response *response,
                          enum grpc_code code, const char *text)
{
    Grpc__Reflection__V1__ErrorResponse error;

    grpc__reflection__v1__error_response__init(&error);
    error.error_code = (int32_t)code;
    error.error_message = (char *)(uintptr_t)text;
    response->message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
    response->error_response = &error;
    session_send(session, &response->base);
}

/* The file and all it needs, users last, as clients that build a pool want them. */
static void reflect_file(struct session *session, reflection_response *response,
                         const struct descriptors_file *file)
{
    Grpc__Reflection__V1__FileDescriptorResponse answer;
    ProtobufCBinaryData files[REFLECTION_FILES_MAX];
    size_t count = 0;

    if (file == NULL) {
        reflect_error(session, response, GRPC_NOT_FOUND, "no such file or symbol");
        return;
    }
    files[count++] =
        (ProtobufCBinaryData){.len = file->size, .data = (uint8_t *)(uintptr_t)file->bytes};
    for (size_t i = 0; i < file->dependency_count && count < REFLECTION_FILES_MAX; i++) {
        const struct descriptors_file *needed = file->dependencies[i];
        files[count++] =
            (ProtobufCBinaryData){.len = needed->size, .data = (uint8_t *)(uintptr_t)needed->bytes};
    }
    grpc__reflection__v1__file_descriptor_response__init(&answer);
    answer.n_file_descriptor_proto = count;
    answer.file_descriptor_proto = files;
    response->message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
    response->file_descriptor_response = &answer;
    session_send(session, &response->base);
}

static void reflect_services(struct session *session, reflection_response *response)
{
    Grpc__Reflection__V1__ListServiceResponse list;
    Grpc__Reflection__V1__ServiceResponse services[REFLECTION_SERVICES_MAX];
    Grpc__Reflection__V1__ServiceResponse *pointers[REFLECTION_SERVICES_MAX];
    size_t count = 0;

    while (count < REFLECTION_SERVICES_MAX && descriptors_service(count) != NULL) {
        grpc__reflection__v1__service_response__init(&services[count]);
        services[count].name = (char *)(uintptr_t)descriptors_service(count);
        pointers[count] = &services[count];
        count++;
    }
    grpc__reflection__v1__list_service_response__init(&list);
    list.n_service = count;
    list.service = pointers;
    response->message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
    response->list_services_response = &list;
    session_send(session, &response->base);
}

static void reflect_answer(struct session *session, reflection_request *request)
{
    reflection_response response;

    grpc__reflection__v1__server_reflection_response__init(&response);
    response.valid_host = request->host;
    response.original_request = request;
    switch (request->message_request_case) {
        case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
            reflect_file(session, &response, descriptors_file_by_name(request->file_by_filename));
            break;
        case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
            reflect_file(session, &response,
                         descriptors_file_by_symbol(request->file_containing_symbol));
            break;
        case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
            reflect_services(session, &response);
            break;
        case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
        case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
            reflect_error(session, &response, GRPC_NOT_FOUND, "proto3 files have no extensions");
            break;
        default:
            reflect_error(session, &response, GRPC_INVALID_ARGUMENT, "message_request is not set");
            break;
    }
}

static void reflect_message(struct session *session, const uint8_t *bytes, size_t size)
{
    const struct config *config = session->env->config;

    if (!config->reflection || config->insecure) {
        session_fail_status(session, GRPC_UNIMPLEMENTED,
                            "reflection is served on loopback addresses only (setting reflection)");
        return;
    }
    if (session->queue.queued_bytes > REFLECTION_QUEUE_BYTES) {
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "too many answers are waiting");
        return;
    }
    ProtobufCMessage *message = session_unpack(
        session, &grpc__reflection__v1__server_reflection_request__descriptor, bytes, size);
    if (message == NULL) {
        return;
    }
    reflect_answer(session, (reflection_request *)message);
    protobuf_c_message_free_unpacked(message, NULL);
}

static void reflect_end(struct session *session)
{
    session_finish(session);
}

const struct rpc_handler rpc_reflection = {.message = reflect_message, .end = reflect_end};
const struct rpc_handler rpc_reflection_alpha = {.message = reflect_message, .end = reflect_end};
