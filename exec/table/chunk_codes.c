#include "table/chunk_codes.h"

#include "table/dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct chunk_coder {
    uint64_t row_count; /* encoded so far */
    uint32_t column_count;
    uint32_t codes[TABLE_CHUNK_ROWS];
    struct dictionary *dictionaries[]; /* NULL: not text, or given up */
};

static bool is_text(uint8_t kind)
{
    return kind == EXEC_TYPE_UTF8 || kind == EXEC_TYPE_BINARY;
}

struct chunk_coder *chunk_coder_create(struct nu_page_pool *pages, struct nu_budget *budget,
                                       unsigned node, const struct exec_schema *schema)
{
    struct chunk_coder *coder =
        calloc(1, sizeof *coder + schema->field_count * sizeof(struct dictionary *));

    if (coder == NULL) {
        return NULL;
    }
    coder->column_count = schema->field_count;
    for (uint32_t c = 0; c < schema->field_count; c++) {
        if (is_text(schema->fields[c].type.kind)) {
            coder->dictionaries[c] = dictionary_create(pages, budget, node);
        }
    }
    return coder;
}

void chunk_coder_destroy(struct chunk_coder *coder)
{
    for (uint32_t c = 0; coder != NULL && c < coder->column_count; c++) {
        dictionary_unref(coder->dictionaries[c]);
    }
    free(coder);
}

static void narrow(const uint32_t *codes, uint32_t count, uint8_t code_bytes, void *out)
{
    uint8_t *bytes = out;
    uint16_t *shorts = out;

    switch (code_bytes) {
        case 1:
            for (uint32_t i = 0; i < count; i++) {
                bytes[i] = (uint8_t)codes[i];
            }
            break;
        case 2:
            for (uint32_t i = 0; i < count; i++) {
                shorts[i] = (uint16_t)codes[i];
            }
            break;
        default: memcpy(out, codes, count * sizeof *codes); break;
    }
}

/* false: the column is to have no codes. */
static bool keep_codes(struct table_chunk *chunk, struct table_column *column,
                       const uint32_t *codes, uint32_t value_count)
{
    const uint8_t code_bytes = dictionary_code_bytes(value_count);
    void *kept = nu_arena_alloc(&chunk->arena, (size_t)chunk->row_count * code_bytes, 64);

    if (kept == NULL) {
        return false;
    }
    narrow(codes, chunk->row_count, code_bytes, kept);
    column->codes = kept;
    column->code_bytes = code_bytes;
    return true;
}

static bool is_sparse(uint64_t value_count, uint64_t rows)
{
    return rows >= DICTIONARY_TRIAL_ROWS && value_count * DICTIONARY_ROWS_A_VALUE > rows;
}

/* Of so many rows, as far as one can tell: a column that draws from DICTIONARY_VALUES_MAX values
 * has shown VALUES_MAX (1 - e^(-rows / VALUES_MAX)) of them, and no more will ever come; one that
 * has shown more draws from more. */
static bool has_too_many(const struct dictionary *dictionary, uint64_t rows)
{
    const double most = DICTIONARY_VALUES_MAX;

    return is_sparse(dictionary->count, rows) &&
           (double)dictionary->count > most * (1 - exp(-(double)rows / most));
}

static bool encode_column(struct chunk_coder *coder, struct dictionary *dictionary,
                          struct table_chunk *chunk, struct table_column *column)
{
    const struct string_view *views = column->data;

    for (uint32_t row = 0; row < chunk->row_count; row += BATCH_ROWS) {
        const uint32_t left = chunk->row_count - row;
        const uint32_t count = left < BATCH_ROWS ? left : BATCH_ROWS;
        if (!dictionary_encode(dictionary, views + row,
                               column->valid == NULL ? NULL : column->valid + row / 64, count,
                               coder->codes + row)) {
            return false;
        }
    }
    return !has_too_many(dictionary, coder->row_count + chunk->row_count) &&
           keep_codes(chunk, column, coder->codes, dictionary->count);
}

void chunk_coder_encode(struct chunk_coder *coder, struct table_chunk *chunk)
{
    for (uint32_t c = 0; c < coder->column_count; c++) {
        struct dictionary *dictionary = coder->dictionaries[c];
        struct table_column *column = &chunk->columns[c];
        if (dictionary == NULL) {
            continue;
        }
        if (encode_column(coder, dictionary, chunk, column)) {
            dictionary_ref(dictionary);
            column->dictionary = dictionary;
        } else {
            dictionary_unref(dictionary);
            coder->dictionaries[c] = NULL;
        }
    }
    coder->row_count += chunk->row_count;
}

/* ---- of a table ---------------------------------------------------------------------------------
 */

static void drop_codes(struct table *table, uint32_t c)
{
    for (uint32_t i = 0; i < table->chunk_count; i++) {
        struct table_column *column = &table->chunks[i]->columns[c];
        dictionary_unref(column->dictionary);
        column->dictionary = NULL;
        column->codes = NULL;
        column->code_bytes = 0;
    }
}

/* The dictionary with most values; NULL: some chunk has none. */
static struct dictionary *largest(const struct table *table, uint32_t c)
{
    struct dictionary *best = NULL;

    for (uint32_t i = 0; i < table->chunk_count; i++) {
        struct dictionary *one = table->chunks[i]->columns[c].dictionary;
        if (one == NULL) {
            return NULL;
        }
        best = best == NULL || one->count > best->count ? one : best;
    }
    return best;
}

static uint32_t code_at(const struct table_column *column, uint32_t row)
{
    switch (column->code_bytes) {
        case 1: return ((const uint8_t *)column->codes)[row];
        case 2: return ((const uint16_t *)column->codes)[row];
        default: return ((const uint32_t *)column->codes)[row];
    }
}

/* The chunk's codes through the map; null rows have code 0 whatever that means. */
static bool recode(struct table_chunk *chunk, uint32_t c, const uint32_t *map,
                   struct dictionary *into, uint32_t *codes)
{
    struct table_column *column = &chunk->columns[c];

    for (uint32_t row = 0; row < chunk->row_count; row++) {
        const bool present = column->valid == NULL || bitmap_get(column->valid, row);
        codes[row] = present ? map[code_at(column, row)] : 0;
    }
    if (dictionary_code_bytes(into->count) <= column->code_bytes) {
        narrow(codes, chunk->row_count, column->code_bytes,
               (unsigned char *)(uintptr_t)column->codes);
    } else if (!keep_codes(chunk, column, codes, into->count)) {
        return false;
    }
    dictionary_ref(into);
    dictionary_unref(column->dictionary);
    column->dictionary = into;
    return true;
}

/* Chunks of one builder, hence of one dictionary, lie together mostly: the map is made once. */
static bool unify(struct table *table, uint32_t c, struct dictionary *into)
{
    uint32_t *codes = malloc(TABLE_CHUNK_ROWS * sizeof *codes);
    uint32_t *map = malloc(DICTIONARY_VALUES_MAX * sizeof *map);
    struct dictionary *mapped = NULL;
    bool ok = codes != NULL && map != NULL;

    for (uint32_t i = 0; ok && i < table->chunk_count; i++) {
        struct dictionary *from = table->chunks[i]->columns[c].dictionary;
        if (from == into) {
            continue;
        }
        if (from != mapped) {
            ok = dictionary_merge(into, from, map);
            dictionary_unref(mapped);
            dictionary_ref(from);
            mapped = from;
        }
        ok = ok && recode(table->chunks[i], c, map, into, codes);
    }
    dictionary_unref(mapped);
    free(codes);
    free(map);
    return ok;
}

/* Some chunk has codes alone: their dictionary may be another table's too and never changes. */
static bool has_codes_alone(const struct table *table, uint32_t c)
{
    for (uint32_t i = 0; i < table->chunk_count; i++) {
        const struct table_column *column = &table->chunks[i]->columns[c];
        if (column->codes != NULL && column->data == NULL) {
            return true;
        }
    }
    return false;
}

/* The dictionary of all chunks; NULL: there is no such one. */
static struct dictionary *common(const struct table *table, uint32_t c)
{
    struct dictionary *first = table->chunks[0]->columns[c].dictionary;

    for (uint32_t i = 1; i < table->chunk_count; i++) {
        if (table->chunks[i]->columns[c].dictionary != first) {
            return NULL;
        }
    }
    return first;
}

static void share(struct table *table, uint32_t c)
{
    struct dictionary *shared = common(table, c);

    table->stats[c].dictionary = shared;
    table->stats[c].distinct_estimate = shared == NULL ? 0 : shared->count;
}

void table_unify_dictionaries(struct table *table)
{
    for (uint32_t c = 0; c < table->schema.field_count; c++) {
        if (!is_text(table->schema.fields[c].type.kind)) {
            continue;
        }
        if (has_codes_alone(table, c)) {
            share(table, c);
            continue;
        }
        struct dictionary *into = largest(table, c);
        if (into == NULL || !unify(table, c, into) || is_sparse(into->count, table->row_count)) {
            drop_codes(table, c);
            continue;
        }
        table->stats[c].dictionary = into;
        table->stats[c].distinct_estimate = into->count;
        table->memory_bytes += into->arena.charged_bytes;
    }
}
