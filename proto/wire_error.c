/* exec_code <-> gRPC status, JobError reason and whether a retry helps: one row a code, and the
 * rich details that carry them. */
#include "proto/grpc_status.h"

#include "base64.h"
#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"
#include "morsel/v1/job_service.pb-c.h"
#include "proto/prescan.h"
#include "wire_utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON(name) MORSEL__V1__ERROR_REASON__ERROR_REASON_##name

struct code_row {
    enum grpc_code grpc;
    int reason;
    bool retryable;
};

#define ROW_OK                              \
    {                                       \
        GRPC_OK, REASON(UNSPECIFIED), false \
    }
#define ROW_BAD_SPEC                                       \
    {                                                      \
        GRPC_INVALID_ARGUMENT, REASON(PLAN_INVALID), false \
    }
#define ROW_NOT_IMPLEMENTED                                \
    {                                                      \
        GRPC_UNIMPLEMENTED, REASON(NOT_IMPLEMENTED), false \
    }
#define ROW_TABLE_NOT_FOUND                            \
    {                                                  \
        GRPC_NOT_FOUND, REASON(TABLE_NOT_FOUND), false \
    }
#define ROW_COLUMN_NOT_FOUND                            \
    {                                                   \
        GRPC_NOT_FOUND, REASON(COLUMN_NOT_FOUND), false \
    }
#define ROW_TYPE_MISMATCH                                   \
    {                                                       \
        GRPC_INVALID_ARGUMENT, REASON(TYPE_MISMATCH), false \
    }
#define ROW_SCHEMA_MISMATCH                                      \
    {                                                            \
        GRPC_FAILED_PRECONDITION, REASON(SCHEMA_MISMATCH), false \
    }
#define ROW_EXISTS                                         \
    {                                                      \
        GRPC_ALREADY_EXISTS, REASON(ALREADY_EXISTS), false \
    }
#define ROW_BUSY                                          \
    {                                                     \
        GRPC_RESOURCE_EXHAUSTED, REASON(QUEUE_FULL), true \
    }
#define ROW_MEMORY_BUDGET                                    \
    {                                                        \
        GRPC_RESOURCE_EXHAUSTED, REASON(MEMORY_LIMIT), false \
    }
#define ROW_LIMIT                                           \
    {                                                       \
        GRPC_RESOURCE_EXHAUSTED, REASON(INPUT_LIMIT), false \
    }
#define ROW_OVERFLOW                               \
    {                                              \
        GRPC_OUT_OF_RANGE, REASON(OVERFLOW), false \
    }
#define ROW_BAD_ARGUMENT                                   \
    {                                                      \
        GRPC_INVALID_ARGUMENT, REASON(BAD_ARGUMENT), false \
    }
#define ROW_BAD_DATA                                \
    {                                               \
        GRPC_DATA_LOSS, REASON(DATA_CORRUPT), false \
    }
#define ROW_FILE_NOT_FOUND                            \
    {                                                 \
        GRPC_NOT_FOUND, REASON(FILE_NOT_FOUND), false \
    }
#define ROW_PATH_DENIED                                    \
    {                                                      \
        GRPC_PERMISSION_DENIED, REASON(PATH_DENIED), false \
    }
#define ROW_IO                           \
    {                                    \
        GRPC_INTERNAL, REASON(IO), false \
    }
#define ROW_CANCELLED                            \
    {                                            \
        GRPC_CANCELLED, REASON(CANCELLED), false \
    }
#define ROW_DEADLINE                                    \
    {                                                   \
        GRPC_DEADLINE_EXCEEDED, REASON(DEADLINE), false \
    }
#define ROW_DRAINING                             \
    {                                            \
        GRPC_UNAVAILABLE, REASON(DRAINING), true \
    }
#define ROW_INTERNAL                           \
    {                                          \
        GRPC_INTERNAL, REASON(INTERNAL), false \
    }

/* A code of codes.def without a ROW_ here does not compile. */
static const struct code_row code_rows[] = {
#define CODE(name, text) [EXEC_##name] = ROW_##name,
#include "exec/codes.def"
};
_Static_assert(sizeof code_rows / sizeof code_rows[0] == EXEC_CODE_COUNT, "one row a code");

/* What a bare status of a stranger (a proxy, an older server) means here. */
static const enum exec_code status_codes[GRPC_CODE_COUNT] = {
    [GRPC_OK] = EXEC_OK,
    [GRPC_CANCELLED] = EXEC_CANCELLED,
    [GRPC_UNKNOWN] = EXEC_INTERNAL,
    [GRPC_INVALID_ARGUMENT] = EXEC_BAD_SPEC,
    [GRPC_DEADLINE_EXCEEDED] = EXEC_DEADLINE,
    [GRPC_NOT_FOUND] = EXEC_TABLE_NOT_FOUND,
    [GRPC_ALREADY_EXISTS] = EXEC_EXISTS,
    [GRPC_PERMISSION_DENIED] = EXEC_PATH_DENIED,
    [GRPC_RESOURCE_EXHAUSTED] = EXEC_BUSY,
    [GRPC_FAILED_PRECONDITION] = EXEC_SCHEMA_MISMATCH,
    [GRPC_ABORTED] = EXEC_INTERNAL,
    [GRPC_OUT_OF_RANGE] = EXEC_OVERFLOW,
    [GRPC_UNIMPLEMENTED] = EXEC_NOT_IMPLEMENTED,
    [GRPC_INTERNAL] = EXEC_INTERNAL,
    [GRPC_UNAVAILABLE] = EXEC_DRAINING,
    [GRPC_DATA_LOSS] = EXEC_BAD_DATA,
    [GRPC_UNAUTHENTICATED] = EXEC_PATH_DENIED,
};

static const char error_domain[] = "morsel";
static const char type_prefix[] = "type.googleapis.com/";
enum {
    DETAILS_PROTOBUF_BYTES = 3072,
    DETAIL_BYTES = 1200, /* of one packed detail; its texts are no longer than exec_error.detail */
    DETAILS_MAX = 3,
    TYPE_URL_BYTES = 96,
    DETAILS_DECODED_BYTES_MAX = 65536,
};

enum grpc_code wire_error_grpc_code(enum exec_code code)
{
    return (size_t)code < EXEC_CODE_COUNT ? code_rows[code].grpc : GRPC_INTERNAL;
}

int wire_error_reason(enum exec_code code)
{
    return (size_t)code < EXEC_CODE_COUNT ? code_rows[code].reason : REASON(INTERNAL);
}

/* The details of one status while they are packed. */
struct details {
    uint8_t bytes[DETAILS_MAX][DETAIL_BYTES];
    char type_url[DETAILS_MAX][TYPE_URL_BYTES];
    Google__Protobuf__Any any[DETAILS_MAX];
    Google__Protobuf__Any *list[DETAILS_MAX];
    size_t count;
};

static void details_add(struct details *details, const ProtobufCMessage *message)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    const size_t at = details->count;

    if (size > DETAIL_BYTES) {
        return; /* cannot happen with texts cut to exec_error's size; better poorer than cut off */
    }
    google__protobuf__any__init(&details->any[at]);
    snprintf(details->type_url[at], TYPE_URL_BYTES, "%s%s", type_prefix, message->descriptor->name);
    details->any[at].type_url = details->type_url[at];
    details->any[at].value.data = details->bytes[at];
    details->any[at].value.len = protobuf_c_message_pack(message, details->bytes[at]);
    details->list[at] = &details->any[at];
    details->count++;
}

size_t wire_error_details_encode(const struct exec_error *error, uint64_t retry_after_ms,
                                 char text_out[GRPC_DETAILS_BYTES])
{
    struct details details = {.count = 0};
    uint8_t packed[DETAILS_PROTOBUF_BYTES];
    Morsel__V1__JobError job_error;
    Google__Rpc__ErrorInfo info;
    Google__Rpc__RetryInfo retry;
    Google__Protobuf__Duration delay;
    Google__Rpc__Status status;
    char text[sizeof error->detail];
    char reason[64];
    const bool retryable =
        (size_t)error->code < EXEC_CODE_COUNT && code_rows[error->code].retryable;

    morsel__v1__job_error__init(&job_error);
    google__rpc__error_info__init(&info);
    google__rpc__retry_info__init(&retry);
    google__protobuf__duration__init(&delay);
    google__rpc__status__init(&status);
    snprintf(text, sizeof text, "%s", error->detail);
    wire_utf8_clean(text);
    snprintf(reason, sizeof reason, "%s", exec_code_name(error->code));
    job_error.reason = (Morsel__V1__ErrorReason)wire_error_reason(error->code);
    job_error.message = text;
    job_error.rel = error->rel;
    job_error.expr = error->expr;
    job_error.line = error->line;
    job_error.column = error->column;
    job_error.retryable = retryable;
    details_add(&details, &job_error.base);

    char domain[sizeof error_domain];
    memcpy(domain, error_domain, sizeof domain);
    info.reason = reason;
    info.domain = domain;
    details_add(&details, &info.base);

    if (retryable && retry_after_ms != 0) {
        delay.seconds = (int64_t)(retry_after_ms / 1000);
        delay.nanos = (int32_t)(retry_after_ms % 1000 * 1000000);
        retry.retry_delay = &delay;
        details_add(&details, &retry.base);
    }

    status.code = (int32_t)wire_error_grpc_code(error->code);
    status.message = text;
    status.n_details = details.count;
    status.details = details.list;
    text_out[0] = '\0';
    if (google__rpc__status__get_packed_size(&status) > sizeof packed) {
        return 0;
    }
    const size_t size = google__rpc__status__pack(&status, packed);
    _Static_assert(BASE64_TEXT_BYTES(DETAILS_PROTOBUF_BYTES) <= GRPC_DETAILS_BYTES, "text_out");
    return base64_encode(packed, size, BASE64_UNPADDED, text_out);
}

static bool code_from_name(const char *name, enum exec_code *code_out)
{
    for (int code = EXEC_OK; code < EXEC_CODE_COUNT; code++) {
        if (strcmp(exec_code_name((enum exec_code)code), name) == 0) {
            *code_out = (enum exec_code)code;
            return true;
        }
    }
    return false;
}

static bool any_is(const Google__Protobuf__Any *any, const ProtobufCMessageDescriptor *descriptor)
{
    const char *name = strrchr(any->type_url, '/');
    return name != NULL && strcmp(name + 1, descriptor->name) == 0;
}

/* Details come from a server, but not necessarily from ours: what does not parse is left out. */
static void detail_read(const Google__Protobuf__Any *any, struct exec_error *error)
{
    struct exec_error ignored;
    ProtobufCMessage *message = NULL;

    if (any_is(any, &morsel__v1__job_error__descriptor)) {
        message = wire_unpack(&morsel__v1__job_error__descriptor, any->value.data, any->value.len,
                              &prescan_control_limits, &ignored);
        if (message != NULL) {
            const Morsel__V1__JobError *job_error = (const Morsel__V1__JobError *)message;
            error->rel = job_error->rel;
            error->expr = job_error->expr;
            error->line = job_error->line;
            error->column = job_error->column;
            if (job_error->message[0] != '\0') {
                snprintf(error->detail, sizeof error->detail, "%s", job_error->message);
            }
        }
    } else if (any_is(any, &google__rpc__error_info__descriptor)) {
        message = wire_unpack(&google__rpc__error_info__descriptor, any->value.data, any->value.len,
                              &prescan_control_limits, &ignored);
        if (message != NULL) {
            const Google__Rpc__ErrorInfo *info = (const Google__Rpc__ErrorInfo *)message;
            enum exec_code code;
            if (strcmp(info->domain, error_domain) == 0 && code_from_name(info->reason, &code) &&
                code != EXEC_OK) {
                error->code = code;
            }
        }
    }
    if (message != NULL) {
        protobuf_c_message_free_unpacked(message, NULL);
    }
}

void wire_error_from_status(enum grpc_code status, const char *message, const char *details,
                            size_t details_bytes, struct exec_error *error)
{
    struct exec_error ignored;
    Google__Rpc__Status *rich = NULL;
    uint8_t *bytes;
    size_t size;

    *error = (struct exec_error){.func = __func__};
    error->code = (size_t)status < GRPC_CODE_COUNT ? status_codes[status] : EXEC_INTERNAL;
    snprintf(error->detail, sizeof error->detail, "%s",
             message != NULL && message[0] != '\0' ? message : exec_code_text(error->code));
    if (status == GRPC_OK || details == NULL || details_bytes > DETAILS_DECODED_BYTES_MAX) {
        return;
    }
    bytes = malloc(details_bytes / 4 * 3 + 3);
    if (bytes == NULL) {
        return;
    }
    if (base64_decode(details, details_bytes, bytes, &size)) {
        rich = (Google__Rpc__Status *)wire_unpack(&google__rpc__status__descriptor, bytes, size,
                                                  &prescan_control_limits, &ignored);
    }
    for (size_t i = 0; rich != NULL && i < rich->n_details; i++) {
        detail_read(rich->details[i], error);
    }
    if (rich != NULL) {
        google__rpc__status__free_unpacked(rich, NULL);
    }
    free(bytes);
}
