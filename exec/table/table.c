#include "table/table.h"

#include "table/chunk_codes.h"
#include "table/column_stats.h"
#include "table/distinct_sample.h"
#include "table/table_make.h"

#include <stdlib.h>
#include <string.h>

static void free_schema(struct exec_schema *schema)
{
    struct exec_field *fields = (struct exec_field *)(uintptr_t)schema->fields;

    for (uint32_t f = 0; fields != NULL && f < schema->field_count; f++) {
        free((char *)(uintptr_t)fields[f].name);
    }
    free(fields);
}

static bool copy_schema(struct exec_schema *to, const struct exec_schema *from)
{
    struct exec_field *fields = calloc(from->field_count + (size_t)1, sizeof *fields);

    if (fields == NULL) {
        return false;
    }
    *to = (struct exec_schema){.fields = fields, .field_count = from->field_count};
    for (uint32_t f = 0; f < from->field_count; f++) {
        fields[f] = from->fields[f];
        fields[f].name = strdup(from->fields[f].name);
        if (fields[f].name == NULL) {
            return false;
        }
    }
    return true;
}

static void free_table(struct table *table)
{
    for (uint32_t i = 0; i < table->chunk_count; i++) {
        table_chunk_destroy(table->chunks[i]);
    }
    free(table->chunks);
    free(table->stats);
    free_schema(&table->schema);
    free(table->name);
    free(table);
}

static void sum_chunks(struct table *table)
{
    for (uint32_t i = 0; i < table->chunk_count; i++) {
        const struct table_chunk *chunk = table->chunks[i];
        table->row_count += chunk->row_count;
        table->memory_bytes += chunk->arena.charged_bytes;
        for (uint32_t c = 0; c < table->schema.field_count; c++) {
            column_stats_merge(&table->stats[c], table->schema.fields[c].type.kind,
                               &chunk->columns[c].stats);
        }
    }
}

/* Chunks without a sample are small, and taken not to have values of their own. */
static void sum_samples(struct table *table)
{
    struct distinct_sample *whole = malloc(sizeof *whole);

    for (uint32_t c = 0; whole != NULL && c < table->schema.field_count; c++) {
        memset(whole, 0, sizeof *whole);
        for (uint32_t i = 0; i < table->chunk_count; i++) {
            const struct distinct_sample *part = table->chunks[i]->columns[c].sample;
            if (part != NULL) {
                distinct_sample_merge(whole, part);
            }
        }
        table->stats[c].distinct_estimate = distinct_sample_estimate(whole);
    }
    free(whole);
}

struct table *table_make(const char *name, const struct exec_schema *schema,
                         struct table_chunk **chunks, uint32_t chunk_count)
{
    struct table *table = calloc(1, sizeof *table);

    if (table == NULL) {
        return NULL;
    }
    atomic_init(&table->references, 1);
    table->name = strdup(name);
    table->chunks = calloc(chunk_count + (size_t)1, sizeof(struct table_chunk *));
    table->stats = calloc(schema->field_count + (size_t)1, sizeof *table->stats);
    if (!copy_schema(&table->schema, schema) || table->name == NULL || table->chunks == NULL ||
        table->stats == NULL) {
        free_table(table);
        return NULL;
    }
    if (chunk_count > 0) {
        memcpy(table->chunks, chunks, chunk_count * sizeof(struct table_chunk *));
    }
    table->chunk_count = chunk_count;
    sum_chunks(table);
    sum_samples(table);
    table_unify_dictionaries(table);
    return table;
}

void table_ref(struct table *table)
{
    /* relaxed: whoever adds a reference holds one already. */
    atomic_fetch_add_explicit(&table->references, 1, memory_order_relaxed);
}

void table_unref(struct table *table)
{
    /* acq_rel: every user's reads come before the free, pairing with the other decrements. */
    if (atomic_fetch_sub_explicit(&table->references, 1, memory_order_acq_rel) == 1) {
        free_table(table);
    }
}

void table_chunk_batch(const struct table_chunk *chunk, const struct table *table,
                       const uint32_t *column_map, uint32_t column_count, uint32_t row,
                       uint32_t count, struct vec *columns, struct batch *batch_out)
{
    for (uint32_t i = 0; i < column_count; i++) {
        const struct table_column *column = &chunk->columns[column_map[i]];
        const uint8_t kind = table->schema.fields[column_map[i]].type.kind;
        columns[i] = (struct vec){
            .data = column->data == NULL
                        ? NULL
                        : (const unsigned char *)column->data + row * exec_type_width(kind),
            .valid = column->valid == NULL ? NULL : column->valid + row / 64,
            .kind = kind,
        };
        if (column->codes != NULL) {
            columns[i].code_bytes = column->code_bytes;
            columns[i].codes = (const unsigned char *)column->codes + row * column->code_bytes;
            columns[i].dictionary = column->dictionary;
        }
    }
    *batch_out = (struct batch){
        .row_count = count,
        .sel_count = count,
        .columns = columns,
        .column_count = column_count,
    };
}
