#include "upload_session.h"

#include "bridge.h"
#include "config.h"
#include "log.h"
#include "metrics.h"
#include "upload_frames.h"

#include "exec/exec.h"
#include "proto/arrow_reader.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* UploadTable: begin, Arrow bytes, commit. Record batches go to the engine as they become whole;
 * the client's window comes back as the engine has copied them. Nothing is visible before the
 * commit, and the commit happens when the client has closed its side after it. */

enum { UPLOAD_MAGIC = 0x0b10ad5, UPLOAD_IN_FLIGHT_BYTES = 8 << 20 };

struct upload_call {
    uint32_t magic;
    struct service_env *env;
    struct upload_call *next, *prev;
    struct session *session; /* NULL once the call is over */
    struct upload_frames frames;
    struct arrow_reader *reader;
    struct exec_upload *upload; /* from the schema to `done` */
    struct exec_error error;    /* why an event stopped the frames */
    XXH3_state_t *hash;
    char table[EXEC_NAME_BYTES_MAX + 1];
    bool begun, replace, committed, closing;
    uint64_t expected_bytes, row_count, byte_count, batch_bytes;
    uint64_t commit_rows, commit_hash;
    uint64_t in_flight_bytes; /* of batches the engine has not copied yet */
    uint32_t appends_out;
    /* What `done` told, written by a worker, read by the loop behind the bridge. */
    struct bridge_event done_event;
    struct exec_error done_error;
    uint64_t done_version, done_rows, done_bytes;
};

/* One record batch at the engine: the token of its append. */
struct upload_batch {
    struct bridge_event event;
    struct upload_call *call;
    struct arrow_batch batch;
    uint64_t bytes;
};

/* ---- the end ----------------------------------------------------------------------------------
 */

static void upload_free_if_over(struct upload_call *call)
{
    if (call->session != NULL || call->upload != NULL || call->appends_out > 0) {
        return;
    }
    if (call->prev != NULL) {
        call->prev->next = call->next;
    } else {
        call->env->uploads = call->next;
    }
    if (call->next != NULL) {
        call->next->prev = call->prev;
    }
    upload_frames_fini(&call->frames);
    arrow_reader_destroy(call->reader);
    XXH3_freeState(call->hash);
    call->magic = 0;
    free(call);
}

/* Fails the call and takes the upload back. The call may be gone afterwards. */
static void upload_fail(struct upload_call *call, const struct exec_error *error)
{
    if (call->upload != NULL && !call->closing) {
        call->closing = true;
        exec_upload_abort(call->upload, error->code, error->detail);
    }
    if (call->session != NULL) {
        session_fail(call->session, error, 0);
    }
}

static void upload_answer(struct upload_call *call)
{
    Morsel__V1__UploadTableResponse response;
    struct session *session = call->session;

    morsel__v1__upload_table_response__init(&response);
    response.table = call->table;
    response.version = call->done_version;
    response.row_count = call->done_rows;
    response.memory_bytes = call->done_bytes;
    session_send(session, &response.base);
    session_finish(session);
}

/* ---- the engine's side ------------------------------------------------------------------------
 */

static void upload_give_window(struct upload_call *call)
{
    if (call->session != NULL && call->in_flight_bytes < UPLOAD_IN_FLIGHT_BYTES) {
        session_consume(call->session, call->session->withheld_bytes);
    }
}

static void upload_appended_event(struct bridge_event *event)
{
    struct upload_batch *batch = (struct upload_batch *)event;
    struct upload_call *call = batch->call;

    assert(call->magic == UPLOAD_MAGIC);
    call->in_flight_bytes -= batch->bytes;
    call->appends_out--;
    free(batch);
    upload_give_window(call);
    upload_free_if_over(call);
}

static void upload_free_batch(struct arrow_batch *batch)
{
    arrow_batch_fini(batch);
    free(batch->body);
}

/* On a worker. */
static void upload_appended(void *owner, void *token)
{
    struct upload_call *call = owner;
    struct upload_batch *batch = token;

    upload_free_batch(&batch->batch);
    bridge_push(call->env->bridge, &batch->event);
}

static void upload_done_event(struct bridge_event *event)
{
    struct upload_call *call =
        (struct upload_call *)((char *)event - offsetof(struct upload_call, done_event));
    const struct exec_error *error = &call->done_error;

    assert(call->magic == UPLOAD_MAGIC);
    log_line(call->env->log, EXEC_LOG_INFO, "upload table=%s code=%s rows=%llu bytes=%llu%s%s",
             call->table, exec_code_name(error->code), (unsigned long long)call->done_rows,
             (unsigned long long)call->byte_count, error->code != EXEC_OK ? " error: " : "",
             error->code != EXEC_OK ? error->detail : "");
    exec_upload_release(call->upload);
    call->upload = NULL;
    if (call->session != NULL && error->code == EXEC_OK) {
        upload_answer(call);
    } else if (call->session != NULL) {
        session_fail(call->session, error, 0);
    } else {
        upload_free_if_over(call);
    }
}

/* On a worker. */
static void upload_done(void *owner, const struct exec_error *error,
                        const struct exec_table_info *info)
{
    struct upload_call *call = owner;

    call->done_error = *error;
    if (error->code == EXEC_OK) {
        call->done_version = info->version;
        call->done_rows = info->row_count;
        call->done_bytes = info->memory_bytes;
    }
    bridge_push(call->env->bridge, &call->done_event);
}

static bool upload_start(struct upload_call *call)
{
    static const struct exec_upload_events events = {.appended = upload_appended,
                                                     .done = upload_done};

    if (call->env->draining) {
        EXEC_FAIL(&call->error, EXEC_DRAINING, "the server is shutting down");
        return false;
    }
    return exec_upload_begin(call->env->engine, call->table, arrow_reader_schema(call->reader),
                             call->replace, call->expected_bytes, &events, call, &call->upload,
                             &call->error) == EXEC_OK;
}

static bool upload_append(struct upload_call *call, struct arrow_batch *arrow)
{
    struct upload_batch *batch = malloc(sizeof *batch);

    if (batch == NULL) {
        upload_free_batch(arrow);
        EXEC_FAIL(&call->error, EXEC_MEMORY_BUDGET, "no memory for a record batch");
        return false;
    }
    *batch = (struct upload_batch){.event = {.run = upload_appended_event},
                                   .call = call,
                                   .batch = *arrow,
                                   .bytes = call->batch_bytes};
    call->batch_bytes = 0;
    call->in_flight_bytes += batch->bytes;
    call->appends_out++;
    call->row_count += arrow->row_count;
    exec_upload_append(call->upload, batch->batch.columns, batch);
    return true;
}

/* ---- what the frames hold ---------------------------------------------------------------------
 */

static bool upload_refuse(struct upload_call *call, const char *what)
{
    EXEC_FAIL(&call->error, EXEC_BAD_SPEC, "UploadTableRequest: %s", what);
    return false;
}

static bool upload_begin(void *owner, const Morsel__V1__UploadBegin *begin)
{
    struct upload_call *call = owner;

    if (call->begun) {
        return upload_refuse(call, "a second begin");
    }
    if (begin->table[0] == '\0') {
        return upload_refuse(call, "begin.table is not set");
    }
    if (strlen(begin->table) > EXEC_NAME_BYTES_MAX) {
        return upload_refuse(call, "begin.table is longer than 255 bytes");
    }
    if (begin->ttl != NULL) {
        EXEC_FAIL(&call->error, EXEC_NOT_IMPLEMENTED, "begin.ttl is not implemented yet");
        return false;
    }
    memcpy(call->table, begin->table, strlen(begin->table) + 1);
    call->replace = begin->replace;
    call->expected_bytes = begin->expected_bytes;
    call->begun = true;
    return true;
}

static bool upload_arrow(void *owner, const uint8_t *bytes, size_t size)
{
    struct upload_call *call = owner;

    if (!call->begun) {
        return upload_refuse(call, "arrow before begin");
    }
    if (call->committed) {
        return upload_refuse(call, "arrow after commit");
    }
    XXH3_64bits_update(call->hash, bytes, size);
    metrics_add(&call->env->metrics->upload_bytes_total, size);
    call->byte_count += size;
    while (size > 0) {
        struct arrow_batch batch;
        size_t used = 0;
        const enum arrow_event event =
            arrow_reader_feed(call->reader, bytes, size, &used, &batch, &call->error);
        call->batch_bytes += used;
        bytes += used;
        size -= used;
        if (event == ARROW_ERROR || (event == ARROW_SCHEMA && !upload_start(call)) ||
            (event == ARROW_BATCH && !upload_append(call, &batch))) {
            return false;
        }
        if (event == ARROW_MORE) {
            assert(size == 0);
        }
    }
    return true;
}

static bool upload_commit(void *owner, const Morsel__V1__UploadCommit *commit)
{
    struct upload_call *call = owner;

    if (!call->begun) {
        return upload_refuse(call, "commit before begin");
    }
    if (call->committed) {
        return upload_refuse(call, "a second commit");
    }
    call->committed = true;
    call->commit_rows = commit->row_count;
    call->commit_hash = commit->content_hash;
    return true;
}

/* ---- the call ---------------------------------------------------------------------------------
 */

static struct upload_call *upload_call_of(struct session *session)
{
    static const struct upload_frames_events events = {
        .begin = upload_begin, .arrow = upload_arrow, .commit = upload_commit};
    struct upload_call *call = session->call;

    if (call != NULL) {
        assert(call->magic == UPLOAD_MAGIC);
        return call;
    }
    call = calloc(1, sizeof *call);
    struct arrow_reader *reader =
        arrow_reader_create((size_t)session->env->config->upload_batch_max);
    XXH3_state_t *hash = XXH3_createState();
    if (call == NULL || reader == NULL || hash == NULL) {
        free(call);
        arrow_reader_destroy(reader);
        XXH3_freeState(hash);
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for an upload");
        return NULL;
    }
    call->magic = UPLOAD_MAGIC;
    call->env = session->env;
    call->session = session;
    call->reader = reader;
    call->hash = hash;
    call->done_event.run = upload_done_event;
    XXH3_64bits_reset(call->hash);
    upload_frames_init(&call->frames, &events, call);
    call->next = call->env->uploads;
    if (call->next != NULL) {
        call->next->prev = call;
    }
    call->env->uploads = call;
    session->call = call;
    return call;
}

static void upload_data(struct session *session, const uint8_t *bytes, size_t size)
{
    struct upload_call *call = upload_call_of(session);
    struct exec_error err;

    if (call == NULL) {
        return;
    }
    switch (upload_frames_feed(&call->frames, bytes, size, &err)) {
        case UPLOAD_FRAMES_OK: upload_give_window(call); break;
        case UPLOAD_FRAMES_STOPPED: upload_fail(call, &call->error); break;
        case UPLOAD_FRAMES_BAD: upload_fail(call, &err); break;
        case UPLOAD_FRAMES_COMPRESSED:
            EXEC_FAIL(&err, EXEC_NOT_IMPLEMENTED,
                      "compressed messages are not supported: send identity");
            upload_fail(call, &err);
            break;
        case UPLOAD_FRAMES_BAD_FLAG:
            EXEC_FAIL(&err, EXEC_INTERNAL, "the compressed flag of a message is neither 0 nor 1");
            upload_fail(call, &err);
            break;
    }
}

/* Everything that must be true before a commit. */
static enum exec_code upload_check(const struct upload_call *call, struct exec_error *err)
{
    const uint64_t hash = XXH3_64bits_digest(call->hash);

    if (!upload_frames_at_boundary(&call->frames)) {
        return EXEC_FAIL(err, EXEC_INTERNAL, "the request ended inside a message");
    }
    if (!call->begun) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "UploadTableRequest: begin is missing");
    }
    if (!call->committed) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC,
                         "UploadTableRequest: commit is missing, nothing was kept");
    }
    if (call->upload == NULL) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "UploadTableRequest: no Arrow schema came");
    }
    if (!arrow_reader_at_boundary(call->reader)) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "the Arrow stream ends inside a message");
    }
    if (call->commit_rows != 0 && call->commit_rows != call->row_count) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "commit.row_count is %llu, but %llu rows came",
                         (unsigned long long)call->commit_rows,
                         (unsigned long long)call->row_count);
    }
    if (call->commit_hash != 0 && call->commit_hash != hash) {
        return EXEC_FAIL(err, EXEC_BAD_DATA,
                         "commit.content_hash is %016llx, but the bytes that came hash to %016llx",
                         (unsigned long long)call->commit_hash, (unsigned long long)hash);
    }
    return EXEC_OK;
}

static void upload_end(struct session *session)
{
    struct upload_call *call = upload_call_of(session);
    struct exec_error err;

    if (call == NULL) {
        return;
    }
    if (upload_check(call, &err) != EXEC_OK) {
        upload_fail(call, &err);
        return;
    }
    call->closing = true;
    exec_upload_commit(call->upload);
}

static void upload_detach(struct session *session)
{
    struct upload_call *call = session->call;

    if (call == NULL) {
        return;
    }
    call->session = NULL;
    if (call->upload != NULL && !call->closing) {
        call->closing = true;
        exec_upload_abort(call->upload, EXEC_CANCELLED,
                          session->end_reason != NULL ? session->end_reason
                                                      : "the client cancelled the call");
    }
    upload_free_if_over(call);
}

const struct rpc_handler rpc_upload_table = {
    .data = upload_data, .end = upload_end, .detach = upload_detach};

void upload_session_abort_all(struct service_env *env)
{
    struct exec_error err;

    EXEC_FAIL(&err, EXEC_DRAINING, "the server is shutting down");
    for (struct upload_call *call = env->uploads, *next = NULL; call != NULL; call = next) {
        next = call->next;
        upload_fail(call, &err);
    }
}
