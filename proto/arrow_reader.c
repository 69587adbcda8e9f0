/* The stream's state machine: prefix, metadata, body, again. Bytes are collected as they come, so a
 * peer that only announces a large message costs nothing. */
#include "proto/arrow_reader.h"

#include "arrow_batch.h"
#include "arrow_dictionary.h"
#include "arrow_flatbuffers.h"
#include "wire_utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum state { STATE_PREFIX, STATE_METADATA, STATE_BODY, STATE_END, STATE_FAILED };

enum {
    METADATA_BYTES_MAX = 16 << 20,
    FIRST_ROOM_BYTES = 64 << 10,
    /* Deltas are joined by copying; together they may copy this many times the message limit. */
    DELTA_COPY_FACTOR = 16,
};

/* Bytes being collected. */
struct gather {
    uint8_t *bytes; /* malloc'd */
    size_t have, want, room;
};

struct arrow_reader {
    size_t message_bytes_max;
    enum state state;
    uint8_t prefix[ARROW_PREFIX_BYTES];
    size_t prefix_have;
    struct gather metadata, body;
    struct arrow_message message; /* points into metadata, from STATE_BODY on */

    bool have_schema;
    struct arrow_field *fields;
    uint32_t field_count;
    struct exec_field *schema_fields;
    struct exec_schema schema;
    struct arrow_dictionary **dictionaries; /* one a field; fields of one id share it */
    size_t delta_bytes_left;
};

struct arrow_reader *arrow_reader_create(size_t message_bytes_max)
{
    struct arrow_reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL) {
        return NULL;
    }
    reader->message_bytes_max =
        message_bytes_max < SIZE_MAX / DELTA_COPY_FACTOR / 2 ? message_bytes_max : SIZE_MAX / 64;
    reader->delta_bytes_left = reader->message_bytes_max * DELTA_COPY_FACTOR;
    return reader;
}

void arrow_reader_destroy(struct arrow_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    for (uint32_t i = 0; reader->dictionaries != NULL && i < reader->field_count; i++) {
        arrow_dictionary_release(reader->dictionaries[i]);
    }
    arrow_fields_free(reader->fields, reader->field_count);
    free(reader->dictionaries);
    free(reader->schema_fields);
    free(reader->metadata.bytes);
    free(reader->body.bytes);
    free(reader);
}

const struct exec_schema *arrow_reader_schema(const struct arrow_reader *reader)
{
    return reader->have_schema ? &reader->schema : NULL;
}

bool arrow_reader_at_boundary(const struct arrow_reader *reader)
{
    return reader->state == STATE_END ||
           (reader->state == STATE_PREFIX && reader->prefix_have == 0);
}

/* ---- collecting ----------------------------------------------------------------------------- */

static enum exec_code gather_begin(struct gather *gather, size_t want, struct exec_error *err)
{
    const size_t room = want < FIRST_ROOM_BYTES ? want + 1 : FIRST_ROOM_BYTES;

    gather->have = 0;
    gather->want = want;
    if (gather->bytes != NULL && gather->room >= room) {
        return EXEC_OK;
    }
    free(gather->bytes);
    gather->bytes = malloc(room);
    gather->room = room;
    return gather->bytes == NULL ? EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for arrow data")
                                 : EXEC_OK;
}

/* Takes what it can use of the input. */
static enum exec_code gather_take(struct gather *gather, const uint8_t *bytes, size_t size,
                                  size_t *used, struct exec_error *err)
{
    const size_t missing = gather->want - gather->have;
    const size_t take = size - *used < missing ? size - *used : missing;

    if (gather->room - gather->have < take) {
        size_t room = gather->room * 2;
        uint8_t *grown;
        room = room < gather->have + take ? gather->have + take : room;
        room = room > gather->want ? gather->want : room;
        grown = realloc(gather->bytes, room);
        if (grown == NULL) {
            return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for arrow data");
        }
        gather->bytes = grown;
        gather->room = room;
    }
    if (take != 0) {
        memcpy(gather->bytes + gather->have, bytes + *used, take);
    }
    gather->have += take;
    *used += take;
    return EXEC_OK;
}

/* ---- whole messages ------------------------------------------------------------------------- */

static enum exec_code prefix_done(struct arrow_reader *reader, struct exec_error *err)
{
    uint32_t continuation, metadata_bytes;

    memcpy(&continuation, reader->prefix, sizeof continuation);
    memcpy(&metadata_bytes, reader->prefix + sizeof continuation, sizeof metadata_bytes);
    reader->prefix_have = 0;
    if (memcmp(reader->prefix, "ARROW1", 6) == 0) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "this is an Arrow file, not an Arrow stream");
    }
    if (continuation != ARROW_CONTINUATION) {
        return EXEC_FAIL(err, EXEC_BAD_DATA,
                         "not an Arrow stream: a message does not begin with FFFFFFFF");
    }
    if (metadata_bytes == 0) {
        if (!reader->have_schema) {
            return EXEC_FAIL(err, EXEC_BAD_DATA, "an Arrow stream without a schema");
        }
        reader->state = STATE_END;
        return EXEC_OK;
    }
    if (metadata_bytes > METADATA_BYTES_MAX || metadata_bytes > reader->message_bytes_max) {
        return EXEC_FAIL(err, EXEC_LIMIT, "arrow metadata of %" PRIu32 " bytes", metadata_bytes);
    }
    reader->state = STATE_METADATA;
    return gather_begin(&reader->metadata, metadata_bytes, err);
}

static enum exec_code metadata_done(struct arrow_reader *reader, struct exec_error *err)
{
    const size_t body_max = reader->message_bytes_max - reader->metadata.have;
    enum exec_code code =
        arrow_message_read(reader->metadata.bytes, reader->metadata.have, &reader->message, err);

    if (code != EXEC_OK) {
        return code;
    }
    if ((uint64_t)reader->message.body_bytes > body_max) {
        return EXEC_FAIL(err, EXEC_LIMIT,
                         "an arrow message of %" PRId64 " bytes, at most %zu are read",
                         reader->message.body_bytes, reader->message_bytes_max);
    }
    if (!reader->have_schema && reader->message.kind != ARROW_MESSAGE_SCHEMA) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "an Arrow stream that does not begin with a schema");
    }
    reader->state = STATE_BODY;
    return gather_begin(&reader->body, (size_t)reader->message.body_bytes, err);
}

/* Two fields may share a dictionary only when its values mean the same to both. */
static enum exec_code dictionary_share_check(const struct arrow_reader *reader, uint32_t at,
                                             struct exec_error *err)
{
    const struct arrow_field *field = &reader->fields[at];

    for (uint32_t i = 0; field->index_bytes != 0 && i < at; i++) {
        const struct arrow_field *other = &reader->fields[i];
        if (other->index_bytes != 0 && other->dictionary_id == field->dictionary_id &&
            (other->type.kind != field->type.kind || other->offset_bytes != field->offset_bytes)) {
            return EXEC_FAIL(err, EXEC_BAD_DATA,
                             "arrow fields '%.64s' and '%.64s' share a dictionary, not its type",
                             other->name, field->name);
        }
    }
    return EXEC_OK;
}

static enum exec_code schema_done(struct arrow_reader *reader, struct exec_error *err)
{
    enum exec_code code;

    if (reader->have_schema) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "a second schema in an Arrow stream");
    }
    code = arrow_schema_read(&reader->message, &reader->fields, &reader->field_count, err);
    if (code != EXEC_OK) {
        return code;
    }
    reader->schema_fields = calloc((size_t)reader->field_count + 1, sizeof *reader->schema_fields);
    reader->dictionaries =
        calloc((size_t)reader->field_count + 1, sizeof(struct arrow_dictionary *));
    if (reader->schema_fields == NULL || reader->dictionaries == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for an arrow schema");
    }
    for (uint32_t i = 0; i < reader->field_count; i++) {
        const struct arrow_field *field = &reader->fields[i];
        code = dictionary_share_check(reader, i, err);
        if (code != EXEC_OK) {
            return code;
        }
        if (!wire_utf8_valid((const uint8_t *)field->name, strlen(field->name))) {
            return EXEC_FAIL(err, EXEC_BAD_DATA, "arrow field %" PRIu32 ": the name is not UTF-8",
                             i + 1);
        }
        reader->schema_fields[i] = (struct exec_field){
            .name = field->name, .type = field->type, .not_null = !field->nullable};
    }
    reader->schema = (struct exec_schema){reader->schema_fields, reader->field_count};
    reader->have_schema = true;
    return EXEC_OK;
}

/* Makes `dictionary` the current one of every field with its id; takes the caller's reference. */
static void dictionary_install(struct arrow_reader *reader, struct arrow_dictionary *dictionary)
{
    for (uint32_t i = 0; i < reader->field_count; i++) {
        const struct arrow_field *field = &reader->fields[i];
        if (field->index_bytes != 0 && field->dictionary_id == reader->message.dictionary_id) {
            arrow_dictionary_release(reader->dictionaries[i]);
            arrow_dictionary_retain(dictionary);
            reader->dictionaries[i] = dictionary;
        }
    }
    arrow_dictionary_release(dictionary);
}

static bool dictionary_field(const struct arrow_reader *reader, uint32_t *at_out)
{
    for (uint32_t i = 0; i < reader->field_count; i++) {
        if (reader->fields[i].index_bytes != 0 &&
            reader->fields[i].dictionary_id == reader->message.dictionary_id) {
            *at_out = i;
            return true;
        }
    }
    return false;
}

static enum exec_code delta_join(struct arrow_reader *reader, struct arrow_dictionary *head,
                                 struct arrow_dictionary **dictionary, struct exec_error *err)
{
    struct arrow_dictionary *tail = *dictionary;
    struct arrow_dictionary *joined = NULL;
    size_t copied = 0;
    enum exec_code code = arrow_dictionary_append(head, tail, &joined, &copied, err);

    arrow_dictionary_release(tail);
    *dictionary = joined;
    if (code != EXEC_OK) {
        return code;
    }
    if (copied > reader->message_bytes_max || copied > reader->delta_bytes_left) {
        arrow_dictionary_release(joined);
        return EXEC_FAIL(err, EXEC_LIMIT, "arrow dictionary %" PRId64 " grows too large",
                         reader->message.dictionary_id);
    }
    reader->delta_bytes_left -= copied;
    return EXEC_OK;
}

static enum exec_code dictionary_done(struct arrow_reader *reader, struct exec_error *err)
{
    struct exec_column_buffers column;
    struct arrow_dictionary *dictionary;
    uint32_t at = 0;
    enum exec_code code;

    if (!dictionary_field(reader, &at)) {
        return EXEC_FAIL(err, EXEC_BAD_DATA, "arrow dictionary %" PRId64 " is of no field",
                         reader->message.dictionary_id);
    }
    code = arrow_batch_dictionary(&reader->message, &reader->fields[at], reader->body.bytes,
                                  reader->body.have, &column, err);
    if (code != EXEC_OK) {
        return code;
    }
    dictionary = arrow_dictionary_create(&column, reader->body.bytes);
    reader->body = (struct gather){.bytes = NULL};
    if (dictionary == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for an arrow dictionary");
    }
    if (reader->message.is_delta && reader->dictionaries[at] != NULL) {
        code = delta_join(reader, reader->dictionaries[at], &dictionary, err);
        if (code != EXEC_OK) {
            return code;
        }
    }
    dictionary_install(reader, dictionary);
    return EXEC_OK;
}

static enum exec_code batch_done(struct arrow_reader *reader, struct arrow_batch *batch,
                                 struct exec_error *err)
{
    enum exec_code code =
        arrow_batch_build(&reader->message, reader->fields, reader->field_count, reader->body.bytes,
                          reader->body.have, reader->dictionaries, batch, err);

    if (code == EXEC_OK) {
        reader->body = (struct gather){.bytes = NULL}; /* the batch's now */
    }
    return code;
}

static enum exec_code body_done(struct arrow_reader *reader, struct arrow_batch *batch,
                                enum arrow_event *event, struct exec_error *err)
{
    reader->state = STATE_PREFIX;
    switch (reader->message.kind) {
        case ARROW_MESSAGE_SCHEMA: *event = ARROW_SCHEMA; return schema_done(reader, err);
        case ARROW_MESSAGE_DICTIONARY: return dictionary_done(reader, err);
        default: *event = ARROW_BATCH; return batch_done(reader, batch, err);
    }
}

/* ---- feeding -------------------------------------------------------------------------------- */

/* One step; *event leaves ARROW_MORE when there is something to tell. */
static enum exec_code step(struct arrow_reader *reader, const uint8_t *bytes, size_t size,
                           size_t *used, struct arrow_batch *batch, enum arrow_event *event,
                           struct exec_error *err)
{
    enum exec_code code = EXEC_OK;

    switch (reader->state) {
        case STATE_PREFIX:
            while (*used < size && reader->prefix_have < ARROW_PREFIX_BYTES) {
                reader->prefix[reader->prefix_have++] = bytes[(*used)++];
            }
            if (reader->prefix_have == ARROW_PREFIX_BYTES) {
                code = prefix_done(reader, err);
                *event = reader->state == STATE_END ? ARROW_END : ARROW_MORE;
            }
            return code;
        case STATE_METADATA:
            code = gather_take(&reader->metadata, bytes, size, used, err);
            return code == EXEC_OK && reader->metadata.have == reader->metadata.want
                       ? metadata_done(reader, err)
                       : code;
        case STATE_BODY:
            code = gather_take(&reader->body, bytes, size, used, err);
            return code == EXEC_OK && reader->body.have == reader->body.want
                       ? body_done(reader, batch, event, err)
                       : code;
        case STATE_END:
            return EXEC_FAIL(err, EXEC_BAD_DATA, "data after the end of an Arrow stream");
        default: return EXEC_FAIL(err, EXEC_BAD_DATA, "the Arrow stream was refused before");
    }
}

/* A body of no bytes is complete without any further input. */
static bool body_is_empty(const struct arrow_reader *reader)
{
    return reader->state == STATE_BODY && reader->body.want == 0;
}

enum arrow_event arrow_reader_feed(struct arrow_reader *reader, const uint8_t *bytes, size_t size,
                                   size_t *used_out, struct arrow_batch *batch,
                                   struct exec_error *err)
{
    enum arrow_event event = ARROW_MORE;

    *used_out = 0;
    while (event == ARROW_MORE && (*used_out < size || body_is_empty(reader))) {
        if (step(reader, bytes, size, used_out, batch, &event, err) != EXEC_OK) {
            reader->state = STATE_FAILED;
            return ARROW_ERROR;
        }
    }
    return event;
}
