#include "job_runner.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct runner {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct job_result *result;
    uint64_t row_capacity;
    bool is_done;
};

static bool bit(const uint8_t *bits, uint64_t at)
{
    return (bits[at / 8] >> (at % 8)) & 1;
}

static void decimal_text(char *out, size_t out_bytes, const unsigned char *value, int scale)
{
    __int128 number;
    char digits[48];
    int at = (int)sizeof digits;

    memcpy(&number, value, sizeof number);
    const bool negative = number < 0;
    unsigned __int128 rest = negative ? -(unsigned __int128)number : (unsigned __int128)number;
    digits[--at] = '\0';
    for (int i = 0; i == 0 || rest != 0 || i <= scale; i++) {
        if (i == scale && scale != 0) {
            digits[--at] = '.';
        }
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    }
    snprintf(out, out_bytes, "%s%s", negative ? "-" : "", digits + at);
}

#define INTEGER(type, format)                                                                     \
    do {                                                                                          \
        type value;                                                                               \
        memcpy(&value, (const unsigned char *)column->values + row * sizeof value, sizeof value); \
        snprintf(out, out_bytes, format, value);                                                  \
    } while (0)

static void value_text(const struct exec_column_buffers *column, uint64_t row, char *out,
                       size_t out_bytes)
{
    switch (column->type.kind) {
        case EXEC_TYPE_BOOL:
            snprintf(out, out_bytes, "%s", bit(column->values, row) ? "t" : "f");
            break;
        case EXEC_TYPE_INT8: INTEGER(int8_t, "%" PRId8); break;
        case EXEC_TYPE_INT16: INTEGER(int16_t, "%" PRId16); break;
        case EXEC_TYPE_DATE32:
        case EXEC_TYPE_INT32: INTEGER(int32_t, "%" PRId32); break;
        case EXEC_TYPE_TIMESTAMP:
        case EXEC_TYPE_INT64: INTEGER(int64_t, "%" PRId64); break;
        case EXEC_TYPE_UINT8: INTEGER(uint8_t, "%" PRIu8); break;
        case EXEC_TYPE_UINT16: INTEGER(uint16_t, "%" PRIu16); break;
        case EXEC_TYPE_UINT32: INTEGER(uint32_t, "%" PRIu32); break;
        case EXEC_TYPE_UINT64: INTEGER(uint64_t, "%" PRIu64); break;
        case EXEC_TYPE_FLOAT32: {
            float value;
            memcpy(&value, (const unsigned char *)column->values + row * sizeof value,
                   sizeof value);
            snprintf(out, out_bytes, "%.9g", (double)value);
            break;
        }
        case EXEC_TYPE_FLOAT64: INTEGER(double, "%.17g"); break;
        case EXEC_TYPE_DECIMAL128:
            decimal_text(out, out_bytes, (const unsigned char *)column->values + row * 16,
                         column->type.scale);
            break;
        default: {
            const int32_t *offsets = column->offsets;
            snprintf(out, out_bytes, "%.*s", (int)(offsets[row + 1] - offsets[row]),
                     (const char *)column->values + offsets[row]);
            break;
        }
    }
}

char *chunk_row_text(const struct exec_chunk *chunk, uint64_t row)
{
    char *text = calloc(1, 1);
    size_t size = 0;

    assert(text != NULL);
    for (uint32_t c = 0; c < chunk->column_count; c++) {
        const struct exec_column_buffers *column = &chunk->columns[c];
        size_t value_bytes = 64;
        if (column->offsets != NULL) {
            const int32_t *offsets = column->offsets;
            value_bytes = (size_t)(offsets[row + 1] - offsets[row]) + 8;
        }
        text = realloc(text, size + value_bytes + 2);
        assert(text != NULL);
        if (c != 0) {
            text[size++] = '|';
        }
        if (column->validity != NULL && !bit(column->validity, row)) {
            snprintf(text + size, value_bytes, "\\N");
        } else {
            value_text(column, row, text + size, value_bytes);
        }
        size += strlen(text + size);
    }
    return text;
}

static void on_schema(void *owner, struct exec_job *job, const struct exec_schema *schema)
{
    struct runner *runner = owner;
    char text[16384];
    size_t at = 0;

    (void)job;
    pthread_mutex_lock(&runner->lock);
    runner->result->out_of_order += runner->result->schema != NULL || runner->is_done;
    for (uint32_t f = 0; f < schema->field_count && at < sizeof text - 400; f++) {
        char type[EXEC_TYPE_TEXT_BYTES];
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "%s%s:%s", f == 0 ? "" : ",",
                             schema->fields[f].name, exec_type_text(&schema->fields[f].type, type));
    }
    text[at] = '\0';
    runner->result->schema = strdup(text);
    pthread_mutex_unlock(&runner->lock);
}

static void on_chunk(void *owner, struct exec_job *job, struct exec_chunk *chunk)
{
    struct runner *runner = owner;
    struct job_result *result = runner->result;

    (void)job;
    pthread_mutex_lock(&runner->lock);
    result->out_of_order += result->schema == NULL || runner->is_done;
    result->chunk_count++;
    for (uint64_t row = 0; row < chunk->row_count; row++) {
        if (result->row_count == runner->row_capacity) {
            runner->row_capacity = runner->row_capacity == 0 ? 1024 : runner->row_capacity * 2;
            result->rows = realloc(result->rows, runner->row_capacity * sizeof *result->rows);
            assert(result->rows != NULL);
        }
        result->rows[result->row_count++] = chunk_row_text(chunk, row);
    }
    pthread_mutex_unlock(&runner->lock);
    exec_chunk_release(chunk);
}

static void on_done(void *owner, struct exec_job *job)
{
    struct runner *runner = owner;

    (void)job;
    pthread_mutex_lock(&runner->lock);
    runner->result->out_of_order += runner->is_done;
    runner->is_done = true;
    pthread_cond_broadcast(&runner->ended);
    pthread_mutex_unlock(&runner->lock);
}

void job_run(struct exec_engine *engine, const struct exec_job_spec *spec, struct job_result *out)
{
    static const struct exec_job_events events = {on_schema, on_chunk, on_done};
    struct runner runner = {.result = out};
    struct exec_job *job;

    memset(out, 0, sizeof *out);
    if (exec_submit(engine, spec, &events, &runner, &job, &out->error) != EXEC_OK) {
        return;
    }
    pthread_mutex_lock(&runner.lock);
    while (!runner.is_done) {
        pthread_cond_wait(&runner.ended, &runner.lock);
    }
    pthread_mutex_unlock(&runner.lock);
    out->error = *exec_job_error(job);
    exec_job_status(job, &out->status);
    out->explain_text =
        exec_job_explain_text(job) == NULL ? NULL : strdup(exec_job_explain_text(job));
    out->explain_json =
        exec_job_explain_json(job) == NULL ? NULL : strdup(exec_job_explain_json(job));
    exec_job_release(job);
}

static int row_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void job_result_sort(struct job_result *result)
{
    if (result->row_count != 0) {
        qsort(result->rows, result->row_count, sizeof *result->rows, row_order);
    }
}

void job_result_fini(struct job_result *result)
{
    for (uint64_t row = 0; row < result->row_count; row++) {
        free(result->rows[row]);
    }
    free(result->rows);
    free(result->schema);
    free(result->explain_text);
    free(result->explain_json);
    memset(result, 0, sizeof *result);
}

static void log_quiet(void *owner, enum exec_log_level level, const char *line)
{
    (void)owner;
    if (level == EXEC_LOG_ERROR) {
        fprintf(stderr, "%s\n", line);
    }
}

struct exec_engine *test_engine(uint32_t workers, const char *topology_file)
{
    const struct exec_engine_config config = {
        .workers = workers,
        .memory_limit_bytes = 1u << 30,
        .topology_file = topology_file,
        .log = log_quiet,
    };
    struct exec_engine *engine = NULL;
    struct exec_error err;

    if (exec_engine_create(&config, &engine, &err) != EXEC_OK) {
        fprintf(stderr, "no engine: %s\n", err.detail);
        abort();
    }
    return engine;
}
