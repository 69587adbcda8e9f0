#include "profile_message.h"

#include "job_message.h"

#include <stdlib.h>

/* ---- Profile ----------------------------------------------------------------------------------
 */

/* A message, the durations it points to, and its place in the list. */
struct worker_row {
    Morsel__V1__WorkerProfile message;
    Google__Protobuf__Duration busy, search, parked, credit_wait, io_wait;
};
struct relation_row {
    Morsel__V1__OperatorProfile message;
    Google__Protobuf__Duration cpu;
};
struct pipe_row {
    Morsel__V1__PipelineProfile message;
    Google__Protobuf__Duration busy;
};

struct profile {
    Morsel__V1__Profile message; /* first */
    Google__Protobuf__Duration wall, cpu;
};

static Google__Protobuf__Duration *duration(uint64_t ns, Google__Protobuf__Duration *out)
{
    job_message_duration(ns, out);
    return out;
}

static void worker_fill(const struct exec_job *job, uint32_t worker, struct worker_row *row)
{
    Morsel__V1__WorkerProfile *message = &row->message;
    struct exec_job_worker of;

    exec_job_worker(job, worker, &of);
    morsel__v1__worker_profile__init(message);
    message->worker = worker;
    message->node = of.node;
    message->morsels_local = of.morsels_local;
    message->morsels_socket = of.morsels_socket;
    message->morsels_remote = of.morsels_remote;
    message->rows_local = of.rows_local;
    message->rows_socket = of.rows_socket;
    message->rows_remote = of.rows_remote;
    message->steals = of.steals_smt + of.steals_l3 + of.steals_node + of.steals_remote;
    message->steals_smt = of.steals_smt;
    message->steals_l3 = of.steals_l3;
    message->steals_node = of.steals_node;
    message->steals_remote = of.steals_remote;
    message->busy = duration(of.busy_ns, &row->busy);
    message->search = duration(of.search_ns, &row->search);
    message->parked = duration(of.parked_ns, &row->parked);
    message->credit_waits = of.credit_waits;
    message->credit_wait = duration(of.credit_wait_ns, &row->credit_wait);
    message->io_waits = of.io_waits;
    message->io_wait = duration(of.io_wait_ns, &row->io_wait);
}

static void relation_fill(const struct exec_job_relation *of, struct relation_row *row)
{
    morsel__v1__operator_profile__init(&row->message);
    row->message.rel = of->rel;
    row->message.name = (char *)(uintptr_t)of->name;
    row->message.rows_in = of->rows_in;
    row->message.rows_out = of->rows_out;
    row->message.rows_estimate = of->rows_estimate;
    row->message.cpu = duration(of->busy_ns, &row->cpu);
}

static void pipe_fill(const struct exec_job_pipe *of, struct pipe_row *row)
{
    morsel__v1__pipeline_profile__init(&row->message);
    row->message.pipeline = of->number;
    row->message.steps = (char *)(uintptr_t)of->steps;
    row->message.rows = of->rows;
    row->message.morsels = of->morsels;
    row->message.busy = duration(of->busy_ns, &row->busy);
}

static void profile_totals(struct profile *profile, const struct exec_job *job)
{
    Morsel__V1__Profile *message = &profile->message;
    struct exec_job_status status;

    exec_job_status(job, &status);
    morsel__v1__profile__init(message);
    message->wall = duration(status.elapsed_ns, &profile->wall);
    message->cpu = duration(status.busy_ns, &profile->cpu);
    message->peak_memory_bytes = status.memory_peak_bytes;
    message->remote_numa_morsels = status.morsels_remote;
    message->stolen_morsels = status.steals;
}

Morsel__V1__Profile *profile_message(const struct exec_engine *engine, const struct exec_job *job)
{
    const uint32_t workers = exec_engine_worker_count(engine);
    const uint32_t relations = exec_job_relation_count(job), pipes = exec_job_pipe_count(job);
    const size_t rows_bytes = workers * sizeof(struct worker_row) +
                              relations * sizeof(struct relation_row) +
                              pipes * sizeof(struct pipe_row);
    const size_t list_bytes = ((size_t)workers + relations + pipes) * sizeof(void *);
    struct profile *profile = calloc(1, sizeof *profile + rows_bytes + list_bytes);

    if (profile == NULL) {
        return NULL;
    }
    struct worker_row *worker_rows = (struct worker_row *)(void *)(profile + 1);
    struct relation_row *relation_rows = (struct relation_row *)(void *)(worker_rows + workers);
    struct pipe_row *pipe_rows = (struct pipe_row *)(void *)(relation_rows + relations);
    void **list = (void **)(void *)(pipe_rows + pipes);
    Morsel__V1__Profile *message = &profile->message;

    profile_totals(profile, job);
    message->n_workers = workers;
    message->workers = (Morsel__V1__WorkerProfile **)(void *)list;
    for (uint32_t i = 0; i < workers; i++) {
        worker_fill(job, i, &worker_rows[i]);
        *list++ = &worker_rows[i].message;
    }
    message->n_operators = relations;
    message->operators = (Morsel__V1__OperatorProfile **)(void *)list;
    for (uint32_t i = 0; i < relations; i++) {
        relation_fill(exec_job_relation(job, i), &relation_rows[i]);
        *list++ = &relation_rows[i].message;
    }
    message->n_pipelines = pipes;
    message->pipelines = (Morsel__V1__PipelineProfile **)(void *)list;
    for (uint32_t i = 0; i < pipes; i++) {
        pipe_fill(exec_job_pipe(job, i), &pipe_rows[i]);
        *list++ = &pipe_rows[i].message;
    }
    return message;
}

/* ---- Trace ------------------------------------------------------------------------------------
 */

uint32_t trace_events_max(const struct exec_engine *engine)
{
    enum { TRACE_EVENTS_ALL = 1 << 18 };

    const uint32_t most = TRACE_EVENTS_ALL / exec_engine_worker_count(engine);
    return most < EXEC_TRACE_EVENTS_MAX ? most : EXEC_TRACE_EVENTS_MAX;
}

struct trace_messages *trace_messages_create(const struct exec_engine *engine,
                                             const struct exec_job *job)
{
    const uint32_t room = exec_job_trace_room(job);
    struct trace_messages *messages = room != 0 ? calloc(1, sizeof *messages) : NULL;
    uint64_t ended_ns;

    if (messages == NULL) {
        return NULL;
    }
    messages->engine = engine;
    messages->job = job;
    messages->events = calloc(room, sizeof *messages->events);
    messages->profile = profile_message(engine, job);
    if (messages->events == NULL || messages->profile == NULL) {
        trace_messages_destroy(messages);
        return NULL;
    }
    exec_job_times(job, &messages->submitted_ns, &ended_ns);
    return messages;
}

void trace_messages_destroy(struct trace_messages *messages)
{
    free(messages->profile);
    free(messages->events);
    free(messages);
}

static void trace_event_fill(const struct exec_trace_event *of, uint64_t zero_ns,
                             Morsel__V1__TraceEvent *out)
{
    morsel__v1__trace_event__init(out);
    out->kind = (Morsel__V1__TraceKind)(of->kind + 1);
    out->begin_ns = of->begin_ns > zero_ns ? of->begin_ns - zero_ns : 0;
    out->duration_ns = of->end_ns - of->begin_ns;
    out->rows = of->rows;
    out->units = of->units;
    out->pipeline = of->pipe;
    out->peer = of->peer;
    out->level = of->level;
}

Morsel__V1__Trace *trace_messages_next(struct trace_messages *messages)
{
    Morsel__V1__Trace *trace = &messages->message;
    const bool first = messages->worker == 0;
    uint64_t dropped = 0;

    morsel__v1__trace__init(trace);
    while (messages->used == messages->count) {
        if (messages->worker == exec_engine_worker_count(messages->engine)) {
            return NULL;
        }
        messages->used = 0;
        messages->count = exec_job_trace(messages->job, messages->worker++, messages->events,
                                         exec_job_trace_room(messages->job), &dropped);
        if (first || messages->count > 0) {
            break;
        }
    }
    struct exec_job_worker worker;
    exec_job_worker(messages->job, messages->worker - 1, &worker);
    trace->worker = messages->worker - 1;
    trace->node = worker.node;
    trace->dropped = dropped; /* in the first message of a worker */
    trace->events = messages->pointers;
    while (messages->used < messages->count && trace->n_events < TRACE_MESSAGE_EVENTS) {
        Morsel__V1__TraceEvent *event = &messages->event[trace->n_events];
        trace_event_fill(&messages->events[messages->used++], messages->submitted_ns, event);
        messages->pointers[trace->n_events++] = event;
    }
    if (first) {
        trace->n_pipelines = messages->profile->n_pipelines;
        trace->pipelines = messages->profile->pipelines;
    }
    return trace;
}
