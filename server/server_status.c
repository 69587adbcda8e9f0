#include "admission.h"
#include "job_message.h"
#include "metrics.h"
#include "service.h"

#include <stdlib.h>

/* GetServerStatus: what `morsel top` shows, all of it counted since the start. */

struct status_worker {
    Morsel__V1__WorkerStatus message;
    Google__Protobuf__Duration busy, search, parked;
};

static void worker_fill(const struct exec_engine *engine, uint32_t worker,
                        struct status_worker *out)
{
    Morsel__V1__WorkerStatus *message = &out->message;
    struct exec_worker_info info;

    exec_engine_worker_info(engine, worker, &info);
    const struct exec_worker_counters *counters = &info.counters;
    morsel__v1__worker_status__init(message);
    message->worker = info.worker;
    message->node = info.node;
    message->cpu = info.os_cpu;
    message->morsels_local = counters->morsels_local;
    message->morsels_remote = counters->morsels_remote;
    message->rows_local = counters->rows_local;
    message->rows_remote = counters->rows_remote;
    message->steals_smt = counters->steals_smt;
    message->steals_l3 = counters->steals_l3;
    message->steals_node = counters->steals_node;
    message->steals_remote = counters->steals_remote;
    job_message_duration(counters->busy_ns, &out->busy);
    job_message_duration(counters->search_ns, &out->search);
    job_message_duration(counters->parked_ns, &out->parked);
    message->busy = &out->busy;
    message->search = &out->search;
    message->parked = &out->parked;
}

static void status_send(struct session *session, struct status_worker *rows,
                        Morsel__V1__WorkerStatus **pointers, uint32_t count)
{
    const struct service_env *env = session->env;
    Morsel__V1__GetServerStatusResponse response;
    struct exec_engine_counters counters;
    Google__Protobuf__Duration uptime;

    exec_engine_counters(env->engine, &counters);
    morsel__v1__get_server_status_response__init(&response);
    for (uint32_t i = 0; i < count; i++) {
        worker_fill(env->engine, i, &rows[i]);
        pointers[i] = &rows[i].message;
    }
    response.workers = pointers;
    response.n_workers = count;
    response.version = (char *)(uintptr_t)MORSEL_VERSION;
    job_message_duration(metrics_monotonic_ns() - env->started_ns, &uptime);
    response.uptime = &uptime;
    response.jobs_running = (uint32_t)env->admission->running;
    response.jobs_queued = (uint32_t)env->admission->queued;
    response.jobs_ended = counters.jobs_done;
    response.memory_used_bytes = counters.memory_used_bytes;
    response.memory_limit_bytes = counters.memory_limit_bytes;
    response.memory_jobs_bytes = counters.memory_jobs_bytes;
    response.memory_tables_bytes = counters.memory_tables_bytes;
    session_send(session, &response.base);
    session_finish(session);
}

static void status_message(struct session *session, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *message =
        session_unpack(session, &morsel__v1__get_server_status_request__descriptor, bytes, size);
    const uint32_t count = exec_engine_worker_count(session->env->engine);

    if (message == NULL) {
        return;
    }
    protobuf_c_message_free_unpacked(message, NULL);
    struct status_worker *rows = calloc(count, sizeof *rows);
    Morsel__V1__WorkerStatus **pointers = calloc(count, sizeof(Morsel__V1__WorkerStatus *));
    if (rows == NULL || pointers == NULL) {
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for the status");
    } else {
        status_send(session, rows, pointers, count);
    }
    free(rows);
    free(pointers);
}

const struct rpc_handler rpc_server_status = {.message = status_message};
