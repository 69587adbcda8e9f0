#include "plan/explain_figures.h"

#include "plan/profile.h"

#include <inttypes.h>

void explain_pipes(const struct plan *plan, bool has_run, struct text *text, struct text *json)
{
    text_add(text, "pipes\n");
    text_add(json, ",\"pipes\":[");
    for (uint32_t p = 0; p < plan->pipe_count; p++) {
        const struct pipe *pipe = plan->pipes[p];
        struct text steps = {.arena = text->arena};

        plan_pipe_steps(&steps, pipe);
        text_add(text, "  %" PRIu32 " %s", pipe->number, steps.bytes == NULL ? "" : steps.bytes);
        text_add(json, "%s{\"pipe\":%" PRIu32 ",\"steps\":", p == 0 ? "" : ",", pipe->number);
        text_add_json_string(json, steps.bytes == NULL ? "" : steps.bytes);
        if (has_run) {
            const uint64_t busy_ns = atomic_load_explicit(&pipe->busy_ns, memory_order_relaxed);
            const uint64_t morsels = atomic_load_explicit(&pipe->morsels, memory_order_relaxed);
            const uint64_t rows =
                atomic_load_explicit(&pipe->source->rows_out, memory_order_relaxed);
            text_add(text, "  rows %" PRIu64 "  morsels %" PRIu64 "  busy %.3f ms", rows, morsels,
                     (double)busy_ns / 1e6);
            text_add(json, ",\"rows\":%" PRIu64 ",\"morsels\":%" PRIu64 ",\"busy_ns\":%" PRIu64,
                     rows, morsels, busy_ns);
        }
        text_add(text, "\n");
        text_add(json, "}");
    }
    text_add(json, "]");
}

static void explain_worker(const struct job_context *job, const struct sched_job *ran, uint32_t w,
                           struct text *text, struct text *json)
{
    static const uint64_t no_steals[NU_LEVEL_COUNT];
    const struct job_worker *of = &job->workers[w];
    const uint64_t *steals = ran->shares != NULL ? ran->shares[w].steals : no_steals;
    const uint64_t morsels_far = of->morsels_remote - of->morsels_socket;
    const uint64_t rows_far = of->rows_remote - of->rows_socket;

    text_add(text,
             "  %" PRIu32 " node %u  morsels local %" PRIu64 " socket %" PRIu64 " remote %" PRIu64
             "  rows local %" PRIu64 " socket %" PRIu64 " remote %" PRIu64,
             w, job->worker_node[w], of->morsels_local, of->morsels_socket, morsels_far,
             of->rows_local, of->rows_socket, rows_far);
    text_add(text,
             "  steals smt %" PRIu64 " l3 %" PRIu64 " node %" PRIu64 " remote %" PRIu64
             "  busy %.3f search %.3f park %.3f ms  waits credit %" PRIu64 " (%.3f ms) io %" PRIu64
             " (%.3f ms)\n",
             steals[NU_LEVEL_SMT], steals[NU_LEVEL_L3], steals[NU_LEVEL_NODE],
             steals[NU_LEVEL_REMOTE], (double)of->busy_ns / 1e6, (double)of->search_ns / 1e6,
             (double)of->parked_ns / 1e6, of->credit_waits, (double)of->credit_wait_ns / 1e6,
             of->io_waits, (double)of->io_wait_ns / 1e6);
    text_add(json,
             "%s{\"worker\":%" PRIu32 ",\"node\":%u,\"morsels_local\":%" PRIu64
             ",\"morsels_socket\":%" PRIu64 ",\"morsels_remote\":%" PRIu64
             ",\"rows_local\":%" PRIu64 ",\"rows_socket\":%" PRIu64 ",\"rows_remote\":%" PRIu64,
             w == 0 ? "" : ",", w, job->worker_node[w], of->morsels_local, of->morsels_socket,
             morsels_far, of->rows_local, of->rows_socket, rows_far);
    text_add(json,
             ",\"steals_smt\":%" PRIu64 ",\"steals_l3\":%" PRIu64 ",\"steals_node\":%" PRIu64
             ",\"steals_remote\":%" PRIu64 ",\"busy_ns\":%" PRIu64 ",\"search_ns\":%" PRIu64
             ",\"parked_ns\":%" PRIu64 ",\"credit_waits\":%" PRIu64 ",\"credit_wait_ns\":%" PRIu64
             ",\"io_waits\":%" PRIu64 ",\"io_wait_ns\":%" PRIu64 "}",
             steals[NU_LEVEL_SMT], steals[NU_LEVEL_L3], steals[NU_LEVEL_NODE],
             steals[NU_LEVEL_REMOTE], of->busy_ns, of->search_ns, of->parked_ns, of->credit_waits,
             of->credit_wait_ns, of->io_waits, of->io_wait_ns);
}

void explain_workers(const struct plan *plan, const struct sched_job *ran, uint64_t elapsed_ns,
                     struct text *text, struct text *json)
{
    const struct job_context *job = plan->job;
    const uint64_t steals = atomic_load_explicit(&ran->steals, memory_order_relaxed);
    const uint64_t peak = atomic_load_explicit(&job->budget.peak_bytes, memory_order_relaxed);

    text_add(text, "elapsed %.3f ms  steals %" PRIu64 "  memory peak %" PRIu64 " bytes\nworkers\n",
             (double)elapsed_ns / 1e6, steals, peak);
    text_add(json,
             ",\"elapsed_ns\":%" PRIu64 ",\"steals\":%" PRIu64 ",\"memory_peak_bytes\":%" PRIu64
             ",\"workers\":[",
             elapsed_ns, steals, peak);
    for (uint32_t w = 0; w < job->worker_count; w++) {
        explain_worker(job, ran, w, text, json);
    }
    text_add(json, "]");
}
