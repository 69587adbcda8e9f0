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

#endif
