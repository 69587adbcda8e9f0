#ifndef TESTS_BENCH_BENCH_ENGINE_H
#define TESTS_BENCH_BENCH_ENGINE_H

#include "exec/exec.h"
#include "exec/spec_builder.h"

/* Whole jobs on the real engine, for benches: tables made once, joins and aggregates over them run
 * again and again. Everything that fails ends the program. */

/* workers > 0; on two fake nodes of a CPU each with `two_nodes`, else on the machine as it is. */
struct exec_engine *bench_engine(uint32_t workers, bool two_nodes);

enum bench_job {
    BENCH_JOIN_UNIFORM, /* every probe row finds one match */
    BENCH_JOIN_ZIPF,    /* build keys Zipf(1.0); probe keys in drawn order */
    BENCH_JOIN_SORTED,  /* the same, heaviest keys first */
    BENCH_GROUP,        /* 100,000 groups of sums */
    BENCH_JOB_COUNT
};
const char *bench_job_name(enum bench_job job);

/* The tables the jobs read, of about `rows` rows. */
void bench_tables(struct exec_engine *engine, int64_t rows);

struct bench_run {
    struct exec_job_status status; /* after the end */
    uint64_t *morsel_ns;           /* with trace_events: lengths of its morsels, not sorted; the
                                      caller frees */
    uint64_t morsel_count;
};
void bench_run(struct exec_engine *engine, enum bench_job job, enum exec_policy policy,
               uint32_t trace_events, struct bench_run *out);

#endif
