/* Uploading a table: Begin, the bytes of one Arrow stream in chunks, Commit. The stream is read
 * here as well, so that a damaged one fails before the server has seen all of it and the commit
 * carries its row count. */
#include "morsel_result.h"
#include "morsel_tables.h"
#include "proto/arrow_reader.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { UPLOAD_CHUNK_BYTES = 256 << 10, UPLOAD_MESSAGE_BYTES_MAX = 64 << 20 };

struct upload {
    struct grpc_call call;
    struct arrow_reader *reader;
    XXH3_state_t *hash;
    uint8_t *chunk;  /* UPLOAD_CHUNK_BYTES */
    uint8_t *packed; /* room for a request around it */
    uint64_t row_count;
};

static int upload_send(struct upload *upload, const Morsel__V1__UploadTableRequest *request,
                       bool last)
{
    uint8_t *packed = upload->packed;

    return grpc_call_send(&upload->call, packed, protobuf_c_message_pack(&request->base, packed),
                          last);
}

/* Counts the rows that end in these bytes. */
static int upload_look(struct upload *upload, size_t size, uint64_t *rows_out,
                       struct morsel_error *err)
{
    struct exec_error error = {0};
    struct arrow_batch batch = {0};
    size_t at = 0;

    *rows_out = 0;
    while (at < size) {
        size_t used = 0;
        const enum arrow_event event =
            arrow_reader_feed(upload->reader, upload->chunk + at, size - at, &used, &batch, &error);
        at += used;
        if (event == ARROW_BATCH) {
            *rows_out += batch.row_count;
            result_batch_free(&batch);
        }
        if (event == ARROW_ERROR) {
            return morsel_error_of_exec(err, MORSEL_FAULT_ARGUMENT, &error);
        }
        if (event == ARROW_MORE) {
            break;
        }
    }
    return 0;
}

/* 0: everything was sent; 1: the server ended the call; -1: err is set. */
static int upload_stream(struct upload *upload, morsel_read_fn *read, void *owner,
                         struct morsel_error *err)
{
    for (;;) {
        Morsel__V1__UploadTableRequest request;
        morsel__v1__upload_table_request__init(&request);
        Morsel__V1__ArrowChunk arrow;
        morsel__v1__arrow_chunk__init(&arrow);
        const ptrdiff_t got = read(owner, upload->chunk, UPLOAD_CHUNK_BYTES);
        uint64_t rows = 0;

        if (got < 0 || got > UPLOAD_CHUNK_BYTES) {
            return morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_IO,
                                    "the table's bytes could not be read");
        }
        if (got == 0) {
            break;
        }
        XXH3_64bits_update(upload->hash, upload->chunk, (size_t)got);
        if (upload_look(upload, (size_t)got, &rows, err) != 0) {
            return -1;
        }
        arrow.row_offset = upload->row_count;
        arrow.row_count = rows;
        arrow.data = (ProtobufCBinaryData){.len = (size_t)got, .data = upload->chunk};
        upload->row_count += rows;
        request.payload_case = MORSEL__V1__UPLOAD_TABLE_REQUEST__PAYLOAD_ARROW;
        request.arrow = &arrow;
        if (upload_send(upload, &request, false) != 0) {
            return 1;
        }
    }
    if (!arrow_reader_at_boundary(upload->reader) || arrow_reader_schema(upload->reader) == NULL) {
        return morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_BAD_DATA,
                                "the Arrow stream ends inside a message");
    }
    Morsel__V1__UploadTableRequest request;
    morsel__v1__upload_table_request__init(&request);
    Morsel__V1__UploadCommit commit;
    morsel__v1__upload_commit__init(&commit);
    commit.row_count = upload->row_count;
    commit.content_hash = XXH3_64bits_digest(upload->hash);
    request.payload_case = MORSEL__V1__UPLOAD_TABLE_REQUEST__PAYLOAD_COMMIT;
    request.commit = &commit;
    return upload_send(upload, &request, true) == 0 ? 0 : 1;
}

static int upload_answer(struct upload *upload, struct morsel_table_info **info_out,
                         struct morsel_error *err)
{
    const struct exec_schema *schema = arrow_reader_schema(upload->reader);
    uint8_t *bytes = NULL;
    size_t size = 0;

    if (grpc_call_receive(&upload->call, UINT64_MAX, &bytes, &size) != 1) {
        return upload->call.status == GRPC_OK
                   ? morsel_error_set(err, MORSEL_FAULT_INCOMPLETE, EXEC_INTERNAL,
                                      "the server ended the upload without an answer")
                   : morsel_error_of_call(err, &upload->call);
    }
    Morsel__V1__UploadTableResponse *answer =
        morsel__v1__upload_table_response__unpack(NULL, size, bytes);
    free(bytes);
    uint8_t *more = NULL;
    const int ended = grpc_call_receive(&upload->call, UINT64_MAX, &more, &size);
    free(more);
    if (answer == NULL || ended != 0) {
        if (answer != NULL) {
            morsel__v1__upload_table_response__free_unpacked(answer, NULL);
        }
        return ended == -1 ? morsel_error_of_call(err, &upload->call)
                           : morsel_error_set(err, MORSEL_FAULT_DATA, EXEC_INTERNAL,
                                              "the server's answer is no UploadTableResponse");
    }
    Morsel__V1__TableInfo table, *list = &table;
    morsel__v1__table_info__init(&table);
    table.name = answer->table;
    table.version = answer->version;
    table.row_count = answer->row_count;
    table.memory_bytes = answer->memory_bytes;
    int failed = 0;
    if (info_out != NULL) {
        *info_out = tables_block(&list, 1);
        failed = *info_out != NULL ? 0
                                   : morsel_error_set(err, MORSEL_FAULT_DATA, EXEC_MEMORY_BUDGET,
                                                      "out of memory");
        if (failed == 0 && schema != NULL) {
            (*info_out)->column_count = schema->field_count;
        }
    }
    morsel__v1__upload_table_response__free_unpacked(answer, NULL);
    return failed;
}

static int upload_begin(struct upload *upload, const char *table, bool replace,
                        uint64_t expected_bytes)
{
    Morsel__V1__UploadTableRequest request;
    morsel__v1__upload_table_request__init(&request);
    Morsel__V1__UploadBegin begin;
    morsel__v1__upload_begin__init(&begin);

    begin.table = (char *)(uintptr_t)table; /* packed only */
    begin.replace = replace;
    begin.expected_bytes = expected_bytes;
    request.payload_case = MORSEL__V1__UPLOAD_TABLE_REQUEST__PAYLOAD_BEGIN;
    request.begin = &begin;
    return upload_send(upload, &request, false);
}

int morsel_upload(struct morsel_connection *connection, const char *table, bool replace,
                  uint64_t expected_bytes, morsel_read_fn *read, void *owner, uint64_t timeout_ms,
                  struct morsel_table_info **info_out, struct morsel_error *err)
{
    struct upload upload = {
        .reader = arrow_reader_create(UPLOAD_MESSAGE_BYTES_MAX),
        .hash = XXH3_createState(),
        .chunk = malloc(UPLOAD_CHUNK_BYTES),
        .packed = malloc(UPLOAD_CHUNK_BYTES + 1024),
    };
    int failed = -1;

    if (table == NULL || strlen(table) > 255) {
        morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_BAD_SPEC,
                         "a table's name has 1 to 255 bytes");
    } else if (upload.reader == NULL || upload.hash == NULL || upload.chunk == NULL ||
               upload.packed == NULL) {
        morsel_error_set(err, MORSEL_FAULT_ARGUMENT, EXEC_MEMORY_BUDGET, "out of memory");
    } else if (connection_start_call(connection, &upload.call,
                                     "/morsel.v1.TableService/UploadTable",
                                     connection_deadline(timeout_ms), err) == 0) {
        XXH3_64bits_reset(upload.hash);
        upload_begin(&upload, table, replace, expected_bytes);
        failed = upload_stream(&upload, read, owner, err);
        if (failed >= 0) {
            failed = upload_answer(&upload, info_out, err);
        }
        connection_end_call(connection, &upload.call);
    }
    if (upload.reader != NULL) {
        arrow_reader_destroy(upload.reader);
    }
    XXH3_freeState(upload.hash);
    free(upload.chunk);
    free(upload.packed);
    return failed;
}
