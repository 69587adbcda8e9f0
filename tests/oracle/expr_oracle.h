#ifndef TESTS_ORACLE_EXPR_ORACLE_H
#define TESTS_ORACLE_EXPR_ORACLE_H

#include "exec/error.h"
#include "exec/job_spec.h"

/* Expressions the slow way: one row, one value at a time, straight from the spec, with 128-bit
 * arithmetic and explicit ranges. Operands of one call must be of one type, except in comparisons.
 */

enum { ORACLE_TEXT_BYTES = 4096 };

struct oracle_value {
    struct exec_type type;
    bool null;
    enum exec_code failed; /* EXEC_OK: a value */
    __int128 integer;      /* bool, integers, date32; decimals unscaled */
    double real;           /* float32, float64 */
    uint32_t text_bytes;
    char text[ORACLE_TEXT_BYTES];
};

/* columns[c - 1] is the row's value of column index c. */
void expr_oracle(const struct exec_job_spec *spec, uint32_t index,
                 const struct oracle_value *columns, struct oracle_value *out);

/* NaN is above all numbers and equals itself. Integers, floats and decimals compare by value. */
int expr_oracle_compare(const struct oracle_value *a, const struct oracle_value *b);

#endif
