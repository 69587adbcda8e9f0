#ifndef TESTS_ORACLE_ROW_ORDER_H
#define TESTS_ORACLE_ROW_ORDER_H

#include "exec/op_harness.h"

/* The order of rows of cells a pair at a time: by keys, then by the whole row, then by the bytes of
 * floats, which tell -0.0 from 0.0 and one NaN from another. */

enum { COLUMNS_MAX = 5, COMPUTED = COLUMNS_MAX };

struct case_key {
    uint32_t column; /* COMPUTED: whether column 0 is null */
    enum exec_direction direction;
};

struct row_order {
    const struct cells *cells;
    const struct exec_type *types; /* of the cells' columns */
    const struct case_key *keys;
    uint32_t key_count;
};

/* As a comparison for qsort() returns it. */
int row_order_by_keys(const struct row_order *order, uint32_t first_key, uint32_t count, uint32_t a,
                      uint32_t b);
int row_order_total(const struct row_order *order, uint32_t a, uint32_t b);

#endif
