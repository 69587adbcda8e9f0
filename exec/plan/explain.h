#ifndef EXEC_PLAN_EXPLAIN_H
#define EXEC_PLAN_EXPLAIN_H

#include "plan/plan.h"

/* The lowered plan as a readable tree and as JSON, both in the plan arena: relations with estimated
 * rows, build sides, predicates and how many of them came from above, then the pipes. With `ran`
 * (the job's, after its end) also the real rows, times, and each worker's morsels. EXEC_OK or
 * EXEC_MEMORY_BUDGET. */
enum exec_code plan_explain(const struct plan *plan, const struct sched_job *ran,
                            uint64_t elapsed_ns, char **text_out, char **json_out,
                            struct exec_error *err);

#endif
