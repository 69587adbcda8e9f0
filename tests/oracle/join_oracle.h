#ifndef TESTS_ORACLE_JOIN_ORACLE_H
#define TESTS_ORACLE_JOIN_ORACLE_H

#include "exec/op_harness.h"
#include "op/join.h"

/* What a join must answer: nested loops over cells, one pair at a time. */
struct join_oracle {
    enum exec_join_kind kind;
    const struct cells *build, *probe;
    const uint32_t *build_keys, *probe_keys; /* column numbers */
    const bool *nulls_equal;
    uint32_t key_count;
    bool residual; /* probe column residual_probe < build column residual_build, int64 both */
    uint32_t residual_probe, residual_build;
    const struct join_output *outputs;
    uint32_t output_count;
};

void join_oracle_run(const struct join_oracle *oracle, struct lines *out);

#endif
