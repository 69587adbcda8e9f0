#ifndef EXEC_PLAN_EXPLAIN_FIGURES_H
#define EXEC_PLAN_EXPLAIN_FIGURES_H

#include "plan/plan.h"
#include "plan/text.h"

/* Below the tree of an explained plan: its pipes and, when it has run, what each worker did. Both
 * write a part of the text and members of the JSON object. */
void explain_pipes(const struct plan *plan, bool has_run, struct text *text, struct text *json);
void explain_workers(const struct plan *plan, const struct sched_job *ran, uint64_t elapsed_ns,
                     struct text *text, struct text *json);

#endif
