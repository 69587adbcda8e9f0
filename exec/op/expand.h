#ifndef EXEC_OP_EXPAND_H
#define EXEC_OP_EXPAND_H

#include "expr/expr.h"
#include "op/pipe.h"

struct job_context;

/* Grouping sets: every row once a set, with the keys that are not in the set NULL. Output columns:
 * those of the input, the set's number (int64, from 1), the keys. Nothing is copied: a set's batch
 * borrows the keys, evaluated once. Borrowed from the plan arena. */
struct expand_plan {
    uint32_t rel;
    uint32_t input_columns;
    struct expr *const *keys; /* at most EXEC_KEYS_MAX */
    uint32_t key_count;
    const uint32_t *kept; /* per set: bit k: key k is in it */
    uint32_t set_count;
};

/* NULL: out of memory. */
struct operator* expand_create(struct job_context *job, const struct expand_plan *plan);

#endif
