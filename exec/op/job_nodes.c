#include "op/job_context.h"

struct nu_arena *job_node_arena(struct job_context *job, unsigned node)
{
    if (job->node_arenas == NULL) {
        struct nu_arena *arenas =
            nu_arena_alloc(&job->plan, job->node_count * sizeof *arenas, _Alignof(struct nu_arena));
        if (arenas == NULL) {
            return NULL;
        }
        for (uint32_t n = 0; n < job->node_count; n++) {
            nu_arena_init(&arenas[n], job->pages, n, &job->budget);
        }
        job->node_arenas = arenas;
    }
    return &job->node_arenas[node];
}
