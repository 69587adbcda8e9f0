#include "morsel_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct morsel_error *err, enum morsel_fault fault, enum grpc_code status,
                 const struct exec_error *error)
{
    *err = (struct morsel_error){
        .fault = fault,
        .grpc_status = (int)status,
        .rel = error->rel,
        .expr = error->expr,
        .line = error->line,
        .column = error->column,
        .retryable = fault == MORSEL_FAULT_CONNECT ||
                     (fault == MORSEL_FAULT_SERVER &&
                      (error->code == EXEC_BUSY || error->code == EXEC_DRAINING)),
    };
    snprintf(err->grpc_name, sizeof err->grpc_name, "%s", grpc_code_name(status));
    snprintf(err->code_name, sizeof err->code_name, "%s", exec_code_name(error->code));
    snprintf(err->message, sizeof err->message, "%s", error->detail);
}

int morsel_error_of_exec(struct morsel_error *err, enum morsel_fault fault,
                         const struct exec_error *error)
{
    if (err != NULL) {
        fill(err, fault, wire_error_grpc_code(error->code), error);
    }
    return -1;
}

int morsel_error_set(struct morsel_error *err, enum morsel_fault fault, enum exec_code code,
                     const char *fmt, ...)
{
    struct exec_error error = {.code = code};
    va_list args;

    if (err == NULL) {
        return -1;
    }
    va_start(args, fmt);
    vsnprintf(error.detail, sizeof error.detail, fmt, args);
    va_end(args);
    fill(err, fault, wire_error_grpc_code(code), &error);
    if (fault == MORSEL_FAULT_CONNECT || fault == MORSEL_FAULT_TRANSPORT) {
        err->grpc_status = GRPC_UNAVAILABLE;
        snprintf(err->grpc_name, sizeof err->grpc_name, "%s", grpc_code_name(GRPC_UNAVAILABLE));
    }
    return -1;
}

int morsel_error_of_call(struct morsel_error *err, const struct grpc_call *call)
{
    struct exec_error error = {0};
    enum morsel_fault fault = MORSEL_FAULT_TRANSPORT;

    if (err == NULL) {
        return -1;
    }
    switch (call->end) {
        case CALL_STATUS:
            fault = MORSEL_FAULT_SERVER;
            wire_error_from_status(call->status, call->message,
                                   call->details_bytes > 0 ? call->details : NULL,
                                   call->details_bytes, &error);
            break;
        case CALL_DEADLINE:
            fault = MORSEL_FAULT_DEADLINE;
            error.code = EXEC_DEADLINE;
            break;
        case CALL_INTERRUPTED:
            fault = MORSEL_FAULT_CANCELLED;
            error.code = EXEC_CANCELLED;
            break;
        case CALL_LOCAL:
            fault = MORSEL_FAULT_DATA;
            error.code = EXEC_INTERNAL;
            break;
        case CALL_REFUSED: error.code = EXEC_BUSY; break;
        case CALL_TRANSPORT:
        case CALL_OPEN: error.code = EXEC_IO; break;
    }
    if (error.detail[0] == '\0') {
        snprintf(error.detail, sizeof error.detail, "%.*s", (int)sizeof error.detail - 1,
                 call->message[0] != '\0' ? call->message : exec_code_text(error.code));
    }
    fill(err, fault, call->status, &error);
    if (call->end == CALL_REFUSED) {
        err->retryable = true;
    }
    return -1;
}

void morsel_error_to_exec(const struct morsel_error *err, struct exec_error *error_out)
{
    *error_out = (struct exec_error){
        .code = EXEC_INTERNAL,
        .rel = err->rel,
        .expr = err->expr,
        .line = err->line,
        .column = err->column,
    };
    for (int code = 0; code < EXEC_CODE_COUNT; code++) {
        if (strcmp(exec_code_name((enum exec_code)code), err->code_name) == 0) {
            error_out->code = (enum exec_code)code;
        }
    }
    snprintf(error_out->detail, sizeof error_out->detail, "%.*s", (int)sizeof error_out->detail - 1,
             err->message);
}
