/* Results in Arrow's C data and C stream interfaces (format/CDataInterface.rst): every exported
 * array owns its memory and may outlive stream, result and connection. */
#include "morsel_result.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_BYTES = 64, BUFFERS_MAX = 3 };

static void type_format(const struct exec_type *type, char format_out[FORMAT_BYTES])
{
    static const char *const fixed[EXEC_TYPE_COUNT] = {
        [EXEC_TYPE_BOOL] = "b",    [EXEC_TYPE_INT8] = "c",    [EXEC_TYPE_UINT8] = "C",
        [EXEC_TYPE_INT16] = "s",   [EXEC_TYPE_UINT16] = "S",  [EXEC_TYPE_INT32] = "i",
        [EXEC_TYPE_UINT32] = "I",  [EXEC_TYPE_INT64] = "l",   [EXEC_TYPE_UINT64] = "L",
        [EXEC_TYPE_FLOAT32] = "f", [EXEC_TYPE_FLOAT64] = "g", [EXEC_TYPE_DATE32] = "tdD",
        [EXEC_TYPE_UTF8] = "u",    [EXEC_TYPE_BINARY] = "z",
    };
    static const char units[] = "-smun";

    if (type->kind == EXEC_TYPE_DECIMAL128) {
        snprintf(format_out, FORMAT_BYTES, "d:%d,%d", type->precision, type->scale);
    } else if (type->kind == EXEC_TYPE_TIMESTAMP) {
        snprintf(format_out, FORMAT_BYTES, "ts%c:%s", units[type->unit], type->zone);
    } else {
        snprintf(format_out, FORMAT_BYTES, "%s", fixed[type->kind]);
    }
}

/* ---- schema: one malloc block a field, children owned by their parent -------------------------
 */

struct schema_block {
    struct ArrowSchema schema;
    char format[FORMAT_BYTES];
    char name[];
};

static void schema_release(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child->release != NULL) {
            child->release(child);
        }
        free(child); /* the block's first member */
    }
    free(schema->children);
    schema->release = NULL;
}

static void child_schema_release(struct ArrowSchema *schema)
{
    schema->release = NULL; /* its block is freed by the parent */
}

static struct ArrowSchema *schema_of_field(const struct exec_field *field)
{
    const size_t name_bytes = strlen(field->name) + 1;
    struct schema_block *block = calloc(1, sizeof *block + name_bytes);

    if (block == NULL) {
        return NULL;
    }
    type_format(&field->type, block->format);
    memcpy(block->name, field->name, name_bytes);
    block->schema.format = block->format;
    block->schema.name = block->name;
    block->schema.flags = field->not_null ? 0 : ARROW_FLAG_NULLABLE;
    block->schema.release = child_schema_release;
    return &block->schema;
}

int arrow_export_schema(const struct exec_schema *schema, struct ArrowSchema *out)
{
    *out = (struct ArrowSchema){.format = "+s", .name = "", .release = schema_release};
    out->children = calloc((size_t)schema->field_count + 1, sizeof *out->children);
    if (out->children == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < schema->field_count; i++) {
        out->children[i] = schema_of_field(&schema->fields[i]);
        if (out->children[i] == NULL) {
            schema_release(out);
            return -1;
        }
        out->n_children++;
    }
    return 0;
}

/* ---- arrays: one batch shared by the struct array and its columns, counted, because a consumer
 * may move a child out and release it last.
 * --------------------------------------------------------- */

struct batch_owner {
    atomic_uint references;
    struct arrow_batch batch;
};

static void owner_release(struct batch_owner *owner)
{
    /* acq_rel: the last release sees every earlier one's reads done. */
    if (atomic_fetch_sub_explicit(&owner->references, 1, memory_order_acq_rel) == 1) {
        result_batch_free(&owner->batch);
        free(owner);
    }
}

/* What a column's array owns: the struct itself may have been moved by the consumer. */
struct column_owner {
    struct batch_owner *owner;
    const void *buffers[BUFFERS_MAX];
};

static void column_release(struct ArrowArray *array)
{
    struct column_owner *column = array->private_data;

    owner_release(column->owner);
    free(column);
    array->release = NULL;
}

static void struct_release(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
        free(array->children[i]);
    }
    free(array->children);
    free(array->private_data);
    array->release = NULL;
}

static struct ArrowArray *array_of_column(struct batch_owner *owner,
                                          const struct exec_column_buffers *buffers)
{
    struct ArrowArray *array = calloc(1, sizeof *array);
    struct column_owner *column = calloc(1, sizeof *column);

    if (array == NULL || column == NULL) {
        free(array);
        free(column);
        return NULL;
    }
    column->owner = owner;
    column->buffers[0] = buffers->validity;
    column->buffers[1] = buffers->offset_bytes != 0 ? buffers->offsets : buffers->values;
    column->buffers[2] = buffers->values;
    *array = (struct ArrowArray){
        .length = (int64_t)buffers->row_count,
        .null_count = (int64_t)buffers->null_count,
        .n_buffers = buffers->offset_bytes != 0 ? 3 : 2,
        .buffers = column->buffers,
        .release = column_release,
        .private_data = column,
    };
    /* relaxed: the batch has not been handed out yet. */
    atomic_fetch_add_explicit(&owner->references, 1, memory_order_relaxed);
    return array;
}

int arrow_export_batch(struct arrow_batch *batch, struct ArrowArray *out)
{
    struct batch_owner *owner = calloc(1, sizeof *owner);
    const void **no_validity = calloc(1, sizeof *no_validity);
    struct ArrowArray **children = calloc((size_t)batch->column_count + 1, sizeof(void *));

    if (owner == NULL || no_validity == NULL || children == NULL) {
        free(owner);
        free(no_validity);
        free(children);
        result_batch_free(batch);
        return -1;
    }
    owner->batch = *batch;
    atomic_init(&owner->references, 1); /* ours, until every column has its own */
    *out = (struct ArrowArray){
        .length = (int64_t)batch->row_count,
        .n_buffers = 1,
        .buffers = no_validity,
        .children = children,
        .release = struct_release,
        .private_data = no_validity,
    };
    for (uint32_t i = 0; i < batch->column_count; i++) {
        children[i] = array_of_column(owner, &owner->batch.columns[i]);
        if (children[i] == NULL) {
            struct_release(out);
            owner_release(owner);
            return -1;
        }
        out->n_children++;
    }
    owner_release(owner);
    return 0;
}

/* ---- the stream --------------------------------------------------------------------------------
 */

struct stream_state {
    struct morsel_result *result;
    struct morsel_error error;
};

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    static const struct exec_schema none = {0};
    struct stream_state *state = stream->private_data;
    const struct exec_schema *schema = result_schema(state->result);

    return arrow_export_schema(schema == NULL ? &none : schema, out) == 0 ? 0 : ENOMEM;
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream_state *state = stream->private_data;
    struct arrow_batch batch = {0};
    const int got = result_read(state->result, UINT64_MAX, &batch, &state->error);

    *out = (struct ArrowArray){0}; /* release NULL: the end */
    if (got == 0) {
        return 0;
    }
    if (got < 0) {
        return state->error.fault == MORSEL_FAULT_DEADLINE    ? ETIMEDOUT
               : state->error.fault == MORSEL_FAULT_CANCELLED ? ECANCELED
                                                              : EIO;
    }
    for (uint32_t i = 0; i < batch.column_count; i++) {
        if (batch.columns[i].dictionary != NULL || batch.columns[i].offset_bytes == 8) {
            morsel_error_set(&state->error, MORSEL_FAULT_DATA, EXEC_NOT_IMPLEMENTED,
                             "column %u comes with a dictionary or 64-bit offsets", i + 1);
            result_batch_free(&batch);
            return EIO;
        }
    }
    return arrow_export_batch(&batch, out) == 0 ? 0 : ENOMEM;
}

static const char *stream_get_last_error(struct ArrowArrayStream *stream)
{
    const struct stream_state *state = stream->private_data;

    return state->error.message;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    struct stream_state *state = stream->private_data;

    morsel_result_close(state->result);
    free(state);
    stream->release = NULL;
}

static int no_memory_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    (void)stream, (void)out;
    return ENOMEM;
}

static int no_memory_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    (void)stream, (void)out;
    return ENOMEM;
}

static const char *no_memory_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory";
}

static void no_memory_release(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

void morsel_result_to_arrow_stream(struct morsel_result *result,
                                   struct ArrowArrayStream *stream_out)
{
    struct stream_state *state = calloc(1, sizeof *state);

    if (state == NULL) {
        morsel_result_close(result);
        *stream_out = (struct ArrowArrayStream){
            .get_schema = no_memory_schema,
            .get_next = no_memory_next,
            .get_last_error = no_memory_error,
            .release = no_memory_release,
        };
        return;
    }
    state->result = result;
    *stream_out = (struct ArrowArrayStream){
        .get_schema = stream_get_schema,
        .get_next = stream_get_next,
        .get_last_error = stream_get_last_error,
        .release = stream_release,
        .private_data = state,
    };
}
