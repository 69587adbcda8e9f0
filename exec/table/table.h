#ifndef EXEC_TABLE_TABLE_H
#define EXEC_TABLE_TABLE_H

#include "exec/error.h"
#include "exec/exec.h"
#include "numa/arena.h"
#include "vec/batch.h"

#include <stdatomic.h>

/* Resident tables: immutable, reference-counted versions in a catalogue; column-wise chunks, each
 * bound to one node. */

enum { TABLE_CHUNK_ROWS = 64 * BATCH_ROWS };

/* Bounds of one column over one chunk or a whole table; min and max in the layout of exec_literal's
 * value (utf8, binary, decimal128: not kept; NaN is in no bounds). */
struct column_stats {
    uint64_t null_count;
    bool has_bounds; /* at least one present value and an ordered fixed-width type */
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
    } min, max;
    /* float32, float64: every present finite value but zeros is a multiple of 2^digit_low and below
     * 2^(digit_high + 1) in magnitude. */
    bool has_digits, has_specials; /* some such value; some NaN or infinity */
    int16_t digit_low, digit_high;
    uint64_t distinct_estimate;    /* 0: unknown */
    struct dictionary *dictionary; /* of a whole table's text column; NULL: it has none */
};

/* data and valid as in struct vec, for up to TABLE_CHUNK_ROWS rows, 64-byte aligned. A result's
 * text that came with codes is kept as codes alone: data is NULL, the values are the dictionary's.
 */
struct table_column {
    const void *data;
    const uint64_t *valid;
    struct column_stats stats;
    /* Of text, where the column has few values (table/dictionary.h); a reference. Else NULL. */
    const void *codes;
    uint8_t code_bytes; /* 1, 2, 4 */
    struct dictionary *dictionary;
    const struct distinct_sample *sample; /* table/distinct_sample.h; NULL: not taken */
};

struct table_chunk {
    uint32_t row_count; /* 1..TABLE_CHUNK_ROWS; any chunk of a table may be part filled */
    uint16_t node;
    uint32_t column_count;
    struct nu_arena arena; /* everything of this chunk */
    struct table_column *columns;
};

/* Row numbers of a scan are chunk_index * TABLE_CHUNK_ROWS + row in chunk. */
struct table {
    _Atomic uint32_t references;
    char *name;
    uint64_t version;
    struct exec_schema schema; /* owned */
    struct table_chunk **chunks;
    uint32_t chunk_count;
    uint64_t row_count, memory_bytes;
    struct column_stats *stats; /* per column, over all chunks */
};

void table_ref(struct table *table);
void table_unref(struct table *table); /* frees at the last one; any thread */

/* The batch of rows [row, row + count) of one chunk, count <= BATCH_ROWS, row a multiple of
 * BATCH_ROWS; columns[] has room for column_count entries, taken from `column_map` (0-based). */
void table_chunk_batch(const struct table_chunk *chunk, const struct table *table,
                       const uint32_t *column_map, uint32_t column_count, uint32_t row,
                       uint32_t count, struct vec *columns, struct batch *batch_out);
/* The views of columns that are kept as codes alone, whose data table_chunk_batch leaves NULL.
 * false: out of memory. */
bool table_chunk_views(const struct batch *batch, struct nu_arena *scratch);

/* ---- building -----------------------------------------------------------------------------------
 */

/* Appends batches into chunks of one node; one builder has one owning thread. Finished chunks are
 * taken off in order. */
struct chunk_builder;

struct chunk_builder *chunk_builder_create(struct nu_page_pool *pages, struct nu_budget *budget,
                                           unsigned node, const struct exec_schema *schema);
/* Text columns get dictionaries, where they have few values; before the first row. false: out of
 * memory. */
bool chunk_builder_encode(struct chunk_builder *builder, const struct exec_schema *schema);
/* Copies the selected rows, strings too; or, without chunk_builder_encode, of text that brings
 * codes these alone, as long as all of it does. EXEC_OK or EXEC_MEMORY_BUDGET. */
enum exec_code chunk_builder_append(struct chunk_builder *builder, const struct batch *batch,
                                    struct exec_error *err);
/* The next full chunk, or with `rest` also the last part filled one; NULL: none. Caller owns it. */
struct table_chunk *chunk_builder_take(struct chunk_builder *builder, bool rest);
/* Chunks begun from now on go to this node. */
void chunk_builder_set_node(struct chunk_builder *builder, unsigned node);
void chunk_builder_destroy(struct chunk_builder *builder);
void table_chunk_destroy(struct table_chunk *chunk);

/* ---- catalogue
 * ----------------------------------------------------------------------------------- */

struct catalogue;

struct catalogue *catalogue_create(struct nu_page_pool *pages, struct nu_budget *tables_budget);
void catalogue_destroy(struct catalogue *catalogue);
struct nu_budget *catalogue_budget(struct catalogue *catalogue);

/* The current version, with a reference for the caller; NULL: no such table. */
struct table *catalogue_get(struct catalogue *catalogue, const char *name);
bool catalogue_has(struct catalogue *catalogue, const char *name);

/* Make a table of `chunks` (ownership moves, also on failure) and swap it in. On EXEC_OK *table_out
 * (may be NULL) holds a reference. EXEC_EXISTS when it is there and replace is false. */
enum exec_code catalogue_put(struct catalogue *catalogue, const char *name,
                             const struct exec_schema *schema, struct table_chunk **chunks,
                             uint32_t chunk_count, bool replace, struct table **table_out,
                             struct exec_error *err);
enum exec_code catalogue_drop(struct catalogue *catalogue, const char *name,
                              struct exec_error *err);
enum exec_code catalogue_list(struct catalogue *catalogue, const char *name,
                              struct exec_table_list *list_out, struct exec_error *err);
uint32_t catalogue_count(struct catalogue *catalogue);

/* 1..255 bytes of UTF-8 without control characters. */
enum exec_code table_name_check(const char *name, struct exec_error *err);

#endif
