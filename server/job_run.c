#include "job_run.h"

#include "log.h"
#include "profile_message.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[] = {"scan", "join", "groupby", "mixed"};

/* ---- the end ----------------------------------------------------------------------------------
 */

static void run_free(uv_handle_t *handle)
{
    struct job_run *run = handle->data;

    result_encoder_fini(&run->encoder);
    run->magic = 0;
    free(run);
}

static void run_drop_request(struct job_run *run)
{
    if (run->request == NULL) {
        return;
    }
    wire_job_fini(&run->wire);
    run->request_free(run->request);
    run->request = NULL;
}

/* Lets go of the engine's job once it ended and the last chunk was written. */
static void run_release_if_idle(struct job_run *run)
{
    if (!run->ended || run->chunks_out > 0) {
        return;
    }
    if (run->job != NULL) {
        exec_job_release(run->job);
        run->job = NULL;
    }
    uv_close((uv_handle_t *)&run->deadline, run_free);
}

static void run_log(const struct job_run *run)
{
    const struct job_record *record = run->record;
    const struct exec_job_status *status = &record->status;

    log_line(run->env->log, EXEC_LOG_INFO,
             "job %s peer=%s op=%s code=%s rows=%llu bytes=%llu wall_ms=%.3f queued_ms=%.3f "
             "busy_ms=%.3f peak_bytes=%llu morsels=%llu remote=%llu steals=%llu%s%s%s%s",
             record->id, run->peer, op_names[run->op], exec_code_name(record->error.code),
             (unsigned long long)status->result_rows, (unsigned long long)status->result_bytes,
             (double)(metrics_monotonic_ns() - run->submitted_ns) / 1e6,
             (double)(run->admitted_ns != 0 ? run->admitted_ns - run->submitted_ns : 0) / 1e6,
             (double)status->busy_ns / 1e6, (unsigned long long)status->memory_peak_bytes,
             (unsigned long long)status->morsels, (unsigned long long)status->morsels_remote,
             (unsigned long long)status->steals, run->labels[0] != '\0' ? " labels=" : "",
             run->labels, record->error.code != EXEC_OK ? " error: " : "",
             record->error.code != EXEC_OK ? record->error.detail : "");
}

/* Packed, for GetJob. Without memory there is none. */
static void run_keep_profile(struct job_run *run)
{
    Morsel__V1__Profile *profile = profile_message(run->env->engine, run->job);

    if (profile == NULL) {
        return;
    }
    const size_t size = morsel__v1__profile__get_packed_size(profile);
    uint8_t *packed = malloc(size);
    if (packed != NULL) {
        run->record->profile_bytes = morsel__v1__profile__pack(profile, packed);
        run->record->profile = packed;
    }
    free(profile);
}

/* record->error is set. The owner hears `done`, the record stays for GetJob. */
static void run_end(struct job_run *run)
{
    struct service_env *env = run->env;
    struct job_record *record = run->record;
    const struct job_run_events *events = run->events;

    assert(!run->ended);
    uv_timer_stop(&run->deadline);
    run_drop_request(run);
    if (run->job != NULL) {
        exec_job_status(run->job, &record->status);
        metrics_observe(&env->metrics->job_duration[run->op],
                        metrics_monotonic_ns() - run->submitted_ns);
    }
    metrics_add(&env->metrics->jobs[record->error.code], 1);
    if (run->keeps_profile && run->job != NULL && record->error.code == EXEC_OK) {
        run_keep_profile(run);
    }
    run_log(run);
    if (events != NULL) {
        run->events = NULL;
        events->done(run->owner);
    }
    job_table_end(env->jobs, record);
    run->record = NULL;
    admission_leave(env->admission, &run->ticket);
    run->ended = true; /* not earlier: `done` may give the last chunk back */
    run_release_if_idle(run);
}

/* ---- events on the loop -----------------------------------------------------------------------
 */

static struct job_run *run_of(void *event, size_t offset)
{
    struct job_run *run = (struct job_run *)((char *)event - offset);

    assert(run->magic == JOB_RUN_MAGIC);
    return run;
}

/* The schema waits quietly for the first chunk; it has come, or never will. */
static void run_schema_awaited(struct job_run *run)
{
    if (run->awaits_schema) {
        run->awaits_schema = false;
        bridge_expected(run->env->bridge);
    }
}

static void run_schema_event(struct bridge_event *event)
{
    struct job_run *run = run_of(event, offsetof(struct job_run, schema_event));

    run_schema_awaited(run);
    if (run->events != NULL && run->events->schema != NULL && run->encoder.schema_bytes != NULL) {
        run->events->schema(run->owner, exec_job_schema(run->job));
    }
}

static void chunk_body_release(struct response_body *body)
{
    struct result_chunk *chunk =
        (struct result_chunk *)((char *)body - offsetof(struct result_chunk, body));
    struct job_run *run = chunk->run;

    result_chunk_destroy(chunk);
    run->chunks_out--;
    run_release_if_idle(run);
}

static void run_chunk_event(struct bridge_event *event)
{
    struct result_chunk *chunk = (struct result_chunk *)event;
    struct job_run *run = chunk->run;

    assert(run->magic == JOB_RUN_MAGIC);
    run->chunks_out++;
    chunk->body = (struct response_body){.refs = 1, .release = chunk_body_release};
    if (run->first_batch_ns == 0) {
        run->first_batch_ns = metrics_monotonic_ns();
        metrics_observe(&run->env->metrics->first_batch_seconds,
                        run->first_batch_ns - run->submitted_ns);
    }
    if (run->events != NULL && run->events->chunk != NULL) {
        metrics_add(&run->env->metrics->result_bytes_total, chunk->message.size);
        run->events->chunk(run->owner, chunk);
    }
    if (--chunk->body.refs == 0) {
        chunk_body_release(&chunk->body);
    }
}

/* A worker had no memory for a chunk: gives back what it could not pass on, after the job's end. */
static void run_lost_event(struct bridge_event *event)
{
    struct job_run *run = run_of(event, offsetof(struct job_run, lost_event));

    exec_job_cancel(run->job, EXEC_CANCELLED, "no memory to send the result");
}

static void run_done_event(struct bridge_event *event)
{
    struct job_run *run = run_of(event, offsetof(struct job_run, done_event));
    struct exec_error *error = &run->record->error;

    run_schema_awaited(run);
    for (uint32_t i = 0; i < run->lost_count; i++) {
        exec_chunk_release(run->lost[i]);
    }
    *error = *exec_job_error(run->job);
    if (run->encoder.no_memory) {
        EXEC_FAIL(error, EXEC_MEMORY_BUDGET, "no memory to send the result");
    } else if (error->code == EXEC_CANCELLED && run->cancelled_by_drain) {
        EXEC_FAIL(error, EXEC_DRAINING, "the server is shutting down");
    }
    run_end(run);
}

/* ---- the engine's callbacks, on workers -------------------------------------------------------
 */

static void engine_schema(void *owner, struct exec_job *job, const struct exec_schema *schema)
{
    struct job_run *run = owner;

    (void)job;
    result_encoder_schema(&run->encoder, schema);
    bridge_push_quietly(run->env->bridge, &run->schema_event);
}

static void engine_chunk(void *owner, struct exec_job *job, struct exec_chunk *chunk)
{
    struct job_run *run = owner;
    struct result_chunk *result = result_encoder_chunk(&run->encoder, run, chunk);

    (void)job;
    if (result != NULL) {
        result->event.run = run_chunk_event;
        if (chunk->is_last) {
            bridge_push_quietly(run->env->bridge, &result->event);
        } else {
            bridge_push(run->env->bridge, &result->event);
        }
        return;
    }
    /* The engine hands out a few chunks before it waits for one to come back. */
    assert(run->lost_count < sizeof run->lost / sizeof run->lost[0]);
    run->lost[run->lost_count++] = chunk;
    if (run->lost_count == 1) {
        bridge_push(run->env->bridge, &run->lost_event);
    }
}

static void engine_done(void *owner, struct exec_job *job)
{
    struct job_run *run = owner;

    (void)job;
    bridge_push(run->env->bridge, &run->done_event);
}

/* ---- the start --------------------------------------------------------------------------------
 */

static enum exec_code run_submit(struct job_run *run, struct exec_error *err)
{
    static const struct exec_job_events events = {
        .schema = engine_schema, .chunk = engine_chunk, .done = engine_done};
    const bool streams = run->wire.spec.into_table == NULL;
    const enum exec_code code =
        exec_submit(run->env->engine, &run->wire.spec, &events, run, &run->job, err);

    run_drop_request(run); /* the engine has its own copy */
    if (code != EXEC_OK) {
        return code;
    }
    if (streams) {
        run->awaits_schema = true;
        bridge_expect(run->env->bridge);
    }
    run->record->state = JOB_RUNNING;
    run->admitted_ns = metrics_monotonic_ns();
    metrics_observe(&run->env->metrics->job_queue_seconds, run->admitted_ns - run->submitted_ns);
    if (run->events != NULL && run->events->started != NULL) {
        run->events->started(run->owner);
    }
    return EXEC_OK;
}

/* A queued job's turn has come. */
static void run_admitted(struct admission_ticket *ticket)
{
    struct job_run *run = (struct job_run *)((char *)ticket - offsetof(struct job_run, ticket));

    assert(run->magic == JOB_RUN_MAGIC);
    if (run_submit(run, &run->record->error) != EXEC_OK) {
        run_end(run);
    }
}

static void run_deadline(uv_timer_t *timer)
{
    struct job_run *run = timer->data;
    char text[64];

    if (run->job != NULL) {
        job_run_cancel(run, EXEC_DEADLINE, NULL); /* the engine words it */
        return;
    }
    snprintf(text, sizeof text, "the deadline of %llu ms has passed",
             (unsigned long long)(run->wire.spec.options.timeout_ns + 999999) / 1000000);
    job_run_cancel(run, EXEC_DEADLINE, text);
}

static enum metrics_op run_op(const struct exec_job_spec *spec)
{
    bool joins = false;
    bool groups = false;

    for (uint32_t i = 0; i < spec->rel_count; i++) {
        joins |= spec->rels[i].kind == EXEC_REL_JOIN;
        groups |= spec->rels[i].kind == EXEC_REL_AGGREGATE ||
                  spec->rels[i].kind == EXEC_REL_DISTINCT || spec->rels[i].kind == EXEC_REL_WINDOW;
    }
    if (joins) {
        return groups ? METRICS_OP_MIXED : METRICS_OP_JOIN;
    }
    return groups ? METRICS_OP_GROUPBY : METRICS_OP_SCAN;
}

/* The smallest of the call's timeout, the options' and the server's. */
static uint64_t run_timeout(const struct job_run *run, uint64_t call_ns)
{
    const uint64_t limits[] = {call_ns, run->wire.spec.options.timeout_ns,
                               run->env->config->job_timeout_max};
    uint64_t least = 0;

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (limits[i] != 0 && (least == 0 || limits[i] < least)) {
            least = limits[i];
        }
    }
    return least;
}

/* "key=value,..." for the log. */
static void run_copy_labels(struct job_run *run, const Morsel__V1__JobOptions *options)
{
    size_t used = 0;

    for (size_t i = 0; options != NULL && i < options->n_labels; i++) {
        const int size =
            snprintf(run->labels + used, sizeof run->labels - used, "%s%s=%s", i > 0 ? "," : "",
                     options->labels[i]->key, options->labels[i]->value);
        if (size < 0 || (size_t)size >= sizeof run->labels - used) {
            return; /* cut off: labels are for people */
        }
        used += (size_t)size;
    }
}

/* Fills a fresh run from the request; on failure the caller frees it. */
static enum exec_code run_prepare(struct job_run *run, const struct job_run_request *request,
                                  struct exec_error *err)
{
    if (request->plan == NULL) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "plan is not set");
    }
    const enum exec_code code =
        wire_job_from_plan(request->plan, request->options, request->into_table, &run->wire, err);
    if (code != EXEC_OK) {
        return code;
    }
    struct exec_job_options *options = &run->wire.spec.options;
    run->wire.spec.into_replace = request->into_replace;
    options->explain = request->explain;
    options->analyze = request->analyze;
    if (options->batch_bytes == 0) {
        options->batch_bytes = request->batch_bytes;
    }
    if (options->trace_events > trace_events_max(run->env->engine)) {
        options->trace_events = trace_events_max(run->env->engine);
    }
    run->keeps_profile = options->profile;
    options->timeout_ns = run_timeout(run, request->timeout_ns);
    run->op = run_op(&run->wire.spec);
    run_copy_labels(run, request->options);
    snprintf(run->peer, sizeof run->peer, "%s", request->peer);
    return job_table_add(run->env->jobs, request->job_id, run, &run->record, err);
}

static void run_start_deadline(struct job_run *run)
{
    const uint64_t timeout_ns = run->wire.spec.options.timeout_ns;

    if (timeout_ns > 0) {
        /* Rounded up, so that the engine's own deadline, set to the same time, speaks first. */
        uv_timer_start(&run->deadline, run_deadline, timeout_ns / 1000000 + 1, 0);
    }
}

enum exec_code job_run_start(struct service_env *env, const struct job_run_request *request,
                             const struct job_run_events *events, void *owner,
                             struct job_run **run_out, uint64_t *retry_ms_out,
                             struct exec_error *err)
{
    struct job_run *run = env->draining ? NULL : calloc(1, sizeof *run);
    enum exec_code code = EXEC_OK;

    if (run == NULL) {
        request->request_free(request->request);
        if (env->draining) {
            return EXEC_FAIL(err, EXEC_DRAINING, "the server is shutting down");
        }
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for a job");
    }
    run->magic = JOB_RUN_MAGIC;
    run->env = env;
    run->ticket.admitted = run_admitted;
    run->schema_event.run = run_schema_event;
    run->lost_event.run = run_lost_event;
    run->done_event.run = run_done_event;
    run->submitted_ns = metrics_monotonic_ns();
    const bool can_encode = result_encoder_init(&run->encoder);
    uv_timer_init(env->loop, &run->deadline);
    run->deadline.data = run;
    code = can_encode ? run_prepare(run, request, err)
                      : EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for a job");
    run->request = request->request;
    run->request_free = request->request_free;
    if (code != EXEC_OK) {
        goto fail_prepare;
    }
    if (!admission_enter(env->admission, &run->ticket)) {
        *retry_ms_out = admission_retry_ms(env->admission);
        code = EXEC_FAIL(err, EXEC_BUSY, "%llu jobs run and %llu wait: the queue is full",
                         (unsigned long long)env->admission->running,
                         (unsigned long long)env->admission->queued);
        goto fail_admission;
    }
    *run_out = run; /* before `started` can ask for it */
    run->events = events;
    run->owner = owner;
    run_start_deadline(run);
    if (run->ticket.place == ADMISSION_QUEUED) {
        return EXEC_OK;
    }
    code = run_submit(run, err);
    if (code == EXEC_OK) {
        return EXEC_OK;
    }
    *retry_ms_out = code == EXEC_BUSY ? admission_retry_ms(env->admission) : 0;
    *run_out = NULL;
    admission_leave(env->admission, &run->ticket);
fail_admission:
    run->record->error = *err;
    run_log(run);
    job_table_end(env->jobs, run->record);
fail_prepare:
    metrics_add(&env->metrics->jobs[code], 1);
    run_drop_request(run);
    uv_close((uv_handle_t *)&run->deadline, run_free);
    return code;
}

/* ---- the owner's and others' wishes -----------------------------------------------------------
 */

void job_run_cancel(struct job_run *run, enum exec_code code, const char *reason)
{
    assert(run->magic == JOB_RUN_MAGIC);
    if (run->ended) {
        return;
    }
    if (run->job != NULL) {
        exec_job_cancel(run->job, code, reason);
        return;
    }
    EXEC_FAIL(&run->record->error, code, "%s (it was still waiting for its turn)", reason);
    run_end(run);
}

void job_run_detach(struct job_run *run, const char *reason)
{
    assert(run->magic == JOB_RUN_MAGIC);
    run->events = NULL;
    job_run_cancel(run, EXEC_CANCELLED, reason);
}

void job_run_status(const struct job_run *run, struct exec_job_status *status_out)
{
    *status_out = (struct exec_job_status){0};
    if (run->job != NULL) {
        exec_job_status(run->job, status_out);
    }
}

void job_run_refuse_queued(struct job_table *table)
{
    struct job_record *record = table->first;

    while (record != NULL) {
        if (record->state == JOB_QUEUED) {
            job_run_cancel(record->run, EXEC_DRAINING, "the server is shutting down");
            record = table->first; /* ending a job may forget another */
        } else {
            record = record->next;
        }
    }
}

void job_run_cancel_all(struct job_table *table)
{
    job_run_refuse_queued(table);
    for (struct job_record *record = table->first; record != NULL; record = record->next) {
        if (record->run != NULL) {
            record->run->cancelled_by_drain = true;
            job_run_cancel(record->run, EXEC_CANCELLED, "the server is shutting down");
        }
    }
}
