#include "morsel_connection.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CONNECTION_MAGIC = 0x6d636f6e, DEFAULT_TIMEOUT_MS = 10000, REFUSED_TRIES_MAX = 2 };

const char *morsel_version(void)
{
    return MORSEL_VERSION;
}

uint64_t connection_deadline(uint64_t timeout_ms)
{
    return timeout_ms == 0 ? UINT64_MAX : grpc_clock_ns() + timeout_ms * 1000000u;
}

static int open_channel(struct morsel_connection *connection, struct morsel_error *err)
{
    const uint64_t deadline_ns = connection_deadline(connection->connect_timeout_ms);

    connection->connected = true;
    if (grpc_channel_init(&connection->channel, connection->address, deadline_ns,
                          connection->wake_fd, &connection->interrupted) == 0) {
        return 0;
    }
    morsel_error_set(err, MORSEL_FAULT_CONNECT, EXEC_IO, "%s", connection->channel.text);
    grpc_channel_fini(&connection->channel);
    connection->connected = false;
    return -1;
}

int morsel_connect(const char *address, uint64_t timeout_ms,
                   struct morsel_connection **connection_out, struct morsel_error *err)
{
    char host[CHANNEL_ADDRESS_BYTES], port[8];

    if (address == NULL || strlen(address) >= CHANNEL_ADDRESS_BYTES ||
        !grpc_address_split(address, host, port)) {
        return morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_BAD_SPEC,
                                "'%.200s' is not an address: write HOST:PORT",
                                address == NULL ? "" : address);
    }
    struct morsel_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        return morsel_error_set(err, MORSEL_FAULT_CONNECT, EXEC_MEMORY_BUDGET, "out of memory");
    }
    connection->magic = CONNECTION_MAGIC;
    connection->connect_timeout_ms = timeout_ms == 0 ? DEFAULT_TIMEOUT_MS : timeout_ms;
    connection->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    snprintf(connection->address, sizeof connection->address, "%s", address);
    if (connection->wake_fd < 0) {
        morsel_error_set(err, MORSEL_FAULT_CONNECT, EXEC_IO, "no event descriptor is left");
        goto fail_wake_fd;
    }
    if (open_channel(connection, err) != 0) {
        goto fail_channel;
    }
    *connection_out = connection;
    return 0;
fail_channel:
    close(connection->wake_fd);
fail_wake_fd:
    free(connection);
    return -1;
}

void morsel_close(struct morsel_connection *connection)
{
    if (connection == NULL) {
        return;
    }
    assert(connection->magic == CONNECTION_MAGIC);
    if (connection->connected) {
        grpc_channel_fini(&connection->channel);
    }
    close(connection->wake_fd);
    connection->magic = 0;
    free(connection);
}

void morsel_interrupt(struct morsel_connection *connection)
{
    const uint64_t one = 1;

    /* release: pairs with the acquire in grpc_channel_step. */
    atomic_store_explicit(&connection->interrupted, true, memory_order_release);
    (void)!write(connection->wake_fd, &one, sizeof one);
}

const char *morsel_server_name(const struct morsel_connection *connection)
{
    return connection->server;
}

/* True when the channel can carry a new call. An end that arrived while nobody was looking is seen
 * by a step that does not wait. */
static bool channel_usable(struct morsel_connection *connection)
{
    if (!connection->connected) {
        return false;
    }
    if (!atomic_load_explicit(&connection->interrupted, memory_order_relaxed)) {
        grpc_channel_step(&connection->channel, 0);
    }
    return !connection->channel.broken && !connection->channel.goaway;
}

int connection_start_call(struct morsel_connection *connection, struct grpc_call *call,
                          const char *path, uint64_t deadline_ns, struct morsel_error *err)
{
    assert(connection->magic == CONNECTION_MAGIC);
    if (connection->connected && connection->channel.call != NULL) {
        return morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_BAD_SPEC,
                                "another call is under way on this connection");
    }
    if (!channel_usable(connection)) {
        if (connection->connected) {
            grpc_channel_fini(&connection->channel);
            connection->connected = false;
        }
        if (open_channel(connection, err) != 0) {
            return -1;
        }
    }
    if (grpc_call_init(call, &connection->channel, path, deadline_ns) != 0) {
        morsel_error_of_call(err, call);
        grpc_call_fini(call);
        return -1;
    }
    return 0;
}

void connection_end_call(struct morsel_connection *connection, struct grpc_call *call)
{
    if (call->server[0] != '\0') {
        memcpy(connection->server, call->server, sizeof connection->server);
    }
    grpc_call_fini(call);
}

uint8_t *connection_pack(const ProtobufCMessage *message, size_t *size_out)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(size == 0 ? 1 : size);

    if (bytes != NULL) {
        *size_out = protobuf_c_message_pack(message, bytes);
    }
    return bytes;
}

/* One try. The answer's bytes, or NULL, err and whether the stream was refused. */
static uint8_t *unary_bytes(struct morsel_connection *connection, const char *path,
                            const uint8_t *request, size_t size, uint64_t deadline_ns,
                            size_t *size_out, bool *refused_out, struct morsel_error *err)
{
    struct grpc_call call;
    uint8_t *answer = NULL, *more = NULL;
    size_t more_bytes = 0;
    int got = -1;

    *refused_out = false;
    if (connection_start_call(connection, &call, path, deadline_ns, err) != 0) {
        return NULL;
    }
    /* A call the server ended early still has its status to read. */
    grpc_call_send(&call, request, size, true);
    got = grpc_call_receive(&call, UINT64_MAX, &answer, size_out);
    if (got == 1) {
        got = grpc_call_receive(&call, UINT64_MAX, &more, &more_bytes);
        free(more);
        if (got == 1) {
            morsel_error_set(err, MORSEL_FAULT_DATA, EXEC_INTERNAL,
                             "the server answered %s with two messages", path);
        }
    } else if (got == 0) {
        morsel_error_set(err, MORSEL_FAULT_INCOMPLETE, EXEC_INTERNAL,
                         "the server answered %s without a message", path);
        got = -2;
    }
    if (got == -1) {
        morsel_error_of_call(err, &call);
        *refused_out = call.end == CALL_REFUSED;
    }
    connection_end_call(connection, &call);
    if (got != 0) {
        free(answer);
        return NULL;
    }
    return answer;
}

ProtobufCMessage *connection_unary(struct morsel_connection *connection, const char *path,
                                   const ProtobufCMessage *request,
                                   const ProtobufCMessageDescriptor *answer, uint64_t timeout_ms,
                                   struct morsel_error *err)
{
    const uint64_t deadline_ns = connection_deadline(timeout_ms);
    size_t size = 0, answer_bytes = 0;
    uint8_t *packed = connection_pack(request, &size), *bytes = NULL;
    bool refused = true;

    if (packed == NULL) {
        morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_MEMORY_BUDGET, "out of memory");
        return NULL;
    }
    for (int tries = 0; bytes == NULL && refused && tries < REFUSED_TRIES_MAX; tries++) {
        bytes =
            unary_bytes(connection, path, packed, size, deadline_ns, &answer_bytes, &refused, err);
    }
    free(packed);
    if (bytes == NULL) {
        return NULL;
    }
    ProtobufCMessage *message = protobuf_c_message_unpack(answer, NULL, answer_bytes, bytes);
    free(bytes);
    if (message == NULL) {
        morsel_error_set(err, MORSEL_FAULT_DATA, EXEC_INTERNAL,
                         "the server's answer to %s is no %s message", path, answer->name);
    }
    return message;
}
