#include "op/pipe_count.h"

#include "op/pipe_life.h"

uint32_t pipe_times_move(struct pipe_times *times, uint32_t place)
{
    const uint64_t now_ns = pipe_clock_ns();
    const uint32_t from = times->place;

    times->ns[from] += now_ns - times->stamp_ns;
    times->stamp_ns = now_ns;
    times->place = place;
    return from;
}

static struct trace_ring *ring_of(const struct pipe *pipe, uint32_t worker)
{
    const struct sched_job *job = pipe->sched.job;

    return job != NULL && job->shares != NULL ? &job->shares[worker].trace : NULL;
}

static void trace(const struct pipe *pipe, uint32_t worker, const struct exec_trace_event *event)
{
    struct trace_ring *ring = ring_of(pipe, worker);

    if (ring != NULL) {
        trace_ring_add(ring, event);
    }
}

/* ---- morsels -------------------------------------------------------------------------------- */

static void count_worker(const struct pipe_run *run, const struct sched_range *range,
                         uint64_t busy_ns)
{
    struct job_worker *own = &run->job->workers[run->worker];
    const uint16_t *sockets = run->job->node_socket;
    const uint64_t rows = run->rows[0];

    own->busy_ns += busy_ns;
    if (range->node == run->node) {
        own->morsels_local++;
        own->rows_local += rows;
    } else {
        own->morsels_remote++;
        own->rows_remote += rows;
        if (sockets != NULL && sockets[range->node] == sockets[run->node]) {
            own->morsels_socket++;
            own->rows_socket += rows;
        }
    }
}

static void count_times(const struct pipe_run *run)
{
    struct pipe *pipe = run->pipe;

    (void)pipe_times_move(run->times, 0); /* what the source has had since the last push */
    const uint64_t *ns = run->times->ns;
    atomic_fetch_add_explicit(&pipe->source->busy_ns, ns[0], memory_order_relaxed);
    for (uint32_t i = 0; i < pipe->op_count; i++) {
        atomic_fetch_add_explicit(&pipe->ops[i]->busy_ns, ns[i + 1], memory_order_relaxed);
    }
    if (pipe->sink != NULL) {
        atomic_fetch_add_explicit(&pipe->sink->busy_ns, ns[pipe->op_count + 1],
                                  memory_order_relaxed);
    }
}

void pipe_count_morsel(const struct pipe_run *run, const struct sched_range *range,
                       uint64_t begin_units, uint64_t started_ns, uint64_t ended_ns)
{
    struct pipe *pipe = run->pipe;
    const uint64_t busy_ns = ended_ns - started_ns;

    count_worker(run, range, busy_ns);
    if (run->times != NULL) {
        count_times(run);
    }
    /* relaxed: figures, read by status and explain only. */
    atomic_fetch_add_explicit(&pipe->busy_ns, busy_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&pipe->morsels, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&pipe->source->rows_out, run->rows[0], memory_order_relaxed);
    for (uint32_t i = 0; i < pipe->op_count; i++) {
        atomic_fetch_add_explicit(&pipe->ops[i]->rows_out, run->rows[i + 1], memory_order_relaxed);
    }
    if (pipe->sink != NULL) {
        atomic_fetch_add_explicit(&pipe->sink->rows_in, run->rows[pipe->op_count],
                                  memory_order_relaxed);
    }
    trace(pipe, run->worker,
          &(struct exec_trace_event){
              .begin_ns = started_ns,
              .end_ns = ended_ns,
              .rows = run->rows[0],
              .units = range->begin - begin_units,
              .pipe = pipe->number,
              .peer = range->node,
              .kind = EXEC_TRACE_MORSEL,
          });
}

/* ---- waits and ends ------------------------------------------------------------------------- */

void pipe_count_wait(const struct pipe_run *run, const struct pipe_suspended *suspended,
                     uint64_t now_ns)
{
    struct job_worker *own = &run->job->workers[run->worker];
    const uint64_t wait_ns = now_ns - suspended->parked_ns;
    const bool for_file = suspended->waits_for_source;

    if (for_file) {
        own->io_waits++;
        own->io_wait_ns += wait_ns;
    } else {
        own->credit_waits++;
        own->credit_wait_ns += wait_ns;
    }
    trace(run->pipe, run->worker,
          &(struct exec_trace_event){
              .begin_ns = suspended->parked_ns,
              .end_ns = now_ns,
              .pipe = run->pipe->number,
              .kind = for_file ? EXEC_TRACE_WAIT_IO : EXEC_TRACE_WAIT_CREDIT,
          });
}

void pipe_count_finish(struct pipe *pipe, uint32_t worker, uint64_t started_ns)
{
    const uint64_t now_ns = pipe_clock_ns();

    if (pipe->sink != NULL) {
        atomic_fetch_add_explicit(&pipe->sink->busy_ns, now_ns - started_ns, memory_order_relaxed);
    }
    trace(pipe, worker,
          &(struct exec_trace_event){
              .begin_ns = started_ns,
              .end_ns = now_ns,
              .pipe = pipe->number,
              .kind = EXEC_TRACE_FINISH,
          });
}
