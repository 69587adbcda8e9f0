#ifndef WIRE_REL_H
#define WIRE_REL_H

#include "exec/job_spec.h"
#include "morsel/v1/plan.pb-c.h"
#include "wire_reader.h"

/* One relation, both ways. Reading borrows from the message, writing copies. */
enum exec_code wire_rel_read(const struct wire_reader *reader, const Morsel__V1__Rel *message,
                             struct exec_rel *rel_out);
Morsel__V1__Rel *wire_rel_write(struct wire_memory *memory, const struct exec_rel *rel);

/* Scans, the widest of them, live in wire_scan.c. */
enum exec_code wire_scan_read(const struct wire_reader *reader, const Morsel__V1__ScanRel *message,
                              struct exec_rel *rel);
Morsel__V1__ScanRel *wire_scan_write(struct wire_memory *memory, const struct exec_rel *rel);

/* What sorts, windows and measures have in common. A count of rows that is not set is -1. */
enum exec_code wire_sort_keys_read(const struct wire_reader *reader, const char *field,
                                   Morsel__V1__SortKey *const *messages, size_t count,
                                   const struct exec_sort_key **keys_out);
bool wire_sort_keys_write(struct wire_memory *memory, const struct exec_sort_key *keys,
                          size_t count, size_t *count_out, Morsel__V1__SortKey ***messages_out);
enum exec_code wire_row_count_read(const struct wire_reader *reader, const char *field,
                                   const Morsel__V1__Int64Value *message, int64_t *count_out);
bool wire_row_count_write(struct wire_memory *memory, int64_t count,
                          Morsel__V1__Int64Value **message_out);

#endif
