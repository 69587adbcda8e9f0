#ifndef CLIENT_CLI_JOB_SOURCE_H
#define CLIENT_CLI_JOB_SOURCE_H

#include "cli_error.h"
#include "cli_options.h"
#include "exec/exec.h"
#include "morsel/v1/job_service.pb-c.h"
#include "proto/arrow_reader.h"

/* Where jobs run: the engine in this process or a server. Everything above this interface, output
 * formats included, does not know which. One job at a time; one thread. */

enum source_event {
    SOURCE_SCHEMA, /* once, first: source_schema is there; not for into_table */
    SOURCE_BATCH,
    SOURCE_TICK, /* nothing for a while: time to draw progress */
    SOURCE_END,  /* the whole result was delivered */
    SOURCE_FAILED,
};

struct source_batch {
    const struct exec_column_buffers *columns;
    uint32_t column_count;
    uint64_t row_count;
    struct exec_chunk *chunk; /* embedded */
    struct arrow_batch arrow; /* remote */
};

struct source_progress {
    uint64_t rows_done, rows_total, memory_bytes;
};

/* What to run. `request` is a job file's message, for what a spec does not carry (labels); or NULL.
 */
struct source_job {
    struct exec_job_spec spec;
    const Morsel__V1__ExecuteJobRequest *request;
    bool progress, profile;
};

/* What one worker did when, for --trace; times are ns since the job was taken. */
struct source_trace {
    uint32_t worker, node;
    uint64_t dropped;
    const struct exec_trace_event *events; /* in no order */
    uint32_t event_count;
};
/* Called for every worker, or several times for one; and before that for every pipeline. */
struct trace_taker {
    void (*pipeline)(struct trace_taker *taker, uint32_t number, const char *steps);
    void (*events)(struct trace_taker *taker, const struct source_trace *trace);
};

struct source_explain {
    char *text, *json;         /* malloc'd, may be NULL */
    struct exec_schema schema; /* in `plan`'s memory */
};

struct job_source {
    const struct job_source_ops *ops;
};

struct job_source_ops {
    /* 0, or -1 and err. */
    int (*start)(struct job_source *source, const struct source_job *job, struct cli_error *err);
    enum source_event (*next)(struct job_source *source, struct source_batch *batch,
                              struct cli_error *err);
    void (*release)(struct job_source *source, struct source_batch *batch);
    const struct exec_schema *(*schema)(struct job_source *source);
    void (*progress)(struct job_source *source, struct source_progress *out);
    /* After SOURCE_END of a job with options.profile: figures of every worker for this job; the
     * array lives as long as the source. */
    uint32_t (*workers)(struct job_source *source, const struct morsel_worker_figures **out);
    /* After SOURCE_END of a job with options.trace_events. 0, or -1: no memory. */
    int (*trace)(struct job_source *source, struct trace_taker *taker);
    /* Ends the job, cancelling it when it still runs. After every start, before the next. */
    void (*finish)(struct job_source *source);
    /* Plans the job (and with analyze runs it, dropping its rows). */
    int (*explain)(struct job_source *source, const struct exec_job_spec *spec, bool analyze,
                   struct plan_builder *plan, struct source_explain *out, struct cli_error *err);
    void (*destroy)(struct job_source *source);
};

/* The source the options ask for. NULL and err. */
struct job_source *source_create(const struct cli_options *options, struct cli_error *err);

struct job_source *embedded_source_create(const struct cli_options *options, struct cli_error *err);
struct job_source *remote_source_create(const struct cli_options *options, struct cli_error *err);

/* The job's options from the command line (memory, timeout, --set), over those it has. */
enum exec_code source_apply_options(const struct cli_options *options, struct exec_job_options *job,
                                    struct exec_error *err);

/* Copies a schema, names included, into the plan's memory. */
struct exec_schema source_schema_copy(struct plan_builder *plan, const struct exec_schema *schema);

enum { SOURCE_TICK_MS = 100 };

#endif
