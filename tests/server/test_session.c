#include "daemon.h"

#include "h2_client.h"
#include "proto/grpc_frame.h"
#include "proto/wire_plan.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* Goal:   every step of an RPC stream, from bad requests to a job's whole result, a stalled client,
 * a reset and a drain, answers as gRPC wants, and the daemon serves the next job after each.
 * Method: the real daemon on its own loop thread over the engine of fake_engine.c; a raw nghttp2
 * client over a socket. */

static struct daemon *daemon_under_test;
static pthread_t daemon_thread;
static uint64_t jobs_running_max = 2048, jobs_queued_max = 1024;
static uint8_t request_bytes[4096];
static size_t request_size;

static void *run_daemon(void *argument)
{
    daemon_run(argument);
    return NULL;
}

static void start_daemon(uint64_t stall_ns, uint64_t drain_ns)
{
    struct daemon_options options = {.signals = false};
    struct exec_error err;

    config_init(&options.config);
    strcpy(options.config.listen, "127.0.0.1:0");
    options.config.admin_listen[0] = '\0';
    strcpy(options.config.log_level, getenv("TEST_LOG") ? "debug" : "error");
    options.config.result_stall_timeout = stall_ns;
    options.config.drain_timeout = drain_ns;
    options.config.jobs_running_max = jobs_running_max;
    options.config.jobs_queued_max = jobs_queued_max;
    cr_assert_eq(daemon_create(&options, &daemon_under_test, &err), EXEC_OK, "%s", err.detail);
    cr_assert_eq(pthread_create(&daemon_thread, NULL, run_daemon, daemon_under_test), 0);
}

static void start(void)
{
    start_daemon(60000000000ull, 30000000000ull);
}

static void stop(void)
{
    daemon_stop(daemon_under_test);
    pthread_join(daemon_thread, NULL);
    daemon_destroy(daemon_under_test);
}

static uint16_t port(void)
{
    return daemon_grpc_port(daemon_under_test);
}

/* A framed ExecuteJobRequest that streams `rows` numbers. */
static void make_request(int64_t rows, const char *job_id)
{
    struct exec_rel rel = {.kind = EXEC_REL_SCAN};

    rel.u.scan.source = EXEC_SCAN_GENERATOR;
    rel.u.scan.generator = "sequence";
    rel.u.scan.generator_rows = rows;
    const struct exec_job_spec spec = {.rels = &rel, .rel_count = 1};
    Morsel__V1__ExecuteJobRequest *request = wire_request_from_spec(&spec, job_id);
    cr_assert_not_null(request);
    request_size = morsel__v1__execute_job_request__get_packed_size(request);
    cr_assert(request_size + GRPC_PREFIX_BYTES <= sizeof request_bytes);
    grpc_prefix_write(request_bytes, (uint32_t)request_size);
    morsel__v1__execute_job_request__pack(request, request_bytes + GRPC_PREFIX_BYTES);
    request_size += GRPC_PREFIX_BYTES;
    wire_request_free(request);
}

static const char execute[] = "/morsel.v1.JobService/ExecuteJob";

static struct client_stream *call_job(struct h2_client *client, int64_t rows)
{
    make_request(rows, "");
    return client_call(client, "POST", execute, "application/grpc", request_bytes, request_size,
                       false);
}

/* What a job's stream said. */
struct job_answer {
    uint64_t messages, rows, chunks, hash, finished_rows, finished_hash;
    bool started_first, finished_last;
    uint8_t tail[8]; /* the last Arrow bytes */
};

static void read_answer(const struct client_stream *stream, struct job_answer *out)
{
    XXH3_state_t *hash = XXH3_createState();
    size_t at = 0;

    *out = (struct job_answer){0};
    XXH3_64bits_reset(hash);
    while (at < stream->data_bytes) {
        const uint8_t *p = stream->data + at;
        const size_t size = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
        cr_assert_eq(p[0], 0);
        Morsel__V1__ExecuteJobResponse *response =
            morsel__v1__execute_job_response__unpack(NULL, size, p + GRPC_PREFIX_BYTES);
        cr_assert_not_null(response);
        at += GRPC_PREFIX_BYTES + size;
        out->messages++;
        cr_assert_eq(response->sequence, out->messages);
        out->finished_last = false;
        switch (response->payload_case) {
            case MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_STARTED:
                out->started_first = out->messages == 1 && response->job_id[0] != '\0';
                break;
            case MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_ARROW:
                cr_assert_eq(response->arrow->row_offset, out->rows);
                out->rows += response->arrow->row_count;
                out->chunks++;
                XXH3_64bits_update(hash, response->arrow->data.data, response->arrow->data.len);
                memcpy(out->tail, response->arrow->data.data + response->arrow->data.len - 8, 8);
                break;
            case MORSEL__V1__EXECUTE_JOB_RESPONSE__PAYLOAD_FINISHED:
                out->finished_last = true;
                out->finished_rows = response->finished->row_count;
                out->finished_hash = response->finished->content_hash;
                break;
            default: cr_assert_fail("unexpected payload");
        }
        morsel__v1__execute_job_response__free_unpacked(response, NULL);
    }
    out->hash = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
}

static void a_job_still_works(struct h2_client *client, int64_t rows)
{
    struct job_answer answer;
    struct client_stream *stream = call_job(client, rows);

    client_run(client, stream, 20000);
    cr_assert(stream->closed);
    cr_assert_eq(stream->http_status, 200);
    cr_assert_eq(stream->grpc_status, 0, "%s", stream->message);
    read_answer(stream, &answer);
    cr_assert(answer.started_first);
    cr_assert(answer.finished_last);
    cr_assert_eq(answer.rows, (uint64_t)rows);
    cr_assert_eq(answer.finished_rows, (uint64_t)rows);
    cr_assert_eq(answer.hash, answer.finished_hash);
    cr_assert_arr_eq(answer.tail, "\xff\xff\xff\xff\0\0\0\0", 8);
}

Test(session, a_job_from_started_to_finished, .init = start, .fini = stop)
{
    struct h2_client client;

    client_connect(&client, port(), false);
    a_job_still_works(&client, 0);
    a_job_still_works(&client, 1);
    a_job_still_works(&client, 1000000);
    client_close(&client);
}

struct bad_request {
    const char *method, *path, *content_type, *body;
    size_t size;
    int http_status, grpc_status;
};

Test(session, bad_requests_get_their_status, .init = start, .fini = stop)
{
    static const char check[] = "/grpc.health.v1.Health/Check";
    static const char grpc[] = "application/grpc";
    static const struct bad_request cases[] = {
        {"GET", check, grpc, "", 0, 405, -1},
        {"POST", check, "text/plain", "", 0, 415, -1},
        {"POST", check, "application/grpcx", "", 0, 415, -1},
        {"POST", "/morsel.v1.JobService/Nothing", grpc, "", 0, 200, 12},
        {"POST", "/", "application/grpc+proto", "", 0, 200, 12},
        {"POST", check, grpc, "\1\0\0\0\0", 5, 200, 12},
        {"POST", check, grpc, "\3\0\0\0\0", 5, 200, 13},
        {"POST", check, grpc, "\0\0\0\0\5ab", 7, 200, 13},
        {"POST", check, grpc, "\0\0\0", 3, 200, 13},
        {"POST", check, grpc, "", 0, 200, 13},
        {"POST", check, grpc, "\0\0\0\0\0\0\0\0\0\0", 10, 200, 12},
        {"POST", check, grpc, "\0\x7f\0\0\0", 5, 200, 8},
        {"POST", check, grpc, "\0\0\0\0\2\xff\xff", 7, 200, 3},
        {"POST", execute, grpc, "\0\0\0\0\0", 5, 200, 3},
        {"POST", check, grpc, "\0\0\0\0\0", 5, 200, 0},
    };
    struct h2_client client;

    client_connect(&client, port(), false);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct bad_request *bad = &cases[i];
        struct client_stream *stream =
            client_call(&client, bad->method, bad->path, bad->content_type,
                        (const uint8_t *)bad->body, bad->size, false);
        client_run(&client, stream, 10000);
        cr_assert(stream->closed, "case %zu", i);
        cr_assert_eq(stream->http_status, bad->http_status, "case %zu: %d", i, stream->http_status);
        cr_assert_eq(stream->grpc_status, bad->grpc_status, "case %zu: %d %s", i,
                     stream->grpc_status, stream->message);
        if (bad->http_status == 200) {
            cr_assert_str_eq(stream->accept_encoding, "identity");
        }
    }
    a_job_still_works(&client, 100);
    client_close(&client);
}

Test(session, an_early_answer_ends_an_open_request, .init = start, .fini = stop)
{
    struct h2_client client;

    client_connect(&client, port(), false);
    struct client_stream *stream =
        client_call(&client, "POST", "/nothing", "application/grpc", NULL, 0, true);
    client_run(&client, stream, 10000);
    cr_assert(stream->closed);
    cr_assert_eq(stream->grpc_status, 12);
    cr_assert_eq(stream->reset_code, NGHTTP2_NO_ERROR);
    client_close(&client);
}

/* Sixty stalled streams on one connection: the next job, and another connection's, are unhindered.
 */
Test(session, stalled_streams_hinder_nobody, .init = start, .fini = stop)
{
    struct h2_client stalled;
    struct h2_client other;

    client_connect(&stalled, port(), true);
    for (uint32_t i = 0; i < 60; i++) {
        call_job(&stalled, 1000000000);
        client_run(&stalled, NULL, 5);
    }
    client_run(&stalled, NULL, 500);
    for (uint32_t i = 0; i < 60; i++) {
        cr_assert_eq(stalled.streams[i].data_bytes, 65535, "stream %u got %zu", i,
                     stalled.streams[i].data_bytes);
    }
    client_connect(&other, port(), false);
    a_job_still_works(&other, 1000000);
    nghttp2_submit_rst_stream(stalled.h2, 0, stalled.streams[0].id, NGHTTP2_CANCEL);
    client_run(&stalled, &stalled.streams[0], 1000);
    a_job_still_works(&other, 10);
    client_close(&other);
    client_close(&stalled);
}

/* ListJobs says it of some job, within 5 s. */
static void expect_job_reason(const char *reason)
{
    static const char list[] = "/morsel.v1.JobService/ListJobs";
    static const uint8_t request[GRPC_PREFIX_BYTES] = {0};
    struct h2_client client;
    bool said = false;

    client_connect(&client, port(), false);
    for (int i = 0; i < 50 && !said; i++) {
        struct client_stream *stream =
            client_call(&client, "POST", list, "application/grpc", request, sizeof request, false);
        client_run(&client, stream, 5000);
        said = stream->data_bytes > 0 &&
               memmem(stream->data, stream->data_bytes, reason, strlen(reason)) != NULL;
        if (!said) {
            client_run(&client, NULL, 100);
        }
    }
    cr_expect(said, "%s", reason);
    client_close(&client);
}

static void start_short_stall(void)
{
    start_daemon(1000000000ull, 30000000000ull);
}

Test(session, a_stalled_client_loses_its_job, .init = start_short_stall, .fini = stop)
{
    struct h2_client client;

    client_connect(&client, port(), true);
    struct client_stream *stream = call_job(&client, 1000000000);
    client_run(&client, stream, 10000);
    cr_assert(stream->closed);
    cr_assert_eq(stream->reset_code, NGHTTP2_ENHANCE_YOUR_CALM); /* gRPC: RESOURCE_EXHAUSTED */
    client_close(&client);
    expect_job_reason("the client took no byte for 1 s (result_stall_timeout)");
}

static void start_short_drain(void)
{
    start_daemon(60000000000ull, 500000000ull);
}

Test(session, drain_cancels_what_does_not_end, .init = start_short_drain)
{
    struct h2_client client;

    client_connect(&client, port(), false);
    struct client_stream *stream = call_job(&client, 1000000000000);
    client_run(&client, NULL, 100);
    cr_assert(stream->data_bytes > 0);
    daemon_stop(daemon_under_test);
    client_run(&client, stream, 10000);
    cr_assert(stream->closed);
    cr_assert_eq(stream->grpc_status, 14, "%d %s", stream->grpc_status, stream->message);
    cr_assert(client.goaway);
    cr_assert_eq(client.goaway_code, NGHTTP2_NO_ERROR);
    client_run(&client, NULL, 5000);
    cr_assert(client.gone, "the connection ends");
    client_close(&client);
    pthread_join(daemon_thread, NULL);
    daemon_destroy(daemon_under_test);
}

static void start_one_job(void)
{
    jobs_running_max = 1;
    jobs_queued_max = 1;
    start();
}

/* One job runs, one waits, the third is told to come again; the second runs when the first is gone.
 */
Test(session, admission_queues_and_refuses, .init = start_one_job, .fini = stop)
{
    struct h2_client client;

    client_connect(&client, port(), true);
    struct client_stream *running = call_job(&client, 1000000000);
    client_run(&client, NULL, 200);
    struct client_stream *queued = call_job(&client, 1000);
    client_run(&client, NULL, 200);
    struct client_stream *refused = call_job(&client, 1000);
    client_run(&client, refused, 5000);
    cr_assert_eq(refused->grpc_status, 8, "%d %s", refused->grpc_status, refused->message);
    cr_assert(strstr(refused->message, "queue is full") != NULL);
    cr_assert(running->data_bytes > 0);
    cr_assert_eq(queued->data_bytes, 0);
    nghttp2_submit_rst_stream(client.h2, 0, running->id, NGHTTP2_CANCEL);
    client_run(&client, queued, 5000);
    cr_assert_eq(queued->grpc_status, 0, "%s", queued->message);
    client_close(&client);
}

/* Header lists of too many fields: the stream is reset, the third time the connection ends. */
Test(session, large_header_lists_are_refused, .init = start, .fini = stop)
{
    static char name[] = "x-field";
    nghttp2_nv fields[100];
    struct h2_client client;

    for (uint32_t i = 0; i < 100; i++) {
        fields[i] = (nghttp2_nv){.name = (uint8_t *)name,
                                 .value = (uint8_t *)name,
                                 .namelen = sizeof name - 1,
                                 .valuelen = sizeof name - 1};
    }
    client_connect(&client, port(), false);
    for (uint32_t i = 0; i < 3; i++) {
        struct client_stream *stream = &client.streams[client.stream_count++];
        *stream = (struct client_stream){.http_status = -1, .grpc_status = -1};
        cr_assert(nghttp2_submit_request(client.h2, NULL, fields, 100, NULL, stream) > 0);
        client_run(&client, stream, 3000);
        cr_assert_eq(stream->http_status, -1);
    }
    client_run(&client, NULL, 3000);
    cr_assert(client.goaway);
    cr_assert_eq(client.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    client_close(&client);
}

/* Floods end in GOAWAY ENHANCE_YOUR_CALM, and only for the one who floods. */
static void flood(const uint8_t *frame, size_t size)
{
    struct h2_client client;
    struct h2_client other;

    client_connect(&client, port(), false);
    client_run(&client, NULL, 50);
    for (uint32_t i = 0; i < 2000 && !client.gone; i++) {
        client_send_raw(&client, frame, size);
    }
    client_run(&client, NULL, 3000);
    cr_assert(client.goaway);
    cr_assert_eq(client.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    cr_assert(client.gone);
    client_close(&client);
    client_connect(&other, port(), false);
    a_job_still_works(&other, 10);
    client_close(&other);
}

Test(session, floods, .init = start, .fini = stop)
{
    static const uint8_t ping[] = {0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const uint8_t settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    static const uint8_t unknown[] = {0, 0, 1, 0xbb, 0, 0, 0, 0, 0, 1};

    flood(ping, sizeof ping);
    flood(settings, sizeof settings);
    flood(unknown, sizeof unknown);
}

/* MadeYouReset: requests whose window the client overflows, so that the server resets them. */
Test(session, provoked_resets_are_counted, .init = start, .fini = stop)
{
    struct h2_client client;

    client_connect(&client, port(), false);
    client_run(&client, NULL, 50);
    for (uint32_t i = 0; i < 120 && !client.gone; i++) {
        struct client_stream *stream =
            client_call(&client, "POST", execute, "application/grpc", NULL, 0, true);
        client_run(&client, NULL, 1);
        const uint8_t overflow[] = {
            0,    0,    4,    8,   0, 0, 0, (uint8_t)(stream->id >> 8), (uint8_t)stream->id,
            0x7f, 0xff, 0xff, 0xff};
        client_send_raw(&client, overflow, sizeof overflow);
        client_run(&client, stream, 1000);
    }
    client_run(&client, NULL, 3000);
    cr_assert(client.goaway);
    cr_assert_eq(client.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    client_close(&client);
}
