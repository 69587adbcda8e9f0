#include "op/job_context.h"

#include <inttypes.h>

/* One wording for every refusal of memory. */

enum exec_code job_memory_error(struct exec_error *err, const struct nu_budget *refused,
                                const char *what)
{
    if (refused == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "%s: the system has no memory left", what);
    }
    return EXEC_FAIL(err, EXEC_MEMORY_BUDGET,
                     "%s: the memory limit of the %s, %" PRIu64
                     " bytes, does not allow any more (%" PRIu64 " in use)",
                     what, refused->name, refused->limit_bytes, nu_budget_used(refused));
}
