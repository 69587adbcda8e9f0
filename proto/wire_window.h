#ifndef PROTO_WIRE_WINDOW_H
#define PROTO_WIRE_WINDOW_H

#include "exec/job_spec.h"
#include "morsel/v1/plan.pb-c.h"
#include "wire_memory.h"
#include "wire_reader.h"

/* Window relations. Contracts as in wire_rel.h. */

enum exec_code wire_window_read(const struct wire_reader *reader,
                                const Morsel__V1__WindowRel *message, struct exec_rel *rel);
bool wire_window_write(struct wire_memory *memory, const struct exec_rel *rel,
                       Morsel__V1__WindowRel *window);

#endif
