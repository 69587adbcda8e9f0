#ifndef EXEC_PLAN_SPEC_H
#define EXEC_PLAN_SPEC_H

#include "exec/error.h"
#include "exec/job_spec.h"
#include "numa/arena.h"

/* What submit does with a spec: check its shape, copy it. Neither looks at tables, files or types.
 */

/* EXEC_OK, or EXEC_BAD_SPEC or EXEC_NOT_IMPLEMENTED with err->rel or err->expr set and a detail
 * that names the field. Afterwards every reference is in range and points backwards, every relation
 * but the last is used, the plan unfolded into a tree has at most SPEC_TREE_RELS_MAX relations, and
 * no expression unfolds beyond SPEC_NODES_MAX or SPEC_DEPTH_MAX. */
enum { SPEC_TREE_RELS_MAX = 1024 };
enum { SPEC_NODES_MAX = 65536, SPEC_DEPTH_MAX = 512 };
enum exec_code spec_check(const struct exec_job_spec *spec, struct exec_error *err);

/* A deep copy in `arena` of a spec that passed the check. NULL: out of memory. */
struct exec_job_spec *spec_copy(const struct exec_job_spec *spec, struct nu_arena *arena);

const char *spec_rel_name(enum exec_rel_kind kind);   /* "scan", "union all" */
const char *spec_join_name(enum exec_join_kind kind); /* "left semi" */

#endif
