#ifndef ARROW_BATCH_H
#define ARROW_BATCH_H

#include "arrow_dictionary.h"
#include "arrow_flatbuffers.h"
#include "proto/arrow_reader.h"

/* From a verified message and its body to columns. Every buffer is checked to lie inside the body
 * and to be long enough for the rows. */

/* dictionaries: one a field, NULL where the field has none or it has not come yet. On EXEC_OK the
 * batch owns `body` and references to the dictionaries; otherwise `body` stays the caller's. */
enum exec_code arrow_batch_build(const struct arrow_message *message,
                                 const struct arrow_field *fields, uint32_t field_count, void *body,
                                 size_t body_bytes, struct arrow_dictionary *const *dictionaries,
                                 struct arrow_batch *batch, struct exec_error *err);

/* The one column of a dictionary message whose values are like `field`'s. Points into the body. */
enum exec_code arrow_batch_dictionary(const struct arrow_message *message,
                                      const struct arrow_field *field, const void *body,
                                      size_t body_bytes, struct exec_column_buffers *column_out,
                                      struct exec_error *err);

#endif
