#ifndef CLIENT_MORSEL_ERROR_H
#define CLIENT_MORSEL_ERROR_H

#include "exec/error.h"
#include "grpc_call.h"
#include "morsel.h"

/* The one place that fills struct morsel_error. All return -1, and take err NULL. */

int morsel_error_of_call(struct morsel_error *err, const struct grpc_call *call);
int morsel_error_of_exec(struct morsel_error *err, enum morsel_fault fault,
                         const struct exec_error *error);
int morsel_error_set(struct morsel_error *err, enum morsel_fault fault, enum exec_code code,
                     const char *fmt, ...) EXEC_PRINTF(4, 5);

/* And back: what the command line shows remote and embedded failures by. */
void morsel_error_to_exec(const struct morsel_error *err, struct exec_error *error_out);

#endif
