#ifndef EXEC_PLAN_PROFILE_H
#define EXEC_PLAN_PROFILE_H

#include "plan/plan.h"
#include "plan/text.h"

/* What a plan that has run did, by relation and by pipe. */

struct plan_profile {
    struct exec_job_relation *relations; /* inputs before users */
    uint32_t relation_count;
    struct exec_job_pipe *pipes;
    uint32_t pipe_count;
};

/* In the plan arena; for explain, for profiles and for the names of a trace. EXEC_OK or
 * EXEC_MEMORY_BUDGET, with nothing in *out. */
enum exec_code plan_profile(const struct plan *plan, struct plan_profile *out,
                            struct exec_error *err);

/* Rows the relation gave, predicates applied. */
uint64_t plan_rel_rows(const struct plan_rel *rel);
/* Worker time of every operator of the relation (1-based index of the spec), of profiled jobs. */
uint64_t plan_rel_busy_ns(const struct plan *plan, uint32_t rel);

/* "inner join, build side right" */
void plan_rel_headline(struct text *text, const struct plan_rel *rel);
const char *plan_window_name(enum exec_window_function function);
/* "table scan (1) -> filter (2) -> group (3)" */
void plan_pipe_steps(struct text *text, const struct pipe *pipe);

#endif
