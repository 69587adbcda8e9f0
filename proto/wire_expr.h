#ifndef WIRE_EXPR_H
#define WIRE_EXPR_H

#include "exec/job_spec.h"
#include "morsel/v1/plan.pb-c.h"
#include "wire_reader.h"

/* One expression of the pool, both ways. Reading borrows from the message, writing copies. */
enum exec_code wire_expr_read(const struct wire_reader *reader, const Morsel__V1__Expr *message,
                              struct exec_expr *expr_out);
Morsel__V1__Expr *wire_expr_write(struct wire_memory *memory, const struct exec_expr *expr);

/* A list of literals; what it makes lives in the reader's memory. */
enum exec_code wire_literals_read(const struct wire_reader *reader, const char *field,
                                  Morsel__V1__Literal *const *messages, size_t count,
                                  const struct exec_literal **literals_out);
bool wire_literals_write(struct wire_memory *memory, const struct exec_literal *literals,
                         size_t count, size_t *count_out, Morsel__V1__Literal ***messages_out);

/* A list of indices, copied. */
bool wire_indices_write(struct wire_memory *memory, const uint32_t *indices, size_t count,
                        size_t *count_out, uint32_t **indices_out);

#endif
