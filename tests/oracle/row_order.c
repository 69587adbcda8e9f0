#include "oracle/row_order.h"

#include <string.h>

static int by_key(const struct row_order *rows, const struct case_key *key, uint32_t a, uint32_t b)
{
    const uint32_t column = key->column == COMPUTED ? 0 : key->column;
    const struct cell *x = cells_at(rows->cells, a, column);
    const struct cell *y = cells_at(rows->cells, b, column);
    const bool descending =
        key->direction == EXEC_DESC_NULLS_FIRST || key->direction == EXEC_DESC_NULLS_LAST;
    const bool nulls_first =
        key->direction == EXEC_ASC_NULLS_FIRST || key->direction == EXEC_DESC_NULLS_FIRST;
    int order;

    if (key->column == COMPUTED) {
        order = (int)x->null - (int)y->null;
    } else if (x->null || y->null) {
        order = (int)x->null - (int)y->null;
        return nulls_first ? -order : order;
    } else {
        order = cell_compare(x, y, &rows->types[column]);
    }
    return descending ? -order : order;
}

static int by_bytes(const struct cell *x, const struct cell *y, const struct exec_type *type)
{
    const float x_single = (float)x->real;
    const float y_single = (float)y->real;

    if (x->null || y->null) {
        return 0;
    }
    if (type->kind == EXEC_TYPE_FLOAT64) {
        return memcmp(&x->real, &y->real, 8);
    }
    return type->kind == EXEC_TYPE_FLOAT32 ? memcmp(&x_single, &y_single, 4) : 0;
}

int row_order_by_keys(const struct row_order *rows, uint32_t first_key, uint32_t count, uint32_t a,
                      uint32_t b)
{
    int order = 0;

    for (uint32_t k = first_key; order == 0 && k < first_key + count; k++) {
        order = by_key(rows, &rows->keys[k], a, b);
    }
    return order;
}

int row_order_total(const struct row_order *rows, uint32_t a, uint32_t b)
{
    int order = row_order_by_keys(rows, 0, rows->key_count, a, b);

    for (uint32_t c = 0; order == 0 && c < rows->cells->column_count; c++) {
        const struct case_key whole = {c, EXEC_ASC_NULLS_LAST};
        order = by_key(rows, &whole, a, b);
    }
    for (uint32_t c = 0; order == 0 && c < rows->cells->column_count; c++) {
        order = by_bytes(cells_at(rows->cells, a, c), cells_at(rows->cells, b, c), &rows->types[c]);
    }
    return order;
}
