#include "upload_frames.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Goal:   begin, Arrow bytes and commit come out whole and in order for any split of the stream,
 * and every malformed message is refused with a name. Method: messages packed by protobuf-c, fed in
 * pieces of every small size; broken ones by hand. */

static uint8_t stream[4096];
static size_t stream_bytes;
static char events[512];

static bool on_begin(void *owner, const Morsel__V1__UploadBegin *begin)
{
    (void)owner;
    strcat(events, "begin:");
    strcat(events, begin->table);
    return true;
}

static bool on_arrow(void *owner, const uint8_t *bytes, size_t size)
{
    (void)owner;
    strncat(events, (const char *)bytes, size);
    return true;
}

static bool on_commit(void *owner, const Morsel__V1__UploadCommit *commit)
{
    (void)owner;
    strcat(events, commit->row_count == 7 ? ":commit7" : ":commit");
    return true;
}

static const struct upload_frames_events all_events = {
    .begin = on_begin, .arrow = on_arrow, .commit = on_commit};

static void put_message(const Morsel__V1__UploadTableRequest *request)
{
    const size_t size = morsel__v1__upload_table_request__get_packed_size(request);

    grpc_prefix_write(stream + stream_bytes, (uint32_t)size);
    morsel__v1__upload_table_request__pack(request, stream + stream_bytes + GRPC_PREFIX_BYTES);
    stream_bytes += GRPC_PREFIX_BYTES + size;
}

static void put_begin(const char *table)
{
    Morsel__V1__UploadTableRequest request;
    Morsel__V1__UploadBegin begin;

    morsel__v1__upload_table_request__init(&request);
    morsel__v1__upload_begin__init(&begin);
    begin.table = (char *)(uintptr_t)table;
    request.payload_case = MORSEL__V1__UPLOAD_TABLE_REQUEST__PAYLOAD_BEGIN;
    request.begin = &begin;
    put_message(&request);
}

static void put_arrow(const char *data, uint64_t rows)
{
    Morsel__V1__UploadTableRequest request;
    Morsel__V1__ArrowChunk chunk;

    morsel__v1__upload_table_request__init(&request);
    morsel__v1__arrow_chunk__init(&chunk);
    chunk.row_count = rows;
    chunk.continues = rows > 1;
    chunk.data.data = (uint8_t *)(uintptr_t)data;
    chunk.data.len = strlen(data);
    request.payload_case = MORSEL__V1__UPLOAD_TABLE_REQUEST__PAYLOAD_ARROW;
    request.arrow = &chunk;
    put_message(&request);
}

static void put_commit(void)
{
    Morsel__V1__UploadTableRequest request;
    Morsel__V1__UploadCommit commit;

    morsel__v1__upload_table_request__init(&request);
    morsel__v1__upload_commit__init(&commit);
    commit.row_count = 7;
    request.payload_case = MORSEL__V1__UPLOAD_TABLE_REQUEST__PAYLOAD_COMMIT;
    request.commit = &commit;
    put_message(&request);
}

Test(upload_frames, any_split)
{
    put_begin("t");
    put_arrow("[abc", 0);
    put_arrow("", 0);
    put_arrow("defghij", 300);
    put_arrow("klm]", 1);
    put_commit();
    for (size_t step = 1; step <= stream_bytes; step++) {
        struct upload_frames frames;
        struct exec_error err;

        events[0] = '\0';
        upload_frames_init(&frames, &all_events, NULL);
        for (size_t at = 0; at < stream_bytes; at += step) {
            const size_t size = step < stream_bytes - at ? step : stream_bytes - at;
            cr_assert_eq(upload_frames_feed(&frames, stream + at, size, &err), UPLOAD_FRAMES_OK);
        }
        cr_assert_str_eq(events, "begin:t[abcdefghijklm]:commit7", "in steps of %zu", step);
        cr_assert(upload_frames_at_boundary(&frames));
        upload_frames_fini(&frames);
    }
}

struct broken {
    const char *bytes;
    size_t size;
    enum upload_frames_result result;
    const char *says;
};

#define BYTES(text) text, sizeof text - 1

Test(upload_frames, malformed)
{
    static const struct broken cases[] = {
        {BYTES("\1\0\0\0\1x"), UPLOAD_FRAMES_COMPRESSED, NULL},
        {BYTES("\2\0\0\0\1x"), UPLOAD_FRAMES_BAD_FLAG, NULL},
        {BYTES("\0\0\0\0\0"), UPLOAD_FRAMES_BAD, "payload is not set"},
        {BYTES("\0\0\2\0\0\x0a"), UPLOAD_FRAMES_BAD, "at most 65536 bytes"},
        {BYTES("\0\0\0\0\3\xff\xff\xff"), UPLOAD_FRAMES_BAD, ""},
        {BYTES("\0\0\0\0\6\x12\x09"), UPLOAD_FRAMES_BAD, "not the only field"},
        {BYTES("\0\0\0\0\5\x12\x03\x20\x01\x00"), UPLOAD_FRAMES_BAD, "unknown field 4"},
        {BYTES("\0\0\0\0\5\x12\x03\xc2\x3e\x09"), UPLOAD_FRAMES_BAD, "longer than its message"},
        {BYTES("\0\0\0\0\4\x12\x02\x08\xff\xff\xff"), UPLOAD_FRAMES_BAD, "malformed"},
        {BYTES("\0\0\0\0\3\x22\x01\x00"), UPLOAD_FRAMES_BAD, ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upload_frames frames;
        struct exec_error err = {0};

        upload_frames_init(&frames, &all_events, NULL);
        cr_assert_eq(
            upload_frames_feed(&frames, (const uint8_t *)cases[i].bytes, cases[i].size, &err),
            cases[i].result, "case %zu", i);
        if (cases[i].says != NULL) {
            cr_assert(strstr(err.detail, cases[i].says) != NULL, "case %zu: %s", i, err.detail);
        }
        upload_frames_fini(&frames);
    }
}
