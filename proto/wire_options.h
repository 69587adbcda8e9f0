#ifndef WIRE_OPTIONS_H
#define WIRE_OPTIONS_H

#include "exec/job_spec.h"
#include "morsel/v1/job_service.pb-c.h"
#include "wire_reader.h"

#include <stdbool.h>

/* JobOptions, both ways. progress_interval, profile and labels are the server's own. */
enum exec_code wire_options_read(const struct wire_reader *reader,
                                 const Morsel__V1__JobOptions *message,
                                 struct exec_job_options *options_out);
/* NULL: no memory. */
Morsel__V1__JobOptions *wire_options_write(struct wire_memory *memory,
                                           const struct exec_job_options *options);

#endif
