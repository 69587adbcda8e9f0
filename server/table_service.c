#include "job_message.h"
#include "job_run.h"
#include "service.h"

#include <stdlib.h>
#include <string.h>

/* The unary calls of TableService. LoadTable is a job: one scan of files into a table. */

enum { TABLES_PAGE_DEFAULT = 100, TABLES_PAGE_MAX = 1000, TABLES_ANSWER_BYTES = 3 << 20 };

/* ---- LoadTable --------------------------------------------------------------------------------
 */

/* The plan that the request stands for; it borrows from the request. */
struct load_request {
    Morsel__V1__LoadTableRequest *message;
    Morsel__V1__Plan plan;
    Morsel__V1__Rel rel, *rels[1];
    Morsel__V1__ScanRel scan;
};

struct load_call {
    struct session *session;
    struct job_run *run;
    char *table;
};

static void load_request_free(void *memory)
{
    struct load_request *request = memory;

    protobuf_c_message_free_unpacked(&request->message->base, NULL);
    free(request);
}

static void load_plan(struct load_request *request)
{
    morsel__v1__plan__init(&request->plan);
    morsel__v1__rel__init(&request->rel);
    morsel__v1__scan_rel__init(&request->scan);
    request->scan.source_case = MORSEL__V1__SCAN_REL__SOURCE_FILES;
    request->scan.files = request->message->files;
    request->rel.kind_case = MORSEL__V1__REL__KIND_SCAN;
    request->rel.scan = &request->scan;
    request->rels[0] = &request->rel;
    request->plan.version = 1;
    request->plan.rels = request->rels;
    request->plan.n_rels = 1;
}

static void load_done(void *owner)
{
    struct load_call *call = owner;
    struct session *session = call->session;
    Morsel__V1__LoadTableResponse response;
    Morsel__V1__TableInfo table;
    struct exec_table_list list = {0};
    struct exec_error err = call->run->record->error;

    morsel__v1__table_info__init(&table);
    morsel__v1__load_table_response__init(&response);
    call->run = NULL;
    if (err.code == EXEC_OK) {
        exec_table_list(session->env->engine, call->table, &list, &err);
    }
    if (err.code != EXEC_OK) {
        session_fail(session, &err, 0);
        return;
    }
    if (list.table_count == 1 && job_message_table(&list.tables[0], &table)) {
        response.table = &table;
    }
    session_send(session, &response.base);
    free(table.schema);
    exec_table_list_free(&list);
    session_finish(session);
}

static void load_message(struct session *session, const uint8_t *bytes, size_t size)
{
    static const struct job_run_events events = {.done = load_done};
    ProtobufCMessage *message =
        session_unpack(session, &morsel__v1__load_table_request__descriptor, bytes, size);
    struct exec_error err;
    uint64_t retry_ms = 0;

    if (message == NULL) {
        return;
    }
    Morsel__V1__LoadTableRequest *load = (Morsel__V1__LoadTableRequest *)message;
    struct load_call *call = calloc(1, sizeof *call);
    struct load_request *request = calloc(1, sizeof *request);
    if (load->table[0] == '\0' || load->files == NULL) {
        session_fail_status(session, GRPC_INVALID_ARGUMENT, "%s is not set",
                            load->table[0] == '\0' ? "table" : "files");
    } else if (call == NULL || request == NULL || (call->table = strdup(load->table)) == NULL) {
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for a job");
    }
    if (session->status_set) {
        free(call);
        free(request);
        protobuf_c_message_free_unpacked(message, NULL);
        return;
    }
    request->message = load;
    load_plan(request);
    call->session = session;
    session->call = call;
    const struct job_run_request run = {
        .job_id = "",
        .peer = session_peer(session),
        .plan = &request->plan,
        .options = load->options,
        .into_table = call->table,
        .into_replace = load->replace,
        .timeout_ns = session->timeout_ns,
        .request = request,
        .request_free = load_request_free,
    };
    if (job_run_start(session->env, &run, &events, call, &call->run, &retry_ms, &err) != EXEC_OK) {
        session_fail(session, &err, retry_ms);
    }
}

static void load_detach(struct session *session)
{
    struct load_call *call = session->call;

    if (call == NULL) {
        return;
    }
    if (call->run != NULL) {
        job_run_detach(call->run, session->end_reason != NULL ? session->end_reason
                                                              : "the client cancelled the call");
    }
    free(call->table);
    free(call);
}

const struct rpc_handler rpc_load_table = {.message = load_message, .detach = load_detach};

/* ---- ListTables -------------------------------------------------------------------------------
 */

/* Tables come sorted by name; the page token is the last name shown. */
static void tables_answer(struct session *session, const struct exec_table_list *list,
                          const char *after, uint32_t page_size, Morsel__V1__TableInfo *infos,
                          Morsel__V1__TableInfo **pointers)
{
    Morsel__V1__ListTablesResponse response;
    size_t answer_bytes = 0;

    morsel__v1__list_tables_response__init(&response);
    for (uint32_t i = 0; i < list->table_count; i++) {
        const struct exec_table_info *table = &list->tables[i];
        if (strcmp(table->name, after) <= 0) {
            continue;
        }
        if (response.n_tables == page_size || answer_bytes >= TABLES_ANSWER_BYTES) {
            response.next_page_token = infos[response.n_tables - 1].name;
            break;
        }
        Morsel__V1__TableInfo *info = &infos[response.n_tables];
        if (!job_message_table(table, info)) {
            break;
        }
        answer_bytes += protobuf_c_message_get_packed_size(&info->base);
        pointers[response.n_tables++] = info;
    }
    response.tables = pointers;
    session_send(session, &response.base);
    for (size_t i = 0; i < response.n_tables; i++) {
        free(infos[i].schema);
    }
    session_finish(session);
}

static void tables_message(struct session *session, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *message =
        session_unpack(session, &morsel__v1__list_tables_request__descriptor, bytes, size);
    struct exec_table_list list = {0};
    struct exec_error err;

    if (message == NULL) {
        return;
    }
    const Morsel__V1__ListTablesRequest *request = (const Morsel__V1__ListTablesRequest *)message;
    uint32_t page_size = request->page_size != 0 ? request->page_size : TABLES_PAGE_DEFAULT;
    page_size = page_size < TABLES_PAGE_MAX ? page_size : TABLES_PAGE_MAX;
    Morsel__V1__TableInfo *infos = calloc(page_size, sizeof *infos);
    Morsel__V1__TableInfo **pointers = calloc(page_size, sizeof(Morsel__V1__TableInfo *));

    if (exec_table_list(session->env->engine, NULL, &list, &err) != EXEC_OK) {
        session_fail(session, &err, 0);
    } else if (infos == NULL || pointers == NULL) {
        session_fail_status(session, GRPC_RESOURCE_EXHAUSTED, "no memory for the list");
    } else {
        tables_answer(session, &list, request->page_token, page_size, infos, pointers);
    }
    exec_table_list_free(&list);
    free(infos);
    free(pointers);
    protobuf_c_message_free_unpacked(message, NULL);
}

const struct rpc_handler rpc_list_tables = {.message = tables_message};

/* ---- DropTable --------------------------------------------------------------------------------
 */

static void drop_message(struct session *session, const uint8_t *bytes, size_t size)
{
    Morsel__V1__DropTableResponse response;
    ProtobufCMessage *message =
        session_unpack(session, &morsel__v1__drop_table_request__descriptor, bytes, size);
    struct exec_error err;

    morsel__v1__drop_table_response__init(&response);
    if (message == NULL) {
        return;
    }
    const Morsel__V1__DropTableRequest *request = (const Morsel__V1__DropTableRequest *)message;
    if (exec_table_drop(session->env->engine, request->table, &err) != EXEC_OK) {
        session_fail(session, &err, 0);
    } else {
        session_send(session, &response.base);
        session_finish(session);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

const struct rpc_handler rpc_drop_table = {.message = drop_message};
