#ifndef PROTO_GRPC_STATUS_H
#define PROTO_GRPC_STATUS_H

#include "exec/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum grpc_code {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_ALREADY_EXISTS = 6,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_DATA_LOSS = 15,
    GRPC_UNAUTHENTICATED = 16,
    GRPC_CODE_COUNT
};

const char *grpc_code_name(enum grpc_code code); /* "INVALID_ARGUMENT" */

/* exec_code <-> gRPC status and JobError reason: the only place that knows both (wire_error.c). */
enum grpc_code wire_error_grpc_code(enum exec_code code);
int wire_error_reason(enum exec_code code); /* Morsel__V1__ErrorReason */

/* grpc-message: UTF-8 cut at 1 KiB, then percent-encoded. text_out holds 3 * 1024 + 1 bytes.
 * Decoding never fails; a broken escape stays as it is. */
enum { GRPC_MESSAGE_BYTES = 1024, GRPC_MESSAGE_ENCODED_BYTES = 3 * GRPC_MESSAGE_BYTES + 1 };
size_t grpc_message_encode(const char *message, char *text_out);
void grpc_message_decode(const char *text, size_t text_bytes, char *message_out,
                         size_t message_bytes);

/* grpc-status-details-bin: unpadded base64 of google.rpc.Status{code, message, details: [JobError,
 * ErrorInfo, RetryInfo when retryable]}; at most 3 KiB of protobuf. Returns the text's length. */
enum { GRPC_DETAILS_BYTES = 4200 };
size_t wire_error_details_encode(const struct exec_error *error, uint64_t retry_after_ms,
                                 char text_out[GRPC_DETAILS_BYTES]);
/* The client's way back: fills *error from status, message and details (NULL: none; padded or not).
 * The exec_code comes from ErrorInfo.reason (the code's name) and, without it, from the status. */
void wire_error_from_status(enum grpc_code status, const char *message, const char *details,
                            size_t details_bytes, struct exec_error *error);

/* grpc-timeout: at most 8 digits and one of H M S m u n. */
bool grpc_timeout_parse(const char *text, size_t text_bytes, uint64_t *timeout_ns_out);
void grpc_timeout_format(uint64_t timeout_ns, char text_out[16]);

#endif
