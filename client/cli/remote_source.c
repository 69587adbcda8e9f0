/* Jobs on a server, through libmorsel. */
#include "remote_source.h"
#include "interrupt.h"
#include "job_text.h"
#include "morsel_result.h"
#include "proto/wire_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON_TIMEOUT_MS = 5000 };

struct remote_source {
    struct job_source source;
    struct morsel_connection *connection;
    struct morsel_result *result;
    bool schema_told;
};

struct morsel_connection *remote_connect(const struct cli_options *options, struct cli_error *err)
{
    struct morsel_connection *connection = NULL;
    struct morsel_error error;

    if (morsel_connect(options->server, 0, &connection, &error) != 0) {
        cli_error_of_morsel(err, &error);
        return NULL;
    }
    interrupt_watch(connection);
    return connection;
}

void remote_close(struct morsel_connection *connection)
{
    interrupt_watch(NULL);
    morsel_close(connection);
}

uint64_t remote_timeout_ms(const struct cli_options *options)
{
    return (options->timeout_ns + 999999u) / 1000000u;
}

static int failed(struct cli_error *err, const struct morsel_error *error)
{
    cli_error_of_morsel(err, error);
    return -1;
}

static int remote_start(struct job_source *source, const struct source_job *job,
                        struct cli_error *err)
{
    struct remote_source *self = (struct remote_source *)source;
    char id[JOB_ID_BYTES];
    struct morsel_error error;
    struct morsel_run_options options = {
        .timeout_ms = (job->spec.options.timeout_ns + 999999u) / 1000000u,
        .progress_interval_ms = job->progress ? SOURCE_TICK_MS : 0,
        .profile = job->profile,
        .trace_events = job->spec.options.trace_events,
    };

    job_id_random(id);
    const char *wanted =
        job->request != NULL && job->request->job_id[0] != '\0' ? job->request->job_id : id;
    Morsel__V1__ExecuteJobRequest *request = wire_request_from_spec(&job->spec, wanted);
    if (request == NULL) {
        EXEC_FAIL(&err->exec, EXEC_MEMORY_BUDGET, "out of memory");
        return -1;
    }
    /* Labels are not part of a spec; they are lent to the request while it is packed. */
    Morsel__V1__JobOptions *to = request->options;
    const Morsel__V1__JobOptions *from = job->request == NULL ? NULL : job->request->options;
    if (to != NULL && from != NULL) {
        to->n_labels = from->n_labels;
        to->labels = from->labels;
    }
    size_t size = 0;
    uint8_t *packed = connection_pack(&request->base, &size);
    if (to != NULL && from != NULL) {
        to->n_labels = 0;
        to->labels = NULL;
    }
    wire_request_free(request);
    if (packed == NULL) {
        EXEC_FAIL(&err->exec, EXEC_MEMORY_BUDGET, "out of memory");
        return -1;
    }
    self->schema_told = false;
    const int started =
        morsel_run_packed(self->connection, packed, size, &options, &self->result, &error);
    free(packed);
    return started == 0 ? 0 : failed(err, &error);
}

/* A reset stream carries no status. The job's entry on the server says more, while there is one. */
static void explain_reset(struct remote_source *self, struct cli_error *err)
{
    Morsel__V1__GetJobRequest request;
    struct morsel_error error;
    char id[64];

    morsel__v1__get_job_request__init(&request);
    snprintf(id, sizeof id, "%s", morsel_result_job_id(self->result));
    request.job_id = id;
    morsel_result_close(self->result); /* one call at a time */
    self->result = NULL;
    ProtobufCMessage *answer =
        connection_unary(self->connection, "/morsel.v1.JobService/GetJob", &request.base,
                         &morsel__v1__get_job_response__descriptor, REASON_TIMEOUT_MS, &error);
    if (answer == NULL) {
        return;
    }
    const Morsel__V1__JobInfo *job = ((Morsel__V1__GetJobResponse *)answer)->job;
    if (job != NULL && job->error != NULL && job->error->message[0] != '\0') {
        const size_t size = strlen(err->exec.detail);
        snprintf(err->exec.detail + size, sizeof err->exec.detail - size, "; the job: %s",
                 job->error->message);
    }
    protobuf_c_message_free_unpacked(answer, NULL);
}

static enum source_event remote_next(struct job_source *source, struct source_batch *batch,
                                     struct cli_error *err)
{
    struct remote_source *self = (struct remote_source *)source;
    struct arrow_batch arrow = {0};
    struct morsel_error error;

    if (!self->schema_told) {
        self->schema_told = true;
        if (result_schema(self->result) != NULL) {
            return SOURCE_SCHEMA;
        }
    }
    const uint64_t until = grpc_clock_ns() + (uint64_t)SOURCE_TICK_MS * 1000000u;
    const int got = result_read(self->result, until, &arrow, &error);
    switch (got) {
        case 0: return SOURCE_END;
        case 1: break;
        case 2: return SOURCE_TICK;
        default: break;
    }
    if (got < 0) {
        cli_error_of_morsel(err, &error);
        if (result_was_reset(self->result)) {
            explain_reset(self, err);
        }
        return SOURCE_FAILED;
    }
    *batch = (struct source_batch){
        .columns = arrow.columns,
        .column_count = arrow.column_count,
        .row_count = arrow.row_count,
        .arrow = arrow,
    };
    return SOURCE_BATCH;
}

static void remote_release(struct job_source *source, struct source_batch *batch)
{
    (void)source;
    result_batch_free(&batch->arrow);
}

static const struct exec_schema *remote_schema(struct job_source *source)
{
    return result_schema(((struct remote_source *)source)->result);
}

static void remote_progress(struct job_source *source, struct source_progress *out)
{
    const struct morsel_progress progress =
        morsel_result_progress(((struct remote_source *)source)->result);

    *out = (struct source_progress){.rows_done = progress.rows_done,
                                    .rows_total = progress.rows_total,
                                    .memory_bytes = progress.memory_bytes};
}

static uint32_t remote_workers(struct job_source *source, const struct morsel_worker_figures **out)
{
    return morsel_result_workers(((struct remote_source *)source)->result, out);
}

static int remote_trace(struct job_source *source, struct trace_taker *taker)
{
    const struct remote_source *self = (struct remote_source *)source;
    const Morsel__V1__Trace *message;

    for (uint32_t m = 0; (message = result_trace(self->result, m)) != NULL; m++) {
        struct exec_trace_event *events = calloc(message->n_events + 1, sizeof *events);
        if (events == NULL) {
            return -1;
        }
        for (size_t i = 0; i < message->n_pipelines; i++) {
            taker->pipeline(taker, message->pipelines[i]->pipeline, message->pipelines[i]->steps);
        }
        for (size_t i = 0; i < message->n_events; i++) {
            const Morsel__V1__TraceEvent *from = message->events[i];
            events[i] = (struct exec_trace_event){
                .begin_ns = from->begin_ns,
                .end_ns = from->begin_ns + from->duration_ns,
                .rows = from->rows,
                .units = from->units,
                .pipe = from->pipeline,
                .peer = (uint16_t)from->peer,
                .kind = (uint8_t)(from->kind - 1), /* of a newer server: beyond the last */
                .level = (uint8_t)from->level,
            };
        }
        taker->events(taker, &(struct source_trace){
                                 .worker = message->worker,
                                 .node = message->node,
                                 .dropped = message->dropped,
                                 .events = events,
                                 .event_count = (uint32_t)message->n_events,
                             });
        free(events);
    }
    return 0;
}

static void remote_finish(struct job_source *source)
{
    struct remote_source *self = (struct remote_source *)source;

    morsel_result_close(self->result);
    self->result = NULL;
}

/* The schema of the answer, in the plan's memory. */
static int take_schema(const Morsel__V1__Schema *message, struct plan_builder *plan,
                       struct exec_schema *schema_out, struct exec_error *err)
{
    struct exec_schema schema = {0};

    if (message == NULL) {
        return 0;
    }
    struct exec_field *fields = builder_alloc(plan, (message->n_fields + 1) * sizeof *fields);
    if (wire_schema_from_message(message, fields, &schema, err) != EXEC_OK) {
        return -1;
    }
    *schema_out = source_schema_copy(plan, &schema);
    return 0;
}

static int remote_explain(struct job_source *source, const struct exec_job_spec *spec, bool analyze,
                          struct plan_builder *plan, struct source_explain *out,
                          struct cli_error *err)
{
    struct remote_source *self = (struct remote_source *)source;
    Morsel__V1__ExecuteJobRequest *request = wire_request_from_spec(spec, "");
    Morsel__V1__ExplainJobRequest explain;
    struct morsel_error error;

    *out = (struct source_explain){0};
    morsel__v1__explain_job_request__init(&explain);
    if (request == NULL) {
        EXEC_FAIL(&err->exec, EXEC_MEMORY_BUDGET, "out of memory");
        return -1;
    }
    explain.plan = request->plan;
    explain.options = request->options;
    explain.analyze = analyze;
    ProtobufCMessage *answer =
        connection_unary(self->connection, "/morsel.v1.JobService/ExplainJob", &explain.base,
                         &morsel__v1__explain_job_response__descriptor,
                         (spec->options.timeout_ns + 999999u) / 1000000u, &error);
    wire_request_free(request);
    if (answer == NULL) {
        return failed(err, &error);
    }
    const Morsel__V1__ExplainJobResponse *explained = (Morsel__V1__ExplainJobResponse *)answer;
    out->text = strdup(explained->text);
    out->json = strdup(explained->json);
    const int taken = take_schema(explained->schema, plan, &out->schema, &err->exec);
    protobuf_c_message_free_unpacked(answer, NULL);
    return taken;
}

static void remote_destroy(struct job_source *source)
{
    struct remote_source *self = (struct remote_source *)source;

    remote_finish(source);
    remote_close(self->connection);
    free(self);
}

static const struct job_source_ops remote_ops = {
    .start = remote_start,
    .next = remote_next,
    .release = remote_release,
    .schema = remote_schema,
    .progress = remote_progress,
    .workers = remote_workers,
    .trace = remote_trace,
    .finish = remote_finish,
    .explain = remote_explain,
    .destroy = remote_destroy,
};

struct job_source *remote_source_create(const struct cli_options *options, struct cli_error *err)
{
    struct exec_job_options ignored = {0};
    struct remote_source *self = calloc(1, sizeof *self);

    if (self == NULL) {
        EXEC_FAIL(&err->exec, EXEC_MEMORY_BUDGET, "out of memory");
        return NULL;
    }
    self->source.ops = &remote_ops;
    if (source_apply_options(options, &ignored, &err->exec) == EXEC_OK) {
        self->connection = remote_connect(options, err);
    }
    if (self->connection == NULL) {
        free(self);
        return NULL;
    }
    return &self->source;
}
