/* Running a job and reading its result: Started, Arrow chunks, Finished, then the status. A result
 * is whole only when all of them arrived and row count and checksum agree. */
#include "morsel_result.h"
#include "job_text.h"
#include "proto/prescan.h"
#include "proto/wire_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { RESULT_MAGIC = 0x6d726573, ARROW_MESSAGE_BYTES_MAX = 64 << 20 };

struct morsel_result {
    uint32_t magic;
    struct morsel_connection *connection;
    struct grpc_call call;
    char job_id[64];
    Morsel__V1__ExecuteJobResponse *started; /* owns the schema's names */
    Morsel__V1__ExecuteJobResponse *chunk;   /* the Arrow chunk being read, or NULL */
    size_t chunk_used;
    Morsel__V1__ExecuteJobResponse *finished;
    struct exec_field *fields;
    struct exec_schema schema;
    struct arrow_reader *reader;
    XXH3_state_t *hash;
    uint64_t arrow_bytes, row_count;
    bool arrow_ended;
    struct morsel_progress progress;
    struct morsel_worker_figures *workers;
    uint32_t worker_count;
    Morsel__V1__ExecuteJobResponse **traces; /* in order of arrival */
    uint32_t trace_count;
    bool failed, complete;
    struct morsel_error error; /* when failed */
};

static void response_free(Morsel__V1__ExecuteJobResponse *response)
{
    if (response != NULL) {
        morsel__v1__execute_job_response__free_unpacked(response, NULL);
    }
}

void result_batch_free(struct arrow_batch *batch)
{
    void *body = batch->body;

    arrow_batch_fini(batch);
    free(body);
}

static int result_fail(struct morsel_result *result, struct morsel_error *err)
{
    result->failed = true;
    if (err != NULL) {
        *err = result->error;
    }
    return -1;
}

static double seconds(const Google__Protobuf__Duration *duration)
{
    return duration == NULL ? 0 : (double)duration->seconds + duration->nanos / 1e9;
}

static int take_trace(struct morsel_result *result, Morsel__V1__ExecuteJobResponse *response)
{
    Morsel__V1__ExecuteJobResponse **traces =
        realloc(result->traces, (result->trace_count + 1) * sizeof *traces);

    if (traces == NULL) {
        response_free(response);
        return morsel_error_set(&result->error, MORSEL_FAULT_DATA, EXEC_MEMORY_BUDGET,
                                "out of memory");
    }
    result->traces = traces;
    result->traces[result->trace_count++] = response;
    return 0;
}

static int take_profile(struct morsel_result *result, const Morsel__V1__Profile *profile)
{
    free(result->workers);
    result->worker_count = 0;
    result->workers = calloc(profile->n_workers + 1, sizeof *result->workers);
    if (result->workers == NULL) {
        return morsel_error_set(&result->error, MORSEL_FAULT_DATA, EXEC_MEMORY_BUDGET,
                                "out of memory");
    }
    for (size_t i = 0; i < profile->n_workers; i++) {
        const Morsel__V1__WorkerProfile *from = profile->workers[i];
        result->workers[i] = (struct morsel_worker_figures){
            .worker = from->worker,
            .node = from->node,
            .morsels_local = from->morsels_local,
            .morsels_remote = from->morsels_remote,
            .rows_local = from->rows_local,
            .rows_remote = from->rows_remote,
            .morsels_socket = from->morsels_socket,
            .rows_socket = from->rows_socket,
            .steals = from->steals,
            .steals_smt = from->steals_smt,
            .steals_l3 = from->steals_l3,
            .steals_node = from->steals_node,
            .steals_remote = from->steals_remote,
            .busy_seconds = seconds(from->busy),
            .search_seconds = seconds(from->search),
            .parked_seconds = seconds(from->parked),
            .credit_waits = from->credit_waits,
            .io_waits = from->io_waits,
            .credit_wait_seconds = seconds(from->credit_wait),
            .io_wait_seconds = seconds(from->io_wait),
        };
    }
    result->worker_count = (uint32_t)profile->n_workers;
    return 0;
}

static int take_started(struct morsel_result *result, Morsel__V1__ExecuteJobResponse *response)
{
    const Morsel__V1__Schema *schema = response->started->schema;
    struct exec_error error = {0};

    result->started = response;
    if (response->job_id[0] != '\0') {
        snprintf(result->job_id, sizeof result->job_id, "%s", response->job_id);
    }
    if (schema == NULL || schema->n_fields == 0) {
        return 0;
    }
    result->fields = calloc(schema->n_fields, sizeof *result->fields);
    if (result->fields == NULL) {
        return morsel_error_set(&result->error, MORSEL_FAULT_DATA, EXEC_MEMORY_BUDGET,
                                "out of memory");
    }
    if (wire_schema_from_message(schema, result->fields, &result->schema, &error) != EXEC_OK) {
        return morsel_error_of_exec(&result->error, MORSEL_FAULT_DATA, &error);
    }
    return 0;
}

/* Takes one message of the stream over. 0, or -1 with result->error. */
static int take_response(struct morsel_result *result, Morsel__V1__ExecuteJobResponse *response)
{
    int failed = 0;

    switch (response->payload_case) {
        case MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_STARTED:
            if (result->started != NULL) {
                break;
            }
            return take_started(result, response);
        case MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_ARROW:
            result->arrow_bytes += response->arrow->data.len;
            XXH3_64bits_update(result->hash, response->arrow->data.data, response->arrow->data.len);
            result->chunk = response;
            result->chunk_used = 0;
            return 0;
        case MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_PROGRESS:
            result->progress.rows_done = response->progress->rows_done;
            result->progress.rows_total = response->progress->rows_total;
            result->progress.memory_bytes = response->progress->memory_bytes;
            break;
        case MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_PROFILE:
            failed = take_profile(result, response->profile);
            break;
        case MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_TRACE: return take_trace(result, response);
        case MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_FINISHED:
            if (result->finished == NULL) {
                result->finished = response;
                return 0;
            }
            break;
        default: break; /* a newer server may say more */
    }
    response_free(response);
    return failed;
}

/* Reads one message: 1 taken, 0 the call ended with OK, -1 failed, 2 not yet. */
static int receive_response(struct morsel_result *result, uint64_t wait_until_ns)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    const int got = grpc_call_receive(&result->call, wait_until_ns, &bytes, &size);

    if (got == -1) {
        return morsel_error_of_call(&result->error, &result->call);
    }
    if (got != 1) {
        return got;
    }
    Morsel__V1__ExecuteJobResponse *response =
        morsel__v1__execute_job_response__unpack(NULL, size, bytes);
    free(bytes);
    if (response == NULL) {
        return morsel_error_set(&result->error, MORSEL_FAULT_DATA, EXEC_INTERNAL,
                                "the server sent a message that is no ExecuteJobResponse");
    }
    return take_response(result, response) == 0 ? 1 : -1;
}

static int check_complete(struct morsel_result *result)
{
    if (result->finished == NULL) {
        return morsel_error_set(
            &result->error, MORSEL_FAULT_INCOMPLETE, EXEC_INTERNAL,
            "the result is incomplete: the server ended the stream after %" PRIu64
            " rows without saying that it is finished",
            result->row_count);
    }
    const Morsel__V1__Finished *finished = result->finished->finished;
    if (result->arrow_bytes == 0) {
        result->complete = true; /* into_table: the rows stay with the server */
        return 0;
    }
    if (finished->content_hash != XXH3_64bits_digest(result->hash)) {
        return morsel_error_set(&result->error, MORSEL_FAULT_DATA, EXEC_BAD_DATA,
                                "the result's checksum does not match: it was damaged on its way");
    }
    if (!result->arrow_ended || finished->row_count != result->row_count) {
        return morsel_error_set(&result->error, MORSEL_FAULT_DATA, EXEC_BAD_DATA,
                                "the result has %" PRIu64 " rows where the server counted %" PRIu64,
                                result->row_count, finished->row_count);
    }
    result->complete = true;
    return 0;
}

/* The stream has to carry the columns that Started announced: callers have been told those. */
static int check_schema(struct morsel_result *result)
{
    const struct exec_schema *stream = arrow_reader_schema(result->reader);
    bool same = stream->field_count == result->schema.field_count;

    for (uint32_t i = 0; same && i < stream->field_count; i++) {
        same = exec_type_equal(&stream->fields[i].type, &result->schema.fields[i].type);
    }
    return same ? 0
                : morsel_error_set(&result->error, MORSEL_FAULT_DATA, EXEC_SCHEMA_MISMATCH,
                                   "the Arrow stream has other columns than the server announced");
}

/* Feeds the chunk to the Arrow reader: 1 a batch, 0 the chunk is used up, -1 failed. */
static int read_chunk(struct morsel_result *result, struct arrow_batch *batch_out)
{
    const ProtobufCBinaryData *data = &result->chunk->arrow->data;
    struct exec_error error = {0};

    for (;;) {
        size_t used = 0;
        const enum arrow_event event =
            arrow_reader_feed(result->reader, data->data + result->chunk_used,
                              data->len - result->chunk_used, &used, batch_out, &error);
        result->chunk_used += used;
        switch (event) {
            case ARROW_MORE:
                response_free(result->chunk);
                result->chunk = NULL;
                return 0;
            case ARROW_SCHEMA:
                if (check_schema(result) != 0) {
                    return -1;
                }
                break;
            case ARROW_BATCH:
                if (arrow_batch_validate(batch_out, arrow_reader_schema(result->reader), &error) !=
                    EXEC_OK) {
                    result_batch_free(batch_out);
                    return morsel_error_of_exec(&result->error, MORSEL_FAULT_DATA, &error);
                }
                result->row_count += batch_out->row_count;
                result->progress.result_rows = result->row_count;
                return 1;
            case ARROW_END: result->arrow_ended = true; break;
            case ARROW_ERROR:
                return morsel_error_of_exec(&result->error, MORSEL_FAULT_DATA, &error);
        }
    }
}

int result_read(struct morsel_result *result, uint64_t wait_until_ns, struct arrow_batch *batch_out,
                struct morsel_error *err)
{
    assert(result->magic == RESULT_MAGIC);
    while (!result->failed && !result->complete) {
        if (result->chunk != NULL) {
            const int got = read_chunk(result, batch_out);
            if (got == 1) {
                return 1;
            }
            if (got < 0) {
                return result_fail(result, err);
            }
        }
        const int got = receive_response(result, wait_until_ns);
        if (got == 2) {
            return 2;
        }
        if (got < 0 || (got == 0 && check_complete(result) != 0)) {
            return result_fail(result, err);
        }
    }
    return result->failed ? result_fail(result, err) : 0;
}

/* ---- starting ---------------------------------------------------------------------------------
 */

/* Fills what the caller left open. The request is unpacked memory: everything hung into it is
 * malloc'd and freed with it. */
static int complete_request(Morsel__V1__ExecuteJobRequest *request,
                            const struct morsel_run_options *options)
{
    if (request->job_id == NULL || request->job_id[0] == '\0') {
        char id[JOB_ID_BYTES];
        job_id_random(id);
        request->job_id = strdup(id);
    }
    if (options->profile || options->progress_interval_ms > 0 || options->trace_events > 0) {
        if (request->options == NULL) {
            request->options = malloc(sizeof *request->options);
            if (request->options == NULL) {
                return -1;
            }
            morsel__v1__job_options__init(request->options);
        }
        request->options->profile = request->options->profile || options->profile;
        if (options->trace_events > 0) {
            request->options->trace_events = options->trace_events;
        }
    }
    if (options->progress_interval_ms > 0 && request->options->progress_interval == NULL) {
        Google__Protobuf__Duration *interval = malloc(sizeof *interval);
        if (interval == NULL) {
            return -1;
        }
        google__protobuf__duration__init(interval);
        interval->seconds = (int64_t)(options->progress_interval_ms / 1000);
        interval->nanos = (int32_t)(options->progress_interval_ms % 1000 * 1000000);
        request->options->progress_interval = interval;
    }
    return request->job_id == NULL ? -1 : 0;
}

/* Sends the request and waits for Started. */
static int result_start(struct morsel_result *result, const uint8_t *request, size_t size,
                        uint64_t deadline_ns, struct morsel_error *err)
{
    if (connection_start_call(result->connection, &result->call, "/morsel.v1.JobService/ExecuteJob",
                              deadline_ns, err) != 0) {
        return -1;
    }
    grpc_call_send(&result->call, request, size, true);
    while (result->started == NULL) {
        const int got = receive_response(result, UINT64_MAX);
        if (got <= 0) {
            if (got == 0) {
                check_complete(result);
            }
            result_fail(result, err);
            connection_end_call(result->connection, &result->call);
            return -1;
        }
    }
    return 0;
}

static void result_free(struct morsel_result *result)
{
    response_free(result->started);
    response_free(result->chunk);
    response_free(result->finished);
    if (result->reader != NULL) {
        arrow_reader_destroy(result->reader);
    }
    XXH3_freeState(result->hash);
    free(result->fields);
    free(result->workers);
    for (uint32_t i = 0; i < result->trace_count; i++) {
        response_free(result->traces[i]);
    }
    free(result->traces);
    result->magic = 0;
    free(result);
}

/* Takes the request over. */
static int run_request(struct morsel_connection *connection, Morsel__V1__ExecuteJobRequest *request,
                       const struct morsel_run_options *options, struct morsel_result **result_out,
                       struct morsel_error *err)
{
    const struct morsel_run_options defaults = {0};
    struct morsel_result *result = calloc(1, sizeof *result);
    uint8_t *packed = NULL;
    size_t size = 0;
    int failed = -1;

    options = options == NULL ? &defaults : options;
    if (result != NULL && complete_request(request, options) == 0) {
        result->magic = RESULT_MAGIC;
        result->connection = connection;
        result->hash = XXH3_createState();
        result->reader = arrow_reader_create(ARROW_MESSAGE_BYTES_MAX);
        snprintf(result->job_id, sizeof result->job_id, "%s", request->job_id);
        packed = connection_pack(&request->base, &size);
    }
    morsel__v1__execute_job_request__free_unpacked(request, NULL);
    if (packed == NULL || result->hash == NULL || result->reader == NULL) {
        morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_MEMORY_BUDGET, "out of memory");
    } else {
        XXH3_64bits_reset(result->hash);
        failed = result_start(result, packed, size, connection_deadline(options->timeout_ms), err);
    }
    free(packed);
    if (failed != 0) {
        if (result != NULL) {
            result_free(result);
        }
        return -1;
    }
    *result_out = result;
    return 0;
}

int morsel_run_packed(struct morsel_connection *connection, const void *request, size_t size,
                      const struct morsel_run_options *options, struct morsel_result **result_out,
                      struct morsel_error *err)
{
    struct exec_error error = {0};
    ProtobufCMessage *message = wire_unpack(&morsel__v1__execute_job_request__descriptor, request,
                                            size, &prescan_control_limits, &error);

    if (message == NULL) {
        return morsel_error_of_exec(err, MORSEL_FAULT_ARGUMENT, &error);
    }
    return run_request(connection, (Morsel__V1__ExecuteJobRequest *)message, options, result_out,
                       err);
}

int morsel_run_json(struct morsel_connection *connection, const char *text, size_t size,
                    const char *name, const struct morsel_run_options *options,
                    struct morsel_result **result_out, struct morsel_error *err)
{
    struct exec_error error = {0};
    Morsel__V1__ExecuteJobRequest *request =
        job_text_parse(text, size, name == NULL ? "job" : name, &error);

    if (request == NULL) {
        return morsel_error_of_exec(err, MORSEL_FAULT_ARGUMENT, &error);
    }
    return run_request(connection, request, options, result_out, err);
}

/* ---- looking at it ----------------------------------------------------------------------------
 */

int morsel_result_next(struct morsel_result *result, struct morsel_batch **batch_out,
                       struct morsel_error *err)
{
    struct arrow_batch batch = {0};
    const int got = result_read(result, UINT64_MAX, &batch, err);

    if (got != 1) {
        return got;
    }
    *batch_out = batch_wrap(&batch, arrow_reader_schema(result->reader));
    if (*batch_out == NULL) {
        morsel_error_set(&result->error, MORSEL_FAULT_DATA, EXEC_MEMORY_BUDGET, "out of memory");
        return result_fail(result, err);
    }
    return 1;
}

void morsel_result_close(struct morsel_result *result)
{
    if (result == NULL) {
        return;
    }
    assert(result->magic == RESULT_MAGIC);
    connection_end_call(result->connection, &result->call);
    result_free(result);
}

bool result_was_reset(const struct morsel_result *result)
{
    return result->failed && result->call.end == CALL_STATUS && !result->call.have_status;
}

const struct exec_schema *result_schema(const struct morsel_result *result)
{
    return result->schema.field_count == 0 ? NULL : &result->schema;
}

const Morsel__V1__Trace *result_trace(const struct morsel_result *result, uint32_t index)
{
    return index < result->trace_count ? result->traces[index]->trace : NULL;
}

const Morsel__V1__TableInfo *result_table(const struct morsel_result *result)
{
    return result->finished == NULL ? NULL : result->finished->finished->table;
}

const char *morsel_result_job_id(const struct morsel_result *result)
{
    return result->job_id;
}

uint32_t morsel_result_column_count(const struct morsel_result *result)
{
    return result->schema.field_count;
}

struct morsel_column_info morsel_result_column(const struct morsel_result *result, uint32_t column)
{
    static const int64_t units[] = {0, 1, 1000, 1000000, 1000000000};

    assert(column < result->schema.field_count);
    const struct exec_field *field = &result->schema.fields[column];
    return (struct morsel_column_info){
        .name = field->name,
        .type = (enum morsel_type)field->type.kind,
        .precision = field->type.precision,
        .scale = field->type.scale,
        .units_a_second = units[field->type.unit],
        .zone = field->type.zone,
        .nullable = !field->not_null,
    };
}

struct morsel_progress morsel_result_progress(const struct morsel_result *result)
{
    return result->progress;
}

uint32_t morsel_result_workers(const struct morsel_result *result,
                               const struct morsel_worker_figures **workers_out)
{
    *workers_out = result->workers;
    return result->complete ? result->worker_count : 0;
}
