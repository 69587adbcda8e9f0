#ifndef EXEC_OP_LIMIT_H
#define EXEC_OP_LIMIT_H

#include "op/pipe.h"

struct job_context;

/* Drops the first `offset` rows and passes the next `count` (UINT64_MAX: all); then stops its pipe.
 * Which rows are first is decided by arrival: input order where the source is serial, any legal
 * choice elsewhere. NULL: out of memory. */
struct operator*
    limit_create(struct job_context *job, uint32_t rel, uint64_t offset, uint64_t count);

#endif
