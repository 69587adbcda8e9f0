#ifndef JOB_RUN_H
#define JOB_RUN_H

#include "admission.h"
#include "job_table.h"
#include "result_encoder.h"
#include "service.h"

#include "proto/wire_plan.h"

/* One job from admission to the last reference: waits for its turn, hands the spec to the engine,
 * carries the engine's events over the bridge, keeps the deadline, writes the log line. Everything
 * here runs on the loop but the engine's callbacks. */

enum { JOB_RUN_MAGIC = 0x10b00417 };

/* What the owner hears, on the loop. After `done`, or after job_run_detach, nothing more comes. */
struct job_run_events {
    void (*started)(void *owner); /* the engine has it; may run inside job_run_start */
    void (*schema)(void *owner, const struct exec_schema *schema);
    /* One reference of chunk->body is the owner's to pass on (body.refs is 1). */
    void (*chunk)(void *owner, struct result_chunk *chunk);
    void (*done)(void *owner); /* run->record->error tells how; run->job is still there */
};

struct job_run {
    uint32_t magic;
    struct service_env *env;
    struct job_record *record;
    const struct job_run_events *events; /* NULL: nobody listens any more */
    void *owner;
    struct admission_ticket ticket;
    struct wire_job wire; /* until it is submitted */
    void *request;        /* what `wire` borrows from; freed with request_free */
    void (*request_free)(void *request);
    struct exec_job *job;
    struct result_encoder encoder;
    struct bridge_event schema_event, lost_event, done_event;
    struct exec_chunk *lost[128]; /* chunks there was no memory to pass on */
    uint32_t lost_count;
    uint32_t chunks_out; /* chunks the loop holds */
    bool ended, cancelled_by_drain, keeps_profile, awaits_schema;
    uv_timer_t deadline; /* its close callback frees the run */
    enum metrics_op op;
    uint64_t submitted_ns, admitted_ns, first_batch_ns;
    char peer[72];
    char labels[200];
};

/* What to run. `request` goes over to the run in every case, failure included. */
struct job_run_request {
    const char *job_id; /* "": a random one */
    const char *peer;
    const Morsel__V1__Plan *plan;
    const Morsel__V1__JobOptions *options; /* may be NULL */
    const char *into_table;
    bool into_replace, explain, analyze;
    uint64_t timeout_ns;  /* of the call; 0: none */
    uint32_t batch_bytes; /* when the options name none */
    void *request;
    void (*request_free)(void *request);
};

/* EXEC_OK: the job runs or is queued, events follow (`started` may have come already, `done` never
 * inside this call). Otherwise err is filled; *retry_ms_out is set when it makes sense to retry. */
enum exec_code job_run_start(struct service_env *env, const struct job_run_request *request,
                             const struct job_run_events *events, void *owner,
                             struct job_run **run_out, uint64_t *retry_ms_out,
                             struct exec_error *err);

/* The owner is gone. A job that is still going is cancelled with `reason`. */
void job_run_detach(struct job_run *run, const char *reason);

/* Asks the job to stop; `done` follows. */
void job_run_cancel(struct job_run *run, enum exec_code code, const char *reason);

/* The figures of a job that may still run. */
void job_run_status(const struct job_run *run, struct exec_job_status *status_out);

/* Cancels every job: the server stops. */
void job_run_cancel_all(struct job_table *table);
/* Refuses those that still wait. */
void job_run_refuse_queued(struct job_table *table);

#endif
