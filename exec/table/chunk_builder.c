#include "table/chunk_codes.h"
#include "table/code_columns.h"
#include "table/column_stats.h"
#include "table/dictionary.h"
#include "table/distinct_sample.h"
#include "table/table.h"
#include "vec/bitmap.h"
#include "vec/string_view.h"
#include "vec/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A chunk begins small and grows by copying (1,024, 8,192, 65,536 rows), so that a tiny table costs
 * one small span and a large one is copied once for an eighth of its rows. The last chunk, when
 * much of it stays empty, is copied into one that fits. */

enum {
    GROWTH = 8,
    ALIGN_BYTES = 64,
    SAMPLED_ROWS_MIN = 4096,
    SLACK_KEPT_BYTES = 64 << 10, /* less than this is not worth a copy */
};

struct fill_column {
    uint8_t kind;
    size_t width;
    struct dictionary
        *dictionary;    /* a reference: data are its codes, `width` bytes each; or NULL */
    bool refuses_codes; /* of the first set: some rows came without, or with others */
    unsigned char *data;
    uint64_t *valid; /* while filling always there, dropped at the end when nothing is null */
    struct column_stats stats;
};

/* A chunk being filled. */
struct fill {
    struct nu_arena arena;
    uint32_t row_count, capacity;
    struct table_chunk *chunk; /* inside the arena; NULL: nothing begun */
    unsigned char *text;       /* room set aside for strings of a copy */
    struct fill_column *columns;
};

struct chunk_builder {
    struct nu_page_pool *pages;
    struct nu_budget *budget;
    unsigned node;
    uint32_t column_count;
    struct chunk_coder *coder; /* NULL: no dictionaries of its own */
    struct fill fill;
    struct table_chunk **full; /* finished, oldest first */
    uint32_t full_count, full_taken, full_capacity;
    struct fill_column columns[]; /* two sets: of `fill` and of the copy in progress */
};

struct chunk_builder *chunk_builder_create(struct nu_page_pool *pages, struct nu_budget *budget,
                                           unsigned node, const struct exec_schema *schema)
{
    struct chunk_builder *builder =
        calloc(1, sizeof *builder + 2 * (size_t)schema->field_count * sizeof builder->columns[0]);

    if (builder == NULL) {
        return NULL;
    }
    builder->pages = pages;
    builder->budget = budget;
    builder->node = node;
    builder->column_count = schema->field_count;
    builder->fill.columns = builder->columns;
    for (uint32_t c = 0; c < 2 * schema->field_count; c++) {
        const struct exec_type *type = &schema->fields[c % schema->field_count].type;
        builder->columns[c].kind = type->kind;
        builder->columns[c].width = exec_type_width(type->kind);
    }
    return builder;
}

bool chunk_builder_encode(struct chunk_builder *builder, const struct exec_schema *schema)
{
    builder->coder = chunk_coder_create(builder->pages, builder->budget, builder->node, schema);
    return builder->coder != NULL;
}

void chunk_builder_set_node(struct chunk_builder *builder, unsigned node)
{
    builder->node = node;
}

static bool is_text(enum exec_type_kind kind)
{
    return kind == EXEC_TYPE_UTF8 || kind == EXEC_TYPE_BINARY;
}

static bool holds_views(const struct fill_column *column)
{
    return is_text(column->kind) && column->dictionary == NULL;
}

static enum exec_code fail_memory(struct exec_error *err, const struct nu_budget *refused)
{
    if (refused == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "the kernel gave no memory for a table chunk");
    }
    return EXEC_FAIL(err, EXEC_MEMORY_BUDGET,
                     "a table chunk does not fit: %llu of the %llu bytes of budget '%s' are used",
                     (unsigned long long)nu_budget_used(refused),
                     (unsigned long long)refused->limit_bytes, refused->name);
}

/* ---- one chunk ------------------------------------------------------------------------------ */

static size_t align_up(size_t bytes)
{
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* Takes one slab for everything whose size is known. fill->columns is set by the caller. */
static bool fill_begin(struct chunk_builder *builder, struct fill *fill, unsigned node,
                       uint32_t capacity, size_t text_bytes)
{
    const uint32_t count = builder->column_count;
    const size_t bitmap_bytes = align_up((capacity + 63) / 64 * sizeof(uint64_t));
    const size_t head_bytes =
        align_up(sizeof *fill->chunk) + align_up(count * sizeof(struct table_column));
    size_t bytes = head_bytes;

    for (uint32_t c = 0; c < count; c++) {
        bytes += align_up(capacity * fill->columns[c].width) + bitmap_bytes;
    }
    nu_arena_init(&fill->arena, builder->pages, node, builder->budget);
    unsigned char *slab = nu_arena_alloc(&fill->arena, bytes + text_bytes, ALIGN_BYTES);
    if (slab == NULL) {
        return false;
    }
    fill->chunk = (struct table_chunk *)slab;
    memset(fill->chunk, 0, head_bytes);
    fill->chunk->columns = (struct table_column *)(slab + align_up(sizeof *fill->chunk));
    fill->chunk->node = (uint16_t)node;
    fill->row_count = 0;
    fill->capacity = capacity;
    fill->text = slab + bytes;
    slab += head_bytes;
    for (uint32_t c = 0; c < count; c++) {
        struct fill_column *column = &fill->columns[c];
        column->data = slab;
        slab += align_up(capacity * column->width);
        column->valid = (uint64_t *)slab;
        memset(column->valid, 0, bitmap_bytes);
        slab += bitmap_bytes;
        column->stats = (struct column_stats){.null_count = 0};
    }
    return true;
}

/* Where there is no memory for it, there is no sample. */
static void take_samples(struct table_chunk *chunk, const struct chunk_builder *builder)
{
    for (uint32_t c = 0; chunk->row_count >= SAMPLED_ROWS_MIN && c < chunk->column_count; c++) {
        struct table_column *column = &chunk->columns[c];
        const enum exec_type_kind kind = builder->fill.columns[c].kind;
        if (!distinct_sample_takes(kind)) {
            continue;
        }
        struct distinct_sample *sample = nu_arena_calloc(&chunk->arena, sizeof *sample, 64);
        if (sample != NULL) {
            distinct_sample_add(sample, kind, column->data, column->valid, chunk->row_count);
            column->sample = sample;
        }
    }
}

static struct table_chunk *fill_finish(struct chunk_builder *builder, struct fill *fill)
{
    struct table_chunk *chunk = fill->chunk;

    chunk->row_count = fill->row_count;
    chunk->column_count = builder->column_count;
    for (uint32_t c = 0; c < builder->column_count; c++) {
        const struct fill_column *column = &fill->columns[c];
        const bool coded = column->dictionary != NULL;
        chunk->columns[c] = (struct table_column){
            .data = coded ? NULL : column->data,
            .valid = column->stats.null_count == 0 ? NULL : column->valid,
            .stats = column->stats,
            .codes = coded ? column->data : NULL,
            .code_bytes = coded ? (uint8_t)column->width : 0,
            .dictionary = column->dictionary, /* the reference moves */
        };
        fill->columns[c].dictionary = NULL;
    }
    chunk->arena = fill->arena; /* it owns the memory it now lives in */
    fill->chunk = NULL;
    fill->row_count = fill->capacity = 0;
    if (builder->coder != NULL) {
        chunk_coder_encode(builder->coder, chunk);
        take_samples(chunk, builder);
    }
    return chunk;
}

void table_chunk_destroy(struct table_chunk *chunk)
{
    struct nu_arena arena = chunk->arena;

    for (uint32_t c = 0; c < chunk->column_count; c++) {
        dictionary_unref(chunk->columns[c].dictionary);
    }
    nu_arena_destroy(&arena);
}

/* ---- growing and shrinking ------------------------------------------------------------------ */

static size_t long_text_bytes(const struct string_view *views, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += views[i].size > STRING_INLINE_BYTES ? views[i].size : 0;
    }
    return bytes;
}

static unsigned char *move_texts(struct string_view *views, uint32_t count, unsigned char *text)
{
    for (uint32_t i = 0; i < count; i++) {
        if (views[i].size > STRING_INLINE_BYTES) {
            memcpy(text, string_view_bytes(&views[i]), views[i].size);
            views[i] = string_view_make((const char *)text, views[i].size);
            text += views[i].size;
        }
    }
    return text;
}

static void fill_copy_columns(struct chunk_builder *builder, const struct fill *from,
                              struct fill *to)
{
    unsigned char *text = to->text;

    for (uint32_t c = 0; c < builder->column_count; c++) {
        const struct fill_column *source = &from->columns[c];
        struct fill_column *target = &to->columns[c];
        memcpy(target->data, source->data, from->row_count * source->width);
        memcpy(target->valid, source->valid, (from->row_count + 63) / 64 * sizeof(uint64_t));
        target->stats = source->stats;
        if (holds_views(source)) {
            text = move_texts((struct string_view *)target->data, from->row_count, text);
        }
    }
    to->row_count = from->row_count;
}

/* Moves the rows into a chunk of another capacity. On false nothing has changed but `refused`. */
static bool builder_resize(struct chunk_builder *builder, uint32_t capacity,
                           const struct nu_budget **refused)
{
    struct fill *old = &builder->fill;
    struct fill copy = {.columns = old->columns == builder->columns
                                       ? builder->columns + builder->column_count
                                       : builder->columns};
    size_t text_bytes = 0;

    for (uint32_t c = 0; c < builder->column_count; c++) {
        copy.columns[c].width = old->columns[c].width;
        copy.columns[c].dictionary = old->columns[c].dictionary;
        if (holds_views(&old->columns[c])) {
            text_bytes +=
                long_text_bytes((const struct string_view *)old->columns[c].data, old->row_count);
        }
    }
    if (!fill_begin(builder, &copy, old->arena.node, capacity, text_bytes)) {
        *refused = copy.arena.refused;
        return false;
    }
    fill_copy_columns(builder, old, &copy);
    nu_arena_destroy(&old->arena);
    *old = copy;
    return true;
}

static void builder_shrink(struct chunk_builder *builder)
{
    const struct fill *fill = &builder->fill;
    const struct nu_budget *refused;
    size_t row_bytes = 0;

    for (uint32_t c = 0; c < builder->column_count; c++) {
        row_bytes += fill->columns[c].width;
    }
    if ((fill->capacity - fill->row_count) * row_bytes > SLACK_KEPT_BYTES) {
        (void)builder_resize(builder, fill->row_count, &refused); /* refused: stays roomy */
    }
}

/* ---- appending ------------------------------------------------------------------------------ */

static void copy_values(struct fill_column *to, uint32_t at, const struct vec *from,
                        const struct batch *batch, uint32_t position, uint32_t count)
{
    unsigned char *target = to->data + at * to->width;

    if (batch->sel == NULL && !from->constant) {
        const unsigned char *source = from->data;
        memcpy(target, source + position * to->width, count * to->width);
        return;
    }
    vec_gather_values(from, batch->sel == NULL ? NULL : batch->sel + position, count, target);
}

/* The validity of up to 64 rows from a position on. */
static uint64_t valid_word(const struct vec *from, const struct batch *batch, uint32_t position,
                           uint32_t count)
{
    uint64_t word = 0;

    if (batch->sel == NULL) {
        bitmap_slice(&word, from->valid, position, count);
        return word;
    }
    for (uint32_t i = 0; i < count; i++) {
        word |= (uint64_t)bitmap_get(from->valid, batch->sel[position + i]) << i;
    }
    return word;
}

/* The bits there are still 0. */
static void copy_valid(struct fill_column *to, uint32_t at, const struct vec *from,
                       const struct batch *batch, uint32_t position, uint32_t count)
{
    if (from->valid == NULL || from->constant) {
        bitmap_set_range(to->valid, at, count, vec_is_valid(from, 0));
        return;
    }
    for (uint32_t done = 0; done < count; done += 64) {
        const uint32_t left = count - done;
        const uint32_t bits = left < 64 ? left : 64;
        const uint64_t word = valid_word(from, batch, position + done, bits);
        const uint32_t shift = (at + done) % 64;
        uint64_t *target = to->valid + (at + done) / 64;
        target[0] |= word << shift;
        if (shift + bits > 64) {
            target[1] |= word >> (64 - shift);
        }
    }
}

static void clear_null_views(struct string_view *views, const uint64_t *valid, uint32_t at,
                             uint32_t count)
{
    for (uint32_t done = 0; done < count; done += 64) {
        const uint32_t left = count - done;
        uint64_t nulls;
        bitmap_slice(&nulls, valid, at + done, left < 64 ? left : 64);
        nulls = ~nulls & (left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX);
        for (; nulls != 0; nulls &= nulls - 1) {
            views[done + (uint32_t)__builtin_ctzll(nulls)] = (struct string_view){.size = 0};
        }
    }
}

static uint32_t longest_text(const struct string_view *views, uint32_t count)
{
    uint32_t longest = 0;

    for (uint32_t i = 0; i < count; i++) {
        longest = views[i].size > longest ? views[i].size : longest;
    }
    return longest;
}

/* Brings the texts of freshly copied views into the chunk; a null's view becomes empty. */
static bool own_texts(struct fill *fill, struct fill_column *column, uint32_t at, uint32_t count,
                      bool may_be_null)
{
    struct string_view *views = (struct string_view *)column->data + at;

    if (may_be_null) {
        clear_null_views(views, column->valid, at, count);
    }
    if (longest_text(views, count) <= STRING_INLINE_BYTES) {
        return true;
    }
    unsigned char *text = nu_arena_alloc(&fill->arena, long_text_bytes(views, count), 1);
    if (text == NULL) {
        return false;
    }
    move_texts(views, count, text);
    return true;
}

static bool fill_append(struct chunk_builder *builder, const struct batch *batch, uint32_t position,
                        uint32_t count)
{
    struct fill *fill = &builder->fill;
    const uint32_t at = fill->row_count;

    for (uint32_t c = 0; c < builder->column_count; c++) {
        struct fill_column *column = &fill->columns[c];
        copy_valid(column, at, &batch->columns[c], batch, position, count);
        if (column->dictionary != NULL) {
            code_column_copy(&batch->columns[c], batch->sel, position, count, column->width,
                             column->data + at * column->width);
        } else {
            copy_values(column, at, &batch->columns[c], batch, position, count);
        }
        if (holds_views(column) &&
            !own_texts(fill, column, at, count, batch->columns[c].valid != NULL)) {
            return false;
        }
        column_stats_add(&column->stats, column->kind, column->data, column->valid, at, at + count);
    }
    fill->row_count += count;
    return true;
}

static bool builder_keep_full(struct chunk_builder *builder)
{
    if (builder->full_count == builder->full_capacity) {
        const uint32_t capacity = builder->full_capacity == 0 ? 8 : 2 * builder->full_capacity;
        struct table_chunk **full = realloc(builder->full, capacity * sizeof(struct table_chunk *));
        if (full == NULL) {
            return false;
        }
        builder->full = full;
        builder->full_capacity = capacity;
    }
    builder->full[builder->full_count++] = fill_finish(builder, &builder->fill);
    return true;
}

static void fill_drop_dictionaries(const struct chunk_builder *builder, struct fill *fill)
{
    for (uint32_t c = 0; c < builder->column_count; c++) {
        dictionary_unref(fill->columns[c].dictionary);
        fill->columns[c].dictionary = NULL;
    }
}

/* Before a chunk is begun: which columns it keeps as codes alone. */
static void choose_codes(struct chunk_builder *builder, const struct batch *batch)
{
    for (uint32_t c = 0; c < builder->column_count; c++) {
        struct fill_column *column = &builder->fill.columns[c];
        const struct vec *vec = &batch->columns[c];

        column->dictionary = NULL;
        column->width = exec_type_width(column->kind);
        if (!is_text(column->kind) || builder->coder != NULL || builder->columns[c].refuses_codes ||
            vec->codes == NULL || vec->constant || vec->dictionary->count == 0) {
            continue;
        }
        column->dictionary = (struct dictionary *)(uintptr_t)vec->dictionary;
        column->width = dictionary_code_bytes(vec->dictionary->count);
        dictionary_ref(column->dictionary);
    }
}

/* Whether the batch brings the codes that the chunk under way keeps; where it does not, the column
 * will have views from the next chunk on. */
static bool codes_go_on(struct chunk_builder *builder, const struct batch *batch)
{
    bool go_on = true;

    for (uint32_t c = 0; c < builder->column_count; c++) {
        const struct dictionary *kept = builder->fill.columns[c].dictionary;
        const struct vec *vec = &batch->columns[c];
        if (kept != NULL && (vec->dictionary != kept || vec->codes == NULL || vec->constant)) {
            builder->columns[c].refuses_codes = true;
            go_on = false;
        }
    }
    return go_on;
}

/* Room for at least one more row of the batch. */
static bool builder_make_room(struct chunk_builder *builder, const struct batch *batch,
                              const struct nu_budget **refused)
{
    struct fill *fill = &builder->fill;

    *refused = NULL;
    if (fill->chunk != NULL && !codes_go_on(builder, batch)) {
        builder_shrink(builder);
        if (!builder_keep_full(builder)) {
            return false;
        }
    }
    if (fill->chunk != NULL && fill->row_count == TABLE_CHUNK_ROWS && !builder_keep_full(builder)) {
        return false;
    }
    if (fill->chunk == NULL) {
        choose_codes(builder, batch);
        const bool begun = fill_begin(builder, fill, builder->node, BATCH_ROWS, 0);
        *refused = fill->arena.refused;
        if (!begun) {
            fill_drop_dictionaries(builder, fill);
        }
        return begun;
    }
    if (fill->row_count < fill->capacity) {
        return true;
    }
    const uint32_t capacity =
        fill->capacity * GROWTH < TABLE_CHUNK_ROWS ? fill->capacity * GROWTH : TABLE_CHUNK_ROWS;
    return builder_resize(builder, capacity, refused);
}

enum exec_code chunk_builder_append(struct chunk_builder *builder, const struct batch *batch,
                                    struct exec_error *err)
{
    const struct nu_budget *refused;
    uint32_t position = 0;

    assert(batch->column_count == builder->column_count);
    while (position < batch->sel_count) {
        if (!builder_make_room(builder, batch, &refused)) {
            return fail_memory(err, refused);
        }
        const uint32_t room = builder->fill.capacity - builder->fill.row_count;
        const uint32_t left = batch->sel_count - position;
        const uint32_t count = left < room ? left : room;
        if (!fill_append(builder, batch, position, count)) {
            return fail_memory(err, builder->fill.arena.refused);
        }
        position += count;
    }
    return EXEC_OK;
}

struct table_chunk *chunk_builder_take(struct chunk_builder *builder, bool rest)
{
    if (builder->full_taken < builder->full_count) {
        return builder->full[builder->full_taken++];
    }
    builder->full_taken = builder->full_count = 0;
    if (builder->fill.row_count == TABLE_CHUNK_ROWS) {
        return fill_finish(builder, &builder->fill);
    }
    if (rest && builder->fill.row_count > 0) {
        builder_shrink(builder);
        return fill_finish(builder, &builder->fill);
    }
    return NULL;
}

void chunk_builder_destroy(struct chunk_builder *builder)
{
    struct table_chunk *chunk;
    while (builder->full_taken < builder->full_count) {
        chunk = builder->full[builder->full_taken++];
        table_chunk_destroy(chunk);
    }
    if (builder->fill.chunk != NULL) {
        fill_drop_dictionaries(builder, &builder->fill);
        nu_arena_destroy(&builder->fill.arena);
    }
    chunk_coder_destroy(builder->coder);
    free(builder->full);
    free(builder);
}
