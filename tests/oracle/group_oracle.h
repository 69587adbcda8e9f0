#ifndef TESTS_ORACLE_GROUP_ORACLE_H
#define TESTS_ORACLE_GROUP_ORACLE_H

#include "exec/op_harness.h"
#include "op/group.h"

/* What an aggregation must answer: rows sorted by key, one aggregate after the other over each run.
 * Float sums go through __float128, which is exact for what cell_random makes. */
struct oracle_measure {
    enum exec_aggregate_function function;
    uint32_t column; /* the argument */
    uint32_t second; /* the second argument, of functions of two */
    bool distinct;
    double fraction; /* of quantiles */
    bool filter;     /* only rows where filter_left < filter_right (int64 columns) */
    uint32_t filter_left, filter_right;
    struct exec_type type; /* of the result */
};

struct group_oracle {
    const struct cells *input;
    const uint32_t *keys; /* column numbers */
    uint32_t key_count;
    const struct oracle_measure *measures;
    uint32_t measure_count;
};

void group_oracle_run(const struct group_oracle *oracle, struct lines *out);

#endif
