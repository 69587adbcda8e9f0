/* Goal:   libmorsel tells apart every way a call can end, gives up in time, and applies
 * backpressure. Method: a fake server (grpc_fake.c) that misbehaves in one way a test; the answers
 * are made with the proto room's own writers. */
#include "client/grpc_fake.h"
#include "grpc/health/v1/health.pb-c.h"
#include "grpc_channel.h"
#include "morsel.h"
#include "morsel/v1/job_service.pb-c.h"
#include "proto/arrow_writer.h"
#include "proto/grpc_frame.h"
#include "proto/grpc_status.h"
#include "proto/wire_plan.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- answers
 * -------------------------------------------------------------------------------------- */

struct bytes {
    uint8_t *data;
    size_t size;
};

static void append(struct bytes *to, const void *data, size_t size)
{
    to->data = realloc(to->data, to->size + size + 1);
    memcpy(to->data + to->size, data, size);
    to->size += size;
}

static void append_message(struct bytes *to, const ProtobufCMessage *message)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = malloc(size + 1);
    uint8_t prefix[GRPC_PREFIX_BYTES];

    protobuf_c_message_pack(message, packed);
    grpc_prefix_write(prefix, (uint32_t)size);
    append(to, prefix, sizeof prefix);
    append(to, packed, size);
    free(packed);
}

static const struct exec_field fields[] = {{.name = "n", .type = {.kind = EXEC_TYPE_INT64}},
                                           {.name = "s", .type = {.kind = EXEC_TYPE_UTF8}}};
static const struct exec_schema schema = {fields, 2};

static void append_started_of(struct bytes *to, const struct exec_schema *announced)
{
    Morsel__V1__ExecuteJobResponse response;
    Morsel__V1__Started started;

    morsel__v1__execute_job_response__init(&response);
    morsel__v1__started__init(&started);
    started.schema = wire_schema_message(announced);
    response.job_id = (char *)(uintptr_t) "job-1";
    response.payload_case = MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_STARTED;
    response.started = &started;
    append_message(to, &response.base);
    free(started.schema);
}

static void append_started(struct bytes *to)
{
    append_started_of(to, &schema);
}

/* The stream of three rows: (1, "a"), (2, NULL), (3, "ccc"). */
static struct bytes arrow_stream(void)
{
    static const int64_t numbers[] = {1, 2, 3};
    static const int32_t offsets[] = {0, 1, 1, 4};
    static const uint8_t validity[] = {0x05};
    const struct exec_column_buffers columns[] = {
        {.type = fields[0].type, .row_count = 3, .values = numbers, .values_bytes = sizeof numbers},
        {.type = fields[1].type,
         .row_count = 3,
         .null_count = 1,
         .validity = validity,
         .values = "accc",
         .values_bytes = 4,
         .offsets = offsets,
         .offset_bytes = 4},
    };
    struct bytes stream = {0};
    struct arrow_batch_message message;
    size_t size = 0;
    uint8_t *head = arrow_write_schema(&schema, &size);

    append(&stream, head, size);
    free(head);
    cr_assert_eq(arrow_write_batch(columns, 2, 3, &message), 0);
    for (uint32_t i = 0; i < message.piece_count; i++) {
        append(&stream, message.pieces[i].bytes, message.pieces[i].size);
    }
    arrow_batch_message_fini(&message);
    append(&stream, arrow_end_of_stream, ARROW_EOS_BYTES);
    return stream;
}

/* In chunks of `chunk_bytes`. */
static void append_arrow(struct bytes *to, const struct bytes *stream, size_t chunk_bytes)
{
    for (size_t at = 0; at < stream->size; at += chunk_bytes) {
        Morsel__V1__ExecuteJobResponse response;
        Morsel__V1__ArrowChunk chunk;
        const size_t left = stream->size - at;
        morsel__v1__execute_job_response__init(&response);
        morsel__v1__arrow_chunk__init(&chunk);
        chunk.data.data = stream->data + at;
        chunk.data.len = left < chunk_bytes ? left : chunk_bytes;
        response.payload_case = MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_ARROW;
        response.arrow = &chunk;
        append_message(to, &response.base);
    }
}

static void append_finished(struct bytes *to, uint64_t rows, uint64_t hash)
{
    Morsel__V1__ExecuteJobResponse response;
    Morsel__V1__Finished finished;

    morsel__v1__execute_job_response__init(&response);
    morsel__v1__finished__init(&finished);
    finished.row_count = rows;
    finished.content_hash = hash;
    response.payload_case = MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_FINISHED;
    response.finished = &finished;
    append_message(to, &response.base);
}

static struct bytes whole_answer(size_t chunk_bytes, uint64_t rows, uint64_t hash_change)
{
    struct bytes body = {0}, stream = arrow_stream();

    append_started(&body);
    append_arrow(&body, &stream, chunk_bytes);
    append_finished(&body, rows, XXH3_64bits(stream.data, stream.size) ^ hash_change);
    free(stream.data);
    return body;
}

static struct bytes health_answer(void)
{
    Grpc__Health__V1__HealthCheckResponse response;
    struct bytes body = {0};

    grpc__health__v1__health_check_response__init(&response);
    response.status = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
    append_message(&body, &response.base);
    return body;
}

static struct morsel_connection *connect_to(const struct fake_server *server)
{
    struct morsel_connection *connection = NULL;
    struct morsel_error err;

    cr_assert_eq(morsel_connect(server->address, 5000, &connection, &err), 0, "%s", err.message);
    return connection;
}

static const char job[] = "{\"rels\":[{\"scan\":{\"table\":{\"name\":\"t\"}}}]}";

/* Runs the job to its end; the code of morsel_result_next or -1, rows counted. */
static int run(struct morsel_connection *connection, uint64_t timeout_ms, uint64_t *rows_out,
               struct morsel_error *err)
{
    const struct morsel_run_options options = {.timeout_ms = timeout_ms};
    struct morsel_result *result = NULL;
    struct morsel_batch *batch = NULL;
    int got = morsel_run_json(connection, job, sizeof job - 1, NULL, &options, &result, err);

    *rows_out = 0;
    if (got != 0) {
        return got;
    }
    while ((got = morsel_result_next(result, &batch, err)) == 1) {
        *rows_out += morsel_batch_rows(batch);
        morsel_batch_free(batch);
    }
    morsel_result_close(result);
    return got;
}

/* ---- tests
 * ------------------------------------------------------------------------------------------ */

Test(transport, whole_result_in_any_split)
{
    static const size_t splits[][2] = {{1 << 20, 0}, {7, 1}, {100, 13}};

    for (int s = 0; s < 3; s++) {
        struct bytes body = whole_answer(splits[s][0], 3, 0);
        struct fake_server server = {
            .body = body.data, .body_bytes = body.size, .frame_bytes = splits[s][1]};
        fake_start(&server);
        struct morsel_connection *connection = connect_to(&server);
        struct morsel_result *result = NULL;
        struct morsel_batch *batch = NULL;
        struct morsel_error err;
        size_t size = 0;
        char text[8];

        cr_assert_eq(morsel_run_json(connection, job, sizeof job - 1, NULL, NULL, &result, &err), 0,
                     "%s", err.message);
        cr_expect_str_eq(morsel_result_job_id(result), "job-1");
        cr_expect_eq(morsel_result_column_count(result), 2);
        cr_expect_str_eq(morsel_result_column(result, 1).name, "s");
        cr_assert_eq(morsel_result_next(result, &batch, &err), 1, "%s", err.message);
        cr_assert_eq(morsel_batch_rows(batch), 3);
        cr_expect_eq(morsel_batch_int64(batch, 0, 2), 3);
        cr_expect_eq((int)morsel_batch_is_null(batch, 1, 1), 1);
        cr_expect_eq(memcmp(morsel_batch_bytes(batch, 1, 2, &size), "ccc", 3), 0);
        cr_expect_eq(size, 3);
        cr_expect_eq(morsel_batch_text(batch, 1, 2, text, 3), 3);
        cr_expect_str_eq(text, "cc");
        cr_expect_eq(morsel_result_next(result, &batch, &err), 0, "%s", err.message);
        morsel_result_close(result);
        morsel_batch_free(NULL);
        morsel_close(connection);
        fake_stop(&server);
        free(body.data);
    }
}

/* One record batch of 8 MiB in one gRPC message: twice the stream's window, so that the client has
 * to give window back before the message is whole. */
Test(transport, a_message_larger_than_the_window)
{
    enum { ROWS = 1 << 20 };
    static const struct exec_field field = {.name = "n", .type = {.kind = EXEC_TYPE_INT64}};
    static const struct exec_schema one_column = {&field, 1};
    int64_t *numbers = malloc(ROWS * sizeof *numbers);
    struct bytes body = {0}, stream = {0};
    struct arrow_batch_message message;
    size_t size = 0;

    for (int i = 0; i < ROWS; i++) {
        numbers[i] = i;
    }
    const struct exec_column_buffers column = {.type = field.type,
                                               .row_count = ROWS,
                                               .values = numbers,
                                               .values_bytes = ROWS * sizeof *numbers};
    uint8_t *head = arrow_write_schema(&one_column, &size);
    append(&stream, head, size);
    free(head);
    cr_assert_eq(arrow_write_batch(&column, 1, ROWS, &message), 0);
    for (uint32_t i = 0; i < message.piece_count; i++) {
        append(&stream, message.pieces[i].bytes, message.pieces[i].size);
    }
    arrow_batch_message_fini(&message);
    append(&stream, arrow_end_of_stream, ARROW_EOS_BYTES);
    append_started_of(&body, &one_column);
    append_arrow(&body, &stream, stream.size);
    append_finished(&body, ROWS, XXH3_64bits(stream.data, stream.size));

    struct fake_server server = {.body = body.data, .body_bytes = body.size};
    fake_start(&server);
    struct morsel_connection *connection = connect_to(&server);
    struct morsel_error err = {0};
    uint64_t rows = 0;
    cr_expect_eq(run(connection, 0, &rows, &err), 0, "%s", err.message);
    cr_expect_eq(rows, ROWS);
    morsel_close(connection);
    fake_stop(&server);
    free(numbers);
    free(stream.data);
    free(body.data);
}

Test(transport, incomplete_and_damaged_results_are_errors)
{
    struct bytes unfinished = {0}, stream = arrow_stream();
    append_started(&unfinished);
    append_arrow(&unfinished, &stream, 1 << 20);
    struct bytes wrong_hash = whole_answer(1 << 20, 3, 1), wrong_rows = whole_answer(1 << 20, 4, 0);
    struct bytes whole = whole_answer(1 << 20, 3, 0), other_columns = {0};
    const struct exec_schema announced = {fields, 1};
    append_started_of(&other_columns, &announced);
    append_arrow(&other_columns, &stream, 1 << 20);
    append_finished(&other_columns, 3, XXH3_64bits(stream.data, stream.size));
    const struct {
        struct bytes body;
        size_t cut;
        enum fake_behaviour behaviour;
        const char *status;
        enum morsel_fault fault;
    } cases[] = {
        {unfinished, 0, FAKE_ANSWER, "0", MORSEL_FAULT_INCOMPLETE},
        {wrong_hash, 0, FAKE_ANSWER, "0", MORSEL_FAULT_DATA},
        {wrong_rows, 0, FAKE_ANSWER, "0", MORSEL_FAULT_DATA},
        {other_columns, 0, FAKE_ANSWER, "0", MORSEL_FAULT_DATA},
        {whole, 3, FAKE_ANSWER, "0", MORSEL_FAULT_DATA},           /* ends inside a message */
        {whole, 0, FAKE_NO_TRAILERS, "0", MORSEL_FAULT_TRANSPORT}, /* no status */
        {whole, 0, FAKE_ANSWER, "13", MORSEL_FAULT_SERVER},        /* finished, then an error */
        {unfinished, 0, FAKE_CLOSE, "0", MORSEL_FAULT_TRANSPORT},
    };

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct fake_server server = {.behaviour = cases[c].behaviour,
                                     .body = cases[c].body.data,
                                     .body_bytes = cases[c].body.size - cases[c].cut,
                                     .status = cases[c].status};
        fake_start(&server);
        struct morsel_connection *connection = connect_to(&server);
        struct morsel_error err = {0};
        uint64_t rows = 0;
        cr_expect_eq(run(connection, 0, &rows, &err), -1, "case %zu succeeded", c);
        cr_expect_eq(err.fault, cases[c].fault, "case %zu: fault %d: %s", c, err.fault,
                     err.message);
        morsel_close(connection);
        fake_stop(&server);
    }
    free(unfinished.data);
    free(stream.data);
    free(wrong_hash.data);
    free(wrong_rows.data);
    free(other_columns.data);
    free(whole.data);
}

Test(transport, status_and_details_reach_the_caller)
{
    char details[GRPC_DETAILS_BYTES];
    struct exec_error error = {
        .code = EXEC_BAD_DATA, .rel = 2, .line = 17, .column = 3, .detail = "a.csv:17: bad"};
    const size_t size = wire_error_details_encode(&error, 0, details);
    details[size] = '\0';
    struct fake_server server = {.behaviour = FAKE_TRAILERS_ONLY,
                                 .status = "15",
                                 .message = "a.csv:17: 100%25 bad",
                                 .details = details};
    fake_start(&server);
    struct morsel_connection *connection = connect_to(&server);
    struct morsel_error err = {0};
    uint64_t rows = 0;

    cr_expect_eq(run(connection, 0, &rows, &err), -1);
    cr_expect_eq(err.fault, MORSEL_FAULT_SERVER);
    cr_expect_eq(err.grpc_status, 15);
    cr_expect_str_eq(err.grpc_name, "DATA_LOSS");
    cr_expect_str_eq(err.code_name, "BAD_DATA");
    cr_expect_eq(err.rel, 2);
    cr_expect_eq(err.line, 17);
    cr_expect_eq(err.column, 3);
    cr_expect_not_null(strstr(err.message, "bad"), "%s", err.message);
    cr_expect_eq((int)err.retryable, 0);
    morsel_close(connection);
    fake_stop(&server);
}

Test(transport, refused_call_is_tried_again)
{
    struct bytes body = health_answer();
    struct fake_server server = {
        .behaviour = FAKE_REFUSE_FIRST, .body = body.data, .body_bytes = body.size};
    fake_start(&server);
    struct morsel_connection *connection = connect_to(&server);
    struct morsel_error err = {0};
    uint64_t latency = 0;

    cr_expect_eq(morsel_ping(connection, 0, &latency, &err), 0, "%s", err.message);
    cr_expect_gt(latency, 0);
    cr_expect_eq(atomic_load(&server.calls), 2);
    cr_expect_str_eq(morsel_server_name(connection), "fake/1");
    morsel_close(connection);
    fake_stop(&server);
    free(body.data);
}

Test(transport, a_connection_the_server_left_is_opened_anew)
{
    struct bytes body = health_answer();
    struct fake_server server = {
        .behaviour = FAKE_GOAWAY_AFTER, .body = body.data, .body_bytes = body.size};
    fake_start(&server);
    struct morsel_connection *connection = connect_to(&server);
    struct morsel_error err = {0};

    for (int i = 0; i < 3; i++) {
        cr_expect_eq(morsel_ping(connection, 0, NULL, &err), 0, "%s", err.message);
    }
    cr_expect_eq(atomic_load(&server.connections), 3);
    morsel_close(connection);
    fake_stop(&server);
    free(body.data);
}

Test(transport, deadline_resets_the_call)
{
    struct fake_server server = {.behaviour = FAKE_SILENT};
    fake_start(&server);
    struct morsel_connection *connection = connect_to(&server);
    struct morsel_error err = {0};
    uint64_t rows = 0;
    const uint64_t before = grpc_clock_ns();

    cr_expect_eq(run(connection, 50, &rows, &err), -1);
    cr_expect_eq(err.fault, MORSEL_FAULT_DEADLINE);
    cr_expect_str_eq(err.grpc_name, "DEADLINE_EXCEEDED");
    cr_expect_geq(grpc_clock_ns() - before, 50000000u);
    for (int i = 0; i < 200 && atomic_load(&server.resets) == 0; i++) {
        usleep(10000);
    }
    cr_expect_eq(atomic_load(&server.resets), 1);
    morsel_close(connection);
    fake_stop(&server);
}

static void *interrupt_soon(void *connection)
{
    usleep(30000);
    morsel_interrupt(connection);
    return NULL;
}

Test(transport, interrupt_from_another_thread)
{
    struct fake_server server = {.behaviour = FAKE_SILENT};
    fake_start(&server);
    struct morsel_connection *connection = connect_to(&server);
    struct morsel_error err = {0};
    uint64_t rows = 0;
    pthread_t thread;

    pthread_create(&thread, NULL, interrupt_soon, connection);
    cr_expect_eq(run(connection, 0, &rows, &err), -1);
    cr_expect_eq(err.fault, MORSEL_FAULT_CANCELLED);
    pthread_join(thread, NULL);

    morsel_interrupt(connection); /* before a call: that call ends */
    cr_expect_eq(run(connection, 0, &rows, &err), -1);
    cr_expect_eq(err.fault, MORSEL_FAULT_CANCELLED);
    morsel_close(connection);
    fake_stop(&server);
}

/* The body is one chunk that carries no Arrow, over and over; nothing is read after Started. */
Test(transport, not_reading_is_backpressure)
{
    struct bytes body = {0};
    append_started(&body);
    struct bytes filler = {calloc(1, 100000), 100000};
    append_arrow(&body, &filler, 100000);
    struct fake_server server = {
        .behaviour = FAKE_BODY_FOREVER, .body = body.data, .body_bytes = body.size};
    fake_start(&server);
    struct morsel_connection *connection = connect_to(&server);
    struct morsel_result *result = NULL;
    struct morsel_error err = {0};
    size_t sent = 0, before = 1;

    cr_assert_eq(morsel_run_json(connection, job, sizeof job - 1, NULL, NULL, &result, &err), 0,
                 "%s", err.message);
    while (sent != before || sent == 0) { /* until the server is stuck */
        before = sent;
        usleep(100000);
        sent = atomic_load(&server.sent_bytes);
    }
    cr_expect_leq(sent, (size_t)CHANNEL_STREAM_WINDOW + (1 << 20), "%zu bytes were sent", sent);
    morsel_result_close(result);
    morsel_close(connection);
    fake_stop(&server);
    free(filler.data);
    free(body.data);
}

Test(transport, peers_that_are_no_server)
{
    static const struct {
        enum fake_behaviour behaviour;
        const char *word;
    } cases[] = {{FAKE_NOT_HTTP2, "does not speak HTTP/2"}, {FAKE_MUTE, "does not answer"}};
    struct morsel_connection *connection = NULL;
    struct morsel_error err = {0};

    for (int c = 0; c < 2; c++) {
        struct fake_server server = {.behaviour = cases[c].behaviour};
        fake_start(&server);
        cr_expect_eq(morsel_connect(server.address, 100, &connection, &err), -1);
        cr_expect_eq(err.fault, MORSEL_FAULT_CONNECT);
        cr_expect_not_null(strstr(err.message, cases[c].word), "%s", err.message);
        fake_stop(&server);
    }
    cr_expect_eq(morsel_connect("127.0.0.1:1", 1000, &connection, &err), -1);
    cr_expect_eq(err.fault, MORSEL_FAULT_CONNECT);
    cr_expect_eq((int)err.retryable, 1);
    static const char *const wrong[] = {"",           ":7432", "host:", "host:0",
                                        "host:99999", "[::1",  "h:x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_expect_eq(morsel_connect(wrong[i], 100, &connection, &err), -1, "%s", wrong[i]);
        cr_expect_eq(err.fault, MORSEL_FAULT_ARGUMENT, "%s: %s", wrong[i], err.message);
    }
}

Test(transport, an_answer_that_is_not_grpc)
{
    struct fake_server server = {.behaviour = FAKE_HTTP_404};
    fake_start(&server);
    struct morsel_connection *connection = connect_to(&server);
    struct morsel_error err = {0};

    cr_expect_eq(morsel_ping(connection, 0, NULL, &err), -1);
    cr_expect_eq(err.fault, MORSEL_FAULT_TRANSPORT);
    cr_expect_str_eq(err.grpc_name, "UNIMPLEMENTED");
    morsel_close(connection);
    fake_stop(&server);
}

Test(transport, arrow_c_stream)
{
    struct bytes body = whole_answer(1 << 20, 3, 0);
    struct fake_server server = {.body = body.data, .body_bytes = body.size};
    fake_start(&server);
    struct morsel_connection *connection = connect_to(&server);
    struct morsel_result *result = NULL;
    struct morsel_error err = {0};
    struct ArrowArrayStream stream;
    struct ArrowSchema arrow_schema;
    struct ArrowArray array, end;

    cr_assert_eq(morsel_run_json(connection, job, sizeof job - 1, NULL, NULL, &result, &err), 0,
                 "%s", err.message);
    morsel_result_to_arrow_stream(result, &stream);
    cr_assert_eq(stream.get_schema(&stream, &arrow_schema), 0);
    cr_expect_str_eq(arrow_schema.format, "+s");
    cr_assert_eq(arrow_schema.n_children, 2);
    cr_expect_str_eq(arrow_schema.children[0]->format, "l");
    cr_expect_str_eq(arrow_schema.children[1]->format, "u");
    cr_expect_str_eq(arrow_schema.children[1]->name, "s");
    cr_assert_eq(stream.get_next(&stream, &array), 0);
    cr_assert_eq(stream.get_next(&stream, &end), 0);
    cr_expect_null(end.release);
    stream.release(&stream);
    morsel_close(connection);

    /* The array outlives its stream; a child may be moved out and released last. */
    struct ArrowArray child = *array.children[1];
    array.children[1]->release = NULL;
    cr_expect_eq(array.length, 3);
    array.release(&array);
    cr_expect_eq(child.null_count, 1);
    cr_expect_eq(((const int32_t *)child.buffers[1])[3], 4);
    cr_expect_eq(memcmp(child.buffers[2], "accc", 4), 0);
    child.release(&child);
    arrow_schema.release(&arrow_schema);
    fake_stop(&server);
    free(body.data);
}
