#include "config.h"
#include "h2_conn.h"
#include "job_message.h"
#include "job_run.h"
#include "profile_message.h"
#include "service.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ExecuteJob: Started, the Arrow stream in ArrowChunk messages, Progress when asked for, Profile
 * when asked for, Finished. The end-of-stream marker is sent only just before Finished. */

enum {
    CHUNK_BYTES_MAX = 1 << 20, /* of one ArrowChunk; clients refuse messages over 4 MiB */
    BATCH_BYTES_MAX = 256 << 10,
    BATCH_BYTES_MIN = 32 << 10,
    STREAM_BYTES_MAX = 4 << 20,     /* of chunks that wait for one client */
    CONNECTION_BYTES_MAX = 8 << 20, /* and for all streams of one connection, when they are many */
    PROGRESS_MS_MIN = 10,
};

struct job_session {
    struct session *session; /* NULL once the call is over */
    struct job_run *run;     /* NULL before the start and after the end */
    uv_timer_t progress;     /* its close callback frees the struct */
    uint64_t progress_ms;
    uint64_t sequence, row_offset;
    bool first_message_sent, profile, trace, into_table;
    char *table; /* into_table: its name */
};

static void job_freed(uv_handle_t *handle)
{
    struct job_session *job = handle->data;

    free(job->table);
    free(job);
}

static void job_send(struct job_session *job, Morsel__V1__ExecuteJobResponse *response)
{
    response->sequence = ++job->sequence;
    if (!job->first_message_sent) {
        job->first_message_sent = true;
        response->job_id = job->run->record->id;
    }
    session_send(job->session, &response->base);
}

/* ---- Started, Progress, Finished --------------------------------------------------------------
 */

static void job_send_started(struct job_session *job, const struct exec_schema *schema)
{
    Morsel__V1__ExecuteJobResponse response;
    Morsel__V1__Started started;
    Google__Protobuf__Timestamp admitted_at;
    Google__Protobuf__Duration queued;
    struct timespec at = job->run->record->submitted_at;
    const uint64_t queued_ns = job->run->admitted_ns - job->run->submitted_ns;
    const uint64_t nanos = (uint64_t)at.tv_nsec + queued_ns;

    morsel__v1__started__init(&started);
    morsel__v1__execute_job_response__init(&response);
    at.tv_sec += (time_t)(nanos / 1000000000ull);
    at.tv_nsec = (long)(nanos % 1000000000ull);
    job_message_timestamp(&at, &admitted_at);
    job_message_duration(queued_ns, &queued);
    started.admitted_at = &admitted_at;
    started.queued = &queued;
    if (schema != NULL) {
        started.schema = wire_schema_message(schema);
    }
    response.payload_case = MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_STARTED;
    response.started = &started;
    job_send(job, &response);
    free(started.schema);
}

static void job_progress(uv_timer_t *timer)
{
    struct job_session *job = timer->data;
    Morsel__V1__ExecuteJobResponse response;
    struct exec_job_status status;
    struct job_progress_message progress;

    morsel__v1__execute_job_response__init(&response);
    /* A client that does not read gets no progress piled up for it, and Started comes first. */
    if (job->session == NULL || job->run == NULL || !job->first_message_sent ||
        job->session->queue.queued_bytes > 0) {
        return;
    }
    job_run_status(job->run, &status);
    job_message_progress(&status, &progress);
    response.payload_case = MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_PROGRESS;
    response.progress = &progress.message;
    job_send(job, &response);
}

static void job_send_profile(struct job_session *job)
{
    Morsel__V1__ExecuteJobResponse response;
    Morsel__V1__Profile *profile = profile_message(job->session->env->engine, job->run->job);

    if (profile == NULL) {
        session_fail_status(job->session, GRPC_RESOURCE_EXHAUSTED, "no memory for the profile");
        return;
    }
    morsel__v1__execute_job_response__init(&response);
    response.payload_case = MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_PROFILE;
    response.profile = profile;
    job_send(job, &response);
    free(profile);
}

static void job_send_trace(struct job_session *job)
{
    struct trace_messages *messages =
        trace_messages_create(job->session->env->engine, job->run->job);
    Morsel__V1__ExecuteJobResponse response;

    if (messages == NULL) {
        session_fail_status(job->session, GRPC_RESOURCE_EXHAUSTED, "no memory for the trace");
        return;
    }
    for (Morsel__V1__Trace *trace;
         job->session != NULL && (trace = trace_messages_next(messages)) != NULL;) {
        morsel__v1__execute_job_response__init(&response);
        response.payload_case = MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_TRACE;
        response.trace = trace;
        job_send(job, &response);
    }
    trace_messages_destroy(messages);
}

static void job_send_finished(struct job_session *job)
{
    Morsel__V1__ExecuteJobResponse response;
    Morsel__V1__Finished finished;
    Morsel__V1__TableInfo table;
    struct exec_table_list list = {0};
    struct exec_error err;

    morsel__v1__table_info__init(&table);
    morsel__v1__finished__init(&finished);
    morsel__v1__execute_job_response__init(&response);
    if (job->into_table) {
        if (exec_table_list(job->session->env->engine, job->table, &list, &err) == EXEC_OK &&
            list.table_count == 1 && job_message_table(&list.tables[0], &table)) {
            finished.table = &table;
            finished.row_count = table.row_count;
        }
    } else {
        finished.row_count = job->row_offset;
        finished.batch_count = job->run->encoder.chunk_count;
        finished.content_hash = result_encoder_finish(&job->run->encoder);
    }
    response.payload_case = MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_FINISHED;
    response.finished = &finished;
    job_send(job, &response);
    if (finished.table != NULL) {
        free(table.schema);
    }
    exec_table_list_free(&list);
}

/* ---- ArrowChunk, written by hand so that the bytes behind it are never copied -----------------
 */

static size_t put_varint(uint8_t *out, uint64_t value)
{
    size_t size = 0;

    while (value >= 0x80) {
        out[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[size++] = (uint8_t)value;
    return size;
}

static size_t put_field(uint8_t *out, uint8_t tag, uint64_t value)
{
    if (value == 0) {
        return 0;
    }
    out[0] = tag;
    return 1 + put_varint(out + 1, value);
}

/* The gRPC prefix and everything of an ExecuteJobResponse with an ArrowChunk up to the bytes of its
 * `data`: at most 5 + 11 + 6 + 11 + 11 + 2 + 7 bytes. */
static size_t job_chunk_head(uint8_t head_out[RESPONSE_HEAD_BYTES], uint64_t sequence,
                             uint64_t row_count, uint64_t row_offset, bool continues,
                             size_t data_bytes)
{
    enum {
        TAG_SEQUENCE = 2 << 3,
        TAG_ARROW = 4 << 3 | 2,
        TAG_ROWS = 1 << 3,
        TAG_OFFSET = 2 << 3,
        TAG_CONTINUES = 3 << 3
    };
    static const uint8_t tag_data[] = {0xc2, 0x3e}; /* field 1000, length-delimited */
    uint8_t chunk[40];
    uint8_t outer[24];
    size_t chunk_bytes = put_field(chunk, TAG_ROWS, row_count);

    chunk_bytes += put_field(chunk + chunk_bytes, TAG_OFFSET, row_offset);
    chunk_bytes += put_field(chunk + chunk_bytes, TAG_CONTINUES, continues);
    memcpy(chunk + chunk_bytes, tag_data, sizeof tag_data);
    chunk_bytes += sizeof tag_data;
    chunk_bytes += put_varint(chunk + chunk_bytes, data_bytes);
    size_t outer_bytes = put_field(outer, TAG_SEQUENCE, sequence);
    outer[outer_bytes++] = TAG_ARROW;
    outer_bytes += put_varint(outer + outer_bytes, chunk_bytes + data_bytes);

    assert(GRPC_PREFIX_BYTES + outer_bytes + chunk_bytes <= RESPONSE_HEAD_BYTES);
    grpc_prefix_write(head_out, (uint32_t)(outer_bytes + chunk_bytes + data_bytes));
    memcpy(head_out + GRPC_PREFIX_BYTES, outer, outer_bytes);
    memcpy(head_out + GRPC_PREFIX_BYTES + outer_bytes, chunk, chunk_bytes);
    return GRPC_PREFIX_BYTES + outer_bytes + chunk_bytes;
}

/* Sends one encapsulated Arrow message, in slices when it is large. */
static void job_send_arrow(struct job_session *job, struct response_body *body,
                           const struct arrow_piece *pieces, size_t size, uint64_t row_count)
{
    uint8_t head[RESPONSE_HEAD_BYTES];
    size_t skip = 0;

    while (size > 0 && job->session != NULL) {
        const size_t slice = size < CHUNK_BYTES_MAX ? size : CHUNK_BYTES_MAX;
        const bool last = slice == size;
        const size_t head_bytes = job_chunk_head(head, ++job->sequence, last ? row_count : 0,
                                                 job->row_offset, !last, slice);
        session_send_bulk(job->session, head, head_bytes, body, pieces, skip, slice);
        size -= slice;
        skip += slice;
        while (size > 0 && skip >= pieces->size) {
            skip -= pieces->size;
            pieces++;
        }
    }
    job->row_offset += row_count;
}

/* The schema message belongs to the run, which outlives every byte of it only by this reference. */
struct schema_body {
    struct response_body body;
    struct arrow_piece piece;
};

static void schema_body_release(struct response_body *body)
{
    struct schema_body *schema = (struct schema_body *)body;

    free((void *)(uintptr_t)schema->piece.bytes);
    free(schema);
}

static void job_send_schema_message(struct job_session *job)
{
    struct result_encoder *encoder = &job->run->encoder;
    struct schema_body *schema = malloc(sizeof *schema);

    if (schema == NULL) {
        session_fail_status(job->session, GRPC_RESOURCE_EXHAUSTED, "no memory for the schema");
        return;
    }
    schema->body = (struct response_body){.refs = 1, .release = schema_body_release};
    schema->piece =
        (struct arrow_piece){.bytes = encoder->schema_bytes, .size = encoder->schema_size};
    encoder->schema_bytes = NULL;
    job_send_arrow(job, &schema->body, &schema->piece, encoder->schema_size, 0);
    if (--schema->body.refs == 0) {
        schema_body_release(&schema->body);
    }
}

static void job_send_end_of_stream(struct job_session *job)
{
    static const struct arrow_piece piece = {arrow_end_of_stream, ARROW_EOS_BYTES};

    job_send_arrow(job, NULL, &piece, ARROW_EOS_BYTES, 0);
}

/* ---- what the run tells -----------------------------------------------------------------------
 */

static void job_started(void *owner)
{
    struct job_session *job = owner;

    if (job->into_table) {
        job_send_started(job, NULL); /* the schema comes with Finished.table */
    }
}

static void job_schema(void *owner, const struct exec_schema *schema)
{
    struct job_session *job = owner;

    job_send_started(job, schema);
    if (job->session != NULL) {
        job_send_schema_message(job);
    }
}

static void job_chunk(void *owner, struct result_chunk *chunk)
{
    job_send_arrow(owner, &chunk->body, chunk->message.pieces, chunk->message.size,
                   chunk->chunk->row_count);
}

static void job_done(void *owner)
{
    struct job_session *job = owner;
    const struct exec_error *error = &job->run->record->error;

    if (error->code != EXEC_OK) {
        job->run = NULL; /* nothing is left to cancel */
        session_fail(job->session, error, 0);
        return;
    }
    if (!job->into_table) {
        job_send_end_of_stream(job);
    }
    if (job->session != NULL && job->profile) {
        job_send_profile(job);
    }
    if (job->session != NULL && job->trace) {
        job_send_trace(job);
    }
    if (job->session != NULL) {
        job_send_finished(job);
    }
    job->run = NULL;
    if (job->session != NULL) {
        session_finish(job->session);
    }
}

static const struct job_run_events job_events = {
    .started = job_started, .schema = job_schema, .chunk = job_chunk, .done = job_done};

/* ---- the call ---------------------------------------------------------------------------------
 */

static void request_free(void *request)
{
    protobuf_c_message_free_unpacked(request, NULL);
}

/* A job whose client stalls holds as many chunks as the engine gives credit for, one a worker and
 * two more. Their size is what the server can choose: the more streams a connection has, the
 * smaller. */
static uint32_t job_batch_bytes(const struct session *session)
{
    const uint32_t chunks = exec_engine_worker_count(session->env->engine) + 2;
    const uint32_t streams = session->conn->session_count;
    const uint32_t for_stream = STREAM_BYTES_MAX / chunks;
    const uint32_t for_connection = CONNECTION_BYTES_MAX / chunks / streams;
    const uint32_t share = for_stream < for_connection ? for_stream : for_connection;

    if (share >= BATCH_BYTES_MAX) {
        return BATCH_BYTES_MAX;
    }
    return share > BATCH_BYTES_MIN ? share : BATCH_BYTES_MIN;
}

static void job_message(struct session *session, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *message =
        session_unpack(session, &morsel__v1__execute_job_request__descriptor, bytes, size);
    struct exec_error err;
    uint64_t retry_ms = 0;

    if (message == NULL) {
        return;
    }
    Morsel__V1__ExecuteJobRequest *request = (Morsel__V1__ExecuteJobRequest *)message;
    struct job_session *job = calloc(1, sizeof *job);
    char *table = strdup(request->into_table);
    if (job == NULL || table == NULL) {
        free(job);
        free(table);
        request_free(request);
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for a job");
        return;
    }
    job->session = session;
    job->table = table;
    job->into_table = table[0] != '\0';
    session->call = job;
    uv_timer_init(session->env->loop, &job->progress);
    job->progress.data = job;
    const struct job_run_request run = {
        .job_id = request->job_id,
        .peer = session_peer(session),
        .plan = request->plan,
        .options = request->options,
        .into_table = request->into_table,
        .into_replace = request->into_replace,
        .timeout_ns = session->timeout_ns,
        .batch_bytes = job_batch_bytes(session),
        .request = request,
        .request_free = request_free,
    };
    if (request->options != NULL) {
        job->profile = request->options->profile;
        job->trace = request->options->trace_events != 0;
        job->progress_ms =
            (job_message_duration_ns(request->options->progress_interval) + 999999) / 1000000;
    }
    if (job_run_start(session->env, &run, &job_events, job, &job->run, &retry_ms, &err) !=
        EXEC_OK) {
        session_fail(session, &err, retry_ms);
        return;
    }
    if (job->progress_ms > 0 && job->session != NULL) {
        const uint64_t every =
            job->progress_ms > PROGRESS_MS_MIN ? job->progress_ms : PROGRESS_MS_MIN;
        uv_timer_start(&job->progress, job_progress, every, every);
    }
}

static void job_detach(struct session *session)
{
    struct job_session *job = session->call;

    if (job == NULL) {
        return; /* it failed before there was a job */
    }
    job->session = NULL;
    if (job->run != NULL) {
        job_run_detach(job->run, session->end_reason != NULL ? session->end_reason
                                                             : "the client cancelled the call");
        job->run = NULL;
    }
    uv_close((uv_handle_t *)&job->progress, job_freed);
}

const struct rpc_handler rpc_execute_job = {.message = job_message, .detach = job_detach};
