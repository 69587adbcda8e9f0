#include "arrow_dictionary.h"

#include "arrow_column.h"

#include <stdlib.h>
#include <string.h>

struct arrow_dictionary *arrow_dictionary_create(const struct exec_column_buffers *column,
                                                 void *body)
{
    struct arrow_dictionary *dictionary = malloc(sizeof *dictionary);

    if (dictionary == NULL) {
        free(body);
        return NULL;
    }
    dictionary->column = *column;
    dictionary->body = body;
    atomic_init(&dictionary->references, 1);
    atomic_init(&dictionary->checked, false);
    return dictionary;
}

void arrow_dictionary_retain(struct arrow_dictionary *dictionary)
{
    /* relaxed: the caller has a reference already, nothing is published by taking another */
    atomic_fetch_add_explicit(&dictionary->references, 1, memory_order_relaxed);
}

void arrow_dictionary_release(struct arrow_dictionary *dictionary)
{
    if (dictionary == NULL) {
        return;
    }
    /* acq_rel: every user's reads come before the free; pairs with itself */
    if (atomic_fetch_sub_explicit(&dictionary->references, 1, memory_order_acq_rel) == 1) {
        free(dictionary->body);
        free(dictionary);
    }
}

enum exec_code arrow_dictionary_check(struct arrow_dictionary *dictionary, struct exec_error *err)
{
    enum exec_code code;

    /* relaxed: the data it speaks of never changes, and two threads may well check the same */
    if (atomic_load_explicit(&dictionary->checked, memory_order_relaxed)) {
        return EXEC_OK;
    }
    code = arrow_column_check_plain(&dictionary->column, "(dictionary)", err);
    if (code == EXEC_OK) {
        atomic_store_explicit(&dictionary->checked, true, memory_order_relaxed);
    }
    return code;
}

/* Where the joined dictionary's parts lie in its body. */
struct joined {
    int64_t *offsets;
    uint8_t *values;
    uint8_t *validity;
    uint64_t rows;
    int64_t bytes;
};

static void joined_add(struct joined *joined, const struct exec_column_buffers *from)
{
    const int64_t begin = arrow_column_offset(from, 0);
    const int64_t end = arrow_column_offset(from, from->row_count);

    for (uint64_t row = 0; row < from->row_count; row++) {
        const uint64_t to = joined->rows + row;
        joined->offsets[to + 1] = joined->bytes + arrow_column_offset(from, row + 1) - begin;
        if (!arrow_column_is_null(from, row)) {
            joined->validity[to / 8] |= (uint8_t)(1u << (to % 8));
        }
    }
    if (end != begin) {
        memcpy(joined->values + joined->bytes, (const uint8_t *)from->values + begin,
               (size_t)(end - begin));
    }
    joined->rows += from->row_count;
    joined->bytes += end - begin;
}

enum exec_code arrow_dictionary_append(struct arrow_dictionary *head, struct arrow_dictionary *tail,
                                       struct arrow_dictionary **joined_out, size_t *bytes_out,
                                       struct exec_error *err)
{
    const uint64_t rows = head->column.row_count + tail->column.row_count;
    const size_t offsets_bytes = (rows + 1) * sizeof(int64_t);
    const size_t values_bytes = head->column.values_bytes + tail->column.values_bytes;
    const size_t size = offsets_bytes + (rows + 7) / 8 + values_bytes + 1;
    struct exec_column_buffers column = head->column;
    struct joined joined;
    uint8_t *body;
    enum exec_code code = arrow_dictionary_check(head, err);

    if (code == EXEC_OK) {
        code = arrow_dictionary_check(tail, err);
    }
    if (code != EXEC_OK) {
        return code;
    }
    body = calloc(1, size);
    if (body == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for an arrow dictionary");
    }
    joined = (struct joined){.offsets = (int64_t *)(void *)body,
                             .validity = body + offsets_bytes,
                             .values = body + offsets_bytes + (rows + 7) / 8};
    joined_add(&joined, &head->column);
    joined_add(&joined, &tail->column);
    column.row_count = rows;
    column.null_count = head->column.null_count + tail->column.null_count;
    column.validity = column.null_count == 0 ? NULL : joined.validity;
    column.offsets = joined.offsets;
    column.offset_bytes = sizeof(int64_t);
    column.values = joined.values;
    column.values_bytes = (size_t)joined.bytes;
    *bytes_out = size;
    *joined_out = arrow_dictionary_create(&column, body);
    return *joined_out == NULL
               ? EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for an arrow dictionary")
               : EXEC_OK;
}
